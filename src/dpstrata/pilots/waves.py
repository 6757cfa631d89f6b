"""One estimate from two waves, the first of which is a pilot."""

from __future__ import annotations

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import join_waves
from dpstrata.fielding.results.results import Results, Wave
from dpstrata.pilots.pilot import pilot_weight, require_first


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
