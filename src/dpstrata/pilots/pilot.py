"""A private pilot: a first wave learns how spread the answers are, the main wave spends what is left.

Two waves, two secret samples, each drawn from the whole frame by itself, each with its own central budget.
The main design uses the noised answers of the first wave and nothing else of it, so that everyone loses at
most the sum of the two (sequential composition, adaptive). One estimate is made from both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.allocation.posing import size_limits
from dpstrata.designs.record import Design
from dpstrata.designs.waves import Waves, what_is_left
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError, option
from dpstrata.fielding.losses import check_response
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import join_waves
from dpstrata.fielding.results.microdata import estimate_means
from dpstrata.fielding.results.results import Results, Wave
from dpstrata.numerics.arrays import FloatArray
from dpstrata.pilots.spreads import noised_moments, pilot_spreads
from dpstrata.planning.design import design_as_asked, read_survey
from dpstrata.planning.goal_search import warn_beyond_the_best, warn_of_empty_strata
from dpstrata.privacy.promises import OTHER_THAN_EPSILON
from dpstrata.survey.goals import GOAL_OPTIONS
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.releases import OPTION, RELEASES, kind_of
from dpstrata.survey.strata import Strata


def pilot(
    strata: Strata,
    *,
    epsilon: float,
    pilot_epsilon: float,
    total: int,
    pilot_total: int,
    **options: Any,
) -> Design:
    """Design the first wave of a survey whose second wave is designed from the first one's noised answers.

    The result is drawn, noised and estimated like any other design; :func:`main_design` then takes its noised
    answers.

    Parameters
    ----------
    strata : Strata
        The population. Standard deviations that are given count as right to within a factor of two; bounds
        (and the worst case, where nothing is given) count as bounds.
    epsilon : float
        Central budget of both waves together.
    pilot_epsilon : float
        Part of it that the first wave spends, above 0 and below ``epsilon``.
    total : int
        People to invite in both waves together.
    pilot_total : int
        Number of them to invite in the first wave, at least 1 and below ``total``.
    **options
        As of :func:`dpstrata.design`, for both waves: ``mechanism``, ``answers``, ``min_per_stratum`` and so
        on. If no mechanism is named, the second wave keeps the one that was best for the first.

    Returns
    -------
    Design
        The first wave. Its document states what both waves spend.

    Raises
    ------
    InputError
        For budgets and numbers that leave nothing for one of the waves.
    NotAvailableError
        For what a pilot does not support: published sums, which show no spread, promises other than
        epsilon alone, and ``objective="unit_free"``.

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
    if both.rows:
        raise NotAvailableError("a pilot supports one question only, randomised by itself.")
    if not both.space.numbers:
        raise NotAvailableError(f"a pilot supports numbers only, got {both.space.described}.")
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
    least = int(size_limits(inputs, strata)[0].sum())
    if pilot_total < least:
        minimums = f"be at least the sum of the minimums ({least:,})"
        raise InfeasibleError.must("pilot_total", minimums, pilot_total, ",")
    wave = design_as_asked(strata, inputs, warn=False)
    warn_beyond_the_best(wave, stacklevel=2, name="pilot_total")
    warn_of_empty_strata(wave, stacklevel=2)
    first = replace(wave, waves=Waves(in_all, both.total))
    plan_second_wave(first)  # says now what would be impossible later
    return first


def main_design(first: Design, strata: Sequence[str], answers: npt.ArrayLike) -> Design:
    """Design the main wave from the noised answers of the first.

    Parameters
    ----------
    first : Design
        What :func:`pilot` returned, or its document read back.
    strata : sequence of str
        The stratum of each noised answer.
    answers : array
        The noised answers, in any order; fewer than invited are fine, at least one in every stratum. One
        answer of two values tells a little about its stratum; one of any other kind only bounds the spread.

    Returns
    -------
    Design
        The main wave, with what is left of budget and people, and standard deviations marked
        ``private_pilot`` with their cost. Its document states the sum.

    Raises
    ------
    InputError
        If ``first`` is not a pilot, or its answers do not fit it; no message shows one.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000], names=["a", "b"])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=200, pilot_total=20)
    >>> names = [name for name, n in zip("ab", first.sample_sizes) for _ in range(n)]
    >>> noised = [dps.randomize(first, name, 0.5).value for name in names]
    >>> main = dps.main_design(first, names, noised)
    >>> main.total, main.inputs.epsilon, main.privacy["central_in_all"]["epsilon"]
    (180, 0.7, 1.0)
    """
    require_first(first)
    estimate_means(first, strata, answers)  # refuses what does not fit the design
    place = {name: i for i, name in enumerate(first.strata.names)}
    codes = np.array([place[name] for name in strata], dtype=np.int64)
    counts = np.bincount(codes, minlength=len(place))
    if not counts.all():
        raise InputError(
            f"every stratum of the pilot must have an answer to learn its spread from, got no answer in "
            f"{first.strata.name(int(np.argmin(counts)))!r}."
        )
    response = check_response(first, counts)
    if response is not None and response.over:
        raise InputError(
            f"{response.in_words} So both waves together would lose more than they promise. Design the main "
            "survey on its own, and state what the pilot has cost as sd_epsilon."
        )
    moments = noised_moments(first, codes, np.asarray(answers, dtype=float))
    plan = design_with(first, pilot_spreads(first, moments))
    warn_beyond_the_best(plan, stacklevel=2)
    warn_of_empty_strata(plan, stacklevel=2)
    return plan


