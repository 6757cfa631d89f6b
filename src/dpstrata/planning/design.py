"""`design`: how many people to invite in each stratum."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from dpstrata.allocation.posing import pose
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import planned_variance
from dpstrata.designs.choice import BEST, Choice, contenders, valid_mechanisms
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError, option
from dpstrata.numerics.arrays import IntArray
from dpstrata.planning.forms.plans import form_choices, form_choices_at, with_proven_forms
from dpstrata.planning.goal_search import (
    design_for,
    warn_beyond_the_best,
    warn_of_empty_strata,
    warn_of_loose_targets,
)
from dpstrata.survey.forms import Forms
from dpstrata.survey.goals import has_cv
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OF_STRATA, OPTIONS, Objective
from dpstrata.survey.questionnaires.questionnaire import Questionnaire, Questions, read_questions
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.survey.releases import ReleaseName
from dpstrata.survey.strata import EXPECTED, Strata, require_fit
from dpstrata.survey.targets import Target
from dpstrata.words.results import REPORTED

Posed: TypeAlias = dict[tuple[str, Forms], Problem]
"""What was posed for one survey, but for the total, by mechanism and forms."""

_ALIKE = 1e-5  # relative: what other forms must gain
_BESIDE = ("spreads", "forms")  # which are no options, as they can be given in Python and in files alone


def design(
    strata: Strata,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    zcdp: float | None = None,
    gdp: float | None = None,
    total: int | None = None,
    at_most: int | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    target_margin: float | None = None,
    target_cv: float | None = None,
    expected_mean: float | None = None,
    mechanism: str = "best",
    objective: Objective = "mean",
    questions: Questions | None = None,
    spreads: Spreads | None = None,
    forms: Literal["auto", "one"] | Sequence[Sequence[str]] = "auto",
    release: ReleaseName = "microdata",
    device_epsilon: float | None = None,
    local_epsilon_cap: float | None = None,
    min_per_stratum: int | None = None,
    min_fraction: float = 0.0,
    max_fraction: float = 1.0,
    domains: Mapping[str, Target] | Sequence[str] | None = None,
    confidence: float = 0.95,
    finite_population: bool = True,
    clip: bool = False,
    prior: str | None = None,
    response_rate: float | None = None,
    proportion: float | None = None,
    classes: str | Sequence[str] | None = None,
) -> Design:
    r"""Allocate a sample to strata so that the private estimate is as precise as possible.

    Everyone gets the same central ``epsilon`` against whoever sees the release, because who was sampled
    stays secret; a smaller sampling rate hides people better, so its answers may carry less noise. The
    sample sizes solve, over whole numbers,

    .. math::
        \min_n \sum_i a_i^2 \frac{S_i^2 + v(e_i(n_i))}{n_i}
        \quad\text{subject to}\quad \sum_i n_i = \text{total},\; \underline n_i \le n_i \le \overline n_i,
        \qquad e_i(n) = \ln(1 + (e^{\varepsilon} - 1) N_i / n),

    with v(e) the noise variance of one answer at local budget e. The result is exact and carries a proof.

    Parameters
    ----------
    strata : Strata
        Sizes and standard deviations. They, the design and the strata themselves are public and must not be
        computed from the confidential answers.
    epsilon : float
        Central budget, from 1e-6 to 100. Exactly one of ``epsilon``, ``zcdp`` and ``gdp`` is promised.
    delta : float
        Amount by which a probability may differ beyond the factor that epsilon allows: above 0 and below 0.01
        for Gaussian noise, 0 for all others.
    zcdp, gdp : float
        ρ of zero-concentrated or μ of Gaussian differential privacy, kept by Gaussian noise. A secret sample
        does not strengthen these, so the noise is the same everywhere.
    total, at_most, budget : number
        Total number of people to invite; the maximum to invite, fewer if that is better; or the maximum cost
        of all invitations, which requires a cost for every stratum.
    target_se, target_margin, target_cv : float
        Standard error of the population mean, margin of error at ``confidence``, or standard error relative
        to ``expected_mean``, to reach with the fewest people, or at the lowest cost. Give exactly one goal; a
        budget may be combined with a target, and is then an upper limit. A budget with targets for domains
        only is spent on the least variance once they are met.
    expected_mean : float
        The mean that ``target_cv`` is relative to; by default, taken from the column ``expected_mean`` of the
        strata, the mean expected in each, or from their proportions. Coefficients of variation of domains are
        relative to the same, weighted by size within each.
    mechanism : str
        Noise mechanism: ``sine``, ``cells``, ``laplace``, ``discrete_laplace``, ``tulap``, ``staircase``,
        ``piecewise``, ``randomized_response``, ``gaussian`` or, for categories, ``category_response``.
        ``best``, the default, picks the most precise one that fits answers, promise and release; ``choice``
        of the result lists what it considered, and documents record what it picked.
    objective : {"mean", "trace", "unit_free", "custom"}
        What to minimise: the variance of the population mean; the sum of the stratum variances; that sum,
        each variance relative to its stratum's own; or that sum, weighted by the strata's coefficients.
    questions : Questionnaire, Question, list of Question, path, or shorthand
        What is asked. The shorthand of a single question is ``"yes_no"``, ``(lower, upper)``, ``(lower,
        upper, step)`` for a scale, or a list of categories. Of categories the share of each is estimated, and
        a standard error is the most that any share has. Several questions are divided into forms, and each
        person gets one; the objective is then the mean of the squared standard errors of all questions,
        weighted by their importance, each in units of its range. That requires sums with ``device_epsilon``,
        or microdata. If omitted, (0, 1) is used and the design is for planning only: no file of answers can
        be noised with it.
    spreads : Spreads, optional
        What is known of the answers to every question; the worst case where nothing is. Of a single question
        the columns of the strata can say the same.
    forms : "auto", "one" or lists of question names
        The forms: the best that are found, all questions on one, or one's own.
    release : {"microdata", "sums", "mean"}
        What is published: every noised answer, shuffled; the sum of each stratum's answers, with one draw
        of noise that the office adds; or one number for the population, or one for each group of ``domains``,
        with one draw of discrete Laplace noise each, whatever the mechanism is.
    device_epsilon : float, optional
        With sums or a mean, the budget at which respondents' devices noise all answers of a person before
        the office sees them, from 1e-6 to 100; without it the office sees raw answers, and adds additive
        noise only. For sums the office uses the devices' noise if that is additive, discrete Laplace noise
        otherwise.
    local_epsilon_cap : float, optional
        Largest local epsilon that one noised answer may spend, however well the sample hides it. Where it is
        binding, the release spends less than ``epsilon``.
    min_per_stratum : int, optional
        Minimum number of people to invite in a stratum, >= 1; smaller strata are sampled in full. By default
        1. With response rates below 1 it is, in each stratum, so many that fewer than two answers in any of
        them have a chance of at most 1%; where the total or the budget cannot carry that, every stratum gets
        the same share of it.
    min_fraction, max_fraction : float
        Minimum and maximum sampling rate, 0 <= min_fraction <= max_fraction <= 1.
    domains : mapping or sequence of str, optional
        Columns of the strata (or "stratum") whose groups are domains, each with the precision that its groups
        must reach: one target for all, a mapping from group to target, or ``None``. A target is ``CV(0.15)``,
        ``SE(0.02)`` or ``Margin(0.03)``, or the same as text: ``"15%cv"``, ``"0.02se"``, ``"0.03margin"``. A
        bare number is of the kind of the target of the whole. Column names without targets are only reported.
    confidence : float
        Confidence level of intervals, between 0 and 1.
    finite_population : bool
        Whether the reported variance takes into account that a stratum sampled in full has no sampling error.
        This never changes the sample sizes.
    clip : bool
        Whether answers outside an interval count as the nearer end of it, and every result is the mean of
        clipped answers; by default they are refused.
    prior : str, optional
        With ``clip``, what is publicly expected of the amounts, so that results say how much higher the mean
        of unlimited amounts is: ``"lognormal:MU:SIGMA"``, ``"gamma:SHAPE:SCALE"``, or ``"excess:AMOUNT"``
        where a reference says so. It changes no number; :func:`choose_range` finds a range with it.
    response_rate, proportion : float, optional
        One value for all strata: the publicly known share of people who would answer; the expected share of
        answers at the upper end, from which the standard deviations follow. Only for strata that do not state
        their own.
    classes : str or sequence of str, optional
        Weighting classes: columns that the strata are crossed with, as :func:`frame_strata` keeps them, and
        by which nothing is reported. Every cell has a sample size of its own; results are by the coarser
        strata, in which cells count by their people. The strata then have a column ``reported_stratum``,
        which is a domain. Strata that come with such a column are reported by it too. A single mean is
        reported by its ``domains`` only.

    Returns
    -------
    Design
        Sample sizes, budgets, noise, variance, certificate.

    Raises
    ------
    InputError
        For input that cannot be used, with one clear sentence.
    InfeasibleError
        For requests that no design can meet together, naming both.
    NotAvailableError
        For requests that this version does not support.

    Warns
    -----
    DpstrataWarning
        If ``total`` exceeds the best number of interviews, with both standard errors; if a target allows a
        standard error above the mean that is expected.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> plan = dps.design(strata, epsilon=1.0, total=200)
    >>> plan.sample_sizes
    array([117,  42,  22,  19])
    >>> plan.mechanism.name
    'sine'
    >>> plan.certificate.optimal
    True
    """
    return design_as_asked(*read_survey(strata, locals()))


def read_survey(strata: object, arguments: Mapping[str, Any]) -> tuple[Strata, Inputs]:
    """Check the arguments of :func:`design`; those left out have their defaults.

    Returns
    -------
    strata : Strata
        With what one value gives to all of them.
    inputs : Inputs
        All other arguments.
    """
    if not isinstance(strata, Strata):
        raise InputError(
            f"strata must be a Strata, got {type(strata).__name__}. "
            "Use Strata(sizes, sds), Strata.from_file(path) or Strata.from_frame(frame)."
        )
    given = {name: value for name, value in arguments.items() if name != "strata"}
    unknown = set(given) - set(OPTIONS) - set(_BESIDE)
    if unknown:
        name = min(unknown)
        close = difflib.get_close_matches(name, OPTIONS, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(f"a design has no option {name!r}.{hint}")
    shared = {name: given.pop(name, None) for name in OF_STRATA}
    if given.get("questions") is not None:
        given["questions"] = read_questions(given["questions"])  # a file is read once
    if given.get("target_cv") is not None and given.get("expected_mean") is None:
        (question, *_) = OPTIONS["questions"].read(given.get("questions"))
        means = strata.filled(proportion=shared["proportion"]).expected_means(question)
        if means is not None:
            given["expected_mean"] = float((strata.sizes * means).sum() / strata.population)
    if (REPORTED in strata.extra or shared["classes"]) and given.get("release") != "mean":
        given["domains"] = {REPORTED: None} | (OPTIONS["domains"].read(given.get("domains")) or {})
    inputs = Inputs(**given | _recorded(strata, given))
    if len(inputs.questions) > 1:
        if shared["proportion"] is not None or strata.categories:
            raise InputError(
                f"{option('proportion')} is for a single question; say what is known of the answers to "
                f"several with {option('spreads')}.",
                argument="proportion",
            )
        return strata.filled(**shared), inputs
    require_fit(strata, inputs.question, shared["proportion"])
    strata = strata.filled(**shared)
    if inputs.spreads is not None:
        strata = _with_spreads(strata, inputs.spreads_in(strata))
        inputs = inputs if inputs.rows else replace(inputs, spreads=None)
    elif inputs.rows:
        inputs = replace(inputs, spreads=_spreads_of(strata, inputs.questions).record)
    elif inputs.question.names and strata.proportions is not None:  # what the others share is not known
        spread = _spreads_of(strata, inputs.questions).variances[:, 0]
        strata = strata.replaced(sds=np.sqrt(spread), proportions=None)
    # documents keep no proportions: relative targets need the means, and so do intervals of a mean alone
    needed = has_cv(inputs) or inputs.release == "mean"
    if needed and strata.proportions is not None and EXPECTED not in strata.extra:
        strata = strata.filled(expected_means=strata.expected_means(inputs.question))
    return strata, inputs


def _spreads_of(strata: Strata, questions: Questionnaire) -> Spreads:
    """Take the columns of strata for what is known of the answers to the only question."""
    (question,) = questions
    given: dict[str, dict[str, Any]] = {"proportion": {}, "sd": {}}
    if strata.sds is not None:
        for column, values in strata.columns_of_spreads(question).items():
            given[column][question.name] = values
    return Spreads(strata, questions, proportions=given["proportion"], sds=given["sd"])


def _with_spreads(strata: Strata, spreads: Spreads) -> Strata:
    """Fill the columns of strata with what is known of the answers to the only question."""
    (question,), (values,) = spreads.questionnaire, spreads.values.values()
    known = [~np.isnan(each).reshape(len(strata), -1).all(axis=1) for each in values.values()]
    extra = dict(strata.extra)
    means = values.get("mean", values.get("proportion"))
    if means is not None and means.ndim == 1 and not np.isnan(means).any():
        extra[EXPECTED] = means.tolist()
    return strata.replaced(
        sds=question.range * np.sqrt(spreads.variances[:, 0]),
        sd_sources=np.where(np.any(known, axis=0), "prior", "bound").tolist(),
        sds_are_shares=False,
        proportions=None,
        extra=extra,
    )


def _recorded(strata: Strata, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the answers as inputs record it."""
    spreads = given.get("spreads")
    if spreads is None:
        return {}
    if not isinstance(spreads, Spreads):
        raise InputError.must("spreads", "be Spreads", type(spreads).__name__)
    if spreads.questionnaire != given.get("questions") or spreads.strata.names != strata.names:
        raise InputError(
            f"{option('spreads')} must be of the same strata and questions as the design.",
            argument="spreads",
        )
    return {"spreads": spreads.record}


