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

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.noised_once_turnout import strengths_after_field
from dpstrata.allocation.turnout import willing_people
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.words.simulations import simulation_lines

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
        Mean error of the estimate; for objectives other than ``mean``, of Σ a times the stratum means; of
        categories that of the share furthest off.
    variance, variance_error : float
        Empirical variance of the estimate; for other objectives Σ a² times that of the stratum means; of
        categories half the sum over their shares.
    predicted_variance : float
        What the design says.
    coverage, coverage_error : float or None
        Share of intervals (estimate ± z standard errors of the design) that hold the true mean; ``None`` for
        objectives other than ``mean``, and for categories, whose shares have a standard error each.
    predicted_coverage : float or None
        The design's confidence.
    worst_case : bool
        Whether the design plans with the worst answers; less variance and more coverage then agree with it.
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
    worst_case: bool = False

    @property
    def variance_z(self) -> float:
        """Distance of the variance from its prediction, in Monte Carlo errors."""
        return (self.variance - self.predicted_variance) / self.variance_error

    def agrees(self, errors: float = 4.0) -> bool:
        """Whether bias, variance and coverage are within so many Monte Carlo errors of the prediction.

        Where the prediction is a worst case, better is within it too.
        """
        worse = [(self.variance - self.predicted_variance, self.variance_error)]
        if self.coverage is not None and self.coverage_error and self.predicted_coverage is not None:
            worse.append((self.predicted_coverage - self.coverage, self.coverage_error))
        return abs(self.bias) <= errors * self.bias_error and all(
            (off if self.worst_case else abs(off)) <= errors * error for off, error in worse
        )

    def __repr__(self) -> str:
        return simulation_lines(self)


def simulate(
    plan: Design,
    population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
    *,
    replications: int = 1000,
    seed: int = 0,
) -> Simulation:
    """Carry out a design many times on a known population, with simulated noise that protects nobody.

    Each survey draws the design's sample sizes without replacement from each stratum, adds noise of the
    design's mechanism at the design's local budgets, and estimates. If the design leaves out the finite
    population correction, its prediction is for an endless population with the same spread: people are then
    drawn with replacement, and deviations from the mean are stretched by √(N/(N−1)) to make up for it.

    With response rates, r·N people of a stratum are willing to answer, drawn anew in each survey whatever
    their answers; if nobody in the sample is willing, they are drawn again, because the prediction is for
    surveys without an empty stratum.

    Parameters
    ----------
    plan : Design
        The design.
    population : mapping or sequence of arrays
        Answers of everyone, by stratum name or in the order of the strata; real or synthetic, never noised.
        They are clipped if the design clips answers. The prediction holds if their standard deviations are
        those of the design.
    replications : int
        Number of surveys, >= 10.
    seed : int
        Seed that repeats the simulation exactly.

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
    check_whole("replications", replications, least=10)
    check_whole("seed", seed, least=0)
    answers = check_population(plan, population)
    generator = np.random.default_rng(seed)
    if not plan.inputs.answers.numbers:
        by_stratum = [
            _share_errors(plan, i, codes, replications, generator) for i, codes in enumerate(answers)
        ]
        return _summarise_shares(plan, np.stack(by_stratum, axis=1), seed)
    errors = np.empty((replications, len(answers)))
    numbers = np.empty((replications, len(answers)), dtype=np.int64)
    for i, values in enumerate(answers):
        means, numbers[:, i] = _stratum_means(plan, i, values, replications, generator)
        errors[:, i] = means - values.mean()
    if plan.inputs.objective != "mean":
        return _summarise_strata(plan, errors, seed)
    weights = plan.strata.sizes / plan.strata.population
    return _summarise_mean(plan, errors @ weights + _noise_of_figures(plan, numbers, generator), seed)


def synthetic_population(plan: Design) -> list[FloatArray]:
    """Make up answers that have the standard deviations of the design.

    Each stratum has two groups of people who answer alike, around the middle of the answer range: halves for
    real answers, where the deviation is met exactly; on a grid, groups and answers that meet it best.

    Parameters
    ----------
    plan : Design
        Sizes, standard deviations and answer range.

    Raises
    ------
    InputError
        If no two such groups come within 1% of a stratum's standard deviation.
    """
    population = []
    for i, (size, sd) in enumerate(zip(plan.strata.sizes.tolist(), plan.sds.tolist(), strict=True)):
        values = plan.inputs.answers.population(size, sd)
        got = plan.inputs.answers.sd_of(values) if size > 1 else 0.0
        if abs(got - sd) > 0.01 * sd:
            raise InputError(
                f"a synthetic population of stratum {plan.strata.name(i)!r} would need a standard "
                f"deviation of {sd:g} with answers in {plan.inputs.answers}; the nearest is {got:g}. "
                "Give a population of your own."
            )
        population.append(read_only(values))
    return population


def check_whole(name: str, value: object, *, least: int) -> None:
    """Require a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < least:  # type: ignore[call-overload]
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}.")


