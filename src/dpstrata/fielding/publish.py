"""Publishing sums or a mean: reports are added up, the office's noise is drawn once, no answer is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import ANSWER
from dpstrata.fielding.office_noise import NoiseKept
from dpstrata.fielding.releases import fielding_of
from dpstrata.fielding.releases.sums import SumsFielding
from dpstrata.fielding.releases.tables import TablesFielding
from dpstrata.fielding.releasing import Batch, Columns, Files, Publication, Released, read_batch, release
from dpstrata.survey.releases import OPTION
from dpstrata.words.released import raw_rows_in_words

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


def publish(
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
        Table with the columns ``id``, ``stratum`` and ``answer``. With a device budget the answers are what
        :func:`noise_answer` gave on devices, with all digits; without one they are raw answers, as
        :func:`privatize` takes them, and blanks count as people who did not answer.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it, and must be of this design and key.
    id, stratum : str, str or sequence of str, optional
        Names of the columns of the ids and of the stratum, or of the columns that were crossed; by default
        those of the draw.
    answer : str
        Name of the column of the answers.
    out : path
        The sums (``.csv``, ``.parquet``, ``.xlsx``), with the columns ``stratum``, ``sum`` and ``answers``,
        the number of them; or the figures, with the columns ``column``, ``group``, ``mean`` and ``answers``,
        followed by a row with the number of answers of every stratum. It must not exist yet.
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
    files = Files.given(design=design, answers=answers, sample=sample, out=out, key_file=key_file)
    plan = Design.read(files.design)
    fielding = fielding_of(plan)
    if not isinstance(fielding, SumsFielding | TablesFielding):
        raise InputError(
            f"publish adds answers up, got a design with {option(OPTION, plan.inputs.release)}, whose noised "
            "answers are published one by one. Use privatize."
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
    if isinstance(fielding, SumsFielding):
        fielding.check_reports(plan, batch.answers)
    return publish_batch(batch, again=again, progress=progress)


def publish_batch(batch: Batch, *, again: bool, progress: Callable[[int], None] | None = None) -> Released:
    """Publish answers that can all be released, wherever they come from."""
    plan, counts = batch.plan, batch.counts
    fielding = fielding_of(plan)
    assert isinstance(fielding, SumsFielding | TablesFielding)
    kept = NoiseKept(
        batch.files.design.with_name("office.noise"), batch.digest, fielding.drawn_for(plan, counts)
    )

    def table(noise: Mapping[str, int]) -> Columns:
        return fielding.published(plan, batch.answers, noise, progress or (lambda number: None))

    publication = Publication(
        lambda entry: kept.make(entry, lambda: fielding.draw_office_noise(plan, counts), table),
        kept.table,
        kept.forget,
    )
    released = release(batch, publication, again=again)
    if not plan.inputs.rows or released.from_devices:
        return released
    return replace(released, notes=(*released.notes, raw_rows_in_words(released.response)))
