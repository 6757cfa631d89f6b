"""What a form of release must do in the field."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.fielding.grid_noise import check_answers, noise_at, on_grid


class Fielding:
    """How answers are noised, and what is published of them."""

    def noise_answers(self, plan: Design, stratum: str, answers: npt.ArrayLike) -> npt.NDArray[Any]:
        """Noise answers of different people of one stratum before anyone sees them, if it is done at all.

        Raises
        ------
        InputError
            If single answers are not noised.
        """
        noise = noise_at(plan, stratum)
        k = on_grid(plan, check_answers(plan, stratum, answers), noise)
        return plan.inputs.space.at_shares(noise.shares(noise.randomize(k)))
