"""Every noised answer, shuffled within its stratum."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpstrata.designs.record import Design
from dpstrata.fielding.answer_files import ANSWER, STRATUM
from dpstrata.fielding.releases.base import Fielding

if TYPE_CHECKING:
    pass

CHUNK = 50_000


class MicrodataFielding(Fielding):
    """Noise every answer, and publish all of them."""

    def noised(
        self, plan: Design, answers: Mapping[str, Sequence[Any]], progress: Callable[[int], None]
    ) -> dict[str, list[Any]]:
        """Noise every answer, and shuffle within strata."""
        columns: dict[str, list[Any]] = {STRATUM: [], ANSWER: []}
        for name in sorted(answers):
            given, noised = answers[name], []
            for start in range(0, len(given), CHUNK):
                noised += self.noise_answers(plan, name, given[start : start + CHUNK]).tolist()
                progress(min(CHUNK, len(given) - start))
            secrets.SystemRandom().shuffle(noised)
            columns[STRATUM] += [name] * len(noised)
            columns[ANSWER] += noised
        return columns
