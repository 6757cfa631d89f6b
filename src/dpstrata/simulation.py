"""Monte Carlo simulation of a design, to see whether it keeps what it predicts.

Everything here is for simulation only. Its noise comes from a seeded generator and ordinary floating point:
it can be predicted and protects nobody. Never use it on real answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InputError
from dpstrata.model.design_record import Design

_CHUNK = 2_000_000  # random numbers held at once


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What many simulated surveys gave, beside what the design predicted.

    Each figure has its Monte Carlo standard error next to it.

    Attributes
    ----------
    replications, seed : int
        How many surveys, and the seed that repeats them.
    bias, bias_error : float
        Mean error of the estimate; for objectives other than ``mean``, the largest in size over the strata,
        in units of its own standard error, with ``bias_error`` 1.
    variance, variance_error : float
        Empirical variance of the estimate; for other objectives Σ a² times that of the stratum means.
    predicted_variance : float
        What the design says.
    coverage, coverage_error : float or None
        Share of intervals (estimate ± z standard errors of the design) that hold the true mean; ``None`` for
        objectives other than ``mean``.
    predicted_coverage : float or None
        The design's confidence.
    """

    replications: int
    seed: int
    bias: float
    bias_error: float
    variance: float
    variance_error: float
    predicted_variance: float
    coverage: float | None
    coverage_error: float | None
    predicted_coverage: float | None

    @property
    def variance_z(self) -> float:
        """Distance of the variance from its prediction, in Monte Carlo errors."""
        return (self.variance - self.predicted_variance) / self.variance_error

    def agrees(self, errors: float = 4.0) -> bool:
        """Whether bias, variance and coverage are within so many Monte Carlo errors of the prediction."""
        distances = [abs(self.bias) / self.bias_error, abs(self.variance_z)]
        if self.coverage is not None and self.coverage_error and self.predicted_coverage is not None:
            distances.append(abs(self.coverage - self.predicted_coverage) / self.coverage_error)
        return max(distances) <= errors

    def __repr__(self) -> str:
        lines = [
            f"{self.replications:,} simulated surveys (seed {self.seed}; simulated noise protects nobody)",
            f"  bias      {self.bias: .3g} ± {self.bias_error:.2g}, predicted 0",
            f"  variance  {self.variance: .6g} ± {self.variance_error:.2g}, "
            f"predicted {self.predicted_variance:.6g}",
        ]
        if self.coverage is not None:
            lines.append(
                f"  coverage  {self.coverage: .4f} ± {self.coverage_error:.2g}, "
                f"predicted {self.predicted_coverage:.4f}"
            )
        return "\n".join(lines)


def simulate(
    plan: Design,
    population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
    *,
    replications: int = 1000,
    seed: int = 0,
) -> Simulation:
    """Carry out a design many times on a known population, with simulated noise that protects nobody.

    Each survey draws the design's sample sizes without replacement from each stratum (with replacement if
    the design leaves out the finite population correction, which is what that prediction is for), adds noise
    of the design's mechanism at the design's local budgets, and estimates.

    Parameters
    ----------
    plan : Design
        The design.
    population : mapping or sequence of arrays
        Answers of everyone, by stratum name or in the order of the strata; real or synthetic, never noised.
        The prediction holds if their standard deviations are those of the design.
    replications : int
        How many surveys, >= 2.
    seed : int
        Repeats the simulation exactly.

    Returns
    -------
    Simulation
        Bias, variance and coverage with their Monte Carlo errors beside the prediction.

    Raises
    ------
    InputError
        If the population does not fit the design.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> result = dps.simulate(plan, dps.synthetic_population(plan), replications=2000, seed=1)
    >>> result.agrees()
    True
    """
    if replications < 2:
        raise InputError(f"replications must be at least 2, got {replications}.")
    answers = _check_population(plan, population)
    generator = np.random.default_rng(seed)
    errors = np.empty((replications, len(answers)))
    for i, values in enumerate(answers):
        errors[:, i] = _stratum_means(plan, i, values, replications, generator) - values.mean()
    if plan.inputs.objective != "mean":
        return _summarise_strata(plan, errors, seed)
    weights = plan.strata.sizes / plan.strata.population
    return _summarise_mean(plan, errors @ weights, seed)


def synthetic_population(plan: Design) -> list[FloatArray]:
    """Make answers that have exactly the design's standard deviations.

    Half of each stratum lies as far above the middle of the answer range as the other half lies below, and a
    person left over sits in the middle. On a grid, answers are moved to it, which changes the deviations.

    Parameters
    ----------
    plan : Design
        Sizes, standard deviations and answer range.
    """
    answers = plan.inputs.answers
    middle = (answers.lower + answers.upper) / 2
    population = []
    for size, sd in zip(plan.strata.sizes.tolist(), plan.sds.tolist(), strict=True):
        half = size // 2
        distance = sd * np.sqrt((size - 1) / (2 * half)) if half else 0.0
        distance = min(distance, answers.range / 2)
        values = np.concatenate([np.full(half, middle - distance), np.full(half, middle + distance)])
        values = np.append(values, [middle] * (size % 2))
        if answers.step is not None:
            values = answers.lower + np.rint((values - answers.lower) / answers.step) * answers.step
        population.append(read_only(values))
    return population


