"""``dpstrata solve-epsilon``: the smallest budget that reaches a precision."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dpstrata.cli.cmd_design import DesignOut
from dpstrata.cli.options import PRIVACY, Json, StrataFile, read_survey, takes_options


class Budgets(StrEnum):
    """Budgets that can be solved for."""

    epsilon = "epsilon"
    device_epsilon = "device_epsilon"


@takes_options("total")
def solve_epsilon_command(
    strata: StrataFile,
    solve_for: Annotated[
        Budgets, typer.Option(help="Which budget to find.", rich_help_panel=PRIVACY)
    ] = Budgets.epsilon,
    digits: Annotated[
        int, typer.Option(help="How many digits the budget has, from 1 to 6.", rich_help_panel=PRIVACY)
    ] = 3,
    out: DesignOut = None,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Find the smallest epsilon, or device epsilon, that reaches a precision; prove that less does not."""
    from json import dumps

    from dpstrata.cli.screen import print_paragraph, print_table
    from dpstrata.files.writing import require_apart
    from dpstrata.planning.solve_epsilon import solve_epsilon
    from dpstrata.words.what_if import budget_sentences, budget_table

    require_apart(strata, out)
    survey, given = read_survey(strata, options)
    found = solve_epsilon(survey, solve_for=solve_for.value, digits=digits, **given)
    if out is not None:
        found.design.save(out)
    if json:
        typer.echo(dumps(found.to_dict(), indent=1))
        return
    for sentence in budget_sentences(found):
        print_paragraph(sentence)
    print_table(budget_table(found))
    if out is not None:
        typer.echo(f"Written to {out}.")
