r"""The sum of each stratum's answers is published, with one draw of the office's noise.

With a device budget E every answer is noised on the respondent's device first. The office adds up what m
devices report, and its own noise at the budget e(n) of the secret sample, so that the mean has the variance

.. math:: \frac{S^2 + v_{dev}(E)}{m} + \frac{g^2\, v_{off}(e(n))}{m^2} .

g is by how many ranges another answer can move a report: 1 where noise is added, since a device can use the
same randomness whatever was answered; otherwise the distance of the two outermost reports,
:math:`\coth(E/2)` for randomized response. So the office's noise alone loses at most e(n), and the secret
sample makes that ε. Reports between two ends are random enough to save the office some noise (``credited``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpstrata.errors import Sentence, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.amplification import office_budgets
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises.epsilon import LARGEST_EPSILON
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.aggregated import Aggregated
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.words.numbers import plain_number

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs
    from dpstrata.survey.questionnaires.question import Question


def device_budget(local_epsilon: float) -> float | None:
    """Return the device budget that promises at least as much as a local epsilon, in two decimals.

    Examples
    --------
    >>> device_budget(4.239), device_budget(103.92), device_budget(0.001)
    (4.23, 100.0, None)
    """
    return math.floor(min(local_epsilon, LARGEST_EPSILON) * 100) / 100 or None


@dataclass(frozen=True, slots=True)
class Sums(Aggregated):
    """One noised sum a stratum."""

    name: ClassVar[str] = "sums"
    noise_power: ClassVar[Literal[1, 2]] = 2

    budget_of: ClassVar[str] = "epsilon of the sum"
    noise_sd_of: ClassVar[str] = "the mean"
    published: ClassVar[str] = "a noised sum"
    published_one: ClassVar[str] = "one noised sum"
    noised_at_office: ClassVar[str] = "the sum of a stratum"
    told: ClassVar[str] = "sums"

    # --- checks -------------------------------------------------------------------------------

    def office_mechanism(self, mechanism: str) -> str:
        """Name the noise that the office adds: the device's, if a sum can have it."""
        return mechanism if self.device is None else self.device.at_office

    # --- mathematics --------------------------------------------------------------------------

    @property
    def credits_devices(self) -> bool:
        """Whether the office may add less noise, because reports are random by themselves."""
        return self.device is not None and not self.device.additive

    def credited(self, budgets: FloatArray) -> FloatArray:
        """Raise the office's budgets by what devices give already (:mod:`dpstrata.privacy.amplification`)."""
        if self.device is None or self.device_epsilon is None or not self.credits_devices:
            return budgets
        E = self.device_epsilon
        return office_budgets(budgets, E, self.device.informative(E))

    def simulated_sums(
        self, mechanism: Mechanism, sums: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every sum."""
        budget = float(self.credited(np.array([e]))[0])
        if math.isinf(budget):
            return sums
        return sums + self.stretch * mechanism.simulated_release(np.zeros(len(sums)), budget, generator)

    # --- pilots -------------------------------------------------------------------------------

    def why_no_spread(self, question: Question, *, crossed: bool) -> str | None:
        """Say that a sum does not; counts of two answers or of names do, and so do those of combinations."""
        if crossed or not question.of_kind.averaged or question.space.values == 2 or question.levels == "all":
            return None
        return (
            "the sum of numbers shows no spread unless it is published in random groups, which this version "
            "does not do"
        )

    # --- words --------------------------------------------------------------------------------

    @property
    def who_noises(self) -> str:
        """Name the layers."""
        if self.device_epsilon is None:
            return "the office sees raw answers, and noises the sum of each stratum"
        return "devices noise every answer, and the office noises the sum of each stratum"

    @property
    def in_title(self) -> str:
        """Say where the noise is."""
        if self.device_epsilon is None:
            return " at the office on each sum"
        return f" on devices at epsilon = {plain_number(self.device_epsilon)}, and the office's on each sum"

    @property
    def noise_goes_to(self) -> str:
        """Name what a draw is added to."""
        return "the sum of a stratum" if self.device_epsilon is None else "an answer on the device"

    @property
    def assumption(self) -> str:
        """Say what the office must do, and whom it must be trusted with."""
        if self.device_epsilon is None:
            return (
                "the office may be trusted with raw answers, and publishes the noised sums and nothing else "
                "about them"
            )
        return "the office publishes the noised sums once, and no single answer"

    def seen_in_words(self) -> str:
        """Name what has to be seen for the largest loss."""
        if self.device_epsilon is None:
            return "a noised sum, knowing everyone invited"
        return "what a person's device sends, or a noised sum, knowing everyone invited"

    # --- instead of another release -----------------------------------------------------------

    @classmethod
    def alternatives(cls, plan: Design) -> list[Inputs]:
        """Offer the same promises with two layers, then an office that sees raw answers."""
        inputs, offered = plan.inputs, []
        if type(inputs.release_form) is not Microdata or not inputs.space.numbers:
            return []
        raw = replace(inputs, **{OPTION: cls.name, "device_epsilon": None, **cls.leaves_out})
        if inputs.promise.any_mechanism:
            # the smallest, so that nobody gets a weaker promise
            smallest = device_budget(float(plan.local_epsilons.min()))
            if smallest is not None:
                offered.append(replace(raw, device_epsilon=smallest))
        return [*offered, raw]

    def suggestion(self, *, gives: str, noise: str, too_late: bool) -> str:
        """Say what publishing sums would give, or to offices that see raw answers what that would."""
        if self.device_epsilon is not None:
            sums = f"{option(OPTION, self.name)} and {option('device_epsilon', self.device_epsilon)}"
            return Sentence(
                f"If only sums are published ({sums}), the same sample sizes would have {gives}{noise}, with "
                "the same promise to everyone and at least the same against the office."
            )
        if too_late:
            return (
                f"An office that sees raw answers gets better precision by publishing one noised sum per "
                f"stratum{noise}: "
                f"the same sample sizes would have had {gives}, with the same promise to everyone else."
            )
        return Sentence(
            f"Will the office see raw answers? Then publish sums ({option(OPTION, self.name)}), each noised "
            f"once{noise}: the same sample sizes would have {gives}."
        )
