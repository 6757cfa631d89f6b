"""Does a pilot pay? Many simulated first waves on a known population, and the main design that each leads to.

For simulation only: its noise is seeded, in floating point, and protects nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstrata.allocation.form_terms import OneQuestion
from dpstrata.allocation.rows_on_forms import RowsOnForms
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.randomizers.form import office_budgets
from dpstrata.fielding.randomizers.tables import FormTable, tables_of
from dpstrata.fielding.results.figures import QuestionFigures
from dpstrata.fielding.results.form_figures import TableCounts, table_counts
from dpstrata.fielding.results.forms import question_figures
from dpstrata.fielding.results.microdata import Moments, figures_from_moments
from dpstrata.fielding.results.sums import figures_from_means
from dpstrata.numerics.arrays import FloatArray
from dpstrata.pilots.pilot import design_with, pilot_weights, with_spreads
from dpstrata.pilots.spreads import learn
from dpstrata.planning.design import design_as_asked
from dpstrata.privacy.mechanisms.kernels import simulated_discrete_laplace
from dpstrata.simulation.stratum import Sent, Stratum
from dpstrata.simulation.survey import check_population, check_whole
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.words.what_if import pilot_simulation_lines


@dataclass(frozen=True, slots=True, eq=False)
class PilotSimulation:
    """What a pilot leads to, beside surveys of one wave with the same budget and as many people.

    Each is the mean squared error of the population mean (for other objectives, the objective's value; of
    several questions the mean of theirs by importance, in squared ranges) with the true spreads. That of a
    design is known exactly, but for numbers that are put on levels, where rounding counts as the most that it
    can be; only what the pilot shows is simulated.

    Attributes
    ----------
    replications, seed : int
        How many first waves, and the seed that repeats them.
    without_pilot : float
        One wave, designed with the standard deviations told.
    with_pilot, with_pilot_error : float
        Two waves, combined; the mean over the simulated pilots, and its Monte Carlo error.
    worst : float
        The same after the unluckiest of them.
    main_alone : float
        Two waves of which only the second is used.
    knowing : float
        One wave, designed with the true standard deviations: what nobody can beat.
    """

    replications: int
    seed: int
    without_pilot: float
    with_pilot: float
    with_pilot_error: float
    worst: float
    main_alone: float
    knowing: float

    @property
    def ratio(self) -> float:
        """Error with the pilot over that without; below 1 the pilot pays."""
        return self.with_pilot / self.without_pilot

    @property
    def pays(self) -> bool:
        """Whether the pilot is better by more than four Monte Carlo errors."""
        return self.with_pilot + 4 * self.with_pilot_error < self.without_pilot

    def __repr__(self) -> str:
        return pilot_simulation_lines(self)


def simulate_pilot(
    first: Design,
    population: Mapping[str, Any] | Sequence[Any],
    *,
    replications: int = 200,
    seed: int = 0,
) -> PilotSimulation:
    """Carry out a pilot many times on a known population, and score the main designs that follow.

    Parameters
    ----------
    first : Design
        What :func:`dpstrata.pilot` returned.
    population : mapping or sequence
        Answers of everyone, as for :func:`simulate`; real or synthetic, never noised.
    replications : int
        Number of pilots, >= 10; each leads to a design of its own.
    seed : int
        Seed that repeats the simulation exactly.

    Returns
    -------
    PilotSimulation
        Mean squared errors with the pilot, without it, and for someone who knows the spreads.

    Raises
    ------
    InputError
        If ``first`` is not a pilot, or the population does not fit it.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[20_000, 20_000])
    >>> first = dps.pilot(
    ...     strata, epsilon=1, pilot_epsilon=0.3, total=1000, pilot_total=100,
    ...     questions="yes_no", mechanism="randomized_response",
    ... )
    >>> people = [[0.0] * 10_000 + [1.0] * 10_000, [0.0] * 19_800 + [1.0] * 200]
    >>> dps.simulate_pilot(first, people, replications=50, seed=1).pays
    True
    """
    weights = np.array(list(pilot_weights(first).values()))
    if first.problem.terms.response_rates is not None:
        raise InputError(
            "simulate_pilot supports only designs in which everyone answers, got response rates below 1."
        )
    check_whole("replications", replications, least=10)
    check_whole("seed", seed, least=0)
    people = check_population(first, population)
    truth, importances = _spreads_of(first, people), first.problem.forms.importances
    assert first.waves is not None
    both = first.waves
    alone = replace(first.inputs, epsilon=both.epsilon, total=both.total, forms=both.forms)
    one, knowing = (
        importances @ _variances(design_as_asked(*each, warn=False), truth)
        for each in ((first.strata, alone), with_spreads(first.strata, alone, truth))
    )
    generator, of_first = np.random.default_rng(seed), _variances(first, truth)
    strata = [Stratum(first, i, answers) for i, answers in enumerate(people)]
    main = np.stack(
        [
            _variances(design_with(first, learn(first, _published(first, strata, generator))), truth)
            for _ in range(replications)
        ]
    )
    combined = (weights**2 * of_first + (1 - weights) ** 2 * main) @ importances
    return PilotSimulation(
        replications=replications,
        seed=seed,
        without_pilot=float(one),
        with_pilot=float(combined.mean()),
        with_pilot_error=float(combined.std(ddof=1) / np.sqrt(replications)),
        worst=float(combined.max()),
        main_alone=float((main @ importances).mean()),
        knowing=float(knowing),
    )


def _spreads_of(plan: Design, people: Sequence[Mapping[str, FloatArray]]) -> Spreads:
    """Return the true spreads of a population."""
    given: dict[str, dict[str, FloatArray]] = {"proportion": {}, "sd": {}, "mean": {}}
    for question in plan.inputs.questions:
        answers = [of_stratum[question.name] for of_stratum in people]
        if question.names:
            cases = len(question.names)
            counts = [np.bincount(each.astype(np.int64), minlength=cases) / len(each) for each in answers]
            given["proportion"][question.name] = np.array(counts)
            continue
        means = np.array([each.mean() for each in answers])
        if not question.of_kind.averaged:
            given["proportion"][question.name] = means
            continue
        sds = np.array([each.std(ddof=1) if len(each) > 1 else 0.0 for each in answers])
        given["sd"][question.name] = question.range * sds
        given["mean"][question.name] = question.space.at_shares(means)
    proportions, sds_of, means_of = given.values()
    return Spreads(plan.strata, plan.inputs.questions, proportions=proportions, sds=sds_of, means=means_of)


def _variances(plan: Design, truth: Spreads) -> FloatArray:
    """Return the variance of every question with the true spreads, in what its importance counts."""
    problem, sizes, correct = plan.problem, plan.sample_sizes, plan.inputs.finite_population
    if plan.inputs.rows:
        dealt = problem.forms.dealt(problem.terms, sizes)
        forms = RowsOnForms.of(plan.inputs, plan.strata, truth)
        parts = forms.stratum_parts(
            problem.terms, sizes, dealt, None, finite_population=correct, credited=True
        )
    else:
        assert isinstance(problem.forms, OneQuestion)
        sds = plan.inputs.question.range * np.sqrt(truth.variances[:, 0])
        known = problem.asked(replace(problem.forms, sds=sds))
        parts = known.forms.question_parts(known.terms, sizes, finite_population=correct)
    return parts.of_population(problem.terms.coefficients).total


def _published(
    first: Design, strata: Sequence[Stratum], generator: np.random.Generator
) -> list[QuestionFigures]:
    """Carry the first wave out once, and estimate every question from what it publishes."""
    questions, sizes = first.inputs.questions, first.sample_sizes
    if first.inputs.rows or questions[0].names:
        sent = [stratum.sent_once(generator) for stratum in strata]
        tables = [
            table
            for t in range(len(first.forms))
            for table in _tables(first, t, [each[t] for each in sent], generator)
        ]
        return [question_figures(first, question, tables) for question in questions]
    reports, space = [stratum.reports_sent(generator) for stratum in strata], first.inputs.space
    if first.problem.forms.noise_power == 1:
        codes = np.repeat(np.arange(len(sizes)), sizes)
        moments = Moments.of(first, codes, space.at_shares(np.concatenate(reports)), closely=True)
        return [figures_from_moments(first, moments)]
    release, fitted = first.inputs.release_form, first.problem.forms.fitted
    sums = [
        float(release.simulated_sums(fitted, each.sum(keepdims=True), e, generator)[0])
        for each, e in zip(reports, first.local_epsilons.tolist(), strict=True)
    ]
    return [figures_from_means(first, space.at_shares(np.array(sums) / sizes), sizes)]


def _tables(first: Design, t: int, sent: Sequence[Sent], generator: np.random.Generator) -> list[TableCounts]:
    """Publish one form: all that was sent in every stratum, or counts with the office's noise."""
    form, nothing = first.forms[t], np.zeros(len(sent))
    if form.tables:
        return [_noised_counts(first, t, table, sent, generator) for table in tables_of(first, t)]
    if form.cells:
        counts = np.stack([_counted(each, form.questions, form.levels) for each in sent])
        return [TableCounts(t, form.sample_sizes, form.questions, form.levels, counts, None, nothing)]
    (name,) = form.questions  # which is noised by itself
    sums, squares = (np.array([(each.numbers[name] ** power).sum() for each in sent]) for power in (1, 2))
    return [TableCounts(t, form.sample_sizes, form.questions, form.levels, None, sums, nothing, squares)]


def _counted(sent: Sent, questions: Sequence[str], levels: Sequence[int]) -> FloatArray:
    """Count how often each combination was sent."""
    joint = np.ravel_multi_index([sent.places[name][0] for name in questions], tuple(levels))
    return np.bincount(joint, minlength=math.prod(levels)).astype(float)


def _noised_counts(
    first: Design, t: int, table: FormTable, sent: Sequence[Sent], generator: np.random.Generator
) -> TableCounts:
    """Count a table in every stratum, with noise."""
    values = np.stack([_counted(each, table.table.questions, table.levels) for each in sent])
    if len(table.entries) == 1:  # the count of yes
        values = values[:, 1:]
    budgets = office_budgets(first)[:, t] * table.table.budget / table.moved
    for i in np.flatnonzero(np.isfinite(budgets)).tolist():
        values[i] += simulated_discrete_laplace(budgets[i], values[i].shape, generator)
    return table_counts(first, t, table, values, first.forms[t].sample_sizes)
