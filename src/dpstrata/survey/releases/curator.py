"""A trusted curator sees raw answers, and publishes the mean of each stratum, noised once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpstrata.errors import InputError, Sentence, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import factor_up, round_up

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs


class Curator(Release):
    """The mean of each stratum is noised once, by someone who sees every answer."""

    __slots__ = ()

    name: ClassVar[str] = "curator"
    noise_power: ClassVar[Literal[1, 2]] = 2
    shows_spread: ClassVar[bool] = False
    leaves_out: ClassVar[Mapping[str, Any]] = {"local_epsilon_cap": None}
    suggested: ClassVar[bool] = True

    who_noises: ClassVar[str] = "a trusted curator noises the mean of each stratum"
    in_title: ClassVar[str] = " by a curator on each mean"
    noise_goes_to: ClassVar[str] = "the mean of a stratum"
    noise_sd_of: ClassVar[str] = "the mean"
    published: ClassVar[str] = "a noised mean"
    published_one: ClassVar[str] = "one noised mean"
    to_know: ClassVar[str] = "everyone who was invited"
    assumption: ClassVar[str] = (
        "the curator may be trusted with the answers, and releases the noised means and nothing else about "
        "them"
    )
    whoever_sees: ClassVar[str] = (
        "Answers reach a trusted curator without noise. Whoever sees the noised means"
    )

    def check(self, inputs: Inputs) -> None:
        """Refuse a cap on single answers."""
        if inputs.local_epsilon_cap is not None:
            raise InputError(
                f"{option('local_epsilon_cap')} is about single noised answers, and with "
                f"{option(OPTION, self.name)} there are none."
            )

    def misfit(self, mechanism: Mechanism) -> str | None:
        """Require noise that is added, so that a sum can have it."""
        if mechanism.additive:
            return None
        return (
            f"a curator noises the mean of a stratum, so {option(OPTION, self.name)} needs noise that is "
            f"added to it, got {option('mechanism', mechanism.name)}. Use another mechanism."
        )

    def simulated_sums(
        self, mechanism: Mechanism, sums: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every sum."""
        return sums + mechanism.simulated_release(np.zeros(len(sums)), e, generator)

    def local_in_words(self, largest: float, *, questions: int) -> str:
        """Say what a noised mean tells, and that nothing protects answers at the curator."""
        means = "all noised means" if questions > 1 else "the noised mean"
        return (
            "Answers reach a trusted curator without noise, and nothing protects them there. Whoever sees "
            f"{means} of a stratum and knows everyone who was invited can change their odds about one of "
            f"them by a factor of at most {factor_up(math.exp(largest))} (local epsilon at most "
            f"{round_up(largest, 2)})."
        )

    def seen_in_words(self, *, questions: int) -> str:
        """Name a noised mean."""
        return "a noised mean, knowing everyone invited"

    def cautions(self, local: FloatArray) -> list[str]:
        """Say who sees raw answers."""
        return ["The curator sees every answer without noise; nothing protects the answers there."]

    def suggestion(self, *, gives: str, noise: str, too_late: bool) -> str:
        """Speak to offices that see raw answers."""
        if too_late:
            return (
                f"An office that sees raw answers does better to noise the mean of each stratum once{noise}. "
                f"Designed for a curator, the same sample sizes would have had {gives}, with the same "
                "promise to everyone else."
            )
        return Sentence(
            f"Will the office see raw answers? Then design for a curator ({option(OPTION, self.name)}), who "
            f"noises the mean of each stratum once{noise}: the same sample sizes would have {gives}."
        )
