"""How much of a test `make test` does of what `make slow` does in full."""

import os
from itertools import product

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
