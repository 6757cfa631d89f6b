"""The variance of an allocation, from sampling and from noise: the one place that composes noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.form_terms import FormTerms, QuestionParts, deal, inverses
from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.noised_once_turnout import figure_variances
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.terms import Terms
from dpstrata.allocation.turnout import expected_inverse, planning_decay
from dpstrata.numerics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance of an estimate, split by its cause.

    Attributes
    ----------
    sampling : float
        The variance without privacy: if everyone in the sample were asked every question and no noise were
        added; with the finite population correction if it is on.
    privacy : float
        The rest: from the noise, and from forms that ask each person only some of the questions.
    """

    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.sampling + self.privacy

    @property
    def privacy_share(self) -> float:
        """The share of the variance that privacy accounts for."""
        return self.privacy / self.total if self.total > 0 else 0.0


def variance_parts(
    problem: Problem,
    sizes: IntArray,
    *,
    finite_population: bool,
    credited: bool = True,
    of_strata: tuple[FloatArray, FloatArray] | None = None,
) -> VarianceParts:
    """Split the variance at ``sizes`` into sampling and privacy.

    For ``credited`` see :func:`stratum_variances`, whose result is ``of_strata`` where it is known.
    """
    terms = problem.terms
    weight = terms.coefficients**2
    if of_strata is None:
        of_strata = stratum_variances(problem, sizes, finite_population=finite_population, credited=credited)
    sampling, privacy = of_strata
    noise = float((weight * privacy).sum())
    if problem.families:
        noise += least_noise(problem, sizes)
    return VarianceParts(sampling=float((weight * sampling).sum()), privacy=noise)


def answer_noise(problem: Problem, sizes: IntArray, *, finite_population: bool) -> float:
    """Return what noise that is drawn answer by answer adds to the variance; the rest is the office's."""
    terms = problem.terms
    weight = terms.coefficients**2
    if problem.forms is not None:
        parts = question_parts(problem, sizes, finite_population=finite_population)
        return float((weight * (parts.device @ problem.forms.importances)).sum())
    if terms.release.noise_power == 2 and not problem.families:
        answers, _ = _divisors(terms, sizes.astype(float), planned=False)
        return float((weight * terms.release.device_variance / answers).sum())
    _, privacy = stratum_variances(problem, sizes, finite_population=finite_population)
    return float((weight * privacy).sum())


def noise_of_figures(problem: Problem, sizes: IntArray) -> tuple[FloatArray, ...]:
    """Variance of the one draw of noise of each published figure, by family; nothing where there is none."""
    if not problem.families:
        return ()
    one = NoisedOnce.of(problem)
    return figure_variances(one, sizes, one.strengths_at(sizes))


def noise_by_column(
    problem: Problem, sizes: IntArray, columns: Sequence[str]
) -> dict[str | None, FloatArray]:
    """Return what that noise adds to the domains of each column, and to the whole; none without figures."""
    if not problem.families:
        return {}
    noise: dict[str | None, FloatArray] = dict(zip(columns, noise_of_figures(problem, sizes), strict=False))
    return {**noise, None: np.array([least_noise(problem, sizes)])}


def least_noise(problem: Problem, sizes: IntArray) -> float:
    """Variance that the noise of the figures adds to the population mean, from the family with the least."""
    families = zip(problem.families, noise_of_figures(problem, sizes), strict=True)
    # their weights share the objective, so that each counts as one of so many
    return min(float(family.weights @ noise) for family, noise in families) * len(problem.families)