def check_population(
    plan: Design, population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike]
) -> list[FloatArray]:
    """Require the answers of everyone, in the order of the strata; no message shows one."""
    names = plan.strata.names
    if isinstance(population, Mapping):
        missing = [name for name in names if name not in population]
        if missing:
            raise InputError(f"the population must have every stratum, got none for {missing[0]!r}.")
        if len(population) > len(names):
            raise InputError(f"the population must have {len(names)} strata, got {len(population)}.")
        population = [population[name] for name in names]
    if not isinstance(population, Sequence | np.ndarray):
        raise InputError("the population must be a mapping or a sequence of arrays, one for each stratum.")
    if len(population) != len(names):
        raise InputError(f"the population must have {len(names)} strata, got {len(population)}.")
    allowed = plan.inputs.answers
    checked = []
    for name, size, given in zip(names, plan.strata.sizes.tolist(), population, strict=True):
        try:
            values = np.asarray(given)
        except ValueError:  # lists of different lengths; the cause would show an answer
            raise InputError(f"stratum {name!r} must be a list of answers, got lists in it.") from None
        if values.ndim != 1:
            raise InputError(f"stratum {name!r} must be a list of answers, got {values.ndim} dimensions.")
        if len(values) != size:
            raise InputError(f"stratum {name!r} must have {size:,} answers, got {values.size:,}.")
        checked.append(allowed.checked(values, clip=plan.inputs.clip, where=f"stratum {name!r}"))
    return checked


