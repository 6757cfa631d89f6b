r"""The sum of each stratum's answers is published, with one draw of the office's noise.

With a device budget E every answer is noised on the respondent's device first. The office adds up what m
devices report, and its own noise at the budget e(n) of the secret sample, so that the mean has the variance

.. math:: \frac{S^2 + v_{dev}(E)}{m} + \frac{g^2\, v_{off}(e(n))}{m^2} .

g takes the bias of randomized response out of a sum: :math:`\coth(E/2)`; it is 1 where noise is added.

Why both layers keep ε: let a device use the same randomness whatever was answered. Then another answer moves
the sum by at most the range R (randomized response: by one step), so that the office's noise alone loses at
most e(n), and the secret sample makes that ε. It holds only for noise that keeps the distance of two answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dpstrata.errors import InputError, Sentence, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answers.base import Answers
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.registry import MECHANISMS, get_mechanism
from dpstrata.privacy.mechanisms.shared import SharedBudget
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import factor_up, plain_number

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs

LARGE_DEVICE_EPSILON = 8.0
AT_OFFICE = "discrete_laplace"  # where the device's noise cannot be added to a sum


@dataclass(frozen=True, slots=True)
class Sums(Release):
    """One noised sum a stratum.

    Parameters
    ----------
    device_epsilon : float or None
        E, at which devices noise all answers of a person together; ``None`` where the office sees raw
        answers.
    mechanism : str
        What devices noise with.
    answers : Answers or None
        What can be answered.
    questions : int
        How many answers share E.
    """

    device_epsilon: float | None = None
    mechanism: str = ""
    answers: Answers | None = None
    questions: int = 1

    name: ClassVar[str] = "sums"
    noise_power: ClassVar[Literal[1, 2]] = 2
    shows_spread: ClassVar[bool] = False
    leaves_out: ClassVar[Mapping[str, Any]] = {"local_epsilon_cap": None}

    budget_of: ClassVar[str] = "epsilon of the sum"
    noise_sd_of: ClassVar[str] = "the mean"
    published: ClassVar[str] = "a noised sum"
    published_one: ClassVar[str] = "one noised sum"
    to_know: ClassVar[str] = "everyone who was invited"

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Take the device budget, and what noises there."""
        if options.device_epsilon is None:
            return cls()
        return cls(options.device_epsilon, options.mechanism, options.answers, options.questions)

    # --- checks -------------------------------------------------------------------------------

    def check(self, inputs: Inputs) -> None:
        """Refuse a cap on published answers, and promises that two layers are not proven to keep."""
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
        """Require noise that is added at the office, or on devices noise that keeps answers' distance."""
        if self.device_epsilon is None:
            if mechanism.additive:
                return None
            return (
                f"the office adds noise to the sum of a stratum, so {option(OPTION, self.name)} without "
                f"{option('device_epsilon')} needs additive noise, got "
                f"{option('mechanism', mechanism.name)}. Use another mechanism."
            )
        if mechanism.keeps_distance:
            return None
        return (
            f"{option('mechanism', mechanism.name)} can move a report by more than the answer range when the "
            "answer changes, so the office's noise could not cover the sum. Use additive noise, or "
            "randomized response for yes/no answers."
        )

    def office_mechanism(self, mechanism: str) -> str:
        """Name the noise that the office adds: the device's, if a sum can have it."""
        if self.device_epsilon is None or self.device is None or self.device.additive:
            return mechanism
        return AT_OFFICE

    # --- mathematics --------------------------------------------------------------------------

    @property
    def device(self) -> Mechanism | None:
        """What noises answers on devices, at all of E; ``None`` where nothing does or it is not chosen."""
        if self.answers is None or self.mechanism not in MECHANISMS:
            return None
        return _device(self.mechanism, self.answers, self.questions)

    @property
    def device_variance(self) -> float:
        """Variance of the noise of one report, debiased."""
        if self.device is None or self.device_epsilon is None:
            return 0.0
        return float(self.device.variance(self.device_epsilon))

    @property
    def stretch(self) -> float:
        """How far a report is stretched to take its bias out."""
        if self.device is None or self.device_epsilon is None:
            return 1.0
        return self.device.debiasing(self.device_epsilon)

    def exact_layers(self, mp: Any) -> tuple[Any, Any]:
        """Return both in mpmath."""
        if self.device is None or self.device_epsilon is None:
            return mp.mpf(0), mp.mpf(1)
        e = mp.mpf(self.device_epsilon)
        return self.device.exact_variance(e), self.device.exact_debiasing(e)

    @property
    def credits_devices(self) -> bool:
        """Whether the office may add less noise, because reports are random by themselves."""
        return self.device is not None and not self.device.additive

    def credited(self, budgets: FloatArray) -> FloatArray:
        r"""Raise the office's budgets by what randomized response on devices gives already.

        Notes
        -----
        A flipped bit plus discrete Laplace noise at :math:`e_c` loses e where
        :math:`\tanh(e/2) = \tanh(E/2) \tanh(e_c/2)`; with u = expm1(e) and y = expm1(E) that is
        :math:`\mathrm{expm1}(e_c) = u (1 + 2/y) / (1 - u/y)`. No noise is needed where e ≥ E. Of several
        questions each has its share of both budgets.
        """
        if not self.credits_devices or self.device_epsilon is None:
            return budgets
        each = np.minimum(budgets, self.device_epsilon) / self.questions
        u, y = np.expm1(each), math.expm1(self.device_epsilon / self.questions)
        # y − u from the exponents, so that it keeps its digits where the two budgets are close
        room = np.exp(each) * np.expm1(self.device_epsilon / self.questions - each)
        with np.errstate(divide="ignore"):
            raised = self.questions * np.log1p(u * (y + 2.0) / room)
        return np.where(budgets >= self.device_epsilon, np.inf, raised)

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

    def simulated_sums(
        self, mechanism: Mechanism, sums: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Noise every sum."""
        budget = float(self.credited(np.array([e]))[0])
        if math.isinf(budget):
            return sums
        return sums + self.stretch * mechanism.simulated_release(np.zeros(len(sums)), budget, generator)

    # --- JSON ---------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """The release, and the device budget if there is one."""
        if self.device_epsilon is None:
            return {OPTION: self.name}
        return {OPTION: self.name, "device_epsilon": self.device_epsilon}

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

    def against_the_office(self, largest: float, *, questions: int) -> tuple[str, str]:
        """Say what is left against the office, and if its file leaks."""
        if self.device_epsilon is None:
            return (
                "The office sees every answer without noise, and nothing protects it there.",
                "If the office's file leaks, so do the answers.",
            )
        answers = "answers are" if questions > 1 else "answer is"
        factor = factor_up(math.exp(self.device_epsilon))
        return (
            f"A person's {answers} noised on their own device: whoever sees what it sends, the office too, "
            f"can change their odds by a factor of at most {factor} (device epsilon = "
            f"{plain_number(self.device_epsilon)}).",
            f"If the office's file leaks, that factor of {factor} is what is left.",
        )

    def always_against_the_office(self) -> tuple[str, str]:
        """Say who sees raw answers; with devices only pure epsilon is promised."""
        return self.against_the_office(math.inf, questions=1)

    def seen_in_words(self, *, questions: int) -> str:
        """Name what has to be seen for the largest loss."""
        if self.device_epsilon is None:
            return "a noised sum, knowing everyone invited"
        return "what a person's device sends, or a noised sum, knowing everyone invited"

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

    # --- instead of another release -----------------------------------------------------------

    @classmethod
    def alternatives(cls, plan: Design) -> list[Inputs]:
        """Offer the same promises with two layers, then an office that sees raw answers."""
        inputs, offered = plan.inputs, []
        raw = replace(inputs, **{OPTION: cls.name, "device_epsilon": None, **cls.leaves_out})
        if inputs.release_form.name != cls.name and inputs.promise.any_mechanism:
            smallest = (
                math.floor(float(plan.local_epsilons.min()) * 100) / 100
            )  # nobody gets a weaker promise
            if smallest > 0:
                offered.append(replace(raw, device_epsilon=smallest))
        if inputs.device_epsilon is None and inputs.release_form.name != cls.name:
            offered.append(raw)
        return offered

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
                f"An office that sees raw answers does better to publish one noised sum a stratum{noise}: "
                f"the same sample sizes would have had {gives}, with the same promise to everyone else."
            )
        return Sentence(
            f"Will the office see raw answers? Then publish sums ({option(OPTION, self.name)}), each noised "
            f"once{noise}: the same sample sizes would have {gives}."
        )


@lru_cache(maxsize=64)
def _device(mechanism: str, answers: Answers, questions: int) -> Mechanism:
    noise = get_mechanism(mechanism, answers)
    return SharedBudget(noise, questions) if questions > 1 else noise
