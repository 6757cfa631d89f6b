r"""How people are asked: the questions of a survey on its forms, and what randomises their answers.

A survey of one question has one form, which everyone gets, and any mechanism that fits the question
(:mod:`dpstrata.allocation.one_question`). Several questions are on forms whose rows are randomised
(:mod:`dpstrata.allocation.rows_on_forms`). Both make one function of the sample size of all that is asked,

.. math:: f(n) = a^2 \left\{ \sum_{j,T} \frac{w_j \omega^2 (S_j^2 + d_{jT})}{x_T n}
    - \sum_j \frac{w_j (S_j^2 - u_j)}{N}
    + \sum_{j,T} \frac{w_j \omega^2 g_T^2\, v_{jT}(e(n))}{(x_T n)^p} \right\}

for questions j of importance w on forms T, which a share x of n people get. Of the three sums the
first is V of :class:`~dpstrata.allocation.terms.Terms` and the last its noise; the second, which no size
changes, is what asking everyone takes off.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.noise import Noise

if TYPE_CHECKING:
    from dpstrata.allocation.terms import Terms
    from dpstrata.survey.forms import FormPlan


class QuestionParts(NamedTuple):
    """Variances of estimated means by cause: of each stratum (rows) and question (columns)."""

    sampling: FloatArray
    device: FloatArray
    office: FloatArray

    @property
    def total(self) -> FloatArray:
        """All together."""
        return self.sampling + self.device + self.office

    def of_population(self, coefficients: FloatArray) -> QuestionParts:
        """Return those of the population mean, an entry for each question."""
        a2 = coefficients**2
        return QuestionParts(a2 @ self.sampling, a2 @ self.device, a2 @ self.office)


class FormTerms(ABC):
    """How people are asked, and what that makes of the variance of every question.

    Sample sizes n and the terms that have them are those of all strata.
    """

    __slots__ = ()

    dealt_out: ClassVar[bool]
    """Whether each person gets one of several forms that were searched, as randomised rows have them."""
    importances: FloatArray
    """w of each question; they add up to 1."""
    ranges: FloatArray
    """What the variances of each question are counted in: its range, or 1 where they are in its own units."""
    shares: FloatArray
    """x of each form: the share of people who get it."""
    fewest: IntArray
    """Fewest people of a form, by stratum; a single 0 where nothing requires any."""
    noise_power: Literal[1, 2]
    """p: 1 where every answer gets a draw of the noise that depends on n, 2 where tables or sums get one."""
    sds: FloatArray
    """S of each stratum; of several questions that of all of them on average, in units of a range."""
    series_factors: tuple[float, ...]
    """How much faster the terms of the series of E[1/m] grow, on average, than where all people are asked."""
    fitted: Mechanism
    """What noises at the budget that depends on n; with rows, what randomises them."""
    device_epsilon: float | None
    """E of the devices; ``None`` where what they send has a budget that follows from n, or none."""

    @property
    @abstractmethod
    def plans(self) -> tuple[FormPlan, ...]:
        """Which questions are on each form, with how many levels, and what is published of it."""

    # --- the term of a stratum ----------------------------------------------------------------

    @abstractmethod
    def core(self) -> FloatArray:
        """V of each stratum: Σ w·ω²·(S² + d)/x."""

    @abstractmethod
    def noise(self) -> Noise:
        """Return the noise whose budget depends on n, of all questions together."""

    @property
    @abstractmethod
    def sampled(self) -> FloatArray:
        """S² − u: what asking everyone takes off, times N, of each stratum and question."""

    @abstractmethod
    def weighted(self, importances: FloatArray) -> Self:
        """Return the same with other importances."""

    def correction(self, sizes: IntArray) -> FloatArray:
        """Σ w(S² − u)/N: what the finite population correction takes off each stratum of N people."""
        return np.asarray(self.sampled @ self.importances / sizes)

    # --- mechanisms and budgets ---------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """What noises an answer, or randomises a row; without devices, what is added at the office."""
        return self.fitted

    @property
    @abstractmethod
    def credits_devices(self) -> bool:
        """Whether less noise is added than is minimised, because answers are random by themselves."""

    def odds_at(self, budgets: FloatArray) -> FloatArray:
        """Return exp(e) − 1 of what one person sends, by stratum, at the budgets of the strata."""
        device = self.device_epsilon
        return np.expm1(budgets) if device is None else np.full(len(budgets), math.expm1(device))

    @abstractmethod
    def office_budgets(self, budgets: FloatArray) -> FloatArray:
        """Raise the office's budgets by what devices give already, for each stratum and form.

        No noise is needed where they are infinite.
        """

    @abstractmethod
    def losses_inside(self, budgets: FloatArray, times: int) -> FloatArray:
        """Return what those in the sample lose if the same reports are released several times, by stratum."""

    @abstractmethod
    def office_adds_noise(self, budgets: FloatArray) -> bool:
        """Whether the office noises what is published of any stratum and form."""

    # --- variances ----------------------------------------------------------------------------

    @abstractmethod
    def dealt(self, terms: Terms, sizes: IntArray) -> IntArray:
        """Deal the people of every stratum (rows) to the forms (columns)."""

    @abstractmethod
    def question_parts(
        self, terms: Terms, sizes: IntArray, *, finite_population: bool, credited: bool = True
    ) -> QuestionParts:
        """Variance of every question's mean in every stratum, with forms dealt in whole numbers.

        ``credited`` is with as little noise of the office as devices leave to it.
        """

    @abstractmethod
    def parts_given_answers(
        self, terms: Terms, sizes: IntArray, answers: FloatArray, *, finite_population: bool
    ) -> QuestionParts:
        """Return the same if so many of those invited answer, with the noise that was designed for all."""

    @abstractmethod
    def everyone_asked(self, terms: Terms, n: FloatArray, *, finite_population: bool) -> FloatArray:
        """Variance of every question's mean if all were asked it and nothing were noised."""

    @abstractmethod
    def stratum_variances(
        self, terms: Terms, n: FloatArray, *, finite_population: bool, planned: bool, credited: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of each stratum's mean by importance, from sampling and from privacy.

        ``planned`` is as it is minimised.
        """

    @abstractmethod
    def released_variances(self, terms: Terms, n: FloatArray) -> FloatArray:
        """Noise variance of what is noised once: an answer, or the mean of a stratum."""