def _stratum_means(
    plan: Design, row: int, values: FloatArray, replications: int, generator: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Mean of the noised answers of one stratum in each survey, and how many there are."""
    n, e = int(plan.sample_sizes[row]), plan.local_epsilon(row)
    release, mechanism = plan.inputs.release_form, plan.problem.terms.mechanism
    if not plan.inputs.finite_population and len(values) > 1:
        # One person drawn with replacement has variance S²(N−1)/N; the prediction without correction has S².
        values = values.mean() + (values - values.mean()) * np.sqrt(len(values) / (len(values) - 1))
    answers = plan.inputs.answers
    shares = answers.shares(values)
    means, numbers = np.empty(replications), np.empty(replications, dtype=np.int64)
    per_survey = max(n, 1)
    rows = max(1, _CHUNK // per_survey)
    for start in range(0, replications, rows):
        count = min(rows, replications - start)
        sample = _samples(plan, len(values), n, count, generator)
        m = _numbers_of_answers(plan, row, count, generator)
        chosen = release.simulated_answers(mechanism, shares[sample], e, generator)
        if m is None:
            m, sums = np.full(count, n), chosen.sum(axis=1)
        else:
            chosen = generator.permuted(chosen, axis=1)
            sums = np.where(np.arange(n) < m[:, None], chosen, 0.0).sum(axis=1)
        released = release.simulated_sums(mechanism, sums, e, generator) / m
        means[start : start + count], numbers[start : start + count] = answers.at_shares(released), m
    return means, numbers


def _samples(plan: Design, size: int, n: int, count: int, generator: np.random.Generator) -> IntArray:
    """Draw whom each survey asks in a stratum; of an endless population people may come twice."""
    if plan.inputs.finite_population:
        return draw_without_replacement(size, n, count, generator)
    return generator.integers(0, size, (count, n))


def _share_errors(
    plan: Design, row: int, codes: FloatArray, replications: int, generator: np.random.Generator
) -> FloatArray:
    """Errors of the shares of one stratum: a line for each survey, a column for each category."""
    n, e, mechanism = int(plan.sample_sizes[row]), plan.local_epsilon(row), plan.problem.terms.mechanism
    people = codes[:, None] == np.arange(len(plan.inputs.answers.names))
    off = people - people.mean(axis=0)
    # as for numbers: without correction the prediction has S², which people drawn twice fall short of
    endless = not plan.inputs.finite_population and len(codes) > 1
    further = np.sqrt(len(codes) / (len(codes) - 1)) - 1.0 if endless else 0.0
    errors = np.empty((replications, people.shape[1]))
    rows = max(1, _CHUNK // (max(n, 1) * people.shape[1]))
    for start in range(0, replications, rows):
        count = min(rows, replications - start)
        sample = _samples(plan, len(codes), n, count, generator)
        m = _numbers_of_answers(plan, row, count, generator)
        if m is None:
            m = np.full(count, n)
        else:
            sample = generator.permuted(sample, axis=1)
        said = mechanism.simulated_release(codes[sample], e, generator) + further * off[sample]
        answered = (np.arange(n) < m[:, None])[:, :, None]
        errors[start : start + count] = np.where(answered, said, 0.0).sum(axis=1) / m[:, None]
    return np.asarray(errors - people.mean(axis=0))


def _noise_of_figures(plan: Design, numbers: IntArray, generator: np.random.Generator) -> FloatArray | float:
    """Noise of the population mean in each survey, where figures have one draw each; from the best family."""
    if not plan.problem.families:
        return 0.0
    one = NoisedOnce.of(plan.problem)
    shares = [np.sqrt(family.weights * len(one.families)) for family in one.families]
    planned = one.strengths_at(plan.sample_sizes)
    best = min(range(len(planned)), key=lambda i: float(((shares[i] / planned[i]) ** 2).sum()))
    noise = np.empty(len(numbers))
    for row, m in enumerate(numbers):
        strengths = strengths_after_field(one, planned, m)[best]
        noise[row] = generator.laplace(0.0, shares[best] / strengths).sum()
    return noise


def _numbers_of_answers(
    plan: Design, row: int, count: int, generator: np.random.Generator
) -> IntArray | None:
    """How many people of one stratum answer in each survey, at least one; ``None`` where everyone does."""
    rates = plan.problem.terms.response_rates
    if rates is None or rates[row] == 1.0:
        return None
    size, n = int(plan.strata.sizes[row]), int(plan.sample_sizes[row])
    whole, more = willing_people(plan.strata.sizes[row : row + 1], rates[row : row + 1])
    answers = np.zeros(count, dtype=np.int64)
    while (empty := np.flatnonzero(answers == 0)).size:
        willing = int(whole[0]) + (generator.random(len(empty)) < more[0])
        answers[empty] = generator.hypergeometric(willing, size - willing, n)
    return answers


def draw_without_replacement(population: int, n: int, count: int, generator: np.random.Generator) -> IntArray:
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
        worst_case=plan.mechanism.worst_case,
    )


def _summarise_shares(plan: Design, errors: FloatArray, seed: int) -> Simulation:
    """Summarise the errors of shares, by survey, stratum and category: half the sum of their variances.

    The bias is that of the share that is furthest off, in Monte Carlo errors.
    """
    replications, terms = len(errors), plan.problem.terms
    combined = np.einsum("rsk,s->rk", errors, terms.coefficients)
    squares = (combined - combined.mean(axis=0)) ** 2
    if plan.inputs.objective != "mean":
        squares = np.einsum("rsk,s->rk", (errors - errors.mean(axis=0)) ** 2, terms.coefficients**2)
    value = 0.5 * squares.sum(axis=1) * replications / (replications - 1)
    biases, spreads = combined.mean(axis=0), combined.std(axis=0, ddof=1)
    worst = int(np.argmax(np.abs(biases) / np.where(spreads > 0, spreads, 1.0)))
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(biases[worst]),
        bias_error=float(spreads[worst] / np.sqrt(replications)),
        variance=float(value.mean()),
        variance_error=float(value.std(ddof=1) / np.sqrt(replications)),
        predicted_variance=plan.variance,
        coverage=None,
        coverage_error=None,
        predicted_coverage=None,
    )


def _summarise_strata(plan: Design, errors: FloatArray, seed: int) -> Simulation:
    replications = len(errors)
    weight = plan.problem.terms.coefficients**2
    centred = errors - errors.mean(axis=0)
    value = (centred**2) @ weight * replications / (replications - 1)
    combined = errors @ plan.problem.terms.coefficients
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(combined.mean()),
        bias_error=float(combined.std(ddof=1) / np.sqrt(replications)),
        variance=float(value.mean()),
        variance_error=float(value.std(ddof=1) / np.sqrt(replications)),
        predicted_variance=plan.variance,
        coverage=None,
        coverage_error=None,
        predicted_coverage=None,
        worst_case=plan.mechanism.worst_case,
    )
