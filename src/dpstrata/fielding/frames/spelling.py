"""Ids that differ in spelling alone: one person may be listed under two of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dpstrata.errors import DpstrataWarning

KINDS = {
    "form": "the Unicode form of characters",
    "invisible": "invisible characters",
    "case": "upper and lower case",
    "number": "the way a number is written (1, 01 or 1.0)",
}


def plain_ids(ids: Any, kinds: Sequence[str] = tuple(KINDS)) -> Any:
    """Write ids without what makes spellings differ.

    Parameters
    ----------
    ids : Arrow array
        Text.
    kinds : sequence of str
        Which of ``KINDS``.

    Examples
    --------
    >>> import pyarrow
    >>> plain_ids(pyarrow.array(["007", "7.0", "Ab-7"])).to_pylist()
    ['7', '7', 'ab-7']
    """
    import pyarrow.compute as pc

    if not pc.all(pc.string_is_ascii(ids)).as_py():  # the first two change nothing in plain ASCII
        if "form" in kinds:
            ids = pc.utf8_normalize(ids, form="NFKC")
        if "invisible" in kinds:
            shown = pc.replace_substring_regex(ids, pattern=r"\p{Cf}", replacement="")
            ids = pc.utf8_trim_whitespace(shown)
    if "case" in kinds:
        ids = pc.utf8_lower(ids)
    if "number" in kinds:
        ids = pc.replace_substring_regex(ids, pattern=r"^0*(\d+?)(?:\.0*)?$", replacement=r"\1")
    return ids


def find_repeats(
    people: int, distinct: Callable[[Sequence[str]], int], listed: Callable[[], tuple[int, int]]
) -> tuple[int, dict[str, int]]:
    """Count ids that are listed more than once, and those that differ from another in spelling alone.

    One count is enough where there are neither.

    Parameters
    ----------
    people : int
        How many people have an id.
    distinct : callable
        How many ids are left once some kinds of differences are gone.
    listed : callable
        How many different ids there are, and how many of them are listed more than once.

    Returns
    -------
    tuple of int and dict
        The latter by kind, with ``""`` for all kinds together; empty if there are none.
    """
    if distinct(tuple(KINDS)) == people:
        return 0, {}
    different, twice = listed()
    alike = {kind: different - distinct((kind,)) for kind in KINDS}
    together = different - distinct(tuple(KINDS))
    return twice, {"": together} | alike if together else {}


def warn_of_spellings(found: dict[str, int], source: str, *, stacklevel: int) -> None:
    """Warn of ids that differ in spelling alone, with their number and the kind; nobody is named."""
    if not found:
        return
    alike = found[""]
    by_kind = [(kind, number) for kind, number in found.items() if kind and number]
    several = alike - sum(number for _, number in by_kind)
    words = [f"{number:,} in {KINDS[kind]}" for kind, number in by_kind]
    words += [f"{several:,} in more than one of these ways"] if several > 0 and by_kind else []
    words = words or [f"{alike:,} in more than one way"]
    warnings.warn(
        DpstrataWarning(
            f"{source}: {alike:,} {'id differs' if alike == 1 else 'ids differ'} from another only in "
            f"spelling ({', '.join(words)}). If they are the same person, list them once: someone who is "
            "listed twice loses more than was promised."
        ),
        stacklevel=stacklevel + 1,
    )
