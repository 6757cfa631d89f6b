"""A private pilot: a first wave learns how spread the answers are, the main wave spends what is left.

Two waves, two secret samples, each drawn from the whole frame by itself, each with its own central budget.
The main design uses what the first wave published and nothing else of it, so that everyone loses at most the
sum of the two (sequential composition, adaptive). One estimate is made from both. Where several questions are
on forms, those of the main wave are chosen anew, under what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.allocation.posing import size_limits
from dpstrata.allocation.rows_on_forms import importances
from dpstrata.allocation.variances import question_parts
from dpstrata.designs.record import Design
from dpstrata.designs.waves import Waves, what_is_left
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError, option
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.estimate import estimate_closely
from dpstrata.fielding.frames import Engine
from dpstrata.fielding.losses import check_response
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import join_waves
from dpstrata.fielding.results.results import Results, Wave
from dpstrata.pilots.spreads import learn
from dpstrata.planning.design import design_as_asked, read_survey
from dpstrata.planning.forms.plans import form_choices
from dpstrata.planning.goal_search import warn_beyond_the_best, warn_of_empty_strata
from dpstrata.privacy.promises import OTHER_THAN_EPSILON
from dpstrata.survey.goals import GOAL_OPTIONS
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.survey.releases import OPTION
from dpstrata.survey.strata import Strata

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from pyspark.sql import DataFrame


def pilot(
    strata: Strata,
    *,
    epsilon: float,
    pilot_epsilon: float,
    total: int,
    pilot_total: int,
    **options: Any,
) -> Design:
    """Design the first wave of a survey whose second wave is designed from what the first one published.

    The result is drawn, noised and estimated like any other design; :func:`main_design` then takes what was
    published.

    Parameters
    ----------
    strata : Strata
        The population. Spreads that are given, here or as ``spreads``, count as right to within a factor of
        two; bounds (and the worst case, where nothing is given) count as bounds.
    epsilon : float
        Central budget of both waves together.
    pilot_epsilon : float
        Part of it that the first wave spends, above 0 and below ``epsilon``.
    total : int
        People to invite in both waves together.
    pilot_total : int
        Number of them to invite in the first wave, at least 1 and below ``total``.
    **options
        As of :func:`dpstrata.design`, for both waves: ``questions``, ``mechanism``, ``min_per_stratum`` and
        so on. If no mechanism is named, the second wave keeps the one that was best for the first. ``forms``
        are chosen for each wave, unless they are given.

    Returns
    -------
    Design
        The first wave. Its document states what both waves spend.

    Raises
    ------
    InputError
        For budgets and numbers that leave nothing for one of the waves.
    NotAvailableError
        For what a pilot does not support: questions of which what is published shows no spread, promises
        other than epsilon alone, and ``objective="unit_free"``.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000])
    >>> waves = {"epsilon": 1, "pilot_epsilon": 0.3, "total": 1000, "pilot_total": 150}
    >>> first = dps.pilot(strata, **waves, questions="yes_no")
    >>> first.total, first.inputs.epsilon, first.privacy["central_in_all"]["epsilon"]
    (150, 0.3, 1.0)
    """
    _require_pure(strata, options)
    if isinstance(pilot_total, int) and pilot_total < 1:
        raise InputError.must("pilot_total", "be at least 1", pilot_total)
    _, both = read_survey(strata, {**options, "epsilon": epsilon, "total": total})
    in_all = both.promise.central_epsilon
    if isinstance(pilot_epsilon, int | float) and not 0 < pilot_epsilon < in_all:
        below = f"be above 0 and below {option('epsilon', in_all, 'g')}"
        left = f"{below}, so that something is left for the main wave"
        raise InputError.must("pilot_epsilon", left, pilot_epsilon, "g")
    strata, inputs = read_survey(strata, {**options, "epsilon": pilot_epsilon, "total": pilot_total})
    assert both.total is not None
    if not pilot_total < both.total:
        left = f"be below {option('total', both.total, ',')}, so that someone is left for the main wave"
        raise InputError.must("pilot_total", left, pilot_total, ",")
    least = min(int(size_limits(each, strata)[0].sum()) for each in form_choices(strata, inputs))
    if pilot_total < least:
        minimums = f"be at least the sum of the minimums ({least:,})"
        raise InfeasibleError.must("pilot_total", minimums, pilot_total, ",")
    wave = design_as_asked(strata, inputs, warn=False)
    _require_spreads_shown(wave)
    warn_beyond_the_best(wave, stacklevel=2, name="pilot_total")
    warn_of_empty_strata(wave, stacklevel=2)
    first = replace(wave, waves=Waves(in_all, both.total, inputs.forms))
    plan_second_wave(first)  # says now what would be impossible later
    return first


def main_design(
    first: Design,
    published: str | Path | IntoFrame | DataFrame,
    *,
    stratum: str = STRATUM,
    engine: Engine = "duckdb",
) -> Design:
    """Design the main wave from what the first one published.

    Parameters
    ----------
    first : Design
        What :func:`pilot` returned, or its document read back.
    published : path, str or data frame
        What :func:`dpstrata.privatize` or :func:`dpstrata.publish` wrote, or a table like it, as
        :func:`dpstrata.estimate` takes it. Fewer answers than invitations are fine, at least one to every
        question in every stratum. One answer of two values tells a little about its stratum; one number of
        any other kind only bounds the spread.
    stratum : str
        Name of the column of the strata.
    engine : {"duckdb", "spark"}
        What reads a path, as for :func:`dpstrata.estimate`.

    Returns
    -------
    Design
        The main wave, with what is left of budget and people, and spreads marked ``private_pilot`` with their
        cost. Its document states the sum.

    Raises
    ------
    InputError
        If ``first`` is not a pilot, or what was published does not fit it; no message shows an answer.

    Examples
    --------
    >>> import dpstrata as dps
    >>> import pyarrow as pa
    >>> strata = dps.Strata(sizes=[7000, 8000], names=["a", "b"])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=200, pilot_total=20)
    >>> names = [name for name, n in zip("ab", first.sample_sizes) for _ in range(n)]
    >>> noised = [dps.randomize(first, name, 0.5).value for name in names]
    >>> main = dps.main_design(first, pa.table({"stratum": names, "answer": noised}))
    >>> main.total, main.inputs.epsilon, main.privacy["central_in_all"]["epsilon"]
    (180, 0.7, 1.0)
    """
    require_first(first)
    found = estimate_closely(first, published, stratum=stratum, engine=engine)
    known = [found.questions[question.name].known for question in first.inputs.questions]
    for question in known:
        answered = question.figures[0].answered
        if not answered.all():
            name = first.strata.name(int(np.argmin(answered)))
            of = f" to {question.question!r}" if len(known) > 1 else ""
            raise InputError(
                f"every stratum of the pilot must have an answer{of} to learn its spread from, got no answer "
                f"in {name!r}."
            )
    response = check_response(first, found.answered)
    if response is not None and response.over:
        raise InputError(
            f"{response.in_words} So both waves together would lose more than they promise. Design the main "
            "survey on its own, and state what the pilot has cost as sd_epsilon."
        )
    plan = design_with(first, learn(first, known))
    warn_beyond_the_best(plan, stacklevel=2)
    warn_of_empty_strata(plan, stacklevel=2)
    return plan


def design_with(first: Design, learned: Spreads) -> Design:
    """Design the main wave with spreads that the first wave gave."""
    assert first.waves is not None
    spent = np.full(len(first.strata), first.inputs.promise.central_epsilon)
    strata, inputs = with_spreads(first.strata, _second_inputs(first), learned)
    plan = design_as_asked(strata.replaced(sd_sources="private_pilot", sd_epsilons=spent), inputs, warn=False)
    return replace(plan, waves=replace(first.waves, pilot_digest=first.digest))


def with_spreads(strata: Strata, inputs: Inputs, spreads: Spreads) -> tuple[Strata, Inputs]:
    """Say what is known of the answers: of a question that is noised alone, in the strata."""
    sds = np.sqrt(spreads.variances @ importances(inputs.questions))
    known = strata.replaced(sds=sds, sds_are_shares=False, proportions=None, sd_sources="prior")
    return known, replace(inputs, spreads=spreads.record) if inputs.rows else inputs


def plan_second_wave(first: Design) -> Design:
    """Design the main wave as if the pilot had shown nothing new."""
    return design_as_asked(first.strata, _second_inputs(first), warn=False)


def pilot_weights(first: Design) -> Mapping[str, float]:
    """Return the weight of the first wave in an estimate from both, for every question.

    Inverse to the variances that the two waves would have with the spreads told before; so it is fixed before
    any answer is seen, and the combined estimate is unbiased.

    Parameters
    ----------
    first : Design
        The design of the first wave.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=200, pilot_total=40)
    >>> 0.15 < pilot_weights(first)["answer"] < 0.25
    True
    """
    require_first(first)
    one, two = (
        question_parts(plan.problem, plan.sample_sizes, finite_population=plan.inputs.finite_population)
        .of_population(plan.problem.terms.coefficients)
        .total
        for plan in (first, plan_second_wave(first))
    )
    return dict(zip(first.inputs.questions.names, (two / (one + two)).tolist(), strict=True))


def _second_inputs(first: Design) -> Inputs:
    """Return what is asked of the main wave: the people and the budget that are left, and its own forms."""
    assert first.waves is not None
    return replace(
        first.inputs,
        epsilon=what_is_left(first.waves.epsilon, first.inputs.promise.central_epsilon),
        total=first.waves.total - first.total,
        forms=first.waves.forms,
    )


def require_first(first: object) -> None:
    """Refuse what is not the design of a first wave."""
    if not isinstance(first, Design) or first.waves is None or not first.waves.first:
        raise InputError("a main wave must follow the design of a pilot, got another design.")


def _require_pure(strata: object, options: dict[str, Any]) -> None:
    """Refuse what a pilot is not worked out for."""
    for name in (*GOAL_OPTIONS, *OTHER_THAN_EPSILON):
        if options.get(name):
            raise NotAvailableError(
                f"a pilot supports only a total and a promise of epsilon, got {option(name, options[name])}.",
                value=options[name],
            )
    if options.get("objective") == "unit_free":
        raise NotAvailableError(
            f"a pilot supports the objectives mean, trace and custom, got "
            f"{option('objective', 'unit_free')}.",
            value="unit_free",
        )
    if isinstance(strata, Strata) and strata.sd_epsilons is not None and strata.sd_epsilons.any():
        raise InputError(
            "a pilot must start from standard deviations that cost no budget, got some with sd_epsilon."
        )


def _require_spreads_shown(wave: Design) -> None:
    """Refuse questions of which what is published shows no spread."""
    release = wave.inputs.release_form
    questions = {question.name: question for question in wave.inputs.questions}
    for form in wave.problem.forms.plans:
        for name in form.questions:
            crossed = any(name in table.questions and len(table.questions) > 1 for table in form.tables)
            reason = release.why_no_spread(questions[name], crossed=crossed)
            if reason is not None:
                raise NotAvailableError(
                    f"a pilot with {option(OPTION, release.name)} cannot learn how far the answers to "
                    f"{name!r} differ, because {reason}. Use {option(OPTION, 'microdata')}.",
                    argument=OPTION,
                    value=release.name,
                )


def combine_waves(first: Design, main: Design, of_first: Results, of_main: Results) -> Results:
    r"""Combine the estimates of two waves.

    With the weight w that ``pilot_weights`` gives a question, which does not depend on any answer, its mean
    or shares in every stratum are

    .. math:: w\,\hat\mu_1 + (1 - w)\,\hat\mu_2, \qquad w^2 V_1 + (1 - w)^2 V_2 .

    A cross-table has the mean weight of its questions; it is left out where numbers have other levels in the
    two waves. A stratum in which nobody answered in one wave has the figures of the other, and one without
    any answer takes the result of a neighbour. Whatever the first wave showed, the second is unbiased given
    it; so the whole is, and the two errors do not correlate: each sample is drawn from the whole frame by
    itself. Intervals are found as those of one wave, with as many parts as both have: every stratum, or
    every stratum and form, of either.

    Parameters
    ----------
    first, main : Design
        The two waves.
    of_first, of_main : Results
        What each gave by itself.

    Returns
    -------
    Results
        For the same figures, with intervals at the design's confidence.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000], names=["a"])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=90, pilot_total=20, questions="yes_no")
    >>> import pyarrow as pa
    >>> def noised(plan):
    ...     answers = [dps.randomize(plan, "a", i % 2).value for i in range(plan.total)]
    ...     return pa.table({"stratum": ["a"] * plan.total, "answer": answers})
    >>> of_first = noised(first)
    >>> main = dps.main_design(first, of_first)
    >>> each = [dps.estimate(first, of_first), dps.estimate(main, noised(main))]
    >>> dps.combine_waves(first, main, *each).whole[0].answered
    90
    """
    require_first(first)
    if main.waves is None or main.waves.pilot_digest != first.digest:
        raise InputError("the main design must be the one that follows this pilot, got another.")
    waves, questions = (of_first, of_main), first.inputs.questions
    weights = dict(pilot_weights(first))
    for places in questions.groups.values():
        names = [questions[place].name for place in places]
        weights[" by ".join(names)] = float(np.mean([weights[name] for name in names]))
    joined = []
    for name, weight in weights.items():
        known = [each.questions[name].known for each in waves if name in each.questions]
        levels = {tuple(figure.level for figure in each.figures) for each in known}
        if len(known) == 2 and len(levels) == 1:
            joined.append(join_waves(known, (weight, 1.0 - weight)))
    others = {name: 1.0 - weight for name, weight in weights.items()}
    return combine(
        main,
        joined,
        answered=of_first.answered + of_main.answered,
        notes=list(dict.fromkeys(note for each in waves for note in each.notes)),
        waves=(Wave(first, weights, of_first), Wave(main, others, of_main)),
    )
