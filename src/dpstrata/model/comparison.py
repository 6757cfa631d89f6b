"""A design beside the classical allocations, all under the same privacy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.model.baselines import BASELINES, baseline_sizes, baseline_sizes_at_cost, neyman_weights
from dpstrata.model.costs import total_cost
from dpstrata.model.problem import Problem
from dpstrata.model.response import expected_inverse, planning_decay
from dpstrata.model.terms import Terms

OWN = "this_design"  # what the design itself is called beside the others


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance of an estimate, split by its cause.

    Attributes
    ----------
    sampling : float
        From asking some people and not others; with the finite population correction if it is on.
    privacy : float
        From the noise.
    """

    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.sampling + self.privacy


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One allocation, scored under the same privacy as the design.

    Attributes
    ----------
    design : str
        ``this_design``, ``neyman``, ``proportional`` or ``equal``.
    sample_sizes : array of int
        Its sample sizes, within the design's bounds, with its total or for its cost.
    variance : float
        Of the estimator (for objectives other than ``mean`` the objective's value).
    ratio : float
        What is minimised over the design's: the variance, or where the number of answers is random the
        planned variance, which counts few expected answers as worse.
    variance_without_privacy : float
        The same sizes with no noise.
    effective_sample_size : float or None
        How many interviews without noise, allocated by Neyman, would do as well; ``None`` where no stratum
        has any spread.
    """

    design: str
    sample_sizes: IntArray
    variance: float
    ratio: float
    variance_without_privacy: float
    effective_sample_size: float | None
    standard_error: float | None
    """Root of the variance for the population mean, ``None`` for other objectives."""
    cost: float | None = None
    """What the sizes cost, where the strata say what an invitation does."""

    @property
    def total(self) -> int:
        """People invited in all strata together."""
        return int(self.sample_sizes.sum())


def variance_parts(problem: Problem, sizes: IntArray, *, finite_population: bool) -> VarianceParts:
    """Split the variance at ``sizes`` into sampling and privacy."""
    terms = problem.terms
    weight = terms.coefficients**2
    sampling, privacy = stratum_variances(problem, sizes, finite_population=finite_population)
    return VarianceParts(sampling=float((weight * sampling).sum()), privacy=float((weight * privacy).sum()))


def stratum_variances(
    problem: Problem, sizes: IntArray | FloatArray, *, finite_population: bool, planned: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Variance of each stratum's mean at ``sizes``, from sampling and from privacy.

    With ``planned``, as it is minimised: not below what is expected where the number of answers is random.
    """
    terms, n = problem.terms, sizes.astype(float)
    divisors = _divisors(terms, n, planned=planned)
    answers = divisors[0]
    sampling = terms.sds**2 / answers
    if finite_population:
        sampling = sampling * ((terms.sizes - answers) / terms.sizes)
    return sampling, _noise_of_means(terms, n, divisors)


def release_variances(terms: Terms, n: FloatArray) -> FloatArray:
    """Noise variance of what is noised once: an answer, or the mean of a stratum."""
    if terms.release.noise_power == 1:
        return terms.noise_variances(n)
    return _noise_of_means(terms, n, _divisors(terms, n, planned=False))


def _noise_of_means(terms: Terms, n: FloatArray, divisors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Variance of each stratum's mean from all noise; see :func:`_divisors`."""
    answers, noised = divisors
    noise = terms.noise_variances(n) / noised
    device = terms.release.device_variance
    return noise + device / answers if device > 0 else noise


def _divisors(terms: Terms, n: FloatArray, *, planned: bool) -> tuple[FloatArray, FloatArray]:
    """Return what S² and the noise variance v are divided by in the variance of each stratum's mean.

    The number of answers; for the noise its square where the mean is noised once. Where that number is
    random, what gives the expected variance, or with ``planned`` the bound on it that is minimised.
    """
    rates, once = terms.response_rates, terms.release.noise_power == 2
    if rates is None or terms.certain_answers:
        answers = n if rates is None else n * rates
        return answers, answers**2 if once else answers

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
    return float((problem.terms.coefficients**2 * variances).sum())


def compare_designs(
    problem: Problem,
    sizes: IntArray,
    *,
    finite_population: bool,
    costs: FloatArray | None = None,
    equal_cost: bool = False,
) -> tuple[Comparison, ...]:
    """Score ``sizes`` as this design, then the classical allocations of the same total, or cost."""

    def rival(name: str) -> IntArray:
        if costs is None or not equal_cost:
            return baseline_sizes(problem, name)
        return baseline_sizes_at_cost(problem, name, costs, total_cost(costs, sizes))

    reference, rows = None, []
    for name in (OWN, *BASELINES):
        allocation = sizes if name == OWN else read_only(rival(name))
        parts = variance_parts(problem, allocation, finite_population=finite_population)
        minimised = parts.total
        if problem.terms.random_answers:
            minimised = planned_variance(problem, allocation, finite_population=finite_population)
        reference = minimised if reference is None else reference  # the design itself comes first
        rows.append(
            Comparison(
                design=name,
                sample_sizes=allocation,
                variance=parts.total,
                ratio=minimised / reference if reference > 0 else 1.0,
                variance_without_privacy=parts.sampling,
                effective_sample_size=_effective_size(problem, allocation),
                standard_error=float(np.sqrt(parts.total)) if problem.terms.objective == "mean" else None,
                cost=None if costs is None else total_cost(costs, allocation),
            )
        )
    return tuple(rows)


def _effective_size(problem: Problem, sizes: IntArray | FloatArray) -> float | None:
    """Solve (Σ|a|S/√r)²/m = Σf for m: Neyman's variance without noise, the correction being on both sides."""
    terms = problem.terms
    spread = float(neyman_weights(terms).sum())
    return spread**2 / problem.objective(sizes) if spread > 0 else None
