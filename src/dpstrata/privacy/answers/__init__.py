"""The kinds of answers, a line each. Loading this module loads none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpstrata.errors import InputError, option

if TYPE_CHECKING:
    from dpstrata.privacy.answers.base import Answers

# module beside this one: class in it; the first kind that can read what is given does
KINDS = {
    "yes_no": "YesNo",
    "interval": "Interval",
    "grid": "Grid",
}


def kinds() -> Iterator[type[Answers]]:
    """Load the kinds one by one, in the order in which they are tried."""
    for module, name in KINDS.items():
        yield getattr(import_module(f"dpstrata.privacy.answers.{module}"), name)


def parse_answers(given: str | Answers | Sequence[float] | Mapping[str, Any]) -> Answers:
    """Turn ``(lower, upper)``, ``(lower, upper, step)``, ``"0:100:1"`` or ``"binary"`` into Answers.

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
    from dpstrata.privacy.answers.base import Answers

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
