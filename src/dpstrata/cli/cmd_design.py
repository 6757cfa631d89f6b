"""``dpstrata design`` and ``dpstrata compare``: the same question, shown in two ways."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dpstrata.privacy.registry import MECHANISMS

if TYPE_CHECKING:
    from dpstrata.model.design_record import Design

QUESTION = "Question (give one)"
SURVEY = "Survey"
BOUNDS = "Bounds"
OUTPUT = "Output"
LATER = "Not available yet"


Mechanism = StrEnum("Mechanism", {name: name for name in MECHANISMS})  # type: ignore[misc]
_LAPLACE = Mechanism("laplace")


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


def _option(help_: str, panel: str) -> Any:
    return typer.Option(help=help_, rich_help_panel=panel)


def _command(show: Callable[[Design], None], json_of: Callable[[Design], str]) -> Callable[..., None]:
    """Make a command that designs and then shows the result in its own way."""

    def command(
        strata: Annotated[
            Path,
            typer.Argument(
                help="Table of strata: CSV (comma, semicolon, tab), Parquet or Excel, with columns stratum, "
                "size and sd (or variance, proportion, or sd_low and sd_high).",
                show_default=False,
            ),
        ],
        epsilon: Annotated[float, _option("Central privacy budget of every person, 1e-6 to 100.", SURVEY)],
        total: Annotated[int | None, _option("People to invite in all strata together.", QUESTION)] = None,
        mechanism: Annotated[Mechanism, _option("What noises an answer.", SURVEY)] = _LAPLACE,
        objective: Annotated[
            Objective,
            _option(
                "mean: variance of the population mean. trace: sum of the stratum variances. "
                "unit_free: the same relative to each stratum's own variance. custom: column coefficient.",
                SURVEY,
            ),
        ] = Objective.mean,
        answers: Annotated[
            str, _option("What can be answered: lower:upper, lower:upper:step or binary.", SURVEY)
        ] = "0:1",
        finite_population: Annotated[
            bool,
            _option("Count that a stratum asked completely has no sampling error.", SURVEY),
        ] = True,
        confidence: Annotated[float, _option("Level of intervals.", SURVEY)] = 0.95,
        min_per_stratum: Annotated[
            int, _option("Fewest people to invite in a stratum; smaller strata are taken whole.", BOUNDS)
        ] = 1,
        min_fraction: Annotated[float, _option("Smallest sampling rate in a stratum.", BOUNDS)] = 0.0,
        max_fraction: Annotated[float, _option("Largest sampling rate in a stratum.", BOUNDS)] = 1.0,
        out: Annotated[
            Path | None,
            _option("Write the design document (.json) or its table (.csv, .parquet, .xlsx).", OUTPUT),
        ] = None,
        json: Annotated[bool, _option("Print JSON alone on standard output.", OUTPUT)] = False,
        at_most: Annotated[
            int | None, _option("Most people to invite; fewer if that is better.", QUESTION)
        ] = None,
        budget: Annotated[float | None, _option("Most that all invitations may cost.", LATER)] = None,
        target_se: Annotated[
            float | None, _option("Standard error to reach with as few people as can be.", QUESTION)
        ] = None,
        target_margin: Annotated[
            float | None, _option("Margin of error at --confidence to reach.", QUESTION)
        ] = None,
        target_cv: Annotated[float | None, _option("Coefficient of variation to reach.", LATER)] = None,
        delta: Annotated[float, _option("Probability with which the promise may fail.", LATER)] = 0.0,
        questions: Annotated[int, _option("Questions asked of the same people.", SURVEY)] = 1,
        trust: Annotated[Trust, _option("Who may see raw answers.", LATER)] = Trust.local,
        local_epsilon_cap: Annotated[
            float | None, _option("Most that one noised answer may spend.", LATER)
        ] = None,
        domains: Annotated[list[str] | None, _option("Columns that group strata.", LATER)] = None,
    ) -> None:
        from dpstrata.model.answers import parse_answers
        from dpstrata.model.strata import Strata
        from dpstrata.planning import design

        allowed = parse_answers(answers)
        plan = design(
            Strata.from_file(strata, answers=allowed),
            epsilon=epsilon,
            delta=delta,
            total=total,
            at_most=at_most,
            budget=budget,
            target_se=target_se,
            target_margin=target_margin,
            target_cv=target_cv,
            mechanism=mechanism.value,
            objective=_literal(objective),
            answers=allowed,
            questions=questions,
            trust="curator" if trust is Trust.curator else "local",
            local_epsilon_cap=local_epsilon_cap,
            min_per_stratum=min_per_stratum,
            min_fraction=min_fraction,
            max_fraction=max_fraction,
            domains=domains or None,
            confidence=confidence,
            finite_population=finite_population,
        )
        if out is not None:
            plan.save(out)
        if json:
            typer.echo(json_of(plan))
        else:
            show(plan)
            if out is not None:
                typer.echo(f"Written to {out}.")

    return command


def _literal(objective: Objective) -> Literal["mean", "trace", "unit_free", "custom"]:
    return objective.value


def _show_design(plan: Design) -> None:
    from dpstrata.cli.screen import print_paragraph, print_table
    from dpstrata.model.summary import comparison_table, sentences, strata_table

    print_table(strata_table(plan))
    print_table(comparison_table(plan))
    for sentence in sentences(plan):
        print_paragraph(sentence)


def _show_comparison(plan: Design) -> None:
    from dpstrata.cli.screen import print_table
    from dpstrata.model.summary import comparison_table

    print_table(comparison_table(plan))


def _design_json(plan: Design) -> str:
    from dpstrata.model.output import to_json

    return to_json(plan)


def _comparison_json(plan: Design) -> str:
    import json

    return json.dumps(plan.to_dict()["comparison"], indent=1)


design_command = _command(_show_design, _design_json)
compare_command = _command(_show_comparison, _comparison_json)
