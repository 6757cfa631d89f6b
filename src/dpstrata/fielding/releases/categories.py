"""Every noised answer, shuffled within its stratum, where answers are categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.fielding.grid_noise import check_answers, noise_at
from dpstrata.fielding.releases.microdata import MicrodataFielding

if TYPE_CHECKING:
    pass


class CategoriesFielding(MicrodataFielding):
    """Noise and publish the names of categories."""

    def noise_answers(self, plan: Design, stratum: str, answers: npt.ArrayLike) -> npt.NDArray[Any]:
        """Keep every name, or replace it by another one."""
        noise = noise_at(plan, stratum)
        given = check_answers(plan, stratum, answers).astype(np.int64)
        return np.array(plan.inputs.question.names, dtype=object)[noise.randomize(given)]
