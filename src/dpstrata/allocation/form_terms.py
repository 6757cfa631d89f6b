r"""How people are asked: the questions of a survey on its forms, and what randomises their answers.

A survey of one question has one form, which everyone gets, and any mechanism that fits the question
(:class:`OneQuestion`). Several questions are on forms whose rows are randomised
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
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from dpstrata.allocation.response import WHOLE, expected_inverse, planning_decay
from dpstrata.allocation.terms import Terms
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.privacy.mechanisms.noise import Noise
from dpstrata.survey.forms import RAW, ROWS, FormPlan, Table
from dpstrata.survey.releases.base import Release

_ONE = read_only(np.ones(1))
_NOBODY = read_only(np.zeros(1, dtype=np.int64))


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
    def figure_factors(self) -> FloatArray:
        """How many times 2b² each question's figures have as noise, where figures of the scale b have it."""
        return _ONE

    @property
    @abstractmethod
    def sampled(self) -> FloatArray:
        """S² − u: what asking everyone takes off, times N, of each stratum and question."""

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


@dataclass(frozen=True, slots=True, eq=False)
class OneQuestion(FormTerms):
    r"""One question for everyone, with a mechanism of its own.

    With m answers the mean of a stratum has the variance

    .. math:: \frac{S^2 + d}{m} + \frac{g^2\, v(e(n))}{m^p}

    (S² with the finite population correction), in squared units of the answers. The release says p, d and g
    (:mod:`dpstrata.survey.releases.base`).

    Parameters
    ----------
    sds : array
        S of each stratum.
    fitted : Mechanism
        What noises at the budget that depends on n: an answer, or what the office publishes.
    release : Release
        What is published, and so what the noise is added to.
    device_epsilon : float, optional
        E of the devices, where they have a budget of their own.
    name : str
        What the question is called.
    """

    dealt_out: ClassVar[bool] = False

    sds: FloatArray
    fitted: Mechanism
    release: Release
    device_epsilon: float | None = None
    name: str = "answer"
    importances: FloatArray = field(init=False)
    ranges: FloatArray = field(init=False)
    shares: FloatArray = field(init=False)
    fewest: IntArray = field(init=False)
    noise_power: Literal[1, 2] = field(init=False)
    series_factors: tuple[float, ...] = field(init=False, default=WHOLE)

    def __post_init__(self) -> None:
        for name in ("importances", "ranges", "shares"):
            object.__setattr__(self, name, _ONE)
        object.__setattr__(self, "fewest", _NOBODY)
        object.__setattr__(self, "noise_power", self.release.noise_power)

    @property
    def plans(self) -> tuple[FormPlan, ...]:
        """The only form, where answers have levels if they are replaced."""
        replaced = self.release.noised_at and self.mechanism.replaces
        levels = (self.mechanism.space.values or 0) if replaced else 0
        tables = (Table((self.name,), 1.0),) if self.noise_power == 2 else ()
        mechanism = RAW if self.release.gets_raw else ROWS if replaced else self.mechanism.name
        return (FormPlan((self.name,), (levels,), 1.0, tables, mechanism),)

    # --- the term of a stratum ----------------------------------------------------------------

    def core(self) -> FloatArray:
        """S² + d."""
        core = self.sds * self.sds
        if self.release.device_variance > 0:
            core += self.release.device_variance
        return core

    def noise(self) -> Noise:
        """g²·v; none where only figures of many strata are noised."""
        return self.release.noise(self.fitted)

    @property
    def sampled(self) -> FloatArray:
        """S²."""
        return (self.sds * self.sds)[:, None]

    # --- mechanisms and budgets ---------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """That of devices, where they have a budget of their own."""
        return self.release.device or self.fitted

    @property
    def credits_devices(self) -> bool:
        """As the release says."""
        return self.release.credits_devices

    def office_budgets(self, budgets: FloatArray) -> FloatArray:
        """As the release says."""
        return self.release.credited(budgets)[:, None]

    def losses_inside(self, budgets: FloatArray, times: int) -> FloatArray:
        """As the release says."""
        return self.release.losses_inside(budgets, times)

    def office_adds_noise(self, budgets: FloatArray) -> bool:
        """Whether sums are noised at any finite budget."""
        return self.noise_power == 2 and bool(np.isfinite(self.release.credited(budgets)).any())

    # --- variances ----------------------------------------------------------------------------

    def dealt(self, terms: Terms, sizes: IntArray) -> IntArray:
        """Give the only form to everyone."""
        return sizes[:, None]

    def question_parts(
        self, terms: Terms, sizes: IntArray, *, finite_population: bool, credited: bool = True
    ) -> QuestionParts:
        """Variance of the mean of every stratum."""
        answers = self._answers(terms, sizes.astype(float))
        return _in_columns(self._parts(terms, sizes, answers, finite_population, credited=credited))

    def parts_given_answers(
        self, terms: Terms, sizes: IntArray, answers: FloatArray, *, finite_population: bool
    ) -> QuestionParts:
        """Return the same for numbers of answers."""
        given = answers, answers**self.noise_power
        return _in_columns(self._parts(terms, sizes, given, finite_population))

    def everyone_asked(self, terms: Terms, n: FloatArray, *, finite_population: bool) -> FloatArray:
        """Variance of the mean of every stratum without noise: everyone is asked anyway."""
        return self._parts(terms, n, self._answers(terms, n), finite_population)[0][:, None]

    def stratum_variances(
        self, terms: Terms, n: FloatArray, *, finite_population: bool, planned: bool, credited: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the mean of every stratum, from sampling and from noise."""
        answers = self._answers(terms, n, planned=planned)
        # crediting the office with what devices give is not convex, so it is not what is minimised
        credited = credited and not planned
        sampling, device, office = self._parts(terms, n, answers, finite_population, credited=credited)
        return sampling, np.asarray(device + office)

    def released_variances(self, terms: Terms, n: FloatArray) -> FloatArray:
        """Variance of the noise of an answer, or of the noise in the mean of a stratum."""
        if self.noise_power == 1:
            return terms.noise_variances(n) + self.release.device_variance
        _, device, office = self._parts(terms, n, self._answers(terms, n), finite_population=False)
        return np.asarray(device + office)

    def _parts(
        self,
        terms: Terms,
        n: FloatArray | IntArray,
        answers: tuple[FloatArray, FloatArray],
        finite_population: bool,
        *,
        credited: bool = True,
    ) -> tuple[FloatArray, FloatArray | float, FloatArray | float]:
        """Variance of the means from sampling, from noise drawn answer by answer, and from the office's.

        ``answers`` is what S² and the noise variance v are divided by.
        """
        m, noised = answers
        sampling = self.sds**2 / m
        if finite_population:
            sampling = sampling * ((terms.sizes - m) / terms.sizes)
        sizes = np.asarray(n, dtype=float)
        if credited and self.release.credits_devices:
            budgets = self.release.credited(terms.budgets(sizes).e)
            needed = np.isfinite(budgets)
            noise = np.zeros(len(sizes))
            noise[needed] = terms.noise.variance_at(point(budgets[needed]))
        else:
            noise = terms.noise_variances(sizes)
        noise /= noised
        fixed = self.release.device_variance / m if self.release.device_variance > 0 else 0.0
        return (sampling, fixed, noise) if self.noise_power == 2 else (sampling, noise + fixed, 0.0)

    def _answers(
        self, terms: Terms, n: FloatArray, *, planned: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of answers; for the noise their squares where the mean is noised once.

        Where they are random, what gives the expected variance, or with ``planned`` the bound on it that is
        minimised.
        """
        rates, once = terms.response_rates, self.noise_power == 2
        if rates is None:
            return n, n**2 if once else n

        def inverse(*, squared: bool) -> FloatArray:
            if planned:
                return planning_decay(rates, squared=squared).value(n) / rates
            return expected_inverse(terms.sizes, rates, n, squared=squared)

        answers = 1.0 / inverse(squared=False)
        return answers, 1.0 / inverse(squared=True) if once else answers


def _in_columns(parts: tuple[FloatArray, FloatArray | float, FloatArray | float]) -> QuestionParts:
    """Put the variances of the strata in the column of the only question."""
    shape = (len(parts[0]), 1)
    return QuestionParts(*(np.broadcast_to(np.reshape(part, (-1, 1)), shape) for part in parts))
