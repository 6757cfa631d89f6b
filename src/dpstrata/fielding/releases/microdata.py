"""Every report, shuffled within its stratum."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from dpstrata.designs.record import Design
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.collected import Collected, report_keys
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.releases.fielding import Fielding
from dpstrata.fielding.releasing import Batch, Publication, Released
from dpstrata.words.designs import other_releases_in_words

CHUNK = 50_000


class MicrodataFielding(Fielding):
    """Randomise every answer that is raw, and publish all reports."""

    def publication(self, batch: Batch, progress: Callable[[int], None]) -> Publication:
        """Draw everything anew: no noise is kept."""
        return Publication(lambda entry: self.published(batch.plan, batch.collected, progress))

    def notes(self, batch: Batch, released: Released) -> list[str]:
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
            for start in range(0, len(given), CHUNK):
                some = given[start : start + CHUNK]
                made = some if collected.from_devices else randomizers[key.form].randomized(key.stratum, some)
                sent += [(key.form, report) for report in made]
                progress(len(some))
        for stratum, sent in reports.items():
            secrets.SystemRandom().shuffle(sent)
            columns[STRATUM] += [stratum] * len(sent)
            for form, report in sent:
                cells = randomizers[form].published(report)
                for name in heads:
                    columns[name].append(cells.get(name))
        return columns
