"""How the office makes what is published of answers: a class for each form of ``survey.releases``."""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import COLUMN, COUNT, GROUP, MEAN, STRATUM, place_of
from dpstrata.fielding.collected import Collected, report_keys
from dpstrata.fielding.figure_grid import FigureGrid, figure_grids
from dpstrata.fielding.office_noise import NoiseKept
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.randomizers.randomizer import Figures
from dpstrata.fielding.sample import ReportKey
from dpstrata.numerics.arrays import IntArray
from dpstrata.words.designs import other_releases_in_words
from dpstrata.words.released import raw_rows_in_words

if TYPE_CHECKING:
    from dpstrata.fielding.ledger import Entry
    from dpstrata.fielding.releasing import Batch

Columns = dict[str, list[Any]]
_AT_ONCE = 50_000  # answers that are randomised between two reports of progress


class Fielding(ABC):
    """How what is published is made of answers."""

    @abstractmethod
    def make(self, batch: Batch, entry: Entry, progress: Callable[[int], None]) -> Columns:
        """Make the table that is published: draw noise that was not drawn for it, and no other.

        Parameters
        ----------
        batch : Batch
            Answers that can all be released.
        entry : Entry
            What the ledger says of the release.
        progress : function
            Called with the number of answers that were noised or added up since the last call.
        """

    def made_before(self, batch: Batch, entry: Entry) -> Columns | None:
        """Make the same table again for a release that was cut short, if its noise is known."""
        return None

    def done(self, batch: Batch, entry: Entry) -> None:  # noqa: B027
        """Forget the noise of a release whose table is in place."""

    @abstractmethod
    def notes(self, batch: Batch) -> list[str]:
        """Say what else is to be said of a release, in sentences."""


class MicrodataFielding(Fielding):
    """Randomise every answer that is raw, and publish all reports."""

    def make(self, batch: Batch, entry: Entry, progress: Callable[[int], None]) -> Columns:
        """Draw everything anew: no noise is kept."""
        return self.published(batch.plan, batch.collected, progress)

    def notes(self, batch: Batch) -> list[str]:
        """Say what other releases would have given."""
        return other_releases_in_words(batch.plan, released=True)

    def published(
        self, plan: Design, collected: Collected, progress: Callable[[int], None]
    ) -> dict[str, list[Any]]:
        """Make the table that is published: reports of all forms, shuffled within strata."""
        randomizers, names = randomizers_of(plan), plan.inputs.questions.names
        heads = (*randomizers[0].marks, *names)
        columns: dict[str, list[Any]] = {name: [] for name in (STRATUM, *heads)}
        reports: dict[str, list[tuple[int, Any]]] = {name: [] for name in sorted(plan.strata.names)}
        for key in report_keys(plan):
            given, sent = collected.of(key), reports[plan.strata.name(key.stratum)]
            for start in range(0, len(given), _AT_ONCE):
                some = given[start : start + _AT_ONCE]
                made = some if collected.from_devices else randomizers[key.form].randomized(key.stratum, some)
                sent += [(key.form, report) for report in made]
                progress(len(some))
        for stratum, sent in reports.items():
            secrets.SystemRandom().shuffle(sent)
            columns[STRATUM] += [stratum] * len(sent)
            for form, report in sent:
                cells = randomizers[form].published(place_of(plan, stratum), report)
                for name in heads:
                    columns[name].append(cells.get(name))
        return columns


