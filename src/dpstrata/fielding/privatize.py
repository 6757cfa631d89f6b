"""Noising a batch of answers at the office: of those drawn, shuffled, without ids, on the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import ANSWER
from dpstrata.fielding.releases import fielding_of
from dpstrata.fielding.releases.microdata import MicrodataFielding
from dpstrata.fielding.releases.rows import RowsFielding
from dpstrata.fielding.releasing import Batch, Files, Publication, Released, read_batch, release
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.words.choice import other_releases_in_words

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


def privatize(
    design: str | Path,
    answers: str | Path | IntoFrame,
    *,
    sample: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    answer: str = ANSWER,
    out: str | Path,
    key_file: str | Path,
    sheet: str | None = None,
    again: bool = False,
    accept_response: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Released:
    """Noise the answers of a sample and write them, shuffled within strata and without ids.

    Whoever runs this holds raw answers, so only the central promise is left: the local one needs answers that
    are noised on the respondent's side. Anything that prevents a release is found before anything is spent.
    Designs that publish sums need :func:`publish` instead.

    Parameters
    ----------
    design : path
        The design document; the ledger ``ledger.json`` is kept beside it, with the key ``ledger.key`` by
        which it recognises people.
    answers : path or data frame
        Table with the columns ``id``, ``stratum`` and ``answer``. Numbers may have decimal commas; yes, no,
        true and false are 1 and 0 where the design's question is yes or no, and categories are written by
        name. People who left the answer blank count as people who did not answer.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it, and must be of this design and key.
    id, stratum : str, str or sequence of str, optional
        Names of the columns of the ids and of the stratum, or of the columns that were crossed; by default
        those of the draw.
    answer : str
        Name of the column of the answers.
    out : path
        Noised answers (``.csv``, ``.parquet``, ``.xlsx``), with the columns ``stratum`` and ``answer``. It
        must not exist yet.
    key_file : path
        The key of the draw.
    sheet : str, optional
        Sheet of the answers, if they are an Excel file; by default the first.
    again : bool
        Whether to release even though something was released before: everyone's losses add up, and those of
        the same sample add up before the sample hides anyone.
    accept_response : bool
        Whether to release even though more may be lost than the design promises, because too few people
        answered; the ledger counts that loss.
    progress : callable, optional
        Called with the number of answers noised since the last call.

    Raises
    ------
    InputError
        For answers of people who were not drawn, answers that cannot be read or lie outside the range of the
        design, a design that does not state its range, no answer at all, a response that contradicts the
        design, and releases that need ``again``; nobody and no answer is named, and nothing is spent.
    """
    files = Files.given(design=design, answers=answers, sample=sample, out=out, key_file=key_file)
    plan = Design.read(files.design)
    if plan.inputs.release != Microdata.name:
        raise InputError(
            f"privatize noises answers that are published one by one, got a design with "
            f"{option(OPTION, plan.inputs.release)}, which publishes none. Use publish."
        )
    batch = read_batch(
        plan,
        files,
        answers,
        id=id,
        stratum=stratum,
        answer=answer,
        sheet=sheet,
        accept_response=accept_response,
    )
    return privatize_batch(batch, again=again, progress=progress)


def privatize_batch(batch: Batch, *, again: bool, progress: Callable[[int], None] | None = None) -> Released:
    """Release answers that can all be released, one by one, wherever they come from."""
    plan, step = batch.plan, progress or (lambda number: None)
    noising = fielding_of(plan)
    assert isinstance(noising, MicrodataFielding | RowsFielding)
    publication = Publication(lambda entry: noising.noised(plan, batch.answers, step))
    released = release(batch, publication, again=again)
    return replace(released, notes=(*released.notes, *other_releases_in_words(plan, released=True)))
