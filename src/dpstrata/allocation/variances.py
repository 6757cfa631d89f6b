"""The variance of an allocation, from sampling and from noise, in strata and in published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.form_terms import QuestionParts
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.single_mean import SingleMean, figure_variances
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
    weight = problem.terms.coefficients**2
    if of_strata is None:
        of_strata = stratum_variances(problem, sizes, finite_population=finite_population, credited=credited)
    sampling, privacy = of_strata
    noise = float((weight * privacy).sum()) + figure_noise(problem, sizes)
    return VarianceParts(sampling=float((weight * sampling).sum()), privacy=noise)


def noise_of_figures(problem: Problem, sizes: IntArray) -> tuple[FloatArray, ...]:
    """Variance of the one draw of noise of each published figure, by family; nothing where there is none."""
    if not problem.families:
        return ()
    one = SingleMean(problem)
    return figure_variances(one, sizes, one.strengths_at(sizes))


def noise_by_column(
    problem: Problem, sizes: IntArray, columns: Sequence[str]
) -> dict[str | None, FloatArray]:
    """Return what that noise adds to the domains of each column, and to the whole; none without figures."""
    if not problem.families:
        return {}
    weight = float(problem.forms.importances @ problem.forms.figure_factors)
    found = [weight * noise for noise in noise_of_figures(problem, sizes)]
    noise: dict[str | None, FloatArray] = dict(zip(columns, found, strict=False))
    return {**noise, None: np.array([figure_noise(problem, sizes)])}


def figure_noise(problem: Problem, sizes: IntArray) -> float:
    """Variance that the noise of the figures adds to the population mean, from the family with the least.

    Zero where no figures are published.
    """
    if not problem.families:
        return 0.0
    families = zip(problem.families, noise_of_figures(problem, sizes), strict=True)
    # their weights share the objective, so that each counts as one of so many
    return min(float(family.weights @ noise) for family, noise in families) * len(problem.families)


def figure_noise_by_question(problem: Problem, sizes: IntArray) -> FloatArray:
    """Return what that noise adds to the variance of every question's mean of the population."""
    if not problem.families:
        return np.zeros(len(problem.forms.importances))
    factors = problem.forms.figure_factors
    return factors * (figure_noise(problem, sizes) / float(problem.forms.importances @ factors))


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
    return problem.forms.stratum_variances(
        problem.terms,
        sizes.astype(float),
        finite_population=finite_population,
        planned=planned,
        credited=credited,
    )


def variance_if_some_answer(
    problem: Problem, sizes: IntArray, share: float, *, finite_population: bool
) -> float:
    """Variance at ``sizes`` if a share of those invited answers, with the noise that was designed for all.

    For releases whose noise is not set by the number of answers, and designs without response rates.
    """
    forms, terms = problem.forms, problem.terms
    parts = forms.parts_given_answers(
        terms, sizes, share * sizes.astype(float), finite_population=finite_population
    )
    return float((terms.coefficients**2 * (parts.total @ forms.importances)).sum())


def question_parts(
    problem: Problem, sizes: IntArray, *, finite_population: bool, credited: bool = True
) -> QuestionParts:
    """Variance of every question's mean in every stratum, with forms dealt in whole numbers."""
    return problem.forms.question_parts(
        problem.terms, sizes, finite_population=finite_population, credited=credited
    )


def mean_variances(problem: Problem, sizes: IntArray | FloatArray, *, finite_population: bool) -> FloatArray:
    """Variance of each stratum's mean at ``sizes``, as it is minimised."""
    sampling, privacy = stratum_variances(problem, sizes, finite_population=finite_population, planned=True)
    return sampling + privacy


def planned_variance(problem: Problem, sizes: IntArray, *, finite_population: bool) -> float:
    """Return the variance at ``sizes`` as it is minimised, with the finite population correction."""
    variances = mean_variances(problem, sizes, finite_population=finite_population)
    noise = 0.0
    if problem.families:
        one = SingleMean(problem)
        noise = one.noise(one.strengths_at(sizes))
    return float((problem.terms.coefficients**2 * variances).sum()) + noise
