"""Simulated surveys with a questionnaire: people, forms, rows, tables, and the estimates of all questions.

Everything here is for simulation only. Its noise comes from a seeded generator and protects nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstrata.allocation.rows_on_forms import importances
from dpstrata.designs.questions import DesignedForm, DesignedQuestion
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms.kernels import simulated_discrete_laplace
from dpstrata.privacy.rows import replaced
from dpstrata.simulation.people import CHUNK, draw_without_replacement, numbers_of_answers
from dpstrata.simulation.result import Simulation
from dpstrata.survey.forms import Table
from dpstrata.survey.questionnaires.question import Question

Answers = Mapping[str, FloatArray]
"""Of everyone in a stratum, by question: shares of the range, or categories counted from 0."""


def made_up_people(plan: Design) -> list[dict[str, Any]]:
    """Make up answers of everyone to every question, as nearly as can be like what the design was told."""
    questionnaire = plan.inputs.questions
    told, generator = plan.spreads.values, np.random.default_rng(0)
    return [
        {
            # in an order of their own, so that questions have nothing to do with each other
            each.name: read_only(generator.permutation(each.of_kind.made_up(each, told[each.name], i, size)))
            for each in questionnaire
        }
        for i, size in enumerate(plan.strata.sizes.tolist())
    ]


def simulate_questionnaire(
    plan: Design, population: Sequence[Any], replications: int, seed: int
) -> Simulation:
    """Carry out a design with a questionnaire many times; see :func:`dpstrata.simulate`."""
    people = [_checked(plan, i, given) for i, given in enumerate(population)]
    questionnaire, generator = plan.inputs.questions, np.random.default_rng(seed)
    shares = plan.strata.sizes / plan.strata.population
    errors = {each.name: np.zeros((replications, _width(each))) for each in questionnaire}
    for i, answers in enumerate(people):
        rows = max(1, CHUNK // int(plan.strata.sizes[i]))
        for start in range(0, replications, rows):
            part = slice(start, min(start + rows, replications))
            found = _Stratum(plan, i, answers).carried_out(part.stop - part.start, generator)
            for each in questionnaire:
                errors[each.name][part] += shares[i] * (found[each.name] - _truth(each, answers))
    return _summary(plan, errors, seed)


def _checked(plan: Design, row: int, given: Any) -> Answers:
    """Require the answers of everyone in a stratum to every question; no message shows one."""
    where, size = f"stratum {plan.strata.name(row)!r}", int(plan.strata.sizes[row])
    if not isinstance(given, Mapping):
        raise InputError(f"{where} must be a mapping from question to answers, got {type(given).__name__}.")
    answers = {}
    for question in plan.inputs.questions:
        if question.name not in given:
            raise InputError(f"{where} must have answers to every question, got none to {question.name!r}.")
        got = np.size(given[question.name])
        if got != size:
            raise InputError(f"{where} must have {size:,} answers to {question.name!r}, got {got:,}.")
        taken = question.of_kind.in_shares(question, given[question.name], clip=plan.inputs.clip)
        if taken is None:
            raise InputError(
                f"{where} must have answers to {question.name!r} that can be given ({question.answers}), got "
                "others."
            )
        answers[question.name] = taken
    return answers


def _width(question: Question) -> int:
    """How many figures are estimated: the shares of all categories, or one mean."""
    return max(len(question.of_kind.cases(question)), 1)


def _truth(question: Question, answers: Answers) -> FloatArray:
    values = answers[question.name]
    if _width(question) == 1:
        return np.array([values.mean()])
    return np.bincount(values.astype(np.int64), minlength=_width(question)) / len(values)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """One stratum of a design, and the answers of everyone in it."""

    plan: Design
    row: int
    answers: Answers

    def carried_out(self, count: int, generator: np.random.Generator) -> dict[str, FloatArray]:
        """Estimate every question in each of so many surveys: the mean of all answers to it."""
        sample = self._sample(count, generator)
        forms = self.plan.forms
        numbers = [int(form.sample_sizes[self.row]) for form in forms]
        answered = self._answered(numbers, count, generator)
        totals: dict[str, FloatArray] = {}
        people: dict[str, FloatArray] = {}
        ends = np.cumsum(numbers)
        for t, form in enumerate(forms):
            dealt = slice(ends[t] - numbers[t], ends[t])
            m = answered[:, dealt].sum(axis=1).astype(float)[:, None]
            for name, estimate in self._form(t, form, sample[:, dealt], answered[:, dealt], generator):
                totals[name] = totals.get(name, 0.0) + m * estimate
                people[name] = people.get(name, 0.0) + m
        return {name: total / people[name] for name, total in totals.items()}

    def _sample(self, count: int, generator: np.random.Generator) -> IntArray:
        """Draw people in a random order; with replacement where the prediction has no correction."""
        N, n = int(self.plan.strata.sizes[self.row]), int(self.plan.sample_sizes[self.row])
        if not self.plan.inputs.finite_population:
            return generator.integers(0, N, (count, n))
        return generator.permuted(draw_without_replacement(N, n, count, generator), axis=1)

    def _answered(self, numbers: list[int], count: int, generator: np.random.Generator) -> BoolArray:
        """Whether each of the people in the sample answers; someone does on every form."""
        n = sum(numbers)
        answered = np.zeros((count, n), dtype=bool)
        first = np.cumsum([0, *numbers[:-1]])
        while (empty := np.flatnonzero(~np.logical_or.reduceat(answered, first, axis=1).all(axis=1))).size:
            m = numbers_of_answers(self.plan, self.row, len(empty), generator)
            if m is None:
                answered[:] = True
            else:
                answered[empty] = generator.permuted(np.arange(n) < m[:, None], axis=1)
        return answered

    def _form(
        self,
        number: int,
        form: DesignedForm,
        dealt: IntArray,
        answered: BoolArray,
        generator: np.random.Generator,
    ) -> Iterator[tuple[str, FloatArray]]:
        """Estimate the questions of one form from what is published of it."""
        terms, e = self.plan.problem.forms, self.plan.local_epsilon(self.row)
        device, office = self.plan.inputs.device_epsilon, math.inf
        if device is not None:
            office = float(terms.office_budgets(np.array([e]))[0, number])
        rho = replaced(form.cells, e if device is None else device)
        row = self._sent(form, dealt, rho, generator)
        published = form.tables or tuple(Table((name,), 1.0) for name in form.questions)
        for table in published:
            yield from self._estimates(form, table, row, answered, (rho, office * table.budget), generator)

    def _sent(
        self, form: DesignedForm, dealt: IntArray, rho: float, generator: np.random.Generator
    ) -> dict[str, IntArray]:
        """Put answers on levels at random, and replace some rows: every level is as likely then."""
        random = generator.random(dealt.shape) < rho
        sent = {}
        for question, levels in self._asked(form):
            answer = self.answers[question.name][dealt]
            if _width(question) == 1:
                place = answer * (levels - 1)
                below = np.floor(place + 1e-9)
                answer = below + (generator.random(place.shape) < place - below)
            other = generator.integers(0, levels, dealt.shape)
            sent[question.name] = np.where(random, other, answer.astype(np.int64))
        return sent

    def _asked(self, form: DesignedForm) -> list[tuple[Question, int]]:
        by_name = {question.name: question for question in self.plan.inputs.questions}
        return [(by_name[name], levels) for name, levels in zip(form.questions, form.levels, strict=True)]

    def _estimates(
        self,
        form: DesignedForm,
        table: Table,
        row: Mapping[str, IntArray],
        answered: BoolArray,
        noise: tuple[float, float],
        generator: np.random.Generator,
    ) -> Iterator[tuple[str, FloatArray]]:
        """Estimate the questions of one table, whose noise is drawn once."""
        rho, office = noise
        asked = [each for each in self._asked(form) if each[0].name in table.questions]
        m = answered.sum(axis=1).astype(float)[:, None]
        if len(asked) == 1 and _width(asked[0][0]) == 1:  # a count of yes, or a sum of levels
            question, levels = asked[0]
            sums = (row[question.name] * answered).sum(axis=1).astype(float)[:, None]
            sums += _drawn(office / (levels - 1), sums.shape, generator)
            yield question.name, _debiased(sums / m / (levels - 1), 0.5, rho)
            return
        shape = [levels for _, levels in asked]
        counts = _counted(np.ravel_multi_index([row[q.name] for q, _ in asked], shape), answered, shape)
        counts += _drawn(office / 2.0, counts.shape, generator)
        counts += (m - counts.sum(axis=1, keepdims=True)) / counts.shape[1]  # how many answered is known
        grid = counts.reshape(-1, *shape)
        for axis, (question, levels) in enumerate(asked):
            others = tuple(1 + other for other in range(len(shape)) if other != axis)
            shares = grid.sum(axis=others) / m
            if _width(question) > 1:
                yield question.name, _debiased(shares, 1.0 / levels, rho)
            else:
                mean = shares @ np.linspace(0.0, 1.0, levels)
                yield question.name, _debiased(mean[:, None], 0.5, rho)


def _counted(cells: IntArray, answered: BoolArray, shape: Sequence[int]) -> FloatArray:
    """How often each combination was sent, in each survey."""
    size = math.prod(shape)
    place = (cells + size * np.arange(len(cells))[:, None])[answered]
    return np.bincount(place, minlength=size * len(cells)).reshape(len(cells), size).astype(float)


def _drawn(e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray | float:
    return 0.0 if math.isinf(e) else simulated_discrete_laplace(e, shape, generator)


def _debiased(reported: FloatArray, replacement: float, rho: float) -> FloatArray:
    """Undo the replacing: a replaced answer has the expectation of ``replacement``."""
    return (reported - rho * replacement) / (1.0 - rho)


# --- beside the prediction --------------------------------------------------------------------------


def _summary(plan: Design, errors: dict[str, FloatArray], seed: int) -> Simulation:
    """Summarise every question in its own units, and all of them by importance in units of their ranges."""
    questionnaire, planned = plan.inputs.questions, {each.name: each for each in plan.questions}
    weights = importances(questionnaire)
    squares = {
        name: ((each - each.mean(axis=0)) ** 2).sum(axis=1) / (2.0 if each.shape[1] > 1 else 1.0)
        for name, each in errors.items()
    }
    replications = len(next(iter(squares.values())))
    squares = {name: each * replications / (replications - 1) for name, each in squares.items()}
    together = sum(w * squares[q.name] for w, q in zip(weights, questionnaire, strict=True))
    bias = sum(w * errors[q.name][:, 0] for w, q in zip(weights, questionnaire, strict=True))
    known = plan.spreads
    cautious = not plan.inputs.finite_population or plan.inputs.asks_for_least
    questions = {
        question.name: _of_question(
            plan,
            question,
            planned[question.name],
            errors[question.name],
            squares[question.name],
            seed,
            worst_case=cautious or known.is_worst_case(j),
        )
        for j, question in enumerate(questionnaire)
    }
    assert isinstance(together, np.ndarray)
    assert isinstance(bias, np.ndarray)
    return Simulation(
        replications=replications,
        seed=seed,
        bias=float(bias.mean()),
        bias_error=_error(bias),
        variance=float(together.mean()),
        variance_error=_error(together),
        predicted_variance=plan.variance,
        coverage=None,
        coverage_error=None,
        predicted_coverage=None,
        worst_case=any(each.worst_case for each in questions.values()),
        questions=questions,
    )


def _of_question(
    plan: Design,
    question: Question,
    planned: DesignedQuestion,
    errors: FloatArray,
    squares: FloatArray,
    seed: int,
    *,
    worst_case: bool,
) -> Simulation:
    count, width, expected = len(errors), question.range, plan.inputs.confidence
    first = width * errors[:, 0]
    mean = errors.shape[1] == 1
    return Simulation(
        replications=count,
        seed=seed,
        bias=float(first.mean()),
        bias_error=_error(first),
        variance=float(squares.mean()) * width**2,
        variance_error=_error(squares) * width**2,
        predicted_variance=planned.standard_error**2,
        coverage=float(np.mean(np.abs(first) <= planned.margin)) if mean else None,
        coverage_error=math.sqrt(expected * (1 - expected) / count) if mean else None,
        predicted_coverage=expected if mean else None,
        worst_case=worst_case,
    )


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))
