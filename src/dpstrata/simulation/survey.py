"""Monte Carlo simulation of a design, to see whether it keeps what it predicts.

Everything here is for simulation only. Its noise comes from a seeded generator and ordinary floating point:
it can be predicted and protects nobody. Never use it on real answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.allocation.single_mean import SingleMean
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.results.reader import Surveys
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.simulation.people import (
    CHUNK,
    by_stratum,
    check_whole,
    draw_without_replacement,
    numbers_of_answers,
)
from dpstrata.simulation.questionnaires import made_up_people, simulate_questionnaire
from dpstrata.simulation.result import Simulation


def simulate(
    plan: Design,
    population: Mapping[str, Any] | Sequence[Any],
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

    Of a questionnaire, people are dealt its forms, their rows of answers are replaced as often as the design
    says, and tables get the office's noise; every question is estimated from what is published.

    Parameters
    ----------
    plan : Design
        The design.
    population : mapping or sequence of arrays
        Answers of everyone, by stratum name or in the order of the strata; real or synthetic, never noised.
        They are clipped if the design clips answers. The prediction holds if their standard deviations are
        those of the design. Of a questionnaire, a mapping from question to answers for each stratum; yes is 1
        and no is 0, and a category is its name.
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
    if plan.inputs.rows:
        return simulate_questionnaire(plan, by_stratum(plan, population), replications, seed)
    answers = check_population(plan, population)
    generator = np.random.default_rng(seed)
    if not plan.inputs.space.numbers:
        of_shares = [
            _share_errors(plan, i, codes, replications, generator) for i, codes in enumerate(answers)
        ]
        return _summarise_shares(plan, np.stack(of_shares, axis=1), seed)
    each = [_stratum(plan, i, values, replications, generator) for i, values in enumerate(answers)]
    counts, means, squares = (np.stack(columns, axis=1) for columns in zip(*each, strict=True))
    truths = np.array([values.mean() for values in answers])
    if plan.inputs.objective != "mean":
        return _summarise_strata(plan, means - truths, seed)
    weights = plan.strata.sizes / plan.strata.population
    surveys = Surveys(counts, means, squares, *_noise_of_figures(plan, counts, generator))
    wholes, truth = means @ weights + surveys.noise, float(truths @ weights)
    limits = reader_of(plan).limits_in_surveys(surveys)
    covered = (limits.lower <= truth) & (truth <= limits.upper)
    return _summarise_mean(plan, wholes - truth, covered, seed)


def synthetic_population(plan: Design) -> list[Any]:
    """Make up answers that have the standard deviations of the design.

    Each stratum has two groups of people who answer alike, around the middle of the answer range: halves for
    real answers, where the deviation is met exactly; on a grid, groups and answers that meet it best. Of a
    questionnaire, answers to every question, unrelated to each other, that have the shares, means and
    standard deviations that are known as nearly as whole people can, and the worst where nothing is.

    Parameters
    ----------
    plan : Design
        Sizes, standard deviations and answer range.

    Raises
    ------
    InputError
        If no two such groups come within 1% of a stratum's standard deviation.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> first, second = dps.synthetic_population(plan)
    >>> len(first), len(second), round(float(first.std(ddof=1)), 3)
    (700, 900, 0.3)
    """
    if plan.inputs.rows:
        return made_up_people(plan)
    question = plan.inputs.question
    population: list[Any] = []
    for i, (size, sd) in enumerate(zip(plan.strata.sizes.tolist(), plan.sds.tolist(), strict=True)):
        values = question.of_kind.made_up_with_sd(question, size, sd)
        got = question.of_kind.sd_of(question, values) if size > 1 else 0.0
        if abs(got - sd) > 0.01 * sd:
            raise InputError(
                f"a synthetic population of stratum {plan.strata.name(i)!r} would need a standard "
                f"deviation of {sd:g} with answers in {question.space}; the nearest is {got:g}. "
                "Give a population of your own."
            )
        population.append(read_only(values))
    return population


def check_population(
    plan: Design, population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike]
) -> list[FloatArray]:
    """Require the answers of everyone, in the order of the strata; no message shows one."""
    question = plan.inputs.question
    checked = []
    rows = zip(plan.strata.names, plan.strata.sizes.tolist(), by_stratum(plan, population), strict=True)
    for name, size, given in rows:
        try:
            values = np.asarray(given)
        except ValueError:  # lists of different lengths; the cause would show an answer
            raise InputError(f"stratum {name!r} must be a list of answers, got lists in it.") from None
        if values.ndim != 1:
            raise InputError(f"stratum {name!r} must be a list of answers, got {values.ndim} dimensions.")
        if len(values) != size:
            raise InputError(f"stratum {name!r} must have {size:,} answers, got {values.size:,}.")
        checked.append(
            question.of_kind.checked(question, values, clip=plan.inputs.clip, where=f"stratum {name!r}")
        )
    return checked


def _stratum(
    plan: Design, row: int, values: FloatArray, replications: int, generator: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Carry out all surveys in one stratum: numbers of answers, their means, sums of squared distances."""
    n, e = int(plan.sample_sizes[row]), plan.local_epsilon(row)
    release, mechanism = plan.inputs.release_form, plan.problem.forms.fitted
    if not plan.inputs.finite_population and len(values) > 1:
        # One person drawn with replacement has variance S²(N−1)/N; the prediction without correction has S².
        values = values.mean() + (values - values.mean()) * np.sqrt(len(values) / (len(values) - 1))
    space = plan.inputs.space
    shares = space.shares(values)
    means, squares = np.empty((2, replications))
    numbers = np.empty(replications, dtype=np.int64)
    per_survey = max(n, 1)
    rows = max(1, CHUNK // per_survey)
    for start in range(0, replications, rows):
        count = min(rows, replications - start)
        sample = _samples(plan, len(values), n, count, generator)
        m = numbers_of_answers(plan, row, count, generator)
        chosen = release.simulated_answers(mechanism, shares[sample], e, generator)
        answered: Any = True
        if m is None:
            m = np.full(count, n)
        else:
            chosen = generator.permuted(chosen, axis=1)
            answered = np.arange(n) < m[:, None]
        sums = chosen.sum(axis=1, where=answered)
        off = chosen - (sums / m)[:, None]
        part = slice(start, start + count)
        means[part] = space.at_shares(release.simulated_sums(mechanism, sums, e, generator) / m)
        squares[part] = space.range**2 * np.square(off).sum(axis=1, where=answered)
        numbers[part] = m
    return numbers, means, squares


def _samples(plan: Design, size: int, n: int, count: int, generator: np.random.Generator) -> IntArray:
    """Draw whom each survey asks in a stratum; of an endless population people may come twice."""
    if plan.inputs.finite_population:
        return draw_without_replacement(size, n, count, generator)
    return generator.integers(0, size, (count, n))


def _share_errors(
    plan: Design, row: int, codes: FloatArray, replications: int, generator: np.random.Generator
) -> FloatArray:
    """Errors of the shares of one stratum: a line for each survey, a column for each category."""
    n, e, mechanism = int(plan.sample_sizes[row]), plan.local_epsilon(row), plan.problem.forms.fitted
    people = codes[:, None] == np.arange(len(plan.inputs.question.names))
    off = people - people.mean(axis=0)
    # as for numbers: without correction the prediction has S², which people drawn twice fall short of
    endless = not plan.inputs.finite_population and len(codes) > 1
    further = np.sqrt(len(codes) / (len(codes) - 1)) - 1.0 if endless else 0.0
    errors = np.empty((replications, people.shape[1]))
    rows = max(1, CHUNK // (max(n, 1) * people.shape[1]))
    for start in range(0, replications, rows):
        count = min(rows, replications - start)
        sample = _samples(plan, len(codes), n, count, generator)
        m = numbers_of_answers(plan, row, count, generator)
        if m is None:
            m = np.full(count, n)
        else:
            sample = generator.permuted(sample, axis=1)
        said = mechanism.simulated_release(codes[sample], e, generator) + further * off[sample]
        answered = (np.arange(n) < m[:, None])[:, :, None]
        errors[start : start + count] = np.where(answered, said, 0.0).sum(axis=1) / m[:, None]
    return np.asarray(errors - people.mean(axis=0))


def _noise_of_figures(
    plan: Design, numbers: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw the noise of the population mean in each survey, from the best family; with its variance.

    There is none where strata have noise of their own.
    """
    noise, variances = np.zeros((2, len(numbers)))
    if not plan.problem.families:
        return noise, variances
    one = SingleMean(plan.problem)
    shares = [np.sqrt(family.weights * len(one.families)) for family in one.families]
    planned = one.strengths_at(plan.sample_sizes)
    best = min(range(len(planned)), key=lambda i: float(((shares[i] / planned[i]) ** 2).sum()))
    for row, m in enumerate(numbers):
        scales = shares[best] / one.raised_to_answers(m, planned)[best]
        noise[row] = generator.laplace(0.0, scales).sum()
        variances[row] = 2.0 * np.square(scales).sum()
    return noise, variances


def _summarise_mean(
    plan: Design, errors: FloatArray, covered: npt.NDArray[np.bool_], seed: int
) -> Simulation:
    replications = len(errors)
    variance = float(errors.var(ddof=1))
    spread = errors - errors.mean()
    expected = plan.inputs.confidence
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(errors.mean()),
        bias_error=float(np.sqrt(variance / replications)),
        variance=variance,
        variance_error=float(np.std(spread**2, ddof=1) / np.sqrt(replications)),
        predicted_variance=plan.variance,
        coverage=float(covered.mean()),
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
