"""What every frame can do, on whatever engine: count its strata, and be sifted for a sample.

Ids may differ in spelling alone, so that one person is listed under two of them: every engine warns of that.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataWarning, InputError
from dpstrata.files.cells import is_error_value
from dpstrata.files.headers import require_columns
from dpstrata.survey.classes import BETWEEN
from dpstrata.words.numbers import counted

WHITESPACE = "".join(
    map(chr, filter(lambda code: chr(code).isspace(), range(0x3001)))
)  # as str.strip() has it

Sift = Callable[[Iterable[Any]], Iterator[Any]]
"""From Arrow batches of everyone (``id``, ``stratum``) to batches of those who may be in the sample."""


@dataclass(frozen=True, slots=True)
class Frame(ABC):
    """A list of everyone in the population, with the columns that identify people and their strata.

    Attributes
    ----------
    id : str
        Column that identifies a person: whole numbers or text.
    stratum : tuple of str
        Columns whose values, crossed, are the strata: text, whole numbers or booleans.

    Examples
    --------
    >>> import dpstrata as dps
    >>> import pyarrow as pa
    >>> people = pa.table({"id": range(400), "town": ["A", "B", "B", "B"] * 100})
    >>> frame = dps.open_frame(people, id="id", stratum="town")
    >>> frame.id, frame.stratum
    ('id', ('town',))
    """

    id: str
    stratum: tuple[str, ...]

    @property
    @abstractmethod
    def source(self) -> str:
        """What messages call it."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not be written over."""
        return ()

    @abstractmethod
    def summary(self) -> FrameSummary:
        """Count people by stratum, and what is wrong: missing strata, missing ids, people listed twice."""

    @abstractmethod
    def spreads(self, column: str) -> dict[str, float]:
        """Return the standard deviation of a column in every stratum, 0 where it has one person."""

    @abstractmethod
    def sift(self, sift: Sift) -> Iterator[Any]:
        """Run everyone through ``sift`` where the data are, and bring back what it keeps."""

    def require_kinds(self, kinds: dict[str, str], known: str) -> None:
        """Require the columns, of kinds that every engine writes as the same text.

        Parameters
        ----------
        kinds : dict
            The engine's name for the kind of every column.
        known : str
            Pattern of the names of text, whole numbers and booleans.
        """
        for column in (self.id, *self.stratum):
            self.require_column(column, kinds)
            kind = kinds[column].lower()
            if not re.fullmatch(known, kind) or (column == self.id and kind == "boolean"):
                raise InputError(
                    "ids must be text or whole numbers, strata text, whole numbers or booleans, got "
                    f"{kind} in column {column!r} of {self.source}."
                )

    def require_column(self, column: str, known: Iterable[str]) -> None:
        """Require that the frame has a column."""
        require_columns(self.source, list(known), column)


@dataclass(frozen=True, slots=True)
class FrameSummary:
    """How many people a frame lists, and what is wrong with it.

    Attributes
    ----------
    sizes : dict
        People by stratum.
    without_stratum, without_id, listed_twice : int
        People without a stratum or an id, and ids that stand there more than once.
    ambiguous : int
        People whose values, once crossed, could not be told apart again.
    spellings : dict
        Ids that differ from another only in spelling, by kind, with ``""`` for all of them.
    """

    sizes: dict[str, int]
    without_stratum: int
    without_id: int
    listed_twice: int
    ambiguous: int = 0
    spellings: dict[str, int] = field(default_factory=dict)

    @property
    def mistakes(self) -> list[str]:
        """What is wrong, a phrase each."""
        errors = [
            f"{number:,} in stratum {name!r}, a spreadsheet's error value"
            for name, number in self.sizes.items()
            if any(map(is_error_value, name.split(BETWEEN)))
        ]
        return errors + [
            f"{number:,} {words}"
            for number, words in (
                (self.without_stratum, "without a stratum"),
                (self.without_id, "without an id"),
                (self.listed_twice, "listed more than once, who would lose more than promised"),
                (self.ambiguous, f"in crossed strata whose names contain {BETWEEN.strip()!r}"),
            )
            if number
        ]

    def require_sound(self, source: str) -> None:
        """Raise if anything is wrong, and warn if someone may be listed under two spellings."""
        if not self.sizes and not self.mistakes:
            raise InputError(f"{source} lists nobody.", where=source)
        if self.mistakes:
            raise InputError(
                f"{source} must list everyone once, with id and stratum, got {' and '.join(self.mistakes)}.",
                where=source,
            )
        warn_of_spellings(self.spellings, source, stacklevel=3)


def stratum_column(columns: Sequence[str]) -> str:
    """Name the column that holds the stratum in a sample: crossed ones are one column there."""
    return columns[0] if len(columns) == 1 else "stratum"


def summarize(
    counts: Iterable[tuple[str | None, int]],
    *,
    without_id: int,
    repeats: tuple[int, dict[str, int]],
    ambiguous: int,
) -> FrameSummary:
    """Put together what an engine counted; people without a stratum come under ``None``."""
    found = dict(counts)
    sizes = {name: int(found[name]) for name in sorted(name for name in found if name is not None)}
    return FrameSummary(sizes, int(found.get(None, 0)), int(without_id), repeats[0], ambiguous, repeats[1])


def require_numbers(column: str, unreadable: int) -> None:
    """Require that a column holds a number for everyone."""
    if unreadable:
        raise InputError(
            f"column {column!r} must be a number for everyone, got none for {counted(unreadable, 'person')}."
        )


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
