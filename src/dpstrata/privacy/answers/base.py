"""What a kind of answers must say about itself, and the kinds by name: a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar

import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.words.numbers import read_number

# module beside this one: class in it; the first kind that can read what is given does
KINDS = {
    "yes_no": "YesNo",
    "interval": "Interval",
    "grid": "Grid",
    "category": "Category",
}


class Answers:
    """The possible answers: numbers between two ends, on a grid if ``step`` is given.

    Answers of 0 and 1 in steps of 1 are yes and no.

    Parameters
    ----------
    lower, upper : float
        lower < upper; answers outside are refused, or clipped where the design says so.
    step : float or None
        Distance between neighbouring answers; (upper - lower) / step must be a whole number.

    Raises
    ------
    InputError
        If no such answers exist.

    Notes
    -----
    A kind is a frozen dataclass that subclasses this one. Its fields are its JSON. Whatever is answered
    becomes numbers (:meth:`checked`), and what is estimated is their mean, which lies between ``lower`` and
    ``upper``.

    A mechanism may ask for ``range``, by which its noise scales; ``steps``, the grid that it may stay on; and
    ``values``, how many different answers there are; and ``numbers``, whether they are numbers. It is given
    and returns shares of the range; of categories it is given their places. To say what it cannot protect it
    has ``described`` and ``str()``. Nothing else about answers is its business.

    Examples
    --------
    >>> import dpstrata as dps
    >>> answers = dps.Answers(0, 100, 5)
    >>> answers
    Answers(lower=0.0, upper=100.0, step=5.0)
    >>> answers.steps, answers.values
    (20, 21)
    """

    __slots__ = ()

    lower: float
    upper: float
    form: ClassVar[str]
    """How such answers are asked for, in the words of a message."""
    figure: ClassVar[str] = "mean"
    """What is estimated."""
    estimated: ClassVar[str] = "the population mean"
    """What a standard error of a design is that of, in words."""
    counts_people: ClassVar[bool] = False
    """Whether the total of all answers is a number of people."""
    written: ClassVar[str] = "a number"
    """How people write an answer, in the words of a message; :meth:`from_cell` reads it."""
    can_clip: ClassVar[bool] = False
    """Whether an answer outside the range may count as the nearer end of it."""
    numbers: ClassVar[bool] = True
    """Whether answers are numbers, whose mean is estimated; otherwise the share of every name is."""

    def __new__(cls, lower: float, upper: float, step: float | None = None) -> Answers:
        """Find the kind that is written like this."""
        return parse_answers((lower, upper) if step is None else (lower, upper, step))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__new__ = staticmethod(_new)  # type: ignore[assignment]  # a kind has fields of its own

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]

    # --- for mechanisms -----------------------------------------------------------------------

    @property
    def range(self) -> float:
        """R = upper - lower."""
        return self.upper - self.lower

    @property
    def steps(self) -> int | None:
        """K = range / step on a grid, otherwise ``None``."""
        return None

    @property
    def values(self) -> int | None:
        """How many different answers there are; ``None`` if any number in the range is one."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """How many different answers there are, in words."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """What can be answered by name; empty where answers are numbers."""
        return ()

    # --- answers ------------------------------------------------------------------------------

    def checked(self, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None) -> FloatArray:
        """Return people's answers as numbers between the ends.

        Parameters
        ----------
        given : array
            One answer of each.
        clip : bool
            Whether an answer outside the range counts as the nearer end of it.
        where : str, optional
            Where they stood, for messages.

        Raises
        ------
        InputError
            If one of them is not allowed; no message shows it.
        """
        raise NotImplementedError

    def from_cell(self, cell: Any) -> float | str | None:
        """Read an answer as someone wrote it, in a cell of a table or on a line.

        Returns
        -------
        float, str or None
            The number or name that :meth:`checked` takes; ``None`` for what cannot be read.
        """
        return read_number(cell)

    def shares(self, values: FloatArray) -> FloatArray:
        """Turn numbers into shares of the range, 0 for its lower end and 1 for its upper end."""
        return (values - self.lower) / self.range

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Turn shares of the range back into numbers; noised ones may lie outside it."""
        return self.lower + self.range * shares

    # --- spreads ------------------------------------------------------------------------------

    def largest_sd(self, sizes: IntArray) -> FloatArray:
        """Largest standard deviation (divisor N - 1) that answers of ``sizes`` people can have."""
        raise NotImplementedError

    def proportions_of(self, sds: FloatArray, sizes: IntArray) -> FloatArray | None:
        """Shares of the upper end, the smaller of p and 1 − p, that follow from standard deviations.

        ``None`` where they do not follow.
        """
        return None

    def sd_of(self, given: npt.ArrayLike) -> float:
        """Return the standard deviation (divisor N - 1) of answers of at least two people."""
        return float(self.checked(given).std(ddof=1))

    def population(self, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up answers of ``size`` people whose standard deviation comes as near to ``sd`` as any."""
        raise NotImplementedError

    # --- words --------------------------------------------------------------------------------

    @classmethod
    def read(cls, given: Any) -> Answers | None:
        """Read such answers from what someone wrote, or from their fields.

        Parameters
        ----------
        given : object
            Text, as on the command line, a sequence or a mapping.

        Returns
        -------
        Answers or None
            ``None`` if that is how another kind is written.

        Raises
        ------
        InputError
            If no such answers exist.
        """
        raise NotImplementedError

    @property
    def text(self) -> str:
        """How the command line writes them; :meth:`read` reads it."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """How Python writes them for :func:`dpstrata.design`; :meth:`read` reads what it means."""
        raise NotImplementedError

    def shown(self, estimate: float) -> str:
        """Write an estimate as people read it."""
        return f"{estimate:,.3g}" if abs(estimate) < 1000 else f"{estimate:,.0f}"

    def __str__(self) -> str:
        raise NotImplementedError


def _new(kind: type[Answers], *fields: Any, **named: Any) -> Answers:
    return object.__new__(kind)


def kinds() -> Iterator[type[Answers]]:
    """Load the kinds one by one, in the order in which they are tried."""
    for module, name in KINDS.items():
        yield getattr(import_module(f"dpstrata.privacy.answers.{module}"), name)


def parse_answers(given: str | Answers | Sequence[float] | Sequence[str] | Mapping[str, Any]) -> Answers:
    """Turn ``(lower, upper)``, ``"0:100:1"``, ``"binary"``, ``["rent", "own"]`` and the like into Answers.

    The fields of Answers, as a design document has them, do as well.

    Raises
    ------
    InputError
        If no kind of answers is written like that, or the one that is refuses its values.

    Examples
    --------
    >>> parse_answers("binary")
    Answers(lower=0.0, upper=1.0, step=1.0)
    >>> parse_answers("0:100:1").steps
    100
    """
    if isinstance(given, Answers):
        return given
    for kind in kinds():
        answers = kind.read(given)
        if answers is not None:
            return answers
    *others, last = (kind.form for kind in kinds())
    raise InputError(
        f"{option('answers')} must be {', '.join(others)}, or {last}, got {given!r}.", argument="answers"
    )
