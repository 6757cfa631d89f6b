"""``dpstrata choose-range``: the range to which amounts are clipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dpstrata.cli.options import Json, TableOut
from dpstrata.cli.refusals import flag
from dpstrata.errors import InputError, Mention


class Aims(StrEnum):
    """What a range can be chosen for."""

    trusted = "trusted"
    least_error = "least_error"


def choose_range_command(
    prior: Annotated[
        str,
        typer.Argument(
            help="What is publicly expected of the amounts: lognormal:MU:SIGMA, gamma:SHAPE:SCALE, or a "
            "table of reference values (CSV, Parquet or Excel).",
            show_default=False,
        ),
    ],
    sample_size: Annotated[int | None, typer.Option(help="Number of answers that are expected.")] = None,
    local_epsilon: Annotated[float | None, typer.Option(help="Budget of the noise of one answer.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="A first design (.json), with any range, in place of both and of the mechanism."
        ),
    ] = None,
    lower: Annotated[float, typer.Option(help="Lower end of the range.")] = 0.0,
    aim: Annotated[
        Aims,
        typer.Option(
            help="trusted: a bias of at most a quarter of the standard error. least_error: the least mean "
            "square error."
        ),
    ] = Aims.trusted,
    mechanism: Annotated[str, typer.Option(help="Noise mechanism; best picks the least noise.")] = "best",
    column: Annotated[str | None, typer.Option(help="Column of the reference values.")] = None,
    out: TableOut = None,
    json: Json = False,
) -> None:
    """Choose the range to which amounts are clipped, from what is publicly expected of them."""
    from json import dumps

    from dpstrata.cli.screen import print_paragraph, print_table
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.choose_range import choose_range
    from dpstrata.planning.load import load_design
    from dpstrata.words.what_if import range_sentences, range_table

    require_apart(Path(prior), plan, out)
    with _prior_in_capitals():
        found = choose_range(
            prior,
            sample_size=sample_size,
            local_epsilon=local_epsilon,
            plan=None if plan is None else load_design(plan),
            lower=lower,
            aim=aim.value,
            mechanism=mechanism,
            column=column,
        )
    if out is not None:
        write_result(found.table(), out)
    if json:
        typer.echo(dumps(found.to_dict(), indent=1))
        return
    print_table(range_table(found))
    for sentence in range_sentences(found):
        print_paragraph(sentence)


@contextmanager
def _prior_in_capitals() -> Iterator[None]:
    """Name the prior as the help of this command does: it is no option here."""

    def named(mention: Mention) -> str:
        if mention.name != "prior":
            return flag(mention)
        return mention.value or "PRIOR"

    try:
        yield
    except InputError as error:
        if error.argument != "prior":
            raise
        raise InputError(error.sentence.worded(named)) from None
