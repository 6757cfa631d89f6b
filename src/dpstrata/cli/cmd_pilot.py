"""``dpstrata pilot`` and ``main-design``: two waves, the second designed from the first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.options import (
    OUTPUT,
    PRIVACY,
    QUESTION,
    QUESTION_NAMES,
    Full,
    Json,
    StrataFile,
    takes_options,
)
from dpstrata.privacy.promises import OTHER_THAN_EPSILON

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

WaveOut = Annotated[
    Path | None, typer.Option(help="Write the design document (.json).", rich_help_panel=OUTPUT)
]
_LEFT_OUT = (
    *OTHER_THAN_EPSILON,
    "release",
    "device_epsilon",
    *(name for name in QUESTION_NAMES if name != "total"),
)


@takes_options(*_LEFT_OUT)
def pilot_command(
    strata: StrataFile,
    pilot_epsilon: Annotated[
        float, typer.Option(help="Part of --epsilon that the first wave spends.", rich_help_panel=PRIVACY)
    ],
    pilot_total: Annotated[
        int,
        typer.Option(
            help="Number of people, out of --total, to invite in the first wave.", rich_help_panel=QUESTION
        ),
    ],
    out: WaveOut = None,
    full: Full = False,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Design a small first wave that estimates the spreads; --epsilon and --total cover both waves."""
    from dpstrata.cli.options import read_survey
    from dpstrata.errors import InputError, option
    from dpstrata.files.writing import require_apart
    from dpstrata.pilots.pilot import pilot

    require_apart(strata, out)
    survey, given = read_survey(strata, options)
    if not {"epsilon", "total"} <= set(given):
        raise InputError(
            f"a pilot needs {option('epsilon')} and {option('total')}, each for both waves together."
        )
    first = pilot(survey, pilot_epsilon=pilot_epsilon, pilot_total=pilot_total, **given)
    _show(first, out, full=full, json=json)
    if not json:
        typer.echo("Draw and noise this wave like any other survey, then run dpstrata main-design.")


def main_design_command(
    pilot: Annotated[Path, typer.Argument(help="The design document of the first wave.", show_default=False)],
    noised: Annotated[
        Path, typer.Argument(help="Table of the noised answers from the first wave.", show_default=False)
    ],
    stratum: Annotated[str, typer.Option(help="Column with the stratum.")] = "stratum",
    out: WaveOut = None,
    full: Full = False,
    json: Json = False,
) -> None:
    """Design the main wave from the noised answers of a pilot."""
    from dpstrata.fielding.answer_files import open_answers, read_noised
    from dpstrata.fielding.ledger import check_release
    from dpstrata.files.writing import require_apart
    from dpstrata.pilots.pilot import main_design
    from dpstrata.planning.load import load_design

    require_apart(pilot, noised, out)
    first = load_design(pilot)
    main = main_design(first, *read_noised(open_answers(noised), stratum, first.inputs.question.name))
    check_release(first, noised, pilot)
    _show(main, out, full=full, json=json)


def _show(plan: Design, out: Path | None, *, full: bool, json: bool) -> None:
    from dpstrata.cli.screen import print_design
    from dpstrata.designs.document import to_json
    from dpstrata.words.design_tables import strata_table

    if out is not None:
        plan.save(out)
    if json:
        typer.echo(to_json(plan))
        return
    print_design(plan, [strata_table(plan)], full=full)
    if out is not None:
        typer.echo(f"Written to {out}.")
