"""How much of a test `make test` does of what `make slow` does in full, and how chance is judged."""

import os
from itertools import product

import numpy as np
from scipy.stats import binom, chi2, t

# How much of a test `make test` does of what `make slow` does in full


FULL = os.environ.get("DPSTRATA_EXAMPLES") == "new"


def few(number, *, of):
    """So many in `make test`, and all of them in `make slow`."""
    return of if FULL else number


def crossed(*choices, times=1):
    """Every choice with every other in `make slow`, and each beside some others in `make test`."""
    return list(product(*choices)) if FULL else beside(*choices, times=times)


def beside(first, *others, times=1):
    """Each choice so often at least, those of the first list beside other ones each time.

    Examples
    --------
    >>> beside("abc", [1, 2]), beside("ab", [1, 2], "xy", times=2)
    ([('a', 1), ('b', 2), ('c', 1)], [('a', 1, 'x'), ('b', 2, 'y'), ('a', 2, 'y'), ('b', 1, 'x')])
    """
    most = max(map(len, (first, *others)))
    return [
        (first[i % len(first)], *(each[(i + i // most) % len(each)] for each in others))
        for i in range(times * most)
    ]


# What repeated surveys may show by chance: limits that they pass once in a hundred million, however few they are


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
