"""The options that commands share: every argument of ``dpstrata.design`` is a flag of the same name."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.refusals import flag
from dpstrata.errors import InputError, Mention, option
from dpstrata.survey.options import OPTIONS, Group, Option
from dpstrata.survey.targets import take_target

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.questionnaire import Questionnaire
    from dpstrata.survey.strata import Strata

QUESTION = "Goal (give one; a budget may be combined with a target)"
PRIVACY = "Privacy"
OUTPUT = "Output"
_PANELS: dict[Group, str] = {
    "goal": QUESTION,
    "survey": "Survey",
    "privacy": PRIVACY,
    "limits": "Limits",
}
_TYPED: dict[str, Any] = {
    "questions": str,
    "domains": list[str],
    "classes": list[str],
}  # those that are typed in a form of their own
QUESTION_NAMES = tuple(name for name, each in OPTIONS.items() if each.group == "goal" and each.number)

# what questions take, beside the options
_BESIDE: dict[str, Any] = {
    "spreads": Annotated[
        Path | None,
        typer.Option(
            help="What is known of the answers to the questions in each stratum; otherwise, the worst case.",
            rich_help_panel=_PANELS["survey"],
        ),
    ],
    "forms": Annotated[
        str | None,
        typer.Option(
            help="Forms that the questions are divided into: auto (the default), one, or your own, as in "
            "age,sex|income.",
            rich_help_panel=_PANELS["survey"],
        ),
    ],
    "leave_out": Annotated[
        bool | None,
        typer.Option(
            "--leave-out",
            help="Leave out the rows of an XLSForm that cannot be protected, such as free text, and list "
            "them; by default they are refused.",
            rich_help_panel=_PANELS["survey"],
        ),
    ],
}

StrataFile = Annotated[
    Path,
    typer.Argument(
        help="Table of strata: CSV (with commas, semicolons or tabs), Parquet, Excel, Stata or SPSS, with "
        "columns stratum, size and sd (or variance, proportion, or sd_low and sd_high).",
        show_default=False,
    ),
]
DesignFile = Annotated[Path, typer.Argument(help="The design document (.json).", show_default=False)]
SampleFile = Annotated[Path, typer.Option(help="The sample that was drawn.")]
KeyFile = Annotated[Path, typer.Option(help="Key file of the draw.")]
DrawnId = Annotated[
    str | None,
    typer.Option(help="Column that identifies a person; by default, as in the draw.", show_default=False),
]
DrawnStratum = Annotated[
    list[str] | None,
    typer.Option(
        help="Column with the stratum; repeat it where several are crossed. By default, as in the draw.",
        show_default=False,
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Release even though something was released before; losses add up.")
]
AcceptResponse = Annotated[
    bool,
    typer.Option(
        "--accept-response",
        help="Release even though too few people answered to keep the promise; the ledger counts the loss.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Language of the questionnaire for questions and answers in the report; by default, its own."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(help="Port; by default, the first free one from 8000 up.", show_default=False),
]
Browser = Annotated[bool, typer.Option(help="Open the page in a browser.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file; by default, the first.")]
Json = Annotated[bool, typer.Option(help="Print only JSON on standard output.", rich_help_panel=OUTPUT)]
Full = Annotated[
    bool, typer.Option(help="Show the privacy promise and what it assumes in full.", rich_help_panel=OUTPUT)
]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Write a chart (.svg, .png, .pdf, or .json for its definition).", rich_help_panel=OUTPUT
    ),
]
TableOut = Annotated[
    Path | None, typer.Option(help="Write the table (.csv, .json, .parquet, .xlsx).", rich_help_panel=OUTPUT)
]


def takes_options(*leave_out: str, as_lists: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Give a command the shared options; it receives them as one dictionary, ``options``.

    Parameters
    ----------
    *leave_out : str
        Options that make no sense for it.
    as_lists : sequence of str
        Options that it takes as text with several values.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        names = [name for name in OPTIONS if name not in leave_out]
        asked = [name for name in _BESIDE if name not in leave_out]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            options = {name: given.pop(name) for name in (*names, *asked, "sheet")}
            command(**given, options=options)

        shared = [_parameter(name, as_list=name in as_lists) for name in names]
        shared += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_BESIDE[name])
            for name in asked
        ]
        mine = [parameter for name, parameter in own.items() if name != "options"]
        sheet = inspect.Parameter("sheet", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Sheet)
        parameters = [mine[0], sheet, *shared, *mine[1:]]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _parameter(name: str, *, as_list: bool) -> inspect.Parameter:
    each = OPTIONS[name]
    kind, default = _kind(each), each.default
    words = " ".join([_backticks_as_flags(each.sentence), *([each.typed] if each.typed else [])])
    if as_list:
        words += " Several values: 1,2,5 or start:stop:step." if each.number else " Several: a,b."
        kind, default = str | None, None
    elif isinstance(kind, type) and issubclass(kind, StrEnum):
        default = kind(default)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(help=words, rich_help_panel=_PANELS[each.group])],
    )


@functools.cache
def _kind(each: Option) -> Any:
    """Return the type that Typer reads a flag as."""
    if each.choices:
        return StrEnum(each.name.title(), {name: name for name in each.choices})
    kind = _TYPED.get(each.name, each.kind)
    return kind | None if each.default is None else kind


def _backticks_as_flags(sentence: str) -> str:
    """Name the options that a sentence has in backticks as they are typed.

    Examples
    --------
    >>> _backticks_as_flags("Margin of error at `confidence` to reach.")
    'Margin of error at --confidence to reach.'
    """
    return re.sub(r"`(\w+)`", lambda found: flag(Mention(found[1], None)), sentence)


def read_survey(path: Path, options: dict[str, Any]) -> tuple[Strata, dict[str, Any]]:
    """Read the strata and turn the options into arguments of the library."""
    from dpstrata.files.tables import read_table
    from dpstrata.survey.questionnaires.questionnaire import read_questions
    from dpstrata.survey.strata import strata_from_table

    sheet, stated = options["sheet"], options["questions"]
    questions: Questionnaire = (
        read_questions(stated, leave_out=True)
        if options.get("leave_out")
        else OPTIONS["questions"].read(stated)
    )
    alone = questions[0] if len(questions) == 1 else None
    follows = options["proportion"] is not None or alone is None or options.get("spreads") is not None
    strata = strata_from_table(read_table(path, sheet=sheet), question=alone, spread_follows=follows)
    given = {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in options.items()
        if value is not None and name in OPTIONS
    }
    if stated is not None:
        given["questions"] = questions
    given |= _read_beside(strata, questions, options)
    if "domains" in given:
        given["domains"] = parse_domains(given["domains"], {"stratum", *strata.extra})
    return strata, given


def _read_beside(strata: Strata, questions: Questionnaire, options: dict[str, Any]) -> dict[str, Any]:
    """Read what is known of the answers, and the forms."""
    from dpstrata.survey.questionnaires.spreads import Spreads

    known, forms = options.get("spreads"), options.get("forms")
    given: dict[str, Any] = {}
    if known is not None:
        given["spreads"] = Spreads.from_file(known, strata, questions)
    if forms is not None:
        words = forms in ("auto", "one")
        given["forms"] = (
            forms if words else [[name.strip() for name in form.split(",")] for form in forms.split("|")]
        )
    return given


def parse_domains(texts: Sequence[str], columns: set[str]) -> dict[str, Any] | None:
    """Read COLUMN, COLUMN=TARGET and COLUMN:GROUP=TARGET."""
    domains: dict[str, Any] = {}
    for text in texts:
        where, sign, number = text.rpartition("=") if text not in columns else (text, "", "")
        where = where if sign else text
        if not sign:
            domains.setdefault(where, None)
            continue
        target = take_target(where, number)
        # COLUMN:GROUP, where either may hold a colon: the longest known column counts.
        known = [name for name in columns if where.startswith(f"{name}:")]
        column = where if where in columns else max(known, key=len, default=where.partition(":")[0])
        group = where[len(column) + 1 :]
        if group and isinstance(domains.get(column) or {}, dict):
            domains[column] = {**(domains.get(column) or {}), group: target}
        elif not group and domains.get(column) is None:
            domains[column] = target
        else:
            raise InputError(
                f"{option('domains')} must give {column!r} one target for all groups or one for each, got "
                "both."
            )
    return domains or None