def _check_population(
    plan: Design, population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike]
) -> list[FloatArray]:
    names = plan.strata.names
    if isinstance(population, Mapping):
        missing = [name for name in names if name not in population]
        if missing:
            raise InputError(f"the population must have every stratum, got none for {missing[0]!r}.")
        population = [population[name] for name in names]
    if len(population) != len(names):
        raise InputError(f"the population must have {len(names)} strata, got {len(population)}.")
    allowed = plan.inputs.answers
    checked = []
    for name, size, given in zip(names, plan.strata.sizes.tolist(), population, strict=True):
        values = np.asarray(given, dtype=float)
        if values.shape != (size,):
            raise InputError(f"stratum {name!r} must have {size:,} answers, got {values.size:,}.")
        if not np.all((values >= allowed.lower) & (values <= allowed.upper)):
            raise InputError(f"answers must lie in {allowed}, got one outside in stratum {name!r}.")
        if allowed.step is not None:
            steps = (values - allowed.lower) / allowed.step
            if not np.all(np.abs(steps - np.rint(steps)) <= 1e-9 * np.maximum(steps, 1.0)):
                raise InputError(
                    f"answers must lie on the grid {allowed}, got one off it in stratum {name!r}."
                )
        checked.append(values)
    return checked


def _stratum_means(
    plan: Design, row: int, values: FloatArray, replications: int, generator: np.random.Generator
) -> FloatArray:
    """Mean of the noised answers of one stratum in each survey."""
    n, e = int(plan.sample_sizes[row]), float(plan.local_epsilons[row])
    means = np.empty(replications)
    per_survey = max(n, 1)
    rows = max(1, _CHUNK // per_survey)
    for start in range(0, replications, rows):
        count = min(rows, replications - start)
        if plan.inputs.finite_population:
            sample = _draw_without_replacement(len(values), n, count, generator)
        else:
            sample = generator.integers(0, len(values), (count, n))
        noise = plan.mechanism.simulated_noise(e, (count, n), generator)
        means[start : start + count] = (values[sample] + noise).mean(axis=1)
    return means


def _draw_without_replacement(
    population: int, n: int, count: int, generator: np.random.Generator
) -> IntArray:
    """Draw ``count`` samples of ``n`` from ``population``, every subset equally likely."""
    if n == population:
        return np.broadcast_to(np.arange(population), (count, n))
    if n * n < 4 * population:
        # Few samples have anyone twice; drawing those again leaves all others equally likely.
        sample = generator.integers(0, population, (count, n))
        again = np.arange(count)
        while again.size:
            ordered = np.sort(sample[again], axis=1)
            again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
            sample[again] = generator.integers(0, population, (len(again), n))
        return sample
    sample = np.empty((count, n), dtype=np.int64)
    step = max(1, _CHUNK // population)
    for start in range(0, count, step):
        keys = generator.random((min(step, count - start), population))
        sample[start : start + step] = np.argpartition(keys, n - 1, axis=1)[:, :n]
    return sample


def _summarise_mean(plan: Design, errors: FloatArray, seed: int) -> Simulation:
    replications = len(errors)
    variance = float(errors.var(ddof=1))
    spread = errors - errors.mean()
    z = NormalDist().inv_cdf(0.5 + plan.inputs.confidence / 2)
    covered = float(np.mean(np.abs(errors) <= z * np.sqrt(plan.variance)))
    expected = plan.inputs.confidence
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(errors.mean()),
        bias_error=float(np.sqrt(variance / replications)),
        variance=variance,
        variance_error=float(np.std(spread**2, ddof=1) / np.sqrt(replications)),
        predicted_variance=plan.variance,
        coverage=covered,
        coverage_error=float(np.sqrt(expected * (1 - expected) / replications)),
        predicted_coverage=expected,
    )


def _summarise_strata(plan: Design, errors: FloatArray, seed: int) -> Simulation:
    replications = len(errors)
    weight = plan.problem.terms.coefficients**2
    centred = errors - errors.mean(axis=0)
    value = (centred**2) @ weight * replications / (replications - 1)
    standard = errors.std(axis=0, ddof=1) / np.sqrt(replications)
    shift = errors.mean(axis=0) / np.where(standard > 0, standard, 1.0)
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(shift[np.argmax(np.abs(shift))]),
        bias_error=1.0,
        variance=float(value.mean()),
        variance_error=float(value.std(ddof=1) / np.sqrt(replications)),
        predicted_variance=plan.variance,
        coverage=None,
        coverage_error=None,
        predicted_coverage=None,
    )