def stratum_variances(
    problem: Problem,
    sizes: IntArray | FloatArray,
    *,
    finite_population: bool,
    planned: bool = False,
    credited: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Variance of each stratum's mean at ``sizes``, from sampling and from privacy.

    With ``planned``, as it is minimised: not below what is expected where the number of answers is random.
    Unless it is planned, or ``credited`` is off, with as little noise of the office as devices leave it.
    """
    terms, n = problem.terms, sizes.astype(float)
    if problem.forms is not None:
        return _variances_of_forms(
            problem, problem.forms, n, finite_population=finite_population, planned=planned, credited=credited
        )
    divisors = _divisors(terms, n, planned=planned)
    sampling = _sampling_of_means(terms, divisors[0], finite_population=finite_population)
    return sampling, _noise_of_means(terms, n, divisors, credited=credited and not planned)


def variance_if_some_answer(
    problem: Problem, sizes: IntArray, share: float, *, finite_population: bool
) -> float:
    """Variance at ``sizes`` if a share of those invited answers, with the noise that was designed for all.

    For releases whose noise is not set by the number of answers, and designs without response rates.
    """
    terms, n = problem.terms, sizes.astype(float)
    if problem.forms is not None:
        parts = problem.forms.stratum_parts(
            share * dealt_to_forms(problem, sizes).astype(float),
            terms.budgets(n).e,
            sizes=terms.sizes,
            rates=None,
            finite_population=finite_population,
        )
        variances = parts.total @ problem.forms.importances
    else:
        answers = share * n
        divisors = answers, answers**terms.release.noise_power
        variances = _sampling_of_means(terms, answers, finite_population=finite_population)
        variances = variances + _noise_of_means(terms, n, divisors, credited=True)
    return float((terms.coefficients**2 * variances).sum())


def _variances_of_forms(
    problem: Problem,
    forms: FormTerms,
    n: FloatArray,
    *,
    finite_population: bool,
    planned: bool,
    credited: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the same for all questions of a questionnaire together, by their importance.

    People are divided over forms for the sake of privacy, so what that costs counts as privacy.
    """
    if planned:  # as a share of the people gets each form, not whole numbers
        coefficients = problem.terms.coefficients
        total = problem.terms.values(n) / coefficients**2
        correction = forms.sampled @ forms.importances / problem.terms.sizes
        return total - correction if finite_population else total, np.zeros_like(total)
    parts = question_parts(
        problem, n.astype(np.int64), finite_population=finite_population, credited=credited
    )
    w = forms.importances
    sampling = everyone_asked(problem, n, finite_population=finite_population) @ w
    return sampling, np.maximum(parts.total @ w - sampling, 0.0)


def dealt_to_forms(problem: Problem, sizes: IntArray) -> IntArray:
    """Deal the people of every stratum to the forms."""
    assert problem.forms is not None
    budgets = problem.terms.budgets(sizes.astype(float)).e
    return deal(sizes, problem.forms.shares, problem.forms.per_form(sizes, budgets), problem.forms.fewest)


def question_parts(
    problem: Problem, sizes: IntArray, *, finite_population: bool, credited: bool = True
) -> QuestionParts:
    """Variance of every question's mean in every stratum, with forms dealt in whole numbers."""
    assert problem.forms is not None
    terms = problem.terms
    return problem.forms.stratum_parts(
        dealt_to_forms(problem, sizes),
        terms.budgets(sizes.astype(float)).e,
        sizes=terms.sizes,
        rates=terms.response_rates,
        finite_population=finite_population,
        credited=credited,
    )


def everyone_asked(problem: Problem, sizes: IntArray | FloatArray, *, finite_population: bool) -> FloatArray:
    """Variance of every question's mean in every stratum if all were asked it and nothing were noised."""
    forms, terms = problem.forms, problem.terms
    assert forms is not None
    inverse, _ = inverses(sizes[:, None], terms.sizes, terms.response_rates)
    if finite_population:
        inverse = np.maximum(inverse - 1.0 / terms.sizes[:, None], 0.0)
    return inverse * forms.spreads


def release_variances(problem: Problem, sizes: IntArray | FloatArray) -> FloatArray:
    """Noise variance of what is noised once: an answer, or the mean of a stratum.

    Of a questionnaire, that of the stratum means of all questions together, by their importance.
    """
    terms, n = problem.terms, sizes.astype(float)
    if problem.forms is not None:
        parts = question_parts(problem, sizes.astype(np.int64), finite_population=False)
        return (parts.device + parts.office) @ problem.forms.importances
    if terms.release.noise_power == 1:
        return terms.noise_variances(n) + terms.release.device_variance
    return _noise_of_means(terms, n, _divisors(terms, n, planned=False), credited=True)


def _sampling_of_means(terms: Terms, answers: FloatArray, *, finite_population: bool) -> FloatArray:
    """Variance of each stratum's mean from asking some people and not others."""
    sampling = terms.sds**2 / answers
    return sampling * ((terms.sizes - answers) / terms.sizes) if finite_population else sampling


def _noise_of_means(
    terms: Terms, n: FloatArray, divisors: tuple[FloatArray, FloatArray], *, credited: bool
) -> FloatArray:
    """Variance of each stratum's mean from all noise; see :func:`_divisors`.

    What is minimised is not credited with what devices' noise saves the office, since that is not convex.
    """
    answers, noised = divisors
    noise = (terms.credited_variances(n) if credited else terms.noise_variances(n)) / noised
    device = terms.release.device_variance
    return noise + device / answers if device > 0 else noise


def _divisors(terms: Terms, n: FloatArray, *, planned: bool) -> tuple[FloatArray, FloatArray]:
    """Return what S² and the noise variance v are divided by in the variance of each stratum's mean.

    The number of answers; for the noise its square where the mean is noised once. Where that number is
    random, what gives the expected variance, or with ``planned`` the bound on it that is minimised.
    """
    rates, once = terms.response_rates, terms.release.noise_power == 2
    if rates is None:
        return n, n**2 if once else n

    def inverse(*, squared: bool) -> FloatArray:
        if planned:
            return planning_decay(rates, squared=squared).value(n) / rates
        return expected_inverse(terms.sizes, rates, n, squared=squared)

    answers = 1.0 / inverse(squared=False)
    return answers, 1.0 / inverse(squared=True) if once else answers


def mean_variances(problem: Problem, sizes: IntArray | FloatArray, *, finite_population: bool) -> FloatArray:
    """Variance of each stratum's mean at ``sizes``, as it is minimised."""
    sampling, privacy = stratum_variances(problem, sizes, finite_population=finite_population, planned=True)
    return sampling + privacy


def planned_variance(problem: Problem, sizes: IntArray, *, finite_population: bool) -> float:
    """Return the variance at ``sizes`` as it is minimised, with the finite population correction."""
    variances = mean_variances(problem, sizes, finite_population=finite_population)
    noise = 0.0
    if problem.families:
        one = NoisedOnce.of(problem)
        noise = one.noise(one.strengths_at(sizes))
    return float((problem.terms.coefficients**2 * variances).sum()) + noise
