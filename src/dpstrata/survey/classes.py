"""Weighting classes: columns that strata are crossed with before the draw, and not reported by.

Every cell is a stratum with a sample size of its own, so classes cost no privacy. The column
``reported_stratum`` of the strata names the coarser stratum that each cell is a part of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpstrata.errors import InputError, option
from dpstrata.files.cells import text_of
from dpstrata.words.results import REPORTED

BETWEEN = " | "
"""What joins the values of several stratum columns to the name of a stratum."""


def with_reported(
    names: Sequence[str], columns: Mapping[str, Sequence[Any]], classes: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """Add the coarser strata to the columns of crossed strata.

    Parameters
    ----------
    names : sequence of str
        The strata, such as ``north | f``.
    columns : mapping of str to sequence
        The other columns of the strata, those that they are crossed with among them.
    classes : sequence of str
        Those columns by which nothing is reported.

    Raises
    ------
    InputError
        If the strata are not crossed with these columns, or with nothing else, or name coarser strata
        already.

    Examples
    --------
    >>> with_reported(["north | f", "north | m"], {"sex": ["f", "m"]}, ["sex"])["reported_stratum"]
    ['north', 'north']
    """
    if REPORTED in columns:
        raise InputError(
            f"the strata already have a column {REPORTED!r}; remove it, or leave {option('classes')} out.",
            argument="classes",
        )
    parts = [name.split(BETWEEN) for name in names]
    left_out = {_place(parts, columns, name) for name in classes}
    if len(left_out) == len(parts[0]):
        raise InputError(
            f"{option('classes')} must leave a column to report by, got all that the strata are crossed "
            f"with: {', '.join(classes)}.",
            argument="classes",
        )
    coarser = [BETWEEN.join(part for i, part in enumerate(each) if i not in left_out) for each in parts]
    return {**columns, REPORTED: coarser}


def _place(parts: Sequence[Sequence[str]], columns: Mapping[str, Sequence[Any]], name: str) -> int:
    """Find the place of a column in the names of crossed strata."""
    cells = [text_of(cell) for cell in columns.get(name, ())]
    if cells and len({len(each) for each in parts}) == 1:
        for place, values in enumerate(zip(*parts, strict=True)):
            if list(values) == cells:
                return place
    raise InputError(
        f"{option('classes')} must name columns that the strata are crossed with (as {option('stratum')} of "
        f"a frame, before the draw), got {name!r}.",
        argument="classes",
        value=name,
    )


def too_late() -> str:
    """Say why classes cannot be brought in after the design."""
    return (
        f"{option('classes')} must be given to the design, before the draw: otherwise, how many people of a "
        "class are drawn is random, and a small class loses more privacy than promised."
    )


def are_cells(names: Iterable[str], strata: Iterable[str]) -> bool:
    """Whether the names of strata are those of other strata, crossed with something more.

    Examples
    --------
    >>> are_cells(["north | f"], ["north", "south"]), are_cells(["west"], ["north", "south"])
    (True, False)
    """
    crossed, known = {name for name in names if BETWEEN in name}, set(strata)
    return any(name.rpartition(BETWEEN)[0] in known for name in crossed)


def refuse_late(**given: Any) -> None:
    """Refuse what would have to be part of the design, with the reason."""
    for name, value in given.items():
        if name not in ("classes", "weights"):
            raise TypeError(f"unexpected keyword argument {name!r}")
        if value is None:
            continue
        refusal = (
            f"{option('weights')} cannot be used: the promise does not cover weights that depend on answers "
            f"or on who answered. Groups that answer differently are {option('classes')} of the design."
        )
        raise InputError(too_late() if name == "classes" else refusal, argument=name)
