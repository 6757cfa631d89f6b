"""One stratum of a design, carried out many times: people, forms, noise, and the estimates of all questions.

For simulation only: the noise is seeded, in floating point, and protects nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpstrata.allocation.response import willing_people
from dpstrata.allocation.rows_on_forms import OF_SUMS
from dpstrata.designs.questions import DesignedForm
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.kernels import simulated_discrete_laplace
from dpstrata.privacy.rows import replaced
from dpstrata.survey.forms import RAW, Table
from dpstrata.survey.questionnaires.question import Question

_CHUNK = 2_000_000  # random numbers held at once


class Carried(NamedTuple):
    """What many surveys gave in one stratum.

    Attributes
    ----------
    errors : mapping of str to array
        By question what the estimates are off, in units of its range: a row for each survey, a column for
        each figure.
    answered : array of int
        How many people answered in each survey.
    squares : array
        Where a single number is noised, the sum of squared distances of what was reported from its mean, in
        squared ranges; otherwise 0.
    """

    errors: Mapping[str, FloatArray]
    answered: IntArray
    squares: FloatArray


@dataclass(frozen=True, slots=True)
class Stratum:
    """One stratum of a design, and the answers of everyone in it.

    Attributes
    ----------
    plan : Design
        The design.
    row : int
        The place of the stratum.
    answers : mapping of str to array
        By question: shares of the range, or categories counted from 0.
    """

    plan: Design
    row: int
    answers: Mapping[str, FloatArray]

    def truth(self, question: Question) -> FloatArray:
        """Return the mean of everyone's answers, or the share of each category."""
        return np.asarray(self._scores(question, np.arange(len(self.answers[question.name]))).mean(axis=0))

    def carried_out(self, replications: int, generator: np.random.Generator) -> Carried:
        """Carry out so many surveys, some at once."""
        rows = max(1, _CHUNK // max(int(self.plan.sample_sizes[self.row]), 1))
        each = [
            self._carried_out(min(rows, replications - start), generator)
            for start in range(0, replications, rows)
        ]
        return Carried(
            {name: np.concatenate([some.errors[name] for some in each]) for name in each[0].errors},
            np.concatenate([some.answered for some in each]),
            np.concatenate([some.squares for some in each]),
        )

    def _carried_out(self, count: int, generator: np.random.Generator) -> Carried:
        forms = self.plan.forms
        numbers = [int(form.sample_sizes[self.row]) for form in forms]
        sample = self._sample(count, generator)
        answered = self._answered(numbers, count, generator)
        totals: dict[str, FloatArray] = {}
        people: dict[str, FloatArray] = {}
        squares = np.zeros(count)
        ends = np.cumsum(numbers)
        noised = not self.plan.inputs.rows and self.plan.inputs.space.numbers
        for t, form in enumerate(forms):
            dealt = slice(ends[t] - numbers[t], ends[t])
            m = answered[:, dealt].sum(axis=1).astype(float)[:, None]
            if noised:
                estimate, squares = self._noised(sample, answered, generator)
                found = iter([(self.plan.inputs.question, estimate)])
            else:
                found = self._form(t, form, sample[:, dealt], answered[:, dealt], generator)
            for question, estimate in found:
                name = question.name
                off = estimate - self.truth(question)
                off += self._stretch * self._sampling_error(question, sample[:, dealt], answered[:, dealt])
                totals[name] = totals.get(name, 0.0) + m * off
                people[name] = people.get(name, 0.0) + m
        errors = {name: total / people[name] for name, total in totals.items()}
        return Carried(errors, answered.sum(axis=1), squares)

    def sent_once(self, generator: np.random.Generator) -> list[Sent]:
        """Return what is added up of every form in one survey in which everyone answers."""
        forms, sample = self.plan.forms, self._sample(1, generator)
        device = self.plan.inputs.device_epsilon
        budget = self.plan.local_epsilon(self.row) if device is None else device
        ends = np.cumsum([0, *(int(form.sample_sizes[self.row]) for form in forms)])
        return [
            self._sent(form, sample[:, ends[t] : ends[t + 1]], budget, generator)
            for t, form in enumerate(forms)
        ]

    def reports_sent(self, generator: np.random.Generator) -> FloatArray:
        """Return what is reported to the only question in one survey in which everyone answers."""
        release, mechanism = self.plan.inputs.release_form, self.plan.problem.forms.fitted
        answers = self.answers[self.plan.inputs.question.name][self._sample(1, generator)[0]]
        return release.simulated_answers(mechanism, answers, self.plan.local_epsilon(self.row), generator)

    # --- who is asked, and who answers --------------------------------------------------------

    def _sample(self, count: int, generator: np.random.Generator) -> IntArray:
        """Draw people; with replacement where the prediction has no correction."""
        N, n = int(self.plan.strata.sizes[self.row]), int(self.plan.sample_sizes[self.row])
        if not self.plan.inputs.finite_population:
            return generator.integers(0, N, (count, n))
        sample = draw_without_replacement(N, n, count, generator)
        # forms are dealt in the order of the sample
        return generator.permuted(sample, axis=1) if len(self.plan.forms) > 1 else sample

    def _answered(self, numbers: list[int], count: int, generator: np.random.Generator) -> BoolArray:
        """Whether each of the people in the sample answers; someone does on every form."""
        n = sum(numbers)
        answered = np.zeros((count, n), dtype=bool)
        first = np.cumsum([0, *numbers[:-1]])
        while (empty := np.flatnonzero(~np.logical_or.reduceat(answered, first, axis=1).all(axis=1))).size:
            m = _numbers_of_answers(self.plan, self.row, len(empty), generator)
            if m is None:
                answered[:] = True
            else:
                answered[empty] = generator.permuted(np.arange(n) < m[:, None], axis=1)
        return answered

    @property
    def _stretch(self) -> float:
        """By how much errors of sampling are stretched besides.

        One person drawn with replacement has variance S²(N−1)/N; the prediction without correction has S².
        """
        N = int(self.plan.strata.sizes[self.row])
        return 0.0 if self.plan.inputs.finite_population or N == 1 else math.sqrt(N / (N - 1)) - 1.0

    def _sampling_error(self, question: Question, sample: IntArray, answered: BoolArray) -> FloatArray:
        """Return what the means of true answers in the samples are off."""
        if not self._stretch:
            return np.zeros(1)
        scores = self._scores(question, sample) - self.truth(question)
        return np.asarray((scores * answered[..., None]).sum(axis=1) / answered.sum(axis=1)[:, None])

    def _scores(self, question: Question, sample: IntArray) -> FloatArray:
        """Return true answers with a further axis: the number, or 1 for the category and 0 for the others."""
        given = self.answers[question.name][sample]
        if question.names:
            return np.asarray(given[..., None] == np.arange(len(question.names)), dtype=float)
        return given[..., None]

    # --- a number that is noised --------------------------------------------------------------

    def _noised(
        self, sample: IntArray, answered: BoolArray, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Noise the only question's answers, or their sum: the estimates, and how far reports are apart."""
        release, mechanism = self.plan.inputs.release_form, self.plan.problem.forms.fitted
        e, m = self.plan.local_epsilon(self.row), answered.sum(axis=1)
        reports = release.simulated_answers(
            mechanism, self.answers[self.plan.inputs.question.name][sample], e, generator
        )
        sums = reports.sum(axis=1, where=answered)
        off = reports - (sums / m)[:, None]
        noised = release.simulated_sums(mechanism, sums, e, generator)
        return (noised / m)[:, None], np.square(off).sum(axis=1, where=answered)

    # --- forms --------------------------------------------------------------------------------

    def _form(
        self,
        number: int,
        form: DesignedForm,
        dealt: IntArray,
        answered: BoolArray,
        generator: np.random.Generator,
    ) -> Iterator[tuple[Question, FloatArray]]:
        """Estimate the questions of one form from what is published of it."""
        plan = self.plan
        e, device, office = plan.local_epsilon(self.row), plan.inputs.device_epsilon, math.inf
        if plan.problem.forms.noise_power == 2:
            office = float(plan.problem.forms.office_budgets(np.array([e]))[0, number])
        sent = self._sent(form, dealt, e if device is None else device, generator)
        tables = () if plan.inputs.release_form.noised_once else form.tables
        for table in tables or tuple(Table((name,), 1.0) for name in form.questions):
            noise = _OfficeNoise(office * table.budget, generator)
            yield from self._estimates(form, table, sent, answered, noise)

    def _sent(self, form: DesignedForm, dealt: IntArray, e: float, generator: np.random.Generator) -> Sent:
        """Randomise the answers on a form: to levels, or to numbers where they have none."""
        asked = self._asked(form)
        answers = {question.name: self.answers[question.name][dealt] for question, _ in asked}
        if form.mechanism == RAW:
            places = {
                question.name: np.rint(answers[question.name] * (1 if question.names else levels - 1)).astype(
                    np.int64
                )
                for question, levels in asked
                if levels
            }
            return Sent(places, answers, 0.0)
        if not form.cells:
            ((question, _),) = asked
            mechanism = get_mechanism(form.mechanism, question.space)
            released = mechanism.simulated_release(answers[question.name], e, generator)
            return Sent({}, {question.name: released}, 0.0, mechanism.reach(e))
        rho, places = replaced(form.cells, e), {}
        random = generator.random(dealt.shape) < rho  # then every level is as likely
        for question, levels in asked:
            answer = answers[question.name]
            if not question.names:
                place = answer * (levels - 1)
                below = np.floor(place + 1e-9)
                answer = below + (generator.random(place.shape) < place - below)
            other = generator.integers(0, levels, dealt.shape)
            places[question.name] = np.where(random, other, answer.astype(np.int64))
        return Sent(places, {}, rho)

    def _asked(self, form: DesignedForm) -> list[tuple[Question, int]]:
        by_name = {question.name: question for question in self.plan.inputs.questions}
        return [(by_name[name], levels) for name, levels in zip(form.questions, form.levels, strict=True)]

    def _estimates(
        self, form: DesignedForm, table: Table, sent: Sent, answered: BoolArray, noise: _OfficeNoise
    ) -> Iterator[tuple[Question, FloatArray]]:
        """Estimate the questions of one table, whose noise is drawn once."""
        asked = [each for each in self._asked(form) if each[0].name in table.questions]
        m = answered.sum(axis=1).astype(float)[:, None]
        alone = asked[0] if len(asked) == 1 and not asked[0][0].names else None
        if alone is not None and alone[0].name in sent.numbers and alone[1] != 2:
            question, _ = alone
            sums = (sent.numbers[question.name] * answered).sum(axis=1)[:, None]
            yield question, (sums + sent.reach * noise.of_sums(sums.shape)) / m
            return
        if alone is not None:  # a count of yes, or a sum of levels
            question, levels = alone
            sums = (sent.places[question.name] * answered).sum(axis=1).astype(float)[:, None]
            sums += noise.of_counts(sums.shape, levels - 1)
            yield question, _debiased(sums / m / (levels - 1), 0.5, sent.rho)
            return
        shape = [levels for _, levels in asked]
        joint = np.ravel_multi_index([sent.places[q.name] for q, _ in asked], shape)
        counts = _counted(joint, answered, shape)
        counts += noise.of_counts(counts.shape, 2)
        counts += (m - counts.sum(axis=1, keepdims=True)) / counts.shape[1]  # how many answered is known
        grid = counts.reshape(-1, *shape)
        for axis, (question, levels) in enumerate(asked):
            others = tuple(1 + other for other in range(len(shape)) if other != axis)
            shares = grid.sum(axis=others) / m
            if question.names:
                yield question, _debiased(shares, 1.0 / levels, sent.rho)
            else:
                mean = shares @ np.linspace(0.0, 1.0, levels)
                yield question, _debiased(mean[:, None], 0.5, sent.rho)


class Sent(NamedTuple):
    """What is added up of a form: places of levels, or numbers, by question.

    Attributes
    ----------
    places, numbers : mapping of str to array
        Levels counted from 0, and shares of the range.
    rho : float
        How often a row is a random one.
    reach : float
        By how many ranges a number can move.
    """

    places: Mapping[str, IntArray]
    numbers: Mapping[str, FloatArray]
    rho: float
    reach: float = 1.0


class _OfficeNoise(NamedTuple):
    """What the office adds to one table, at its budget; nothing at an infinite one."""

    budget: float
    generator: np.random.Generator

    def of_counts(self, shape: tuple[int, ...], moved: int) -> Any:
        """Draw noise for counts that one person moves by so many in all."""
        if math.isinf(self.budget):
            return 0.0
        return simulated_discrete_laplace(self.budget / moved, shape, self.generator)

    def of_sums(self, shape: tuple[int, ...]) -> Any:
        """Draw noise for sums of shares of the range."""
        if math.isinf(self.budget):
            return 0.0
        return get_mechanism(OF_SUMS, AnswerSpace()).simulated_noise(self.budget, shape, self.generator)


def _counted(cells: IntArray, answered: BoolArray, shape: Sequence[int]) -> FloatArray:
    """How often each combination was sent, in each survey."""
    size = math.prod(shape)
    place = (cells + size * np.arange(len(cells))[:, None])[answered]
    return np.bincount(place, minlength=size * len(cells)).reshape(len(cells), size).astype(float)


def _debiased(reported: FloatArray, replacement: float, rho: float) -> FloatArray:
    """Undo the replacing: a replaced answer has the expectation of ``replacement``."""
    return (reported - rho * replacement) / (1.0 - rho)


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