def design_with(first: Design, spreads: FloatArray) -> Design:
    """Design the main wave with standard deviations that the first wave gave."""
    waves, told = first.waves, first.strata
    assert waves is not None
    learned = told.replaced(
        sds=spreads,
        sds_are_shares=False,
        proportions=None,
        sd_sources="private_pilot",
        sd_epsilons=np.full(len(told), first.inputs.promise.central_epsilon),
    )
    plan = design_as_asked(learned, _second_inputs(first), warn=False)
    return replace(plan, waves=replace(waves, pilot_digest=first.digest))


def plan_second_wave(first: Design) -> Design:
    """Design the main wave as if the pilot had shown nothing new."""
    return design_as_asked(first.strata, _second_inputs(first), warn=False)


def pilot_weight(first: Design) -> float:
    """Return the weight of the first wave in an estimate from both.

    Inverse to the variances that the two waves would have with the standard deviations told before; so it is
    fixed before any answer is seen, and the combined estimate is unbiased.

    Parameters
    ----------
    first : Design
        The design of the first wave.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=200, pilot_total=40)
    >>> 0.15 < pilot_weight(first) < 0.25
    True
    """
    require_first(first)
    one, two = first.variance, plan_second_wave(first).variance
    return two / (one + two)


def _second_inputs(first: Design) -> Inputs:
    """Return what is asked of the main wave: the people and the budget that are left."""
    assert first.waves is not None
    return replace(
        first.inputs,
        epsilon=what_is_left(first.waves.epsilon, first.inputs.promise.central_epsilon),
        total=first.waves.total - first.total,
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
    shown = [name for name in RELEASES if kind_of(name).shows_spread]
    release = options.get(OPTION)
    if release in [name for name in RELEASES if name not in shown]:
        raise NotAvailableError(
            f"a pilot needs {' or '.join(option(OPTION, name) for name in shown)}, got "
            f"{option(OPTION, release)}: {kind_of(release).published_one} of a stratum shows no spread.",
            value=release,
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


def combine_waves(first: Design, main: Design, of_first: Results, of_main: Results) -> Results:
    r"""Combine the estimates of two waves.

    With the weight w of ``pilot_weight``, which does not depend on any answer, the mean of every stratum is

    .. math:: w\,\hat\mu_1 + (1 - w)\,\hat\mu_2, \qquad w^2 V_1 + (1 - w)^2 V_2 .

    A stratum in which nobody answered in one wave has the mean of the other, and one without any answer takes
    the result of a neighbour. Whatever the first wave showed, the second is unbiased given it; so the whole
    is, and the two errors do not correlate: each sample is drawn from the whole frame by itself. Intervals
    are found as those of one wave, with twice as many parts: every stratum of either wave is one.

    Parameters
    ----------
    first, main : Design
        The two waves.
    of_first, of_main : Results
        What each gave by itself.

    Returns
    -------
    Results
        For the same means, with intervals at the design's confidence.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000], names=["a"])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=90, pilot_total=20, questions="yes_no")
    >>> def noised(plan):
    ...     return ["a"] * plan.total, [dps.randomize(plan, "a", i % 2).value for i in range(plan.total)]
    >>> of_first = noised(first)
    >>> main = dps.main_design(first, *of_first)
    >>> each = [dps.estimate_means(first, *of_first), dps.estimate_means(main, *noised(main))]
    >>> dps.combine_waves(first, main, *each).whole[0].answered
    90
    """
    require_first(first)
    if main.waves is None or main.waves.pilot_digest != first.digest:
        raise InputError("the main design must be the one that follows this pilot, got another.")
    weight, waves = pilot_weight(first), (of_first, of_main)
    known = zip(*([about.known for about in each.questions.values()] for each in waves), strict=True)
    return combine(
        main,
        [join_waves(each, (weight, 1.0 - weight)) for each in known],
        answered=of_first.answered + of_main.answered,
        notes=list(dict.fromkeys(note for each in waves for note in each.notes)),
        waves=(Wave(first, weight, of_first), Wave(main, 1.0 - weight, of_main)),
    )