def design_with_best(strata: Strata, inputs: Inputs, posed: Posed) -> Design:
    """Reach the goal with the valid mechanism that does best.

    That is the least variance, as it is minimised; for a precision target the least cost or the fewest
    people, then the least variance. Ties go to the mechanism that comes first. If none reaches the goal,
    the reason is that of the one that comes closest. Only mechanisms that can be the best are tried.
    ``posed`` holds the problems that they pose, but for the total, and is filled.
    """
    return design_with_best_of(_considered(strata, inputs, posed), strata, inputs, posed)


def design_with_best_of(names: Sequence[str], strata: Strata, inputs: Inputs, posed: Posed) -> Design:
    """Reach the goal with the best of these mechanisms, as :func:`design_with_best` ranks them."""
    plans: list[Design] = []
    reasons: list[InfeasibleError] = []
    rows = []
    for name in names:
        try:
            named = replace(inputs, mechanism=name)
            plan = design_for(strata, named, _posed(named, strata, posed))
        except InfeasibleError as reason:
            reasons.append(reason)
            rows.append(Choice(name, None, None, None))
            continue
        rows.append(Choice(name, plan.total, plan.variance, plan.cost))
        plans.append(plan)
    if not plans:
        raise min(reasons, key=_how_close)
    return replace(min(plans, key=_rank), choice=tuple(rows))