class SumsFielding(Fielding):
    """Add answers up, and noise every sum, once."""

    def _kept(self, batch: Batch) -> NoiseKept:
        """Open what keeps the office's noise from when it is drawn until what it is in has been published."""
        path = batch.files.design.with_name("office.noise")
        return NoiseKept(path, self.drawn_for(batch.plan, batch.counts))

    def make(self, batch: Batch, entry: Entry, progress: Callable[[int], None]) -> Columns:
        """Add up, with noise that is drawn once."""
        return self._kept(batch).make(
            entry,
            batch.digest,
            lambda: self.draw_office_noise(batch.plan, batch.counts),
            lambda noise: self.published(batch.plan, batch.collected, noise, progress),
        )

    def made_before(self, batch: Batch, entry: Entry) -> Columns | None:
        """Return the table that is kept."""
        return self._kept(batch).table(entry)

    def done(self, batch: Batch, entry: Entry) -> None:
        """Keep nothing of it."""
        self._kept(batch).forget(entry)

    def notes(self, batch: Batch) -> list[str]:
        """Say what is left where the office had raw answers that devices could have randomised."""
        return [raw_rows_in_words(batch.response)] if batch.raw else []

    def drawn_for(self, plan: Design, counts: IntArray) -> str:
        """Name what the office's noise depends on beside the design: nothing."""
        return ""

    def draw_office_noise(self, plan: Design, counts: IntArray) -> dict[str, int]:
        """Draw the office's noise for every number that is published, however many answers came."""
        randomizers = randomizers_of(plan)
        return {
            _label(key, entry): number
            for key in report_keys(plan)
            for entry, number in enumerate(randomizers[key.form].draw_office_noise(key.stratum))
        }

    def published(
        self,
        plan: Design,
        collected: Collected,
        noise: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Make the table that is published: the sums of every form, stratum by stratum."""
        randomizers, from_devices = randomizers_of(plan), collected.from_devices
        entries = {key: range(randomizers[key.form].entries) for key in report_keys(plan)}
        require_noise_for(noise, [_label(key, entry) for key in entries for entry in entries[key]])
        heads = (STRATUM, *randomizers[0].sum_columns)
        columns: dict[str, list[Any]] = {name: [] for name in heads}
        for key in entries:
            answers, drawn = collected.of(key), [noise[_label(key, entry)] for entry in entries[key]]
            sums = randomizers[key.form].noised_sums(key.stratum, answers, drawn, from_devices=from_devices)
            for cells in sums:
                for name, cell in zip(heads, (plan.strata.name(key.stratum), *cells), strict=True):
                    columns[name].append(cell)
            progress(len(answers))
        return columns


def require_noise_for(noise: Mapping[str, int], labels: Iterable[str]) -> None:
    """Require that noise that was kept is that of what is published."""
    if set(noise) != set(labels):
        raise InputError("the office's noise that was kept must be that of this design, got others.")


def _label(key: ReportKey, entry: int) -> str:
    """Name a published number by its places, which are never the same for two of them."""
    return f"{key.stratum}/{key.part}/{key.form}/{entry}"


class MeanFielding(SumsFielding):
    """Weight the means of the strata, and noise each figure once."""

    def drawn_for(self, plan: Design, counts: IntArray) -> str:
        """Name what noise depends on beside the design: the numbers of answers, which set its scale."""
        return hashlib.sha256(",".join(map(str, counts.tolist())).encode()).hexdigest()

    def draw_office_noise(self, plan: Design, counts: IntArray) -> dict[str, int]:
        """Draw the noise of every figure."""
        figures = randomizers_of(plan)[0].figures
        drawn: dict[str, int] = {}
        for each in figure_grids(plan, counts):
            labels = _labels(each, figures[each.question])
            drawn |= zip(labels, each.draw_noise(len(labels)), strict=True)
        return drawn

    def published(
        self,
        plan: Design,
        collected: Collected,
        noise: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Make the table that is published: the figures, then the number of answers of every stratum."""
        (randomizer,) = randomizers_of(plan)
        figures, totals, counts = randomizer.figures, [], []
        for key in report_keys(plan):
            answers = randomizer.as_sent(key.stratum, collected.of(key), from_devices=collected.from_devices)
            totals.append([each.add_up(key.stratum, answers) for each in figures])
            counts.append(len(answers))
            progress(counts[-1])
        heads = (*randomizer.figure_columns, COLUMN, GROUP, MEAN, COUNT)
        columns: dict[str, list[Any]] = {name: [] for name in heads}

        def row(of: tuple[str, str], column: str, group: str, mean: float | None, count: int) -> None:
            cells = (*of[: len(randomizer.figure_columns)], column, group, mean, count)
            for name, cell in zip(heads, cells, strict=True):
                columns[name].append(cell)

        m = np.array(counts, dtype=np.int64)
        grids = figure_grids(plan, m)
        require_noise_for(noise, [label for each in grids for label in _labels(each, figures[each.question])])
        for each in grids:
            of = figures[each.question]
            for entry, label in enumerate(_labels(each, of)):
                steps = each.noised_steps([total[each.question][entry] for total in totals], noise[label])
                count = int(m[each.strata].sum())
                row((of.label, of.entries[entry]), each.column, each.group, of.figure(steps), count)
        named = {(each.question, each.column, each.group) for each in grids}
        for j, of in enumerate(figures):
            for figure in plan.figures:
                if (j, figure.column, figure.group) not in named:
                    for name in of.entries:
                        row((of.label, name), figure.column, figure.group, None, 0)
        if STRATUM not in columns[COLUMN]:
            for name, count in zip(plan.strata.names, counts, strict=True):
                row(("", ""), STRATUM, name, None, count)
        return columns


def _labels(grid: FigureGrid, figures: Figures) -> list[str]:
    """Name the noise of figures by their places."""
    return [f"{grid.question}/{entry}/{grid.column}={grid.group}" for entry in range(len(figures.entries))]


FIELDINGS: dict[str, type[Fielding]] = {
    "microdata": MicrodataFielding,
    "sums": SumsFielding,
    "mean": MeanFielding,
}


def fielding_of(plan: Design) -> Fielding:
    """Return how what a design releases is made."""
    return FIELDINGS[plan.inputs.release]()
