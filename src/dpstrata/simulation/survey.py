"""Monte Carlo simulation of a design, to see whether it keeps what it predicts.

Everything here is for simulation only. Its noise comes from a seeded generator and ordinary floating point:
it can be predicted and protects nobody. Never use it on real answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpstrata.allocation.rows_on_forms import importances
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.results.mean import figure_units
from dpstrata.fielding.results.reader import Surveys
from dpstrata.numerics.arrays import BoolArray, FloatArray, read_only
from dpstrata.simulation.stratum import Carried, Stratum
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.what_if import simulation_lines

_SHORTFALL = 0.4  # of an interval's coverage, relative to the chance that it may miss


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
        Share of intervals that hold the true mean: those that :func:`dpstrata.estimate` would print; of
        questions on forms, estimate ± margin of the design. ``None`` for several questions together,
        objectives other than ``mean``, and categories.
    predicted_coverage : float or None
        The design's confidence.
    worst_case : bool
        Whether the design plans with the worst answers; less variance and more coverage then agree with it.
    questions : dict of str to Simulation
        Of several questions, each in its own units. All together are weighted by importance, in units of
        their ranges, as questions on forms are.
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
    questions: Mapping[str, Simulation] = field(default_factory=dict)

    @property
    def variance_z(self) -> float:
        """Distance of the variance from its prediction, in Monte Carlo errors."""
        return (self.variance - self.predicted_variance) / self.variance_error

    def agrees(self, errors: float = 4.0) -> bool:
        """Whether bias, variance and coverage are within so many Monte Carlo errors of the prediction.

        Where the prediction is a worst case, better is within it too. Intervals may cover more than their
        confidence, and fall short of it by two fifths of what is left to one: 95% intervals cover at least
        93%.
        """
        off = self.variance - self.predicted_variance
        return (
            abs(self.bias) <= errors * self.bias_error
            and (off if self.worst_case else abs(off)) <= errors * self.variance_error
            and self._covers(errors)
            and all(question.agrees(errors) for question in self.questions.values())
        )

    def _covers(self, errors: float) -> bool:
        if self.coverage is None or self.coverage_error is None or self.predicted_coverage is None:
            return True
        least = self.predicted_coverage - _SHORTFALL * (1.0 - self.predicted_coverage)
        return self.coverage >= least - errors * self.coverage_error

    def __repr__(self) -> str:
        return simulation_lines(self)


def simulate(
    plan: Design,
    population: Mapping[str, Any] | Sequence[Any],
    *,
    replications: int = 1000,
    seed: int = 0,
) -> Simulation:
    """Carry out a design many times on a known population, with simulated noise that protects nobody.

    Each survey draws the design's sample sizes without replacement from each stratum, deals the forms, noises
    answers or replaces rows as devices do, adds the office's noise to what is published, and estimates. If
    the design leaves out the finite population correction, its prediction is for an endless population with
    the same spread: people are then drawn with replacement, and what a sample is off by is stretched by
    √(N/(N−1)) to make up for it.

    With response rates, r·N people of a stratum are willing to answer, drawn anew in each survey whatever
    their answers; if nobody with a form is willing, they are drawn again, because the prediction is for
    surveys without an empty stratum.

    Parameters
    ----------
    plan : Design
        The design.
    population : mapping or sequence
        Answers of everyone, by stratum name or in the order of the strata; real or synthetic, never noised.
        A stratum has a mapping from question to answers, or the answers alone where there is one question;
        yes is 1 and no is 0, and a category is its name. They are clipped if the design clips answers. The
        prediction holds if their standard deviations are those of the design.
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
    people = check_population(plan, population)
    generator = np.random.default_rng(seed)
    strata = [Stratum(plan, i, answers) for i, answers in enumerate(people)]
    found = [stratum.carried_out(replications, generator) for stratum in strata]
    return _Summary(plan, strata, found, generator, seed).simulation()


def synthetic_population(plan: Design) -> list[Any]:
    """Make up answers that have the standard deviations of the design.

    Of a single question that is noised, each stratum has two groups of people who answer alike, around the
    middle of the answer range: halves for real answers, where the deviation is met exactly; on a grid, groups
    and answers that meet it best. Of questions on forms, answers to every question, unrelated to each other,
    that have the shares, means and standard deviations that are known as nearly as whole people can, and the
    worst where nothing is.

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
    sizes = plan.strata.sizes.tolist()
    if plan.inputs.rows:
        told, generator = plan.spreads.values, np.random.default_rng(0)
        return [
            {
                # in an order of their own, so that questions have nothing to do with each other
                each.name: read_only(
                    generator.permutation(each.of_kind.made_up(each, told[each.name], i, size))
                )
                for each in plan.inputs.questions
            }
            for i, size in enumerate(sizes)
        ]
    question = plan.inputs.question
    population: list[Any] = []
    for i, (size, sd) in enumerate(zip(sizes, plan.sds.tolist(), strict=True)):
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


def check_whole(name: str, value: object, *, least: int) -> None:
    """Require a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < least:  # type: ignore[call-overload]
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}.")


