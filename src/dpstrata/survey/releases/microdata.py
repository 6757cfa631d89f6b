"""Every noised answer is published: what the paper has, and nobody need be trusted with an answer."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import counted, factor_up, round_up

LARGE_LOCAL_EPSILON = 8.0


class Microdata(Release):
    """Every answer is noised before anyone sees it, and all noised answers are published, shuffled."""

    __slots__ = ()

    name: ClassVar[str] = "local"
    noise_power: ClassVar[Literal[1, 2]] = 1
    shows_spread: ClassVar[bool] = True

    who_noises: ClassVar[str] = "answers are noised one by one"
    noise_goes_to: ClassVar[str] = "an answer"
    noise_sd_of: ClassVar[str] = "an answer"
    published: ClassVar[str] = "a single noised answer"
    published_one: ClassVar[str] = "one noised answer"
    to_know: ClassVar[str] = "who gave it"
    assumption: ClassVar[str] = "noised answers are shuffled or added up before anything is released"
    whoever_sees: ClassVar[str] = (
        "If answers are noised before anyone else sees them, whoever sees those of one person"
    )

    def simulated_answers(
        self, mechanism: Mechanism, shares: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every answer."""
        return mechanism.simulated_release(shares, e, generator)

    def local_in_words(self, largest: float, *, questions: int) -> str:
        """Say what one person's noised answers tell."""
        answers = "all noised answers of one person" if questions > 1 else "a single noised answer"
        gave = "them" if questions > 1 else "it"
        return (
            f"If answers are noised before anyone else sees them, whoever sees {answers} and knows who gave "
            f"{gave} can change their odds by a factor of at most {factor_up(math.exp(largest))} (local "
            f"epsilon at most {round_up(largest, 2)})."
        )

    def seen_in_words(self, *, questions: int) -> str:
        """Name one person's noised answers."""
        if questions > 1:
            return "all noised answers of a person, knowing who gave them"
        return "a person's noised answer, knowing who gave it"

    def cautions(self, local: FloatArray) -> list[str]:
        """Warn of budgets at which an answer hardly protects by itself."""
        large = int((local > LARGE_LOCAL_EPSILON).sum())
        if not large:
            return []
        return [
            f"In {counted(large, 'stratum')} a single noised answer hardly protects by itself (local epsilon "
            f"above {LARGE_LOCAL_EPSILON:g}); there everything rests on the secrecy of the sample."
        ]
