"""What releases have in common that the office makes of many answers: sums, or a mean.

With a device budget E every answer is noised on the respondent's device first; without one the office sees
raw answers. Either way the office adds noise of its own to what it publishes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpstrata.errors import InputError, NotAvailableError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.amplification import joint_losses
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import factor_up, plain_number

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs

LARGE_DEVICE_EPSILON = 8.0


@dataclass(frozen=True, slots=True)
class Aggregated(Release):
    """Something made of many answers is published, with the office's noise.

    Parameters
    ----------
    device_epsilon : float or None
        E, at which devices noise an answer; ``None`` where the office sees raw answers.
    mechanism : str
        What devices noise with.
    space : AnswerSpace or None
        What can be answered.
    """

    device_epsilon: float | None = None
    mechanism: str = ""
    space: AnswerSpace | None = None

    shows_spread: ClassVar[bool] = False
    leaves_out: ClassVar[Mapping[str, Any]] = {"local_epsilon_cap": None}
    to_know: ClassVar[str] = "everyone who was invited"
    noised_at_office: ClassVar[str]
    """What the office adds noise to: "the sum of a stratum"."""

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Take the device budget, and what noises there."""
        if options.device_epsilon is None:
            return cls()
        return cls(options.device_epsilon, options.mechanism, options.space)

    # --- checks -------------------------------------------------------------------------------

    def check(self, inputs: Inputs) -> None:
        """Refuse categories, a cap on published answers, and promises that two layers do not keep."""
        if not inputs.space.numbers:
            raise NotAvailableError(
                f"{option(OPTION, self.name)} publishes numbers, got {inputs.space.described}. "
                f"Use {option(OPTION, 'sums')} with {option('device_epsilon')}, or "
                f"{option(OPTION, 'microdata')}."
            )
        if inputs.local_epsilon_cap is not None:
            raise InputError(
                f"{option('local_epsilon_cap')} limits what a published answer may spend, and with "
                f"{option(OPTION, self.name)} no answer is published. Use {option('device_epsilon')} to "
                "limit what the office can learn."
            )
        if self.device_epsilon is not None and not inputs.promise.any_mechanism:
            raise InputError(
                f"{option('device_epsilon')} supports pure epsilon only, because noise on devices and at the "
                f"office together is proven to keep nothing else, got a promise of {inputs.promise.title}."
            )

    def misfit(self, mechanism: Mechanism) -> str | None:
        """Require noise that is added, where the office alone adds any."""
        if self.device_epsilon is not None or mechanism.additive:
            return None
        return (
            f"the office adds noise to {self.noised_at_office}, so {option(OPTION, self.name)} without "
            f"{option('device_epsilon')} needs additive noise, got "
            f"{option('mechanism', mechanism.name)}. Use another mechanism."
        )

    # --- mathematics --------------------------------------------------------------------------

    @property
    def device(self) -> Mechanism | None:
        """What noises answers on devices; ``None`` where nothing does or it is not chosen."""
        if self.space is None or self.mechanism not in MECHANISMS:
            return None
        return _device(self.mechanism, self.space)

    @property
    def device_variance(self) -> float:
        """Variance of the noise of one report, debiased."""
        if self.device is None or self.device_epsilon is None:
            return 0.0
        return float(self.device.variance(self.device_epsilon))

    @property
    def stretch(self) -> float:
        """By how many ranges a report can move."""
        if self.device is None or self.device_epsilon is None:
            return 1.0
        return self.device.reach(self.device_epsilon)

    @property
    def gets_raw(self) -> bool:
        """Whether there are no devices."""
        return self.device_epsilon is None

    @property
    def noised_at(self) -> tuple[str, ...]:
        """On devices, if they have a budget."""
        return () if self.gets_raw else ("device",)

    def losses_inside(self, budgets: FloatArray, times: int) -> FloatArray:
        """Count the devices' randomness once, and the office's as often as it is drawn."""
        if self.device_epsilon is None or times == 0:
            return times * budgets
        E, losses = self.device_epsilon, times * self.credited(budgets)
        if self.device is None or self.device.additive:
            # of two layers that add noise the one with the heavier tail loses all it may, far out
            return np.minimum(losses, E)
        return joint_losses(losses, E, self.device.informative(E))

    def worst_epsilon(self, largest: float) -> float:
        """Return E where there is one: neither reports nor sums tell more."""
        return largest if self.device_epsilon is None else self.device_epsilon

    def simulated_answers(
        self, mechanism: Mechanism, shares: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every answer as devices do."""
        if self.device is None or self.device_epsilon is None:
            return shares
        return self.device.simulated_release(shares, self.device_epsilon, generator)

    # --- JSON ---------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """The release, and the device budget if there is one."""
        if self.device_epsilon is None:
            return {OPTION: self.name}
        return {OPTION: self.name, "device_epsilon": self.device_epsilon}

    # --- words --------------------------------------------------------------------------------

    @property
    def also_public(self) -> tuple[str, ...]:
        """Say that counts are published with sums."""
        return ("the number of answers in each stratum",)

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """Name the office's noise, and what devices send."""
        noise = ("the noise that the office adds",)
        return noise if self.device_epsilon is None else ("what each device sends", *noise)

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what is left against the office, and if its file leaks."""
        if self.device_epsilon is None:
            return (
                "The office sees every answer without noise, and nothing protects it there.",
                "If the office's file leaks, so do the answers.",
            )
        factor = factor_up(math.exp(waves * self.device_epsilon))
        return (
            f"A person's answer is noised on their own device: whoever sees what it sends, the office too, "
            f"can change their odds by a factor of at most {factor} ({self._device_budget(waves)}).",
            f"If the office's file leaks, protection is limited to a factor of {factor}.",
        )

    def _device_budget(self, waves: int) -> str:
        """State the device budget; someone who is drawn for several waves sends an answer in each."""
        assert self.device_epsilon is not None
        each = "" if waves == 1 else f" in each of {waves} waves"
        return f"device epsilon = {plain_number(self.device_epsilon)}{each}"

    def always_against_the_office(self) -> tuple[str, str]:
        """Say who sees raw answers; with devices only pure epsilon is promised."""
        return self.against_the_office(math.inf)

    def cautions(self, local: FloatArray) -> list[str]:
        """Say who sees raw answers, or that devices promise little."""
        if self.device_epsilon is None:
            return ["The office sees every answer without noise; nothing protects the answers there."]
        if self.device_epsilon <= LARGE_DEVICE_EPSILON:
            return []
        return [
            f"A device epsilon of {plain_number(self.device_epsilon)} hardly protects anyone from the office "
            "or from whoever gets hold of its file."
        ]


@lru_cache(maxsize=64)
def _device(mechanism: str, space: AnswerSpace) -> Mechanism:
    return get_mechanism(mechanism, space)