def check_population(
    plan: Design, population: Mapping[str, Any] | Sequence[Any]
) -> list[dict[str, FloatArray]]:
    """Require everyone's answers to every question, in the order of the strata; no message shows one.

    Returns
    -------
    list of dict
        By question: shares of the range, or places of categories.
    """
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
    return [_check_stratum(plan, i, given) for i, given in enumerate(population)]


def _check_stratum(plan: Design, row: int, given: Any) -> dict[str, FloatArray]:
    """Require the answers of everyone in a stratum: a mapping, or those to the only question."""
    where, questions = f"stratum {plan.strata.name(row)!r}", plan.inputs.questions
    if not isinstance(given, Mapping):
        if len(questions) > 1:
            raise InputError(
                f"{where} must be a mapping from question to answers, got {type(given).__name__}."
            )
        given = {questions[0].name: given}
    answers = {}
    for question in questions:
        if question.name not in given:
            raise InputError(f"{where} must have answers to every question, got none to {question.name!r}.")
        of = f"question {question.name!r} in {where}" if len(questions) > 1 else where
        values = _check_answers(plan, question, given[question.name], of, int(plan.strata.sizes[row]))
        answers[question.name] = question.space.shares(values) if question.space.numbers else values
    return answers


def _check_answers(plan: Design, question: Question, given: Any, where: str, size: int) -> FloatArray:
    try:
        values = np.asarray(given)
    except ValueError:  # lists of different lengths; the cause would show an answer
        raise InputError(f"{where} must be a list of answers, got lists in it.") from None
    if values.ndim != 1:
        raise InputError(f"{where} must be a list of answers, got {values.ndim} dimensions.")
    if len(values) != size:
        raise InputError(f"{where} must have {size:,} answers, got {values.size:,}.")
    return question.of_kind.checked(question, values, clip=plan.inputs.clip, where=where)


