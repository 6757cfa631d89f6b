"""Releasing answers: randomised one by one at the office, or added up with its noise, drawn once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.releasing import Batch, Files, Released, read_batch, release
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.microdata import Microdata

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


def privatize(
    design: str | Path,
    answers: str | Path | IntoFrame,
    *,
    sample: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    out: str | Path,
    key_file: str | Path,
    sheet: str | None = None,
    again: bool = False,
    accept_response: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Released:
    """Randomise the answers of a sample and write them, shuffled within strata and without ids.

    Whoever holds raw answers is left with the central promise alone: the local one needs answers that are
    randomised on the respondent's side. Anything that prevents a release is found before anything is spent.
    Designs that publish sums or a mean need :func:`publish` instead.

    Parameters
    ----------
    design : path
        The design document; the ledger ``ledger.json`` is kept beside it, with the key ``ledger.key`` by
        which it recognises people.
    answers : path or data frame
        Table with the columns of ``id`` and ``stratum``, and one for each question by its name; the question
        of a shorthand is called ``answer``. Numbers may have decimal commas; yes and no may be yes, no, true,
        false, 1 and 0; categories are written by name. People who left a question blank count as people who
        did not answer, unless it may be left blank: then that is an answer. On forms of several questions,
        the table may have the column ``cell`` instead, with what devices sent.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it, and must be of this design and key.
    id, stratum : str, str or sequence of str, optional
        Names of the columns of the ids and of the stratum, or of the columns that were crossed; by default
        those of the draw.
    out : path
        Noised answers (``.csv``, ``.parquet``, ``.xlsx``), with the stratum and a column for each question,
        and the columns ``form`` and ``cell`` where rows are randomised. It must not exist yet.
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
    batch = _read_batch(
        design,
        answers,
        one_by_one=True,
        sample=sample,
        out=out,
        key_file=key_file,
        id=id,
        stratum=stratum,
        sheet=sheet,
        accept_response=accept_response,
    )
    return release(batch, again=again, progress=progress)


def publish(
    design: str | Path,
    answers: str | Path | IntoFrame,
    *,
    sample: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    out: str | Path,
    key_file: str | Path,
    sheet: str | None = None,
    again: bool = False,
    accept_response: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Released:
    """Add up the answers of every stratum, add the office's noise, and write the results with their counts.

    The noise of sums depends on the design alone; that of a mean also on how many answers came. It is drawn
    once, kept until the results are in place, and taken up by a run that follows one that was killed.
    Anything that prevents a release is found before anything is spent. No single answer is written.

    Parameters
    ----------
    design : path
        The document of a design with ``release="sums"`` or ``release="mean"``; the ledger ``ledger.json`` is
        kept beside it, with the key ``ledger.key`` by which it recognises people, and for the moment
        ``office.noise``.
    answers : path or data frame
        Table as :func:`privatize` takes it. What devices sent is the ``value`` of :func:`randomize`: of one
        answer with noise, in the column of the question, with all digits; of a row, in the column ``cell``.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it, and must be of this design and key.
    id, stratum : str, str or sequence of str, optional
        Names of the columns of the ids and of the stratum, or of the columns that were crossed; by default
        those of the draw.
    out : path
        The sums (``.csv``, ``.parquet``, ``.xlsx``), with the columns ``stratum``, ``sum`` and ``answers``,
        the number of them; of rows, a row for every entry of every table, with the columns ``stratum``,
        ``form``, ``table``, ``entry``, ``count`` and ``answers``; or the figures, with the columns
        ``column``, ``group``, ``mean`` and ``answers``, followed by a row with the number of answers of every
        stratum. It must not exist yet.
    key_file : path
        The key of the draw.
    sheet : str, optional
        Sheet of the answers, if they are an Excel file; by default the first.
    again : bool
        Whether to release although something was released before: everyone's losses add up, and those of the
        same sample add up before it hides anyone.
    accept_response : bool
        Whether to release although so few people answered that more may be lost than the design promises;
        the ledger counts that loss.
    progress : callable, optional
        Called with the number of answers added up since the last call.

    Raises
    ------
    InputError
        For answers of people who were not drawn, reports that this design's devices cannot send, answers
        outside the range of the design, no answer at all, a response that contradicts the design, and
        releases that need ``again``; nobody and no answer is named, and nothing is spent.
    """
    batch = _read_batch(
        design,
        answers,
        one_by_one=False,
        sample=sample,
        out=out,
        key_file=key_file,
        id=id,
        stratum=stratum,
        sheet=sheet,
        accept_response=accept_response,
    )
    return release(batch, again=again, progress=progress)


def _read_batch(
    design: str | Path,
    answers: str | Path | IntoFrame,
    *,
    one_by_one: bool,
    sample: str | Path,
    out: str | Path,
    key_file: str | Path,
    **how_to_read: Any,
) -> Batch:
    """Read design and answers, and require that answers are published one by one, or that they are not."""
    files = Files.given(design=design, answers=answers, sample=sample, out=out, key_file=key_file)
    plan = Design.read(files.design)
    asked = option(OPTION, plan.inputs.release)
    if one_by_one and plan.inputs.release != Microdata.name:
        raise InputError(
            f"privatize noises answers that are published one by one, got a design with {asked}, which "
            "publishes none. Use publish."
        )
    if not one_by_one and plan.inputs.release == Microdata.name:
        raise InputError(
            f"publish adds answers up, got a design with {asked}, whose noised answers are published one "
            "by one. Use privatize."
        )
    return read_batch(plan, files, answers, **how_to_read)
