"""The options that commands share: every argument of ``dpstrata.design`` is a flag of the same name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dpstrata.errors import InputError
from dpstrata.privacy.registry import MECHANISMS

if TYPE_CHECKING:
    from dpstrata.model.strata import Strata

QUESTION = "Question (give one; a budget may join a target)"
SURVEY = "Survey"
PRIVACY = "Privacy"
BOUNDS = "Bounds"
OUTPUT = "Output"


Mechanism = StrEnum("Mechanism", {name: name for name in (*MECHANISMS, "best")})  # type: ignore[misc]


class Objective(StrEnum):
    """Objectives that can be chosen."""

    mean = "mean"
    trace = "trace"
    unit_free = "unit_free"
    custom = "custom"


class Trust(StrEnum):
    """Who may see raw answers."""

    local = "local"
    curator = "curator"


class _Option(NamedTuple):
    kind: Any
    default: Any
    help: str
    panel: str


OPTIONS: dict[str, _Option] = {
    "epsilon": _Option(float | None, None, "Central privacy budget of every person, 1e-6 to 100.", PRIVACY),
    "zcdp": _Option(float | None, None, "rho of zCDP instead; with gaussian, never amplified.", PRIVACY),
    "gdp": _Option(float | None, None, "mu of Gaussian DP instead; with gaussian, never amplified.", PRIVACY),
    "total": _Option(int | None, None, "People to invite in all strata together.", QUESTION),
    "at_most": _Option(int | None, None, "Most people to invite; fewer if that is better.", QUESTION),
    "budget": _Option(
        float | None, None, "Most that all invitations may cost; needs a column cost.", QUESTION
    ),
    "target_se": _Option(
        float | None,
        None,
        "Standard error to reach with as few people, or as little cost, as can be.",
        QUESTION,
    ),
    "target_margin": _Option(float | None, None, "Margin of error at --confidence to reach.", QUESTION),
    "target_cv": _Option(
        float | None, None, "Standard error relative to --expected-mean to reach.", QUESTION
    ),
    "expected_mean": _Option(
        float | None, None, "Mean that --target-cv is relative to; else the column expected_mean.", QUESTION
    ),
    "domains": _Option(
        list[str] | None,
        None,
        "Column whose groups are domains. COLUMN=TARGET gives each of them a target, COLUMN:GROUP=TARGET one "
        "of them. May be repeated.",
        QUESTION,
    ),
    "mechanism": _Option(
        Mechanism,
        Mechanism("best"),
        "Noise mechanism; best picks the most precise one that fits.",
        PRIVACY,
    ),
    "questions": _Option(int, 1, "Questions asked of the same people.", PRIVACY),
    "local_epsilon_cap": _Option(float | None, None, "Most that one noised answer may spend.", PRIVACY),
    "delta": _Option(
        float, 0.0, "What probabilities may differ by beyond the factor; for gaussian.", PRIVACY
    ),
    "trust": _Option(
        Trust,
        Trust.local,
        "local: answers are noised before anyone sees them. curator: each stratum's mean is noised once.",
        PRIVACY,
    ),
    "objective": _Option(
        Objective,
        Objective.mean,
        "mean: variance of the population mean. trace: sum of the stratum variances. unit_free: the same "
        "relative to each stratum's own variance. custom: column coefficient.",
        SURVEY,
    ),
    "answers": _Option(
        str | None,
        None,
        "What can be answered: lower:upper, lower:upper:step or binary. Left out, 0:1 for planning; answers "
        "from a file need it.",
        SURVEY,
    ),
    "clip": _Option(
        bool, False, "Count answers outside the range as the nearer end; by default they are refused.", SURVEY
    ),
    "finite_population": _Option(
        bool, True, "Count that a stratum asked completely has no sampling error.", SURVEY
    ),
    "response_rate": _Option(
        float | None, None, "Share of people who would answer, for all strata of a file without it.", SURVEY
    ),
    "proportion": _Option(
        float | None,
        None,
        "Expected share of answers at the upper end, for all strata of a file without a spread.",
        SURVEY,
    ),
    "confidence": _Option(float, 0.95, "Level of intervals.", SURVEY),
    "min_per_stratum": _Option(
        int, 1, "Fewest people to invite in a stratum; smaller strata are taken whole.", BOUNDS
    ),
    "min_fraction": _Option(float, 0.0, "Smallest sampling rate in a stratum.", BOUNDS),
    "max_fraction": _Option(float, 1.0, "Largest sampling rate in a stratum.", BOUNDS),
}
QUESTION_NAMES = tuple(
    name for name, option in OPTIONS.items() if option.panel == QUESTION and name != "domains"
)

StrataFile = Annotated[
    Path,
    typer.Argument(
        help="Table of strata: CSV (comma, semicolon, tab), Parquet or Excel, with columns stratum, "
        "size and sd (or variance, proportion, or sd_low and sd_high).",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option(help="Print JSON alone on standard output.", rich_help_panel=OUTPUT)]
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

        @functools.wraps(command)
        def run(**given: Any) -> None:
            options = {name: given.pop(name) for name in names}
            command(**given, options=options)

        shared = [_parameter(name, as_list=name in as_lists) for name in names]
        mine = [parameter for name, parameter in own.items() if name != "options"]
        parameters = [mine[0], *shared, *mine[1:]]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _parameter(name: str, *, as_list: bool) -> inspect.Parameter:
    kind, default, words, panel = OPTIONS[name]
    if as_list:
        several = (
            " Several values: 1,2,5 or start:stop:step."
            if kind in (float, float | None, int, int | None)
            else " Several: a,b."
        )
        kind, default = str | None, None
        words += several
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(help=words, rich_help_panel=panel)],
    )


def read_survey(path: Path, options: dict[str, Any]) -> tuple[Strata, dict[str, Any]]:
    """Read the strata and turn the options into arguments of the library."""
    from dpstrata.model.answers import parse_answers
    from dpstrata.model.columns import strata_from_columns
    from dpstrata.model.tables import read_table

    stated = options["answers"]
    allowed = parse_answers("0:1" if stated is None else stated)
    follows = options["proportion"] is not None
    strata = strata_from_columns(read_table(path), answers=allowed, spread_follows=follows)
    given = {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in options.items()
        if value is not None
    }
    if stated is not None:
        given["answers"] = allowed
    if "domains" in given:
        given["domains"] = parse_domains(given["domains"], {"stratum", *strata.extra})
    return strata, given


def parse_domains(texts: Sequence[str], columns: set[str]) -> dict[str, Any] | None:
    """Read COLUMN, COLUMN=TARGET and COLUMN:GROUP=TARGET."""
    domains: dict[str, Any] = {}
    for text in texts:
        where, sign, number = text.rpartition("=") if text not in columns else (text, "", "")
        where = where if sign else text
        if not sign:
            domains.setdefault(where, None)
            continue
        try:
            target = float(number)
        except ValueError:
            raise InputError(f"--domains must be COLUMN=TARGET with a number, got {text!r}.") from None
        # COLUMN:GROUP, where either may hold a colon: the longest known column counts.
        known = [name for name in columns if where.startswith(f"{name}:")]
        column = where if where in columns else max(known, key=len, default=where.partition(":")[0])
        group = where[len(column) + 1 :]
        if group and not isinstance(domains.get(column), float):
            domains[column] = {**(domains.get(column) or {}), group: target}
        elif not group and domains.get(column) is None:
            domains[column] = target
        else:
            raise InputError(f"--domains gives {column!r} one target for all groups and another one too.")
    return domains or None
