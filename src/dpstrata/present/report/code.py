"""The Python and the command line that give a design again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any
from unicodedata import bidirectional

from dpstrata.designs.record import Design
from dpstrata.files.writing import plain_cell
from dpstrata.survey.forms import AUTO, Forms, names_on
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import RECORDED
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.questionnaire import Questionnaire, shorthand_of
from dpstrata.survey.targets import PrecisionTarget
from dpstrata.words.numbers import plain_number

MOST_INLINE = 40
QUESTIONS_FILE = "questions.csv"
SPREADS_FILE = "spreads.csv"
_RIGHT_TO_LEFT = ("R", "AL")  # letters that would put what is around them in another order
_COLUMNS = {
    "coefficient": "coefficients",
    "cost": "costs",
    "min": "mins",
    "max": "maxs",
    "response_rate": "response_rates",
    "sd_epsilon": "sd_epsilons",
}

_MAIN_WAVE = """import dpstrata as dps

plan = dps.main_design(dps.load_design("pilot.json"), "published.csv")"""


def strata_columns(plan: Design) -> dict[str, list[Any]]:
    """Return the strata of a design as the columns of a strata file.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> strata_columns(plan)["size"]
    [700, 900]
    """
    known = plan.columns()
    if names_on(plan.inputs.forms) and plan.strata.sds is not None:  # there the average of all questions
        known["sd"] = plan.strata.sds.tolist()
    names = ("stratum", "size", *_spread_columns(plan), *_COLUMNS)
    columns = {name: known[name] for name in names if name in known}
    return columns | {name: [plain_cell(cell) for cell in cells] for name, cells in plan.strata.extra.items()}


def _spread_columns(plan: Design) -> tuple[str, ...]:
    """Name the columns of spreads; a questionnaire has its own, unless those of the strata cost something."""
    worst = all(plan.strata.sd_source(i) == "bound" for i in range(len(plan.strata)))
    return () if names_on(plan.inputs.forms) and worst else ("sd", "sd_source")


def given_options(inputs: Inputs, *, best: bool = False) -> dict[str, Any]:
    """Return the arguments of :func:`dpstrata.design` that are not its defaults.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    best : bool
        Whether its mechanism was chosen as the best one.
    """
    options = {
        name: value
        for name, each in RECORDED.items()
        if (value := getattr(inputs, name)) != each.default
        and not (name == "questions" and (inputs.default_questions or in_file(inputs)))
    }
    if best or names_on(inputs.forms):
        options.pop("mechanism", None)  # the default
    return options


def in_file(inputs: Inputs) -> bool:
    """Whether the questions are read from a file: there is more to say than a shorthand does."""
    told = not inputs.default_questions and shorthand_of(inputs.questions) is None
    return told or inputs.spreads is not None


def python_code(plan: Design, *, strata: str = "strata.csv", out: str | None = "design.json") -> str:
    """Write the Python that makes a design from a strata file.

    Parameters
    ----------
    plan : Design
        The design. That of a pilot's main wave is made from the pilot and its noised answers instead, that of
        a questionnaire from its files too, ``questions.csv`` and ``spreads.csv``.
    strata : str
        The strata file.
    out : str or None
        Where the design document goes; ``None`` to leave that line out.

    Examples
    --------
    >>> import dpstrata as dps
    >>> print(python_code(dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=200)))
    import dpstrata as dps
    <BLANKLINE>
    strata = dps.Strata.from_file("strata.csv")
    plan = dps.design(strata, epsilon=1, total=200)
    plan.save("design.json")
    """
    return _program(f"strata = dps.Strata.from_file({_quoted(strata)})", plan, out)


def python_code_with_strata(plan: Design, *, out: str | None = "design.json") -> str:
    """Write the Python that makes a design with its strata in it, for up to 40 of them.

    Beyond that they are read from a file, ``strata.csv``, which :func:`strata_columns` has the content of.
    """
    if len(plan.strata) > MOST_INLINE:
        return python_code(plan, out=out)
    columns = strata_columns(plan)
    arguments = {"sizes": "size", "sds": "sd", "names": "stratum", "sd_sources": "sd_source"}
    arguments |= {argument: column for column, argument in _COLUMNS.items()}
    lines = [
        f"    {argument}={_literal(columns[column])},"
        for argument, column in arguments.items()
        if column in columns
    ]
    if plan.strata.extra:
        extra = {name: [plain_cell(cell) for cell in cells] for name, cells in plan.strata.extra.items()}
        lines.append(f"    extra={_literal(extra)},")
    return _program("\n".join(["strata = dps.Strata(", *lines, ")"]), plan, out)


def command_line(plan: Design, *, strata: str = "strata.csv", out: str | None = "design.json") -> str:
    """Write the command that makes a design from a strata file, for a POSIX shell.

    That of a pilot's main wave is made from the pilot and its noised answers.

    Examples
    --------
    >>> import dpstrata as dps
    >>> command_line(dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=200))
    'dpstrata design strata.csv --epsilon=1 --total=200 --out=design.json'
    """
    save = [] if out is None else [f"--out={out}"]
    if plan.waves is not None and not plan.waves.first:
        return shlex.join(["dpstrata", "main-design", "pilot.json", "published.csv", *save])
    path = f"./{strata}" if strata.startswith("-") else strata
    words = ["dpstrata", "design" if plan.waves is None else "pilot", path]
    for name, value in _arguments(plan).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif name == "domains":
            words += [f"--domains={text}" for text in _domains(value)]
        else:
            words.append(f"--{flag}={_option(value)}")
    if in_file(plan.inputs):
        words.append(f"--questions={QUESTIONS_FILE}")
    if plan.inputs.spreads is not None:
        words.append(f"--spreads={SPREADS_FILE}")
    forms = _forms(plan)
    if isinstance(forms, str):
        words += [] if forms == AUTO else [f"--forms={forms}"]
    else:
        words.append(f"--forms={'|'.join(','.join(form) for form in names_on(forms))}")
    return shlex.join([*words, *save])


def _arguments(plan: Design) -> dict[str, Any]:
    """Return the arguments of the function that makes a design: of a pilot, what both waves have too."""
    given = given_options(plan.inputs, best=plan.choice is not None)
    if plan.waves is None:
        return given
    own = {"pilot_epsilon": given["epsilon"], "pilot_total": given["total"]}
    return given | {"epsilon": plan.waves.epsilon, "total": plan.waves.total} | own


def _program(make_strata: str, plan: Design, out: str | None) -> str:
    save = [] if out is None else [f"plan.save({_quoted(out)})"]
    if plan.waves is not None and not plan.waves.first:
        return "\n".join([_MAIN_WAVE, *save])
    function = "design" if plan.waves is None else "pilot"
    inputs = plan.inputs
    given = [f"{name}={_literal(value)}" for name, value in _arguments(plan).items()]
    lines = ["import dpstrata as dps", "", make_strata]
    if in_file(inputs):
        lines.append(f"questions = dps.Questionnaire.from_file({_quoted(QUESTIONS_FILE)})")
        given.insert(0, "questions=questions")
    if inputs.spreads is not None:
        lines.append(f"spreads = dps.Spreads.from_file({_quoted(SPREADS_FILE)}, strata, questions)")
        given.insert(1, "spreads=spreads")
    forms = _forms(plan)
    if isinstance(forms, str):
        given += [] if forms == AUTO else [f"forms={_quoted(forms)}"]
        return "\n".join([*lines, f"plan = dps.{function}({', '.join(['strata', *given])})", *save])
    listed = "".join(f"        {_literal(form)},\n" for form in names_on(forms))
    arguments = ["strata", *given, f"forms=[\n{listed}    ]"]
    return "\n".join([*lines, f"plan = dps.{function}(", *(f"    {each}," for each in arguments), ")", *save])


def _forms(plan: Design) -> Forms:
    """Return the forms to ask for: those that were chosen, or of a pilot what both waves were asked for."""
    return plan.inputs.forms if plan.waves is None else plan.waves.forms


def _literal(value: Any) -> str:
    """Write a value as Python; numbers with all their digits."""
    match value:
        case Questionnaire():
            return _questions(str(shorthand_of(value)))
        case PrecisionTarget():
            return f"dps.{type(value).__name__}({plain_number(value.value)})"
        case str():
            return _quoted(value)
        case float():
            return plain_number(value)
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(cell)}' for key, cell in value.items())}}}"
    return repr(value)


def _questions(shorthand: str) -> str:
    """Write the shorthand of a question as Python does: a word, a list of names or numbers."""
    if SEPARATOR in shorthand:
        return _literal(shorthand.split(SEPARATOR))
    return f"({', '.join(shorthand.split(':'))})" if ":" in shorthand else _quoted(shorthand)


def _quoted(text: str) -> str:
    """Write a text as Python in double quotes; nothing in it can hide, change its place or break the line."""
    if text.isprintable() and not any(bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return json.dumps(text, ensure_ascii=False)
    if any(ord(character) >= 0xD800 for character in text):
        return ascii(text)  # JSON would write two halves of one character
    return json.dumps(text).replace("\x7f", "\\x7f")


def _option(value: Any) -> str:
    match value:
        case Questionnaire():
            return str(shorthand_of(value))
        case float():
            return plain_number(value)
    return str(value)


def _domains(domains: Mapping[str, Any]) -> list[str]:
    texts = []
    for column, target in domains.items():
        if isinstance(target, Mapping) and target:
            texts += [f"{column}:{group}={each}" for group, each in target.items()]
        elif isinstance(target, PrecisionTarget):
            texts.append(f"{column}={target}")
        else:
            texts.append(column)
    return texts
