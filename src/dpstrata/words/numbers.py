"""Numbers as people write and read them: budgets as they were written, losses never smaller than they are."""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

_PLURALS = {"stratum": "strata", "person": "people", "category": "categories"}
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def read_number(cell: Any) -> float | None:
    """Read a finite number, with a decimal point or a decimal comma.

    Nothing is read from what is no number, nor from what could be another one: see :func:`has_two_readings`.

    Examples
    --------
    >>> read_number(" 2.5"), read_number("2,5"), read_number("0,125"), read_number("1,234")
    (2.5, 2.5, 0.125, None)
    """
    if isinstance(cell, str):
        if "_" in cell or has_two_readings(cell):  # Python would read 1_0 as 10
            return None
        cell = cell if "." in cell else cell.replace(",", ".")
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def has_two_readings(text: str) -> bool:
    """Whether a comma can separate thousands as well as decimals, as in 1,234."""
    return _THOUSANDS.fullmatch(text.strip()) is not None


def counted(number: int, unit: str = "interview") -> str:
    """Write a number of interviews, or of other things.

    Examples
    --------
    >>> counted(1), counted(1200, "invitation"), counted(3, "stratum"), counted(4, "category")
    ('1 interview', '1,200 invitations', '3 strata', '4 categories')
    """
    return f"{number:,} {unit if number == 1 else _PLURALS.get(unit, f'{unit}s')}"


def share_in_percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> share_in_percent(0.27), share_in_percent(0.004), share_in_percent(0)
    ('27%', '0.4%', '0%')
    """
    digits = 0 if share == 0 or share >= 0.01 else 1
    return f"{100 * share:.{digits}f}%"


def plain_number(value: float) -> str:
    """Write a number with all the digits it has, and no more."""
    return f"{value:.0f}" if value.is_integer() else repr(value)


def figure(value: float, digits: int = 4) -> str:
    """Write a number rounded to so many digits; with an exponent only if it is tiny or vast.

    Examples
    --------
    >>> figure(4226.71), figure(359702.0999), figure(0.0304411), figure(2.0), figure(3.1e-9)
    ('4,227', '359,700', '0.03044', '2', '3.1e-09')
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    decimals = _decimals(value, digits)
    shown = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def three_digits(value: float) -> str:
    """Write a positive number with three digits, and as people write numbers.

    Examples
    --------
    >>> three_digits(0.01956), three_digits(588.2), three_digits(5741.0), three_digits(3e-9)
    ('0.0196', '588', '5,740', '3.00e-09')
    """
    if value == 0 or not 1e-5 <= value < 1e9:
        return f"{value:.2e}" if value else "0"
    rounded = float(f"{value:.2e}")
    return f"{rounded:,.{max(2 - math.floor(math.log10(rounded)), 0)}f}"


def told_apart(*values: float) -> list[str]:
    """Write numbers as :func:`figure` does, with more digits only if different ones would look the same.

    Examples
    --------
    >>> told_apart(0.012, 0.0120031), told_apart(0.5, 0.25)
    (['0.012', '0.012003'], ['0.5', '0.25'])
    """
    for digits in range(4, 13):
        shown = [figure(value, digits) for value in values]
        if len(set(shown)) == len(set(values)):
            break
    return shown


def money(value: float) -> str:
    """Write a cost: whole, or with two decimals, or as digits of less than one.

    Examples
    --------
    >>> money(9000.0), money(8999.9202), money(359702.0999), money(0.04)
    ('9,000', '8,999.92', '359,702.10', '0.04')
    """
    return figure(value) if abs(value) < 1 or abs(value) >= 1e15 else f"{value:,.2f}".removesuffix(".00")


def money_above(cost: float, limit: float) -> str:
    """Write a cost above a limit: to the cent, unless that hides the difference."""
    return money(cost) if money(cost) != money(limit) else f"{cost:,.10g}"


def at_error(values: Sequence[float], error: float, *, whole: bool = False) -> list[str]:
    """Write numbers rounded to where two digits of their standard error end, or at least to whole numbers.

    Examples
    --------
    >>> at_error([0.32412, 0.28261, 0.36563], 0.02117)
    ['0.324', '0.283', '0.366']
    >>> at_error([35673.2, -6861.7], 1498.2), at_error([12.31], 4.2), at_error([12.31], 4.2, whole=True)
    (['35,700', '-6,900'], ['12.3'], ['12'])
    """
    if error > 0:
        decimals = min(_decimals(error, 2), 0 if whole else 15)
    elif whole:
        decimals = 0
    else:
        return [figure(value) for value in values]
    return [f"{round(value, decimals) + 0.0:,.{max(decimals, 0)}f}" for value in values]


def _decimals(value: float, digits: int) -> int:
    """Return how many decimals so many digits of a number have, after rounding it to them."""
    return digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])


def as_written(value: float) -> Decimal:
    """Return the decimal number that a budget is written as; sums of these have no rounding."""
    return Decimal(repr(value))


def sum_as_written(first: float, second: float) -> str:
    """Add two numbers as they are written."""
    return f"{(as_written(first) + as_written(second)).normalize():f}"


def round_up(value: float, digits: int) -> str:
    """Write a number rounded upwards, so that no promise is overstated."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(value).quantize(step, rounding=ROUND_CEILING):f}"


def round_down(value: float, digits: int) -> str:
    """Write a number rounded downwards."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(value).quantize(step, rounding=ROUND_FLOOR):f}"


def three_digits_up(value: float) -> float:
    """Round a positive number upwards to three digits.

    Examples
    --------
    >>> three_digits_up(0.0123401), three_digits_up(1234.0), three_digits_up(0.5)
    (0.0124, 1240.0, 0.5)
    """
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return float(exact.quantize(step, rounding=ROUND_CEILING))


def percent_up(chance: float) -> str:
    """Write a chance in percent, upwards; nothing is said to be impossible that is not.

    Examples
    --------
    >>> percent_up(0.0123), percent_up(1e-9), percent_up(0.4), percent_up(0.998)
    ('1.3%', 'below 0.1%', '40%', 'above 99%')
    """
    if chance < 0.001:
        return "below 0.1%"
    if chance > 0.99:
        return "above 99%"
    return f"{round_up(100 * chance * (1 - 1e-12), 1 if chance < 0.1 else 0)}%"


def factor_up(value: float) -> str:
    """Write a factor with two decimals, or three leading digits of a large number; upwards."""
    if value < 1e4:
        return round_up(value, 2)
    digits = math.floor(math.log10(value)) - 2
    return f"{float(round_up(value / 10.0**digits * (1 + 1e-12), 0)) * 10.0**digits:.3g}"


def six_digits_up(value: float) -> str:
    """Write a loss with six digits, never smaller than it is."""
    shown = float(f"{value:.6g}")
    digits = 5 - math.floor(math.log10(value))
    return f"{shown if shown >= value * (1 - 1e-12) else shown + 10.0**-digits:.6g}"


def per_hundred(share: float) -> str:
    """Write a share as a whole number of 100, as people say it; nothing is said to be certain that is not.

    Examples
    --------
    >>> per_hundred(0.2954), per_hundred(0.004), per_hundred(0.05), per_hundred(0.996)
    ('30', 'less than 1', '5', 'more than 99')
    """
    if share > 0.99:
        return "more than 99"
    return "less than 1" if share < 0.01 else f"{100.0 * share:.0f}"
