"""Every noised answer is published: what the paper has, and nobody need be trusted with an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpstrata.errors import InputError, NotAvailableError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import counted, factor_up, round_up

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs

LARGE_LOCAL_EPSILON = 8.0


class Microdata(Release):
    """Every answer is noised before anyone sees it, and all noised answers are published, shuffled."""

    __slots__ = ()

    name: ClassVar[str] = "microdata"
    noise_power: ClassVar[Literal[1, 2]] = 1
    shows_spread: ClassVar[bool] = True
    publishes_answers: ClassVar[bool] = True
    leaves_out: ClassVar[Mapping[str, Any]] = {"device_epsilon": None}

    noise_sd_of: ClassVar[str] = "an answer"
    published: ClassVar[str] = "a single noised answer"
    published_one: ClassVar[str] = "one noised answer"
    to_know: ClassVar[str] = "who gave it"
    told: ClassVar[str] = "sent"

    def check(self, inputs: Inputs) -> None:
        """Refuse a device budget: the budget of a published answer follows from the sample sizes.

        For categories only pure epsilon is worked out.
        """
        if inputs.device_epsilon is not None:
            raise InputError(
                f"{option('device_epsilon')} needs {option(OPTION, 'sums')}, got "
                f"{option(OPTION, self.name)}: what a published answer may spend follows from the sample "
                f"sizes. Limit it with {option('local_epsilon_cap')}, or publish sums."
            )
        if not inputs.space.numbers and not inputs.promise.any_mechanism:
            raise NotAvailableError(
                f"{option('questions')} with categories support pure epsilon only, got a promise of "
                f"{inputs.promise.title}."
            )

    @property
    def noised_at(self) -> tuple[str, ...]:
        """On devices, or in a batch at the office."""
        return ("device", "office")

    @property
    def who_noises(self) -> str:
        """Say that each answer is."""
        return "answers are noised one by one"

    @property
    def noise_goes_to(self) -> str:
        """An answer."""
        return "an answer"

    @property
    def assumption(self) -> str:
        """Say that the order of answers tells nothing."""
        return "noised answers are shuffled or added up before anything is released"

    def simulated_answers(
        self, mechanism: Mechanism, shares: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every answer."""
        return mechanism.simulated_release(shares, e, generator)

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what one person's noised answers tell."""
        answers = "all noised answers of one person" if waves > 1 else "a single noised answer"
        gave = "them" if waves > 1 else "it"
        factor = factor_up(math.exp(largest))
        return (
            f"If answers are noised before anyone else sees them, whoever sees {answers} and knows who gave "
            f"{gave} can change their odds by a factor of at most {factor} (local epsilon at most "
            f"{round_up(largest, 2)}).",
            f"If the office's list of who gave which noised answer leaks, protection is limited "
            f"to a factor of {factor}.",
        )

    def always_against_the_office(self) -> tuple[str, str]:
        """Say that the promise holds there too."""
        return (
            "The same holds for whoever sees what one person sent, the office included, if answers are "
            "noised before anyone else sees them.",
            "If the office's list of who gave which noised answer leaks, the same promise is what is left.",
        )

    def seen_in_words(self) -> str:
        """Name one person's noised answer."""
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
