"""What repeated surveys may show by chance: limits that they pass once in a hundred million, however few they are."""

import numpy as np
from scipy.stats import binom, chi2, t

RARE = 1e-8


def mean_limit(errors):
    """How far from zero the mean of errors may be that have none on average."""
    return t.isf(RARE / 2, len(errors) - 1) * np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))


def variance_limits(repeats, *, slack=0.02):
    """Which ratios there may be of a variance in so many surveys to the true one, or to one that is off by little.

    Examples
    --------
    >>> [round(float(limit), 2) for limit in variance_limits(10_000)]
    [0.9, 1.1]
    """
    least, most = chi2.ppf(RARE / 2, repeats - 1), chi2.isf(RARE / 2, repeats - 1)
    return (1 - slack) * least / (repeats - 1), (1 + slack) * most / (repeats - 1)


def may_cover(covered, repeats, *, least=0.95, most=0.95):
    """Whether so many intervals may hold the truth, if each does with a chance from ``least`` to ``most``.

    Examples
    --------
    >>> may_cover(40, 40), may_cover(20, 40)
    (True, False)
    """
    return bool(binom.cdf(covered, repeats, least) > RARE and binom.sf(covered - 1, repeats, most) > RARE)
