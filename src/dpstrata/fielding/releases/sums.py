"""What every form publishes of each stratum: noised sums, with the number of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.collected import Collected, report_keys
from dpstrata.fielding.office_noise import NoiseKept
from dpstrata.fielding.published_columns import STRATUM
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.releases.fielding import Fielding
from dpstrata.fielding.releasing import Batch, Publication, Released
from dpstrata.fielding.sample import ReportKey
from dpstrata.numerics.arrays import IntArray
from dpstrata.words.released import raw_rows_in_words


class SumsFielding(Fielding):
    """Add answers up, and noise every sum, once."""

    def publication(self, batch: Batch, progress: Callable[[int], None]) -> Publication:
        """Keep the office's noise from when it is drawn until what it is in has been published."""
        plan, counts = batch.plan, batch.counts
        kept = NoiseKept(
            batch.files.design.with_name("office.noise"), batch.digest, self.drawn_for(plan, counts)
        )
        return Publication(
            lambda entry: kept.make(
                entry,
                lambda: self.draw_office_noise(plan, counts),
                lambda noise: self.published(plan, batch.collected, noise, progress),
            ),
            kept.table,
            kept.forget,
        )

    def notes(self, batch: Batch, released: Released) -> list[str]:
        """Say what is left where the office had raw answers that devices could have randomised."""
        return [raw_rows_in_words(released.response)] if batch.raw else []

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
