"""One estimate from two waves, the first of which is a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.intervals.parts import over_waves
from dpstrata.fielding.results.combining import combine_strata
from dpstrata.fielding.results.estimators import FEW, Estimation, Wave
from dpstrata.pilots.pilot import pilot_weight, require_first


def combine_waves(first: Design, main: Design, of_first: Estimation, of_main: Estimation) -> Estimation:
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
    of_first, of_main : Estimation
        What each gave by itself.

    Returns
    -------
    Estimation
        For the same means, with intervals at the design's confidence.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000], names=["a"])
    >>> first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=90, pilot_total=20, questions="yes_no")
    >>> def noised(plan):
    ...     return ["a"] * plan.total, dps.noise_answers(plan, "a", [0, 1] * (plan.total // 2))
    >>> of_first = noised(first)
    >>> main = dps.main_design(first, *of_first)
    >>> each = [dps.estimate_means(first, *of_first), dps.estimate_means(main, *noised(main))]
    >>> dps.combine_waves(first, main, *each).whole.answers
    90
    """
    require_first(first)
    if main.waves is None or main.waves.pilot_digest != first.digest:
        raise InputError("the main design must be the one that follows this pilot, got another.")
    weight, waves = pilot_weight(first), (of_first, of_main)
    known = [each.by_stratum for each in waves if each.by_stratum is not None]
    joined = over_waves(known, (weight, 1.0 - weight))
    notes = tuple(dict.fromkeys(note for each in waves for note in each.notes))
    found = combine_strata(main, joined, notes)

    def either(names: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(name for name in first.strata.names if any(name in each for each in names))

    return replace(
        found,
        floored=either([each.floored for each in waves]),
        single=tuple(row.group for row in found.strata if row.answers == 1),
        few=tuple(row.group for row in found.strata if 1 < row.answers < FEW),
        waves=(Wave(first, weight, of_first), Wave(main, 1.0 - weight, of_main)),
    )
