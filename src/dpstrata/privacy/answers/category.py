"""One of several named categories, of which none is more than another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answers.base import Answers
from dpstrata.privacy.answers.interval import read_numbers
from dpstrata.words.numbers import read_number, share_in_percent

BETWEEN = "|"
MOST_CATEGORIES = 1000
_LISTED = 20


@dataclass(frozen=True, slots=True, repr=False)
class Category(Answers):
    r"""One of k categories; what is estimated are their shares.

    Parameters
    ----------
    categories : sequence of str
        From 2 to 1,000 names, all different even without regard to case.

    Notes
    -----
    An answer is a vector of k indicators, one of which is 1. Where one number must stand for the variances
    of all k shares, it is half their sum,

    .. math:: S^2 = \tfrac12 \sum_j S_j^2 ,

    so that two categories are exactly a yes/no question. No share of a survey has a larger variance.
    As a number, an answer is the place of its category, from 0 on.
    """

    form: ClassVar[str] = "categories (as in rent|own|other)"
    figure: ClassVar[str] = "share"
    estimated: ClassVar[str] = "the share of any category"
    counts_people: ClassVar[bool] = True
    numbers: ClassVar[bool] = False
    lower: ClassVar[float] = 0.0  # type: ignore[misc]  # a share lies between them
    upper: ClassVar[float] = 1.0  # type: ignore[misc]

    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(map(str, self.categories)))
        if not 2 <= len(self.categories) <= MOST_CATEGORIES:
            raise InputError(
                f"{option('answers')} must have from 2 to {MOST_CATEGORIES:,} categories, got "
                f"{len(self.categories):,}."
            )
        for name in self.categories:
            if not name or name != name.strip() or BETWEEN in name or not name.isprintable():
                raise InputError(
                    f"a category of {option('answers')} must be text without {BETWEEN!r} or surrounding "
                    f"space, got {name!r}."
                )
        plain = [name.casefold() for name in self.categories]
        again = next((name for i, name in enumerate(self.categories) if plain[i] in plain[:i]), None)
        if again is not None:
            raise InputError(
                f"the categories of {option('answers')} must differ in more than upper and lower case, got "
                f"{again!r} again."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The categories."""
        return self.categories

    @property
    def values(self) -> int:
        """Count them: k."""
        return len(self.categories)

    @property
    def described(self) -> str:
        """Count the categories."""
        return f"{self.values:,} categories"

    @property
    def written(self) -> str:  # type: ignore[override]
        """The names."""
        return f"one of {self._listed}"

    @property
    def _listed(self) -> str:
        left = self.values - _LISTED
        return ", ".join(self.categories[:_LISTED]) + (f" and {left:,} more" if left > 0 else "")

    def checked(self, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None) -> FloatArray:
        """Require names of categories, and return the place of each."""
        cells = given.tolist() if isinstance(given, np.ndarray) else given
        place = {name: i for i, name in enumerate(self.categories)}
        found: list[int | None] = [None]
        if isinstance(cells, Sequence) and not isinstance(cells, str):
            names = map(self.from_cell, cells)
            found = [None if name is None else place[name] for name in names]
        if None in found:
            in_place = f" in {where}" if where else ""
            raise InputError(
                f"every answer must be {self.written}, got something else{in_place}.", where=where
            )
        return np.array(found, dtype=float)

    def from_cell(self, cell: Any) -> str | None:
        """Read a name in any case; a code that a program has turned into 2.0 is the category 2."""
        names = _by_plain_name(self.categories)
        found = names.get(str(cell).strip().casefold())
        if found is None and (number := read_number(cell)) is not None and number.is_integer():
            return names.get(str(int(number)))
        return found

    def largest_sd(self, sizes: IntArray) -> FloatArray:
        r"""Root of half the sum of the largest variances (divisor N - 1) that ``sizes`` people can have.

        As many people in each category as in any other: for large N, :math:`S^2 = \tfrac12 (1 - 1/k)`.
        """
        N, k = sizes.astype(float), float(self.values)
        few = np.floor(N / k)
        more = N - k * few  # categories with one person more
        pairs = more * (more - 1) / 2 * ((few + 1) / N) ** 2 + more * (k - more) * (few / N) * ((few + 1) / N)
        pairs += (k - more) * (k - more - 1) / 2 * (few / N) ** 2
        return np.asarray(np.sqrt(pairs * (N / np.maximum(N - 1, 1))))

    def sd_of(self, given: npt.ArrayLike) -> float:
        """Root of half the sum of the variances of the indicators."""
        counts = np.bincount(self.checked(given).astype(np.int64), minlength=self.values).tolist()
        size = sum(counts)
        pairs = (size**2 - sum(count**2 for count in counts)) / 2  # half the sum of p(1 − p), times N²
        return float(np.sqrt(pairs / (size * max(size - 1, 1))))

    def population(self, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up people: so many outside the first category, evenly over the others, that the spread fits.

        Pairs of people in different categories are S²·N(N − 1), and their number rises with those outside.
        """
        wanted = sd**2 * size * (size - 1)
        low, high = 0, size - -(-size // self.values)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._pairs(size, middle) <= wanted else (low, middle)
        outside = min((low, high), key=lambda each: abs(self._pairs(size, each) - wanted))
        counts = [size - outside, *self._evenly(outside)]
        return np.repeat(np.array(self.categories, dtype=object), counts)

    def _evenly(self, people: int) -> list[int]:
        few, more = divmod(people, self.values - 1)
        return [few + (i < more) for i in range(self.values - 1)]

    def _pairs(self, size: int, outside: int) -> int:
        others = sum(count**2 for count in self._evenly(outside))
        return outside * (size - outside) + (outside**2 - others) // 2

    @classmethod
    def read(cls, given: Any) -> Answers | None:
        """Read names between bars, or a list of names; a list of numbers in quotes is a range."""
        if isinstance(given, Mapping):
            return cls(given["categories"]) if set(given) == {"categories"} else None
        if isinstance(given, str):
            return cls(tuple(part.strip() for part in given.split(BETWEEN))) if BETWEEN in given else None
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        if (
            not isinstance(listed, Sequence)
            or not listed
            or not all(isinstance(each, str) for each in listed)
        ):
            return None
        return None if read_numbers(listed) else cls(tuple(listed))

    @property
    def text(self) -> str:
        """The names, as in rent|own|other."""
        return BETWEEN.join(self.categories)

    @property
    def code(self) -> str:
        """The names, as in ['rent', 'own', 'other']."""
        return ascii(self.text if read_numbers(self.categories) else list(self.categories))

    def shown(self, estimate: float) -> str:
        """Write a share in percent."""
        return share_in_percent(estimate)

    def __str__(self) -> str:
        return self._listed

    def __repr__(self) -> str:
        return f"Category(categories={self.categories!r})"


@lru_cache(maxsize=64)
def _by_plain_name(categories: tuple[str, ...]) -> dict[str, str]:
    """Look names up without regard to case: there may be many answers."""
    return {name.casefold(): name for name in categories}
