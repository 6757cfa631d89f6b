"""Precisions to reach: a standard error, a margin of error or a coefficient of variation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import ClassVar

from dpstrata.errors import InputError, option
from dpstrata.words.numbers import plain_number, read_number

SMALLEST, LARGEST = 1e-100, 1e100  # beyond them squares leave double precision


@dataclass(frozen=True, slots=True)
class PrecisionTarget:
    """A precision to reach, which says what it is measured in.

    Attributes
    ----------
    value : float
        From 1e-100 to 1e100.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    plural: ClassVar[str]
    value: float

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "value", _checked(self.value, f"the value of {name}", ""))

    def standard_error(self, *, z: float, mean: float | None) -> float:
        """Return the standard error that it means.

        Parameters
        ----------
        z : float
            A margin of error in standard errors.
        mean : float or None
            The mean expected in the group, which a coefficient of variation needs.
        """
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{plain_number(self.value)}{self.kind}"

    @property
    def in_words(self) -> str:
        """What is to be reached."""
        return f"a {self.title} of {plain_number(self.value)}"


class SE(PrecisionTarget):
    """A standard error to reach.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000, 8000], [0.3, 0.2], names=["A", "B"])
    >>> plan = dps.design(strata, epsilon=1, domains={"stratum": {"B": dps.SE(0.02)}})
    >>> round(plan.domains[-1].standard_error, 4)
    0.02
    """

    __slots__ = ()
    kind, title, plural = "se", "standard error", "standard errors"

    def standard_error(self, *, z: float, mean: float | None) -> float:
        """Return the value itself."""
        return self.value


class Margin(PrecisionTarget):
    """A margin of error to reach: half the width of the interval at the survey's confidence.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000, 8000], [0.3, 0.2], names=["A", "B"])
    >>> plan = dps.design(strata, epsilon=1, domains={"stratum": {"B": dps.Margin(0.04)}})
    >>> round(1.96 * plan.domains[-1].standard_error, 3)
    0.04
    """

    __slots__ = ()
    kind, title, plural = "margin", "margin of error", "margins of error"

    def standard_error(self, *, z: float, mean: float | None) -> float:
        """Divide by the quantile."""
        return self.value / z


class CV(PrecisionTarget):
    """A coefficient of variation to reach: the standard error relative to the mean expected in the group.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([7000, 8000], proportions=[0.1, 0.2], extra={"region": ["north", "south"]},
    ...                     sds=[0.3, 0.4])
    >>> plan = dps.design(strata, epsilon=1, domains={"region": dps.CV(0.15)})
    >>> [round(domain.standard_error, 3) for domain in plan.domains[1:]]
    [0.015, 0.03]
    """

    __slots__ = ()
    kind, title, plural = "cv", "coefficient of variation", "coefficients of variation"

    def standard_error(self, *, z: float, mean: float | None) -> float:
        """Multiply by the mean that is expected."""
        assert mean is not None
        return self.value * abs(mean)


KINDS: dict[str, type[PrecisionTarget]] = {each.kind: each for each in (SE, Margin, CV)}
_WRITTEN = re.compile(rf"\s*([^%\s]*?)\s*(%?)\s*({'|'.join(KINDS)})?\s*", re.IGNORECASE)

Target = float | str | PrecisionTarget | Mapping[str, float | str | PrecisionTarget] | None
"""What the domains of a column must reach: the same for all, one for each that has one, or nothing."""


def take_target(where: str, given: object) -> float | PrecisionTarget:
    """Take a target of domains: a record, a number, or text such as ``15%cv``, ``0.02se`` and ``0.03margin``.

    Parameters
    ----------
    where : str
        Whose it is, for messages.
    given : object
        The target.

    Returns
    -------
    float or PrecisionTarget
        A number says nothing of its kind, and is of the kind of the target of the whole.

    Examples
    --------
    >>> take_target("region", "15%cv"), take_target("region", "0.7% margin"), take_target("region", 0.02)
    (CV(value=0.15), Margin(value=0.007), 0.02)
    """
    if isinstance(given, PrecisionTarget):
        return given
    what = f"a target of {option('domains')}"
    if not isinstance(given, str):
        return _checked(given, what, f" for {where}")
    found = _WRITTEN.fullmatch(given)
    number = None if found is None else read_number(found[1])
    if found is None or number is None:
        raise InputError(
            f"{what} must be a number with its kind, such as 15%cv, 0.02se or 0.03margin, got "
            f"{given!r} for {where}.",
            value=given,
        )
    if found[2]:  # 0.7% is 0.007, to the last digit
        number = float(Decimal(repr(number)) / 100)
    value = _checked(number, what, f" for {where}")
    return KINDS[found[3].lower()](value) if found[3] else value


def _checked(number: object, what: str, where: str) -> float:
    """Take a number that can be a target."""
    got = f"got {number!r}{where}"
    if isinstance(number, bool) or not isinstance(number, Real):
        raise InputError(f"{what} must be a number, {got}.", value=number)
    try:
        value = float(number)
    except OverflowError:
        raise InputError(f"{what} must be a number of moderate size, got one{where} that is not.") from None
    if not value > 0:
        raise InputError(f"{what} must be positive, {got}.", value=number)
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{what} must lie between {SMALLEST:g} and {LARGEST:g}, {got}.", value=number)
    return value