def _considered(strata: Strata, inputs: Inputs, posed: Posed) -> list[str]:
    """Name the mechanisms that can be the best at some budget that the limits and the goal allow."""
    valid = valid_mechanisms(inputs)
    names = contenders(inputs, valid=valid)
    if len(names) == 1:
        return names
    problem = _posed(replace(inputs, mechanism=names[0]), strata, posed)
    limit = inputs.total or inputs.at_most
    most = problem.upper
    if limit is not None:
        most = np.minimum(most, problem.lower + max(limit - int(problem.lower.sum()), 0))
    return contenders(inputs, *problem.terms.budgets_between(problem.lower, most), valid=valid)


def _posed(inputs: Inputs, strata: Strata, posed: Posed) -> Problem:
    """Return the problem that inputs with a named mechanism pose; its terms are made once for all goals."""
    key = inputs.mechanism, inputs.forms
    posed[key] = pose(inputs, strata, like=posed.get(key))
    return posed[key]


def _rank(plan: Design) -> tuple[float, ...]:
    """Order designs for one goal with different mechanisms or forms, the best first."""
    variance = plan.variance
    if plan.problem.terms.random_answers:
        correct = plan.inputs.finite_population
        variance = planned_variance(plan.problem, plan.sample_sizes, finite_population=correct)
    people = plan.total if plan.cost is None else plan.cost
    return (people, variance) if plan.inputs.asks_for_least else (variance,)


