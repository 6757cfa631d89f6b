"""Everything dpstrata raises or warns with, in one tree.

::

    DpstrataError
    ├── InputError (ValueError)            an argument, a file or a table that cannot be used
    │   ├── StrataError                    problems of the strata, all of them at once
    │   └── InfeasibleError                requests that contradict each other
    ├── PrecisionError (ArithmeticError)   an answer that could not be proven, so is not given
    ├── NotAvailableError (NotImplementedError)   understood, but not part of this version
    └── MissingExtraError (ImportError)    an optional package; the message says how to install it

    DpstrataWarning (UserWarning)          usable, but probably not what was meant
"""

from collections.abc import Sequence
from typing import NamedTuple


class CellProblem(NamedTuple):
    """What is wrong with one cell of a table; rows count from 0, and without the header."""

    row: int
    column: str
    message: str


class DpstrataError(Exception):
    """Base of every error dpstrata raises on purpose."""


class InputError(DpstrataError, ValueError):
    """Input that cannot be used; the message says what must hold and what was got."""


class StrataError(InputError):
    """One or more problems of the strata.

    Attributes
    ----------
    problems : tuple of str
        Every problem found, each with its place.
    cells : tuple of CellProblem
        The same by cell, where they came from a table.
    """

    SHOWN = 20

    def __init__(
        self,
        problems: Sequence[str],
        *,
        source: str = "the strata",
        cells: Sequence[CellProblem] = (),
    ) -> None:
        self.problems = tuple(problems)
        self.cells = tuple(cells)
        if len(self.problems) == 1:
            message = f"{source}: {self.problems[0]}"
        else:
            lines = [f"  - {problem}" for problem in self.problems[: self.SHOWN]]
            if len(self.problems) > self.SHOWN:
                lines.append(f"  - and {len(self.problems) - self.SHOWN:,} more")
            message = f"{source}: {len(self.problems):,} problems.\n" + "\n".join(lines)
        super().__init__(message)


class InfeasibleError(InputError):
    """Two requests that no design can meet together.

    Attributes
    ----------
    misses : tuple of (bool, float) or None
        How far what is possible misses what was asked: whether the precision is out of reach (and not only
        its cost), and by what factor. ``None`` where there is no such measure.
    """

    def __init__(self, message: str, *, misses: tuple[bool, float] | None = None) -> None:
        super().__init__(message)
        self.misses = misses


class PrecisionError(DpstrataError, ArithmeticError):
    """A result that could not be proven within the arithmetic at hand."""


class NotAvailableError(DpstrataError, NotImplementedError):
    """A request that dpstrata understands but this version does not carry out."""


class MissingExtraError(DpstrataError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} an extra: pip install 'dpstrata[{extra}]'.")


class DpstrataWarning(UserWarning):
    """Something usable that is probably not what was meant."""
