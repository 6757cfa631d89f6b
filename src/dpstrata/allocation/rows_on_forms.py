r"""Questions on forms, whose answers are randomised form by form.

Question j is on form T, which a share x of the n people of a stratum get. The mean of its answers has the
variance

.. math:: \frac{S_j^2 + d_{jT}}{x n} - \frac{S_j^2 - u_j}{N} + \gamma_T^2 \frac{g\, v(e(n)/q)}{(x n)^2}

in units of the question's range: sampling, what devices add to an answer, and the office's noise on a table
whose sensitivity is q. On a form of rows with K cells d is a polynomial in r = K/y and γ = 1 + r; the only
question of a form may have a mechanism of its own, and then γ is how far its readings reach; a trusted office
gets raw answers, d = 0 and γ = 1. Of the spread of a number of which nothing is known, u may be rounding to
levels, which is there even if everyone is asked; otherwise it is 0. A question on several forms is their mean
with weights ω that add up to one. Published answers have no office, and d grows with n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from dpstrata.allocation.form_terms import FormTerms, QuestionParts
from dpstrata.allocation.response import WHOLE, expected_inverse, fewest_for_two_answers
from dpstrata.allocation.terms import Terms
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, read_only
from dpstrata.privacy.amplification import joint_losses, office_budgets
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import point, s
from dpstrata.privacy.mechanisms.noise import NO_NOISE, Noise, RowNoise, ScaledNoise, SummedNoise, TableNoise
from dpstrata.privacy.rows import Quadratic
from dpstrata.survey.forms import RAW, ROWS, FormPlan
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.questionnaire import Questionnaire
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.survey.strata import Strata

OF_COUNTS = "discrete_laplace"
"""What the office adds to counts."""
OF_SUMS = "staircase"
"""What it adds to sums of answers that are no counts."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOnForms(FormTerms):
    """Questions on forms, for all strata.

    An entry is a question on a form; the arrays below have strata as rows and entries as columns.

    Attributes
    ----------
    chosen : tuple of FormPlan
        The forms.
    fitted : Mechanism
        What randomises rows; of raw answers what the office adds to counts.
    importances : array
        w of each question; they add up to 1.
    ranges : array
        Of each question, in whose square variances are counted.
    spreads : array
        S² of each stratum (rows) and question (columns).
    rounding : array
        u of the same: how much of S² may be rounding to levels, which asking more people takes nothing off.
    question, form : array of int
        Of each entry.
    weights : array
        ω of each entry; those of a question add up to 1.
    curve : Quadratic
        Variance of one answer as a polynomial in r; its constant holds S², and the noise of mechanisms of
        their own at a fixed budget.
    cells : array
        K of each form; 0 where no rows are kept or replaced.
    shares : array
        x of each form.
    factors, sensitivities : array
        g and q of each entry; nothing is published where g is 0.
    sums : array of bool
        Where the office noises the sum of answers that are no counts.
    reaches : array
        γ of each entry; NaN on forms of rows, where it is 1 + r.
    alone : mapping of int to Mechanism
        By entry, what noises the only question of a form at the budget that n allows.
    informative : array
        1 − ρ of each form, at the device budget; empty where there is none.
    least_tables : tuple of InTable
        How the office's noise enters the variance of each question that has a table and a budget to itself.
    fewest : array of int
        Fewest people of a form, by stratum.
    noise_power : {1, 2}
        p: 1 where answers are published or figures of many strata, 2 where tables are.
    published : bool
        Whether answers, or rows of them, are published.
    device_epsilon : float or None
        E of the devices; ``None`` where answers are published, at the budget that n allows, or raw.
    dealt_by_shares : bool
        Whether people are dealt to forms by these shares, which targets need, and not for the least variance.
    """

    dealt_out: ClassVar[bool] = True

    chosen: tuple[FormPlan, ...]
    fitted: Mechanism
    importances: FloatArray
    ranges: FloatArray
    spreads: FloatArray
    rounding: FloatArray
    question: IntArray
    form: IntArray
    weights: FloatArray
    curve: Quadratic
    cells: FloatArray
    shares: FloatArray
    factors: FloatArray
    sensitivities: FloatArray
    sums: BoolArray
    reaches: FloatArray
    alone: Mapping[int, Mechanism]
    informative: FloatArray
    least_tables: tuple[InTable, ...]
    fewest: IntArray
    noise_power: Literal[1, 2]
    published: bool
    device_epsilon: float | None
    dealt_by_shares: bool = False
    sds: FloatArray = field(init=False)
    series_factors: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sds", read_only(np.sqrt(self.spreads @ self.importances)))
        # of u expected answers a form has x·u, so that the term after j others is larger by x^-j
        entry = self._entry_weights * self.curve.constant.mean(axis=0)
        x = self.shares[self.form]
        factors = tuple(float((entry / x**j).sum() / entry.sum()) for j in range(len(WHOLE)))
        object.__setattr__(self, "series_factors", factors)

    @classmethod
    def of(cls, inputs: Inputs, strata: Strata, spreads: Spreads) -> Self:
        """State what the chosen forms of several questions make of the term of every stratum."""
        questionnaire = inputs.questions
        forms, E = inputs.chosen_forms, inputs.device_epsilon
        place = {question.name: j for j, question in enumerate(questionnaire)}
        entries = [
            (place[name], t, levels)
            for t, form in enumerate(forms)
            for name, levels in zip(form.questions, form.levels, strict=True)
        ]
        question, form_of = (np.array([entry[part] for entry in entries], dtype=np.int64) for part in (0, 1))
        shares = np.array([form.share for form in forms])
        own = {
            i: get_mechanism(forms[t].mechanism, questionnaire[j].space)
            for i, (j, t, _) in enumerate(entries)
            if not (forms[t].keeps_rows or forms[t].raw)
        }
        curves = []
        for i, (j, t, levels) in enumerate(entries):
            fixed = 0.0 if E is None or i not in own else _in_ranges(own[i], E)
            curves.append(
                spreads.in_row(j, levels)
                if forms[t].keeps_rows
                else Quadratic(spreads.variances[:, j] + fixed, np.zeros(1), np.zeros(1))
            )
        tables = [table_noise(questionnaire, forms[t], j, levels) for j, t, levels in entries]
        cells = np.array([float(form.cells) for form in forms])
        reaches = np.array([math.nan if forms[t].keeps_rows else 1.0 for _, t, _ in entries])
        informative = np.ones(len(forms))
        if E is not None:
            y = math.expm1(E)
            informative = y / (y + cells)
            for i, mechanism in own.items():
                reaches[i], informative[entries[i][1]] = mechanism.reach(E), mechanism.informative(E)
        rows = [entry for entry in entries if forms[entry[1]].keeps_rows]
        return cls(
            chosen=forms,
            fitted=get_mechanism(inputs.mechanism, AnswerSpace(0, 1, 1)),
            importances=importances(questionnaire),
            ranges=np.array([question.range for question in questionnaire]),
            spreads=spreads.variances,
            rounding=_largest_rounding(spreads, rows),
            question=question,
            form=form_of,
            weights=shares[form_of] / np.bincount(question, weights=shares[form_of])[question],
            curve=Quadratic(*(_columns(parts, len(strata)) for parts in zip(*curves, strict=True))),
            cells=cells,
            shares=shares,
            factors=np.array([table.factor for table in tables]),
            sensitivities=np.array([table.sensitivity for table in tables]),
            sums=np.array([table.of_sum for table in tables]),
            reaches=reaches,
            alone=own if E is None else {},
            informative=informative,
            least_tables=tuple(
                noise_in_table(questionnaire, j, each.answer_count or 0, None, 1.0, mechanism=RAW)
                for j, each in enumerate(questionnaire)
            ),
            fewest=fewest_per_form(strata, len(forms)),
            noise_power=inputs.release_form.noise_power,
            published=inputs.release_form.publishes_answers,
            dealt_by_shares=inputs.asks_by_question,
            device_epsilon=E,
        )

    @property
    def plans(self) -> tuple[FormPlan, ...]:
        """The forms that were chosen."""
        return self.chosen

    @property
    def odds(self) -> float | None:
        """exp(E) − 1 of the devices, y in the formulas."""
        return None if self.device_epsilon is None else math.expm1(self.device_epsilon)

    @property
    def sampled(self) -> FloatArray:
        """S² − u of each stratum and question."""
        return self.spreads - self.rounding

    @property
    def credits_devices(self) -> bool:
        """Always: tables are noised for what replaced rows leave, and people are dealt in whole numbers."""
        return True

    @property
    def _entry_weights(self) -> FloatArray:
        """w·ω²/x of each entry: what its variance of one answer counts for, over n."""
        return self.importances[self.question] * self.weights**2 / self.shares[self.form]

    def _stretches(self, budgets: FloatArray | None = None) -> FloatArray:
        """R = K/y of each entry: at the device budget, or of published rows at those of the strata."""
        cells = self.cells[self.form]
        if self.odds is not None:
            return cells / self.odds
        if not self.published:
            return np.zeros(len(cells))
        assert budgets is not None
        return np.asarray(cells / np.expm1(budgets)[:, None])

    def answer_variances(self, budgets: FloatArray) -> FloatArray:
        """S² + d of each stratum and entry, at the budgets of the strata."""
        value = self.curve.at(self._stretches(budgets))
        for entry, mechanism in self.alone.items():
            value[:, entry] += _in_ranges(mechanism, budgets)
        return value

    @property
    def fixed_variances(self) -> FloatArray:
        """S² + d of each stratum and entry, where no answers are published: it does not depend on n."""
        return self.curve.at(self._stretches())

    @property
    def reach(self) -> FloatArray:
        """γ of each entry, where answers are added up."""
        return np.where(np.isnan(self.reaches), 1.0 + self._stretches(), self.reaches)

    @property
    def figure_factors(self) -> FloatArray:
        """γ²·g·q² of each question: a part of the budget for the figures of each."""
        return self._by_question(self.reach**2 * self.factors * self.sensitivities**2)

    # --- one function of n --------------------------------------------------------------------

    def core(self) -> FloatArray:
        """Return A of each stratum: Σ w·ω²·(S² + d)/x, of published answers without the noise."""
        one = self.curve.constant if self.published else self.fixed_variances
        return np.asarray(one @ self._entry_weights)

    def noise(self) -> Noise:
        """Return the noise whose variance depends on n."""
        if self.published:
            return self._noise_of_answers()
        if self.noise_power == 1:  # figures of many strata are noised
            return NO_NOISE
        scaled = self.importances[self.question] * (self.weights * self.reach / self.shares[self.form]) ** 2
        factors, kept = scaled * self.factors, self.factors > 0
        of_sums = self.sums[kept]
        mechanism = get_mechanism(OF_SUMS, AnswerSpace()) if of_sums.any() else None
        return TableNoise(factors[kept], self.sensitivities[kept], mechanism, of_sums)

    def _noise_of_answers(self) -> Noise:
        """Return that of published answers: rows that are replaced, and mechanisms of single questions."""
        K, entry = self.cells[self.form], self._entry_weights
        # a known spread lowers the linear part of its stratum; what is the same for all n decides nothing
        linear = self.curve.linear.max(axis=0)
        rows = RowNoise(float((entry * K * linear).sum()), float((entry * K**2 * self.curve.square[0]).sum()))
        own = [ScaledNoise(each, entry[i] / each.unit) for i, each in self.alone.items()]
        return SummedNoise([*([rows] if self.cells.any() else []), *own]) if own else rows

    # --- every question by itself -------------------------------------------------------------

    def dealt(self, terms: Terms, sizes: IntArray) -> IntArray:
        """Deal the people of every stratum to the forms for the least variance."""
        budgets = terms.budgets(sizes.astype(float)).e
        return deal(sizes, self.shares, self.per_form(sizes, budgets), self.fewest)

    def question_parts(
        self, terms: Terms, sizes: IntArray, *, finite_population: bool, credited: bool = True
    ) -> QuestionParts:
        """Variance of every question's mean in every stratum."""
        return self.stratum_parts(
            terms,
            sizes,
            self.dealt(terms, sizes),
            terms.response_rates,
            finite_population=finite_population,
            credited=credited,
        )

    def parts_given_answers(
        self, terms: Terms, sizes: IntArray, answers: FloatArray, *, finite_population: bool
    ) -> QuestionParts:
        """Return the same where as large a share of every form answers as of the stratum."""
        dealt = self.dealt(terms, sizes) * (answers / sizes)[:, None]
        return self.stratum_parts(
            terms, sizes, dealt, None, finite_population=finite_population, credited=True
        )

    def everyone_asked(self, terms: Terms, n: FloatArray, *, finite_population: bool) -> FloatArray:
        """Variance of every question's mean if all were asked it and nothing were noised."""
        inverse, _ = inverses(n[:, None], terms.sizes, terms.response_rates)
        if finite_population:
            inverse = np.maximum(inverse - 1.0 / terms.sizes[:, None], 0.0)
        return inverse * self.spreads

    def stratum_variances(
        self, terms: Terms, n: FloatArray, *, finite_population: bool, planned: bool, credited: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the variances of all questions together, by their importance.

        People are divided over forms for the sake of privacy, so what that costs counts as privacy.
        """
        if planned:  # as a share of the people gets each form, not whole numbers
            total = terms.values(n) / terms.coefficients**2
            total = total - self.correction(terms.sizes) if finite_population else total
            return total, np.zeros_like(total)
        parts = self.question_parts(
            terms, n.astype(np.int64), finite_population=finite_population, credited=credited
        )
        w = self.importances
        sampling = self.everyone_asked(terms, n, finite_population=finite_population) @ w
        return sampling, np.maximum(parts.total @ w - sampling, 0.0)

    def released_variances(self, terms: Terms, n: FloatArray) -> FloatArray:
        """Variance of the noise in the stratum means of all questions together, by their importance."""
        parts = self.question_parts(terms, n.astype(np.int64), finite_population=False)
        return np.asarray((parts.device + parts.office) @ self.importances)

    def stratum_parts(
        self,
        terms: Terms,
        sizes: IntArray,
        dealt: IntArray | FloatArray,
        rates: FloatArray | None,
        *,
        finite_population: bool,
        credited: bool,
    ) -> QuestionParts:
        """Variance of every question's mean in every stratum of which ``dealt`` get each form.

        ``rates`` are those at which they answer, where not all do.
        """
        budgets, N = terms.budgets(sizes.astype(float)).e, terms.sizes
        inverse, squared = inverses(dealt, N, rates)
        weights = self.weights_of(dealt)
        spread = self.spreads[:, self.question]
        per_answer = weights**2 * inverse[:, self.form]
        noise = self.answer_variances(budgets) - spread
        sampling, device = self._by_question(per_answer * spread), self._by_question(per_answer * noise)
        if finite_population:
            sampling = sampling - self.spreads / N[:, None]
            device = device + self.rounding / N[:, None]
        office = np.zeros_like(sampling)
        if self.noise_power == 2:
            e = self.office_budgets(budgets)[:, self.form] if credited else budgets[:, None]
            stretched = (weights * self.reach) ** 2 * squared[:, self.form]
            office = self._by_question(stretched * self.table_noise(e))
        return QuestionParts(sampling, device, office)

    def table_noise(self, e: FloatArray) -> FloatArray:
        """g·v(e/q) of every entry; none at an infinite budget."""
        finite = np.where(np.isinf(e), 1.0, e)
        value = variance_in_table(finite / self.sensitivities, self.sums)
        return np.where(np.isinf(e), 0.0, self.factors * value)

    def office_budgets(self, budgets: FloatArray) -> FloatArray:
        """Raise the office's budgets by what replaced rows give already, for each stratum and form.

        No noise is needed where they are infinite.
        """
        if self.device_epsilon is None:
            return np.repeat(budgets[:, None], len(self.shares), axis=1)
        return office_budgets(budgets[:, None], self.device_epsilon, self.informative)

    def losses_inside(self, budgets: FloatArray, times: int) -> FloatArray:
        """Return what those in the sample lose if the same reports are released several times, by stratum.

        Published answers are the same each time. Of tables and figures only the office's noise is new; the
        form that loses most counts.
        """
        if self.published or times == 0:
            return budgets * min(times, 1)
        if self.device_epsilon is None:
            return times * budgets
        offices = times * (self.office_budgets(budgets) if self.noise_power == 2 else budgets[:, None])
        return np.asarray(joint_losses(offices, self.device_epsilon, self.informative).max(axis=1))

    def office_adds_noise(self, budgets: FloatArray) -> bool:
        """Whether the office noises a table of any stratum and form; at no finite budget there is none."""
        return self.noise_power == 2 and bool(np.isfinite(self.office_budgets(budgets)).any())

    def weights_of(self, dealt: IntArray | FloatArray) -> FloatArray:
        """ω of each stratum and entry: a question on several forms is the mean of all answers to it."""
        people = np.asarray(dealt, dtype=float)[:, self.form]
        return np.asarray(people / self._by_question(people)[:, self.question])

    def _by_question(self, entries: FloatArray) -> FloatArray:
        """Add up the entries of each question."""
        return entries @ sums_to(self.question, len(self.importances))

    def per_form(self, sizes: IntArray, budgets: FloatArray) -> FormVariances:
        """Return how the variance of each stratum depends on who gets which form."""
        if self.dealt_by_shares:  # Σ x²/m is least where m goes with x
            squares = np.broadcast_to(self.shares**2, (len(sizes), len(self.shares)))
            return FormVariances(squares, np.zeros_like(squares), np.zeros_like(squares))
        w = self.importances[self.question]
        answer = self.answer_variances(budgets)
        forms = len(self.shares)
        for_everyone = (np.bincount(self.question)[self.question] == forms) & (forms > 1)
        own = np.where(for_everyone, 0.0, w * self.weights**2)
        two = np.zeros_like(answer)
        if self.noise_power == 2:
            two = own * self.reach**2 * self.table_noise(budgets[:, None])
        line = np.where(for_everyone, w, 0.0) * answer / (sizes.astype(float) ** 2)[:, None]
        to_forms = sums_to(self.form, len(self.shares))
        return FormVariances((own * answer) @ to_forms, two @ to_forms, line @ to_forms)


class FormVariances(NamedTuple):
    """Variance of a stratum whose forms have m people each: Σ one/m + two/m² + line·m over the forms.

    The last part is that of questions for everyone, whose answers are all counted alike.
    """

    one: FloatArray
    two: FloatArray
    line: FloatArray

    def gain(self, m: IntArray) -> FloatArray:
        """By how much one person more lowers it."""
        product = m * (m + 1.0)
        return np.asarray(self.one / product + self.two * (2.0 * m + 1.0) / product**2 - self.line)


def sums_to(groups: IntArray, number: int) -> FloatArray:
    """Return the matrix that adds up entries by group."""
    matrix = np.zeros((len(groups), number))
    matrix[np.arange(len(groups)), groups] = 1.0
    return matrix


def inverses(
    dealt: IntArray | FloatArray, sizes: IntArray, rates: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """E[1/m] and E[1/m²] of each stratum and form."""
    people = np.asarray(dealt, dtype=float)
    if rates is None:
        return 1.0 / people, 1.0 / people**2
    forms = people.shape[1]
    N, share = np.repeat(sizes, forms), np.repeat(rates, forms)
    flat = people.ravel()
    one, two = (
        expected_inverse(N, share, flat, squared=each).reshape(people.shape) for each in (False, True)
    )
    return one, two


def deal(sizes: IntArray, shares: FloatArray, variances: FormVariances, least: IntArray) -> IntArray:
    """Deal the people of every stratum to the forms in whole numbers, for the least variance.

    That is a sum of convex functions, so what no exchange of one person improves nothing does.

    Parameters
    ----------
    sizes : array of int
        People of each stratum, at least ``least`` times the number of forms.
    shares : array
        Where to start from.
    variances : FormVariances
        What is minimised.
    least : array of int
        Fewest people of a form, by stratum.
    """
    floor, rows = least[:, None], np.arange(len(sizes))
    dealt = np.maximum(np.floor(sizes[:, None] * shares), floor).astype(np.int64)

    def losses() -> FloatArray:  # of one person fewer
        return np.where(dealt > floor, variances.gain(np.maximum(dealt - 1, 1)), np.inf)

    while (missing := sizes - dealt.sum(axis=1)).any():
        more, fewer = missing > 0, missing < 0
        best, worst = np.argmax(variances.gain(dealt), axis=1), np.argmin(losses(), axis=1)
        dealt[rows[more], best[more]] += 1
        dealt[rows[fewer], worst[fewer]] -= 1
    while True:
        up, down = variances.gain(dealt), losses()
        to, off = np.argmax(up, axis=1), np.argmin(down, axis=1)
        helps = up[rows, to] > down[rows, off] + 1e-12 * np.abs(down[rows, off])
        if not helps.any():
            return dealt
        dealt[rows[helps], to[helps]] += 1
        dealt[rows[helps], off[helps]] -= 1


def importances(questionnaire: Questionnaire) -> FloatArray:
    """W of every question; they add up to 1, so that variances are in units of the questions' ranges.

    That of an only question is its squared range: its variance is in the units of its answers.
    """
    if len(questionnaire) == 1:
        return np.array([questionnaire[0].range ** 2])
    given = np.array([question.importance for question in questionnaire])
    return np.asarray(given / given.sum())


class InTable(NamedTuple):
    """How the office's noise on a table enters the variance of a question: g·v(e/q), in squared ranges.

    Attributes
    ----------
    factor, sensitivity : float
        g and q.
    of_sum : bool
        Whether it is noise on the sum of answers that are no counts.
    """

    factor: float
    sensitivity: float
    of_sum: bool = False


def table_noise(questionnaire: Questionnaire, form: FormPlan, place: int, levels: int) -> InTable:
    """Say how the office's noise on its table enters the variance of a question on a form."""
    question = questionnaire[place]
    table = next((each for each in form.tables if question.name in each.questions), None)
    if table is None:  # answers are published, or a mean
        return InTable(0.0, 1.0)
    cells = form.cells_of(table) if len(table.questions) > 1 else None
    return noise_in_table(questionnaire, place, levels, cells, table.budget, mechanism=form.mechanism)


def noise_in_table(
    questionnaire: Questionnaire, place: int, levels: int, cells: int | None, budget: float, *, mechanism: str
) -> InTable:
    """Say the same of a table with a share of the budget; ``cells`` where it is one of combinations.

    The only question of a form that has a mechanism of its own, and numbers that the office gets raw, are
    added up as they are: one person moves the sum by a range.
    """
    question = questionnaire[place]
    kind = question.of_kind
    if question.levels == "all":  # the points of a scale are counted
        cells = cells or levels
    elif mechanism != ROWS and cells is None and kind.averaged and levels != 2:
        return InTable(1.0, 1.0 / budget, of_sum=True)
    factor, sensitivity = kind.in_table(levels, cells)
    return InTable(factor, sensitivity / budget)


def variance_in_table(e: FloatArray, sums: BoolArray) -> FloatArray:
    """Return the variance of the office's noise at budgets e/q: of counts, or of sums in squared ranges."""
    at = point(e)
    value = s(at)
    if sums.any():
        value = value + np.where(sums, get_mechanism(OF_SUMS, AnswerSpace()).remainder(at), 0.0)
    return value


def variance_falls(e: FloatArray, sums: BoolArray) -> FloatArray:
    """Return how fast that variance falls with e/q."""
    at = point(e)
    value = s(at) / np.tanh(e / 2.0)
    if sums.any():
        _, slope, _ = get_mechanism(OF_SUMS, AnswerSpace()).remainder_slopes(at)
        value = value - np.where(sums, slope, 0.0)
    return value


def _in_ranges(mechanism: Mechanism, budgets: float | FloatArray) -> FloatArray:
    """Return the variance of noise in squared ranges."""
    return np.asarray(mechanism.variance(budgets) / mechanism.unit)


def _largest_rounding(spreads: Spreads, entries: Sequence[tuple[int, int, int]]) -> FloatArray:
    """Return how much of each spread may be rounding: on several forms, on that with the fewest levels."""
    found = np.zeros_like(spreads.variances)
    for j, _, levels in entries:
        found[:, j] = np.maximum(found[:, j], spreads.rounding(j, levels))
    return found


def _columns(values: Sequence[FloatArray], rows: int) -> FloatArray:
    return np.stack([np.broadcast_to(value, rows) for value in values], axis=1)


def fewest_per_form(strata: Strata, forms: int) -> IntArray:
    """Return how many people of a stratum each form needs at least: two answers, nearly for certain.

    Where not everyone answers, so many that the chance of fewer than two answers on any form of any stratum
    is at most 1%.
    """
    rates = strata.response_rates
    if rates is None or bool(np.all(rates == 1.0)):
        return np.full(len(strata), 2, dtype=np.int64)
    return fewest_for_two_answers(strata.sizes, rates, places=len(strata) * forms)
