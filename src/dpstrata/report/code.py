"""The Python and the command line that give a design again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpstrata.model.answers import Answers
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs, plain_number
from dpstrata.model.output import plain_cell

MOST_INLINE = 40
_COLUMNS = {
    "coefficient": "coefficients",
    "cost": "costs",
    "min": "mins",
    "max": "maxs",
    "response_rate": "response_rates",
    "sd_epsilon": "sd_epsilons",
}


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
    columns = {
        name: known[name] for name in ("stratum", "size", "sd", "sd_source", *_COLUMNS) if name in known
    }
    return columns | {name: [plain_cell(cell) for cell in cells] for name, cells in plan.strata.extra.items()}


def given_options(inputs: Inputs, *, best: bool = False) -> dict[str, Any]:
    """Return the arguments of :func:`dpstrata.design` that are not its defaults.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    best : bool
        Whether its mechanism was chosen as the best one.
    """
    plain = Inputs(epsilon=1.0, total=1)
    without = {"epsilon": None, "total": None}
    options = {
        field.name: value
        for field in fields(Inputs)
        if (value := getattr(inputs, field.name)) != without.get(field.name, getattr(plain, field.name))
    }
    if best:
        options["mechanism"] = "best"
    return options


def python_code(
    inputs: Inputs,
    *,
    strata: str = "strata.csv",
    out: str | None = "design.json",
    best: bool = False,
) -> str:
    """Write the Python that makes a design from a strata file.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    strata : str
        The strata file.
    out : str or None
        Where the design document goes; ``None`` to leave that line out.
    best : bool
        Whether the mechanism was chosen as the best one.

    Examples
    --------
    >>> print(python_code(Inputs(epsilon=1.0, total=200)))
    import dpstrata as dps
    <BLANKLINE>
    strata = dps.Strata.from_file("strata.csv")
    plan = dps.design(strata, epsilon=1, total=200)
    plan.save("design.json")
    """
    return _program(f"strata = dps.Strata.from_file({_quoted(strata)})", inputs, out, best)


def python_code_with_strata(plan: Design, *, out: str | None = "design.json") -> str:
    """Write the Python that makes a design with its strata in it, for up to 40 of them.

    Beyond that they are read from a file, ``strata.csv``, which :func:`strata_columns` has the content of.
    """
    best = plan.choice is not None
    if len(plan.strata) > MOST_INLINE:
        return python_code(plan.inputs, out=out, best=best)
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
    return _program("\n".join(["strata = dps.Strata(", *lines, ")"]), plan.inputs, out, best)


def command_line(
    inputs: Inputs,
    *,
    strata: str = "strata.csv",
    out: str | None = "design.json",
    best: bool = False,
) -> str:
    """Write the command that makes a design from a strata file, for a POSIX shell.

    Examples
    --------
    >>> command_line(Inputs(epsilon=1.0, total=200))
    'dpstrata design strata.csv --epsilon=1 --total=200 --out=design.json'
    """
    path = f"./{strata}" if strata.startswith("-") else strata
    words = ["dpstrata", "design", path]
    for name, value in given_options(inputs, best=best).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif name == "domains":
            words += [f"--domains={text}" for text in _domains(value)]
        else:
            words.append(f"--{flag}={_option(value)}")
    if out is not None:
        words.append(f"--out={out}")
    return shlex.join(words)


def _program(make_strata: str, inputs: Inputs, out: str | None, best: bool) -> str:
    given = given_options(inputs, best=best)
    arguments = ", ".join(["strata", *(f"{name}={_literal(value)}" for name, value in given.items())])
    save = [] if out is None else [f"plan.save({_quoted(out)})"]
    return "\n".join(["import dpstrata as dps", "", make_strata, f"plan = dps.design({arguments})", *save])


def _literal(value: Any) -> str:
    """Write a value as Python; numbers with all their digits."""
    match value:
        case Answers():
            ends = [value.lower, value.upper, *([] if value.step is None else [value.step])]
            return f"({', '.join(map(plain_number, ends))})"
        case str():
            return _quoted(value)
        case float():
            return plain_number(value)
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(cell)}' for key, cell in value.items())}}}"
    return repr(value)


def _quoted(text: str) -> str:
    """Write a text as Python in double quotes, in ASCII, so that nothing in it can hide or break the line."""
    if any(ord(character) >= 0xD800 for character in text):
        return ascii(text)  # JSON would write two halves of one character
    return json.dumps(text).replace("\x7f", "\\x7f")


def _option(value: Any) -> str:
    match value:
        case Answers():
            ends = [value.lower, value.upper, *([] if value.step is None else [value.step])]
            return ":".join(map(plain_number, ends))
        case float():
            return plain_number(value)
    return str(value)


def _domains(domains: Mapping[str, Any]) -> list[str]:
    texts = []
    for column, target in domains.items():
        if isinstance(target, Mapping) and target:
            texts += [f"{column}:{group}={plain_number(value)}" for group, value in target.items()]
        elif isinstance(target, float):
            texts.append(f"{column}={plain_number(target)}")
        else:
            texts.append(column)
    return texts