def design_as_asked(
    strata: Strata,
    inputs: Inputs,
    posed: Posed | None = None,
    *,
    sizes: IntArray | None = None,
    warn: bool = True,
) -> Design:
    """Reach the goal, with the best mechanism and forms if these are left open.

    Parameters
    ----------
    strata, inputs : Strata, Inputs
        The population, and what is asked.
    posed : dict, optional
        The problems that other totals posed; filled with what is posed here.
    sizes : array of int, optional
        Sizes that must carry the forms.
    warn : bool
        Whether a total beyond the best one is warned about, to the caller's caller.
    """
    posed = {} if posed is None else posed
    if inputs.mechanism == BEST:
        plan = design_with_best(strata, inputs, posed)
    else:
        plan = _with_best_forms(strata, inputs, posed, sizes)
    if warn:
        warn_beyond_the_best(plan, stacklevel=3)
        warn_of_empty_strata(plan, stacklevel=3)
        warn_of_loose_targets(plan, stacklevel=3)
    return plan


def _with_best_forms(strata: Strata, asked: Inputs, posed: Posed, sizes: IntArray | None) -> Design:
    """Reach the goal with the best forms: chosen for typical sizes, and then for those of the design."""
    choices = form_choices(strata, asked, sizes)
    best = _best_of(choices, strata, posed)
    others = [each for each in form_choices_at(best, asked, sizes) if each not in choices]
    if others:
        try:
            other = _best_of(others, strata, posed)
        except InfeasibleError:
            other = best
        if _is_worth_it(_rank(other), _rank(best)):
            best = other
    return with_proven_forms(best)


def _best_of(choices: Sequence[Inputs], strata: Strata, posed: Posed) -> Design:
    """Reach the goal with the forms that do best."""
    plans, reasons = [], []
    for inputs in choices:
        try:
            plans.append(design_for(strata, inputs, _posed(inputs, strata, posed)))
        except InfeasibleError as reason:
            reasons.append(reason)
    if not plans:
        raise min(reasons, key=_how_close)
    return plans[0] if len(plans) == 1 else min(plans, key=_rank)


def _is_worth_it(rank: tuple[float, ...], than: tuple[float, ...]) -> bool:
    """Whether other forms do better by more than the last digits of what is noised for whom."""
    return next((a < b for a, b in zip(rank, than, strict=True) if abs(a - b) > _ALIKE * abs(b)), False)


def _how_close(reason: InfeasibleError) -> tuple[float, ...]:
    """Order reasons why a goal is not reached, the closest first."""
    return reason.misses or (True, math.inf)
