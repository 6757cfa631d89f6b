"""What a design says of what is asked: forms, the precision of every question, what is expected of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.allocation.form_items import as_items, forms_problem, mixture_of
from dpstrata.allocation.forms import Forms, FormsProblem
from dpstrata.allocation.response import expected_inverse
from dpstrata.allocation.rows_on_forms import noise_in_table, variance_in_table
from dpstrata.allocation.variances import figure_noise_by_question, question_parts
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.survey.forms import RAW, ROWS, Table

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs
    from dpstrata.survey.questionnaires.question import Question


@dataclass(frozen=True, slots=True, eq=False)
class DesignedForm:
    """One form: who is asked what, and how often what a device sends is replaced.

    A single question is on one form that everyone gets.

    Attributes
    ----------
    questions : tuple of str
        What is asked, in the order of the questionnaire.
    levels : tuple of int
        How many levels each answer has; 0 where noise is added to it, or a number is added up as it is.
    cells : int
        How many different rows of answers there are; 0 where no rows are kept or replaced.
    replaced, least_replaced : float
        The probability that a row is replaced by a random one, the largest and the smallest of any stratum;
        0 where none is. They differ only where what devices send is published.
    share : float
        The share of people who get it.
    sample_sizes : array of int
        People who get it, in each stratum.
    tables : tuple of Table
        What the office publishes of it; none where rows or answers are published.
    mechanism : str
        What changes the answers before anyone sees them: ``randomized_response`` on whole rows, the
        mechanism that noises the only question, or ``none``.
    """

    questions: tuple[str, ...]
    levels: tuple[int, ...]
    cells: int
    replaced: float
    least_replaced: float
    share: float
    sample_sizes: IntArray
    tables: tuple[Table, ...]
    mechanism: str


@dataclass(frozen=True, slots=True)
class DesignedQuestion:
    """How precisely one question is answered, in its own units.

    Attributes
    ----------
    name, kind : str
        The question.
    standard_error : float
        Of the mean, or of the share of yes; of a category the root of half the sum of the variances of its
        shares.
    margin : float
        The margin of error at the design's confidence.
    sampling, device, office : float
        Its variance by cause: who is asked, noise in answers or rows that are replaced, and the office's
        noise.
    standard_error_without_privacy : float
        If everyone in the sample were asked every question and no noise were added.
    if_split : float
        The standard error if everyone answered every question, each with its part of the budgets.
    target : float or None
        The standard error to reach.
    expected : float or None
        The mean, or share of yes, that is expected; ``None`` where nothing tells it.
    """

    name: str
    kind: str
    standard_error: float
    margin: float
    sampling: float
    device: float
    office: float
    standard_error_without_privacy: float
    if_split: float
    target: float | None
    expected: float | None

    @property
    def target_met(self) -> bool | None:
        """Whether the target is reached; ``None`` without one."""
        return None if self.target is None else self.standard_error <= self.target * (1.0 + 1e-12)


def forms_of(plan: Design) -> tuple[DesignedForm, ...]:
    """Describe the forms of a design."""
    problem = plan.problem
    dealt = problem.forms.dealt(problem.terms, plan.sample_sizes)
    odds = problem.forms.odds_at(plan.local_epsilons)
    return tuple(
        DesignedForm(
            questions=form.questions,
            levels=form.levels,
            cells=form.cells,
            replaced=_replaced(form.cells, float(odds.min())),
            least_replaced=_replaced(form.cells, float(odds.max())),
            share=float(dealt[:, t].sum() / plan.total),
            sample_sizes=read_only(dealt[:, t].copy()),
            tables=form.tables,
            mechanism=form.mechanism,
        )
        for t, form in enumerate(problem.forms.plans)
    )


def _replaced(cells: int, odds: float) -> float:
    """ρ = K/(K + y)."""
    return cells / (cells + odds) if cells else 0.0


def questions_of(plan: Design, sizes: IntArray) -> tuple[DesignedQuestion, ...]:
    """Describe the precision of every question, at the sizes of a design or at others."""
    problem, questions = plan.problem, plan.inputs.questions
    correct, z = plan.inputs.finite_population, plan.inputs.z
    credited = not plan.inputs.asks_for_least  # a target does not count on what devices save the office
    weights = plan.strata.sizes / plan.strata.population
    parts = question_parts(problem, sizes, finite_population=correct, credited=credited)
    whole = parts.of_population(weights)
    office = whole.office + figure_noise_by_question(problem, sizes)
    total = whole.sampling + whole.device + office
    plain = weights**2 @ problem.forms.everyone_asked(
        problem.terms, sizes.astype(float), finite_population=correct
    )
    # figures of several questions share the budget anyway
    alike = len(questions) == 1 or plan.inputs.release_form.noised_once
    split = total if alike else _with_split_budgets(plan, sizes)
    expected, whole_target = expected_answers(plan), plan.inputs.targets.variance
    found = []
    for j, question in enumerate(questions):
        unit = float(problem.forms.ranges[j])
        error = unit * math.sqrt(float(total[j]))
        found.append(
            DesignedQuestion(
                name=question.name,
                kind=question.kind,
                standard_error=error,
                margin=z * error,
                sampling=unit**2 * float(whole.sampling[j]),
                device=unit**2 * float(whole.device[j]),
                office=unit**2 * float(office[j]),
                standard_error_without_privacy=unit * math.sqrt(float(plain[j])),
                if_split=unit * math.sqrt(float(split[j])),
                target=target_of(question, z) if whole_target is None else math.sqrt(whole_target),
                expected=expected[j],
            )
        )
    return tuple(found)


def target_of(question: Question, z: float) -> float | None:
    """Return the standard error that a question is to reach, if any."""
    if question.target_margin is not None:
        return question.target_margin / z
    return question.target_se


def variance_targets(inputs: Inputs) -> FloatArray:
    """Return the variance that every question may have, in squared ranges; infinite without a target."""
    targets = [(target_of(question, inputs.z) or math.inf) / question.range for question in inputs.questions]
    return np.array(targets) ** 2


def _with_split_budgets(plan: Design, sizes: IntArray) -> FloatArray:
    """Variance of every question if all people answered all questions, each with its part of the budgets."""
    problem, inputs = plan.problem, plan.inputs
    terms = problem.terms
    rates, n = terms.response_rates, sizes.astype(float)
    one, two = 1.0 / n, 1.0 / n**2
    if rates is not None:
        one, two = (expected_inverse(terms.sizes, rates, n, squared=each) for each in (False, True))
    a2 = terms.coefficients**2
    correction = 1.0 / terms.sizes if inputs.finite_population else np.zeros(len(n))
    spreads = plan.spreads
    sampling = (a2 * (one - correction)) @ spreads.variances
    budgets, count = terms.budgets(n).e, len(inputs.questions)
    device = budgets if inputs.device_epsilon is None else np.full(len(n), inputs.device_epsilon)
    split = np.empty(count)
    for j, question in enumerate(inputs.questions):
        added = math.inf
        for levels in (0,) if inputs.release_form.gets_raw else question.candidates:
            r, variance = np.zeros(len(n)), 0.0
            if levels:
                r = levels / np.expm1(device / count)
                noise = spreads.in_row(j, levels).at(r) - spreads.variances[:, j]
                variance = float((a2 * (one * noise + correction * spreads.rounding(j, levels))).sum())
            if not inputs.release_form.publishes_answers:
                mechanism = ROWS if levels else RAW
                levels = levels or question.answer_count or 0
                factor, sensitivity, of_sum = noise_in_table(
                    inputs.questions, j, levels, None, 1.0 / count, mechanism=mechanism
                )
                office = factor * variance_in_table(budgets / sensitivity, np.array(of_sum))
                variance += float((a2 * two * (1.0 + r) ** 2 * office).sum())
            added = min(added, variance)
        split[j] = sampling[j] + added
    return split


def forms_to_prove(plan: Design) -> tuple[FormsProblem, Forms]:
    """State how good the forms of a design are at its sample sizes, beside all forms there could be."""
    spreads = plan.spreads
    targets = variance_targets(plan.inputs) if plan.inputs.asks_by_question else None
    mixture = mixture_of(plan.problem, plan.sample_sizes)
    problem = forms_problem(spreads, *mixture, targets, alone=len(plan.inputs.questions) > 1)
    return as_items(problem, spreads, plan.inputs.chosen_forms)


_ALIKE = 0.1  # by which shares may differ that are told by one spread


def expected_answers(plan: Design) -> list[float | None]:
    """Return the mean, or share of yes, expected of every question, where it is known in all strata."""
    if len(plan.inputs.questions) == 1 and (mean := _expected_of_survey(plan)) is not None:
        return [mean]
    weights = plan.strata.sizes / plan.strata.population
    means = []
    for told in plan.spreads.values.values():
        known = told.get("mean", told.get("proportion"))
        # a category has a share for each of its answers, and no single figure
        whole = math.nan if known is None or known.ndim > 1 else float(weights @ known)
        means.append(None if math.isnan(whole) else whole)
    return means


def _expected_of_survey(plan: Design) -> float | None:
    """Return the mean of the only question, as far as options or columns of the strata say so."""
    if plan.inputs.expected_mean is not None:
        return plan.inputs.expected_mean
    strata, question = plan.strata, plan.inputs.question
    space = question.space
    if not space.numbers:
        return None
    try:
        means = strata.expected_means(question)
    except InputError:  # a column of that name that holds something else
        means = None
    if means is None:
        shares = _implied_shares(plan)
        if shares is None:
            return None
        means = space.at_shares(shares)
    mean = float((strata.sizes * means).sum() / strata.population)
    return mean if space.lower < mean < space.upper else None


def _implied_shares(plan: Design) -> FloatArray | None:
    """Find the shares of two answers from their spread, where they are alike; of p and 1 − p the smaller."""
    strata, question = plan.strata, plan.inputs.question
    sources = [strata.sd_sources] if isinstance(strata.sd_sources, str) else strata.sd_sources
    if "bound" in sources:
        return None
    shares = question.of_kind.proportions_of(question, plan.sds, strata.sizes)
    return None if shares is None or np.ptp(shares) > _ALIKE else shares


@dataclass(frozen=True, slots=True)
class Influence:
    """The most that one person can shift the result of a stratum, or of a form there, in shares of the range.

    Attributes
    ----------
    stratum : int
        Where it is most.
    form : int
        The form there, by position.
    answers : float
        How many answers are expected there.
    by_lying : float
        By answering anything: range/m.
    by_sending : float or None
        By sending anything that is counted, past the randomiser: the reach of reports over m. ``None`` where
        noise is added, because then any number may be sent.
    """

    stratum: int
    form: int
    answers: float
    by_lying: float
    by_sending: float | None


def largest_influence(plan: Design) -> Influence:
    """Find where one person can shift a result the most.

    Notes
    -----
    A row of K cells is kept with probability 1 − ρ = y/(y + K), y = expm1(E), and estimates divide by that.
    """
    rates = np.ones(len(plan.strata)) if plan.strata.response_rates is None else plan.strata.response_rates
    sizes = np.column_stack([form.sample_sizes for form in plan.forms])
    answers = np.maximum(sizes * rates[:, np.newaxis], 1.0)
    budget = plan.inputs.device_epsilon
    budgets = plan.local_epsilons if budget is None else np.full(len(plan.strata), budget)
    reach = np.column_stack([_reach(plan, form, budgets) for form in plan.forms])
    shifts = np.where(sizes > 0, np.where(np.isinf(reach), 1.0, reach) / answers, 0.0)
    stratum, form = (int(place) for place in np.unravel_index(np.argmax(shifts), shifts.shape))
    m = float(answers[stratum, form])
    bounded = not np.isinf(reach[stratum, form])
    return Influence(stratum, form, m, 1.0 / m, float(shifts[stratum, form]) if bounded else None)


def _reach(plan: Design, form: DesignedForm, budgets: FloatArray) -> FloatArray:
    """Return by how many ranges what one device sends on a form can move, infinite for added noise."""
    if form.mechanism == RAW:
        return np.ones(len(budgets))
    if form.cells:
        y = np.expm1(budgets)
        return np.asarray((y + form.cells) / y)
    (question,) = (each for each in plan.inputs.questions if each.name == form.questions[0])
    mechanism = get_mechanism(form.mechanism, question.space) if plan.inputs.rows else plan.mechanism
    if mechanism.additive:
        return np.full(len(budgets), np.inf)
    return np.array([mechanism.reach(e) for e in budgets.tolist()])
