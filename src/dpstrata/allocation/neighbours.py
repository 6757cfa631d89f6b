"""Strata without an answer: which one stands in for each, from the numbers of answers alone.

A stratum that nobody answered in takes the result of the nearest one with answers, in the order in which the
design lists its strata; of two equally near ones, of the one before it. It is taken from the same domains if
any stratum there has answers; if not, from the same ones of the first columns of domains. Numbers of answers
are public, so this tells nothing about anyone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.errors import InputError
from dpstrata.numerics.arrays import IntArray


def nearest_with_answers(answers: IntArray, domains: Sequence[IntArray] = ()) -> IntArray:
    """Find the nearest stratum with answers, within the same groups of the domains where there is one.

    If there is none in the same groups of all of them, as many of the first ones count as have one.

    Examples
    --------
    >>> nearest_with_answers(np.array([0, 4, 0, 7, 0, 0])).tolist()
    [1, 1, 1, 3, 3, 3]
    >>> nearest_with_answers(np.array([3, 0, 5, 0]), [np.array([0, 1, 1, 2])]).tolist()
    [0, 2, 2, 2]
    """
    found, full = np.arange(len(answers)), np.flatnonzero(answers > 0)
    if not full.size:
        raise InputError("there must be at least one answer, got none.")
    empty = np.flatnonzero(answers <= 0)
    if not empty.size:
        return found
    found[empty] = _nearest(empty, full)
    for number in range(1, len(domains) + 1):  # the more domains are the same, the better
        keys = np.unique(np.stack(domains[:number]), axis=1, return_inverse=True)[1].ravel()
        for key in np.unique(keys[empty]).tolist():
            inside = full[keys[full] == key]
            if inside.size:
                mine = empty[keys[empty] == key]
                found[mine] = _nearest(mine, inside)
    return found


def _nearest(places: IntArray, among: IntArray) -> IntArray:
    """Return the nearest of some sorted places, the one before where two are equally near."""
    after = np.minimum(np.searchsorted(among, places), len(among) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(among[after] - places) < np.abs(places - among[before])
    return np.where(nearer, among[after], among[before])
