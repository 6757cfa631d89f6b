r"""One question for everyone, with a mechanism of its own.

With m answers the mean of a stratum has the variance

.. math:: \frac{S^2 + d}{m} + \frac{g^2\, v(e(n))}{m^p}

(S² with the finite population correction), in squared units of the answers. The release says p, d and g
(:mod:`dpstrata.survey.releases.base`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np

from dpstrata.allocation.form_terms import FormTerms, QuestionParts
from dpstrata.allocation.terms import Terms
from dpstrata.allocation.turnout import WHOLE, expected_inverse, planning_decay
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.privacy.mechanisms.noise import Noise
from dpstrata.survey.forms import FormPlan, Table
from dpstrata.survey.releases.base import Release

_ONE = read_only(np.ones(1))
_NOBODY = read_only(np.zeros(1, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class OneQuestion(FormTerms):
    """One question on one form.

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
        return (FormPlan((self.name,), (levels,), 1.0, tables),)

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

    def weighted(self, importances: FloatArray) -> Self:
        """Return itself: the only question has all of the importance."""
        return self

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