class _Summary:
    """What all surveys gave, beside the prediction.

    Questions are summarised in units of their ranges, and weighted by importance for the objective.
    """

    def __init__(
        self,
        plan: Design,
        strata: Sequence[Stratum],
        found: Sequence[Carried],
        generator: np.random.Generator,
        seed: int,
    ) -> None:
        self.plan, self.strata, self.found, self.seed = plan, strata, found, seed
        self.replications = len(found[0].answered)
        self.counts = np.stack([each.answered for each in found], axis=1)
        self.noise, self.variances = self._noise_of_figures(generator)

    def simulation(self) -> Simulation:
        """Summarise the objective, and of several questions each in its own units."""
        plan, questions = self.plan, self.plan.inputs.questions
        errors = {each.name: self._errors(each) for each in questions}
        squares = {each.name: self._squares(each, errors[each.name]) for each in questions}
        unit = questions[0].range if len(questions) == 1 else 1.0
        weights = list(zip(importances(questions) / unit**2, questions, strict=True))
        biases = np.sum([w * _worst(errors[q.name]) for w, q in weights], axis=0)
        values = np.sum([w * squares[q.name] for w, q in weights], axis=0)
        covered = self._covered(questions[0], errors[questions[0].name]) if len(questions) == 1 else None
        planned = {each.name: each.standard_error**2 for each in plan.questions}
        worst = {each.name: self._is_worst_case(j) for j, each in enumerate(questions)}
        each = {
            question.name: self._compared(
                question.range * _worst(errors[question.name]),
                question.range**2 * squares[question.name],
                planned[question.name],
                self._covered(question, errors[question.name]),
                worst_case=worst[question.name],
            )
            for question in questions
            if len(questions) > 1
        }
        return self._compared(
            unit * biases,
            unit**2 * values,
            plan.variance,
            covered,
            worst_case=any(worst.values()),
            questions=each,
        )

    def _noise_of_figures(
        self, generator: np.random.Generator
    ) -> tuple[Mapping[str, FloatArray], FloatArray]:
        """Draw the noise of every question's figures of the population in each survey, in ranges.

        They are of the best family. With the variance of that of the first question; there is none where
        strata have noise of their own.
        """
        plan, questions = self.plan, self.plan.inputs.questions
        noise = {each.name: np.zeros((self.replications, max(len(each.names), 1))) for each in questions}
        variances = np.zeros(self.replications)
        if not plan.problem.families:
            return noise, variances
        one = SingleMean(plan.problem)
        weight = float(plan.problem.forms.importances @ plan.problem.forms.figure_factors)
        shares = [np.sqrt(family.weights * len(one.families) / weight) for family in one.families]
        planned = one.strengths_at(plan.sample_sizes)
        best = min(range(len(planned)), key=lambda i: float(((shares[i] / planned[i]) ** 2).sum()))
        units = figure_units(plan)
        for row, m in enumerate(self.counts):
            scales = shares[best] / one.raised_to_answers(m, planned)[best]
            for question, unit in zip(questions, units, strict=True):
                drawn = generator.laplace(0.0, unit * scales, (noise[question.name].shape[1], len(scales)))
                found = drawn.sum(axis=1)
                noise[question.name][row] = found - (found.mean() if len(found) > 1 else 0.0)
            variances[row] = 2.0 * np.square(questions[0].range * units[0] * scales).sum()
        return noise, variances

    def _errors(self, question: Question) -> FloatArray:
        """Return the errors of the estimate: a row for each survey, a column for each figure."""
        coefficients = self.plan.problem.terms.coefficients
        pairs = zip(coefficients, self.found, strict=True)
        total = np.sum([a * each.errors[question.name] for a, each in pairs], axis=0)
        return np.asarray(total + self.noise[question.name])

    def _squares(self, question: Question, errors: FloatArray) -> FloatArray:
        """Return in every survey what the variance is the mean of: of several shares half their sum."""
        if self.plan.inputs.objective == "mean":
            squares = _centred_squares(errors)
        else:
            pairs = zip(self.plan.problem.terms.coefficients, self.found, strict=True)
            squares = np.sum([a**2 * _centred_squares(e.errors[question.name]) for a, e in pairs], axis=0)
        figures = 2.0 if errors.shape[1] > 1 else 1.0
        return np.asarray(squares / figures * self.replications / (self.replications - 1))

    def _covered(self, question: Question, errors: FloatArray) -> BoolArray | None:
        """Whether the interval of the mean holds it; nothing of several shares, and of other objectives.

        It is the one that an estimate prints; of questions on forms, estimate ± margin of the design.
        """
        plan = self.plan
        if plan.inputs.objective != "mean" or errors.shape[1] > 1:
            return None
        if plan.inputs.rows:
            planned = {each.name: each.margin for each in plan.questions}
            return np.asarray(question.range * np.abs(errors[:, 0]) <= planned[question.name])
        space = question.space
        truths = np.array([stratum.truth(question)[0] for stratum in self.strata])
        means = np.stack([each.errors[question.name][:, 0] for each in self.found], axis=1) + truths
        squares = np.stack([each.squares for each in self.found], axis=1)
        surveys = Surveys(
            self.counts,
            space.at_shares(means),
            space.range**2 * squares,
            space.range * self.noise[question.name][:, 0],
            self.variances,
        )
        limits = reader_of(plan).limits_in_surveys(surveys)
        truth = float(space.at_shares(truths) @ plan.strata.sizes) / plan.strata.population
        return (limits.lower <= truth) & (truth <= limits.upper)

    def _is_worst_case(self, place: int) -> bool:
        if not self.plan.inputs.rows:
            return self.plan.mechanism.worst_case
        return self.plan.inputs.asks_for_least or self.plan.spreads.is_worst_case(place)

    def _compared(
        self,
        biases: FloatArray,
        squares: FloatArray,
        predicted: float,
        covered: BoolArray | None,
        *,
        worst_case: bool,
        questions: Mapping[str, Simulation] | None = None,
    ) -> Simulation:
        expected = self.plan.inputs.confidence
        chance_error = math.sqrt(expected * (1 - expected) / self.replications)
        return Simulation(
            replications=self.replications,
            seed=self.seed,
            bias=float(biases.mean()),
            bias_error=_error(biases),
            variance=float(squares.mean()),
            variance_error=_error(squares),
            predicted_variance=predicted,
            coverage=None if covered is None else float(covered.mean()),
            coverage_error=None if covered is None else chance_error,
            predicted_coverage=None if covered is None else expected,
            worst_case=worst_case,
            questions=questions or {},
        )


def _centred_squares(errors: FloatArray) -> FloatArray:
    return np.asarray(((errors - errors.mean(axis=0)) ** 2).sum(axis=1))


def _worst(errors: FloatArray) -> FloatArray:
    """Return the errors of the figure that is furthest off, in Monte Carlo errors."""
    spreads = errors.std(axis=0)
    return np.asarray(errors[:, np.argmax(np.abs(errors.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0))])


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))
