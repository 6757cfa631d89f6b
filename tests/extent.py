"""How much of a test `make test` does of what `make slow` does in full."""

import os

FULL = os.environ.get("DPSTRATA_EXAMPLES") == "new"


def few(number, *, of):
    """So many in `make test`, and all of them in `make slow`."""
    return of if FULL else number
