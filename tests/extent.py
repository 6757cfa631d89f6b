"""How much of a test `make test` does of what `make slow` does in full."""

import os
from itertools import product

FULL = os.environ.get("DPSTRATA_EXAMPLES") == "new"


def few(number, *, of):
    """So many in `make test`, and all of them in `make slow`."""
    return of if FULL else number


def crossed(*choices, times=1):
    """Every choice with every other in `make slow`; in `make test` each as often as asked for, beside changing others.

    Examples
    --------
    >>> crossed("abc", [1, 2]), crossed("ab", [1, 2], times=2)
    ([('a', 1), ('b', 2), ('c', 1)], [('a', 1), ('b', 2), ('a', 2), ('b', 1)])
    """
    if FULL:
        return list(product(*choices))
    most = max(map(len, choices))
    return [
        tuple(each[(i + j * (i // most)) % len(each)] for j, each in enumerate(choices))
        for i in range(times * most)
    ]
