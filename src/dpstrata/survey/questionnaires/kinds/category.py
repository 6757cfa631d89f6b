"""Named answers: one of several, or yes and no; with a blank where that is an answer too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError
from dpstrata.files.cells import read_yes_no, text_of
from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.rows import Quadratic, shares_in_row
from dpstrata.survey.questionnaires.kinds.base import (
    BLANK,
    Given,
    Impossible,
    Known,
    QuestionKind,
    as_numbers,
    is_plain,
)
from dpstrata.survey.questionnaires.made_up import two_groups_on_grid
from dpstrata.survey.strata_columns import spread_of_proportions
from dpstrata.words.numbers import read_number, share_in_percent

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question


MOST_CATEGORIES = 1000
SEPARATOR = "|"  # between names, in files of questions and in published tables
_ROUNDING = 0.02  # by which shares that were rounded may miss 1 together
_LISTED = 5


class Category(QuestionKind):
    """One of 2 to 1,000 named answers; the shares of all of them are estimated."""

    title: ClassVar[str] = "category"
    fields: ClassVar[tuple[str, ...]] = ("categories",)
    told_by: ClassVar[tuple[str, ...]] = ("proportion",)
    figure: ClassVar[str] = "share"
    estimated: ClassVar[str] = "the share of any category"
    counts_people: ClassVar[bool] = True

    def find(self, given: dict[str, Any]) -> Iterator[Finding]:
        """Require names that differ in more than case."""
        names = given["categories"]
        if not 2 <= len(names) <= MOST_CATEGORIES:
            rule = f"a category question must have from 2 to {MOST_CATEGORIES:,} categories"
            yield Finding(None, "categories", rule, f"{len(names):,}")
        seen = set[str]()
        for name in names:
            if not name or SEPARATOR in name or not is_plain(name):
                rule = f"names of categories must be a line of text without {SEPARATOR!r}"
                yield Finding(None, "categories", rule, repr(name))
            elif name.casefold() in seen:
                rule = "names of categories must differ in more than case"
                yield Finding(None, "categories", rule, f"{name!r} again")
            seen.add(name.casefold())
        if given["blank"] is True and BLANK in {name.casefold() for name in names}:
            rule = (
                f"a question that may be left blank must have no category {BLANK!r}, which is a blank (leave "
                "it out, or forbid blanks)"
            )
            yield Finding(None, "categories", rule, repr(BLANK))

    def space(self, question: Question) -> AnswerSpace:
        """Return the number of names."""
        return AnswerSpace(names=len(self.cases(question)))

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Count the categories."""
        return (len(self.cases(question)),)

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return the categories."""
        return tuple(question.categories)

    def labelled(self, categories: Sequence[str]) -> int:
        """Count the categories."""
        return len(categories)

    def find_impossible(self, question: Question, given: Given, sizes: IntArray) -> Iterator[Impossible]:
        """Require shares between 0 and 1 that add up to 1, or to less where some are not known."""
        shares = given["proportion"]
        outside = (shares < 0) | (shares > 1)
        for row, case in np.argwhere(outside).tolist():
            yield out_of_bounds(shares[row, case], row, case)
        sums = np.nansum(shares, axis=1)
        complete = np.asarray(~np.isnan(shares).any(axis=1))
        misses = (sums > 1 + _ROUNDING) | (complete & (sums < 1 - _ROUNDING))
        for row in np.flatnonzero(misses & ~outside.any(axis=1)).tolist():
            rule = (
                f"proportions of the categories must add up to 1 (within {_ROUNDING:g})"
                if complete[row]
                else "proportions of some of the categories must add up to at most 1"
            )
            yield Impossible(row, None, "proportion", rule, f"{sums[row]:.6g}")

    def known(self, question: Question, given: Given, sizes: IntArray) -> Known:
        """Return half the sum of p(1 − p), with divisor N − 1, over the categories.

        Shares that are not known are equal parts of what the others leave, which is the worst case. All are
        scaled to add up to exactly 1. No spread is larger than whole people can have.
        """
        shares = completed(given["proportion"])
        spread = (spread_of_proportions(shares, sizes[:, None].astype(float)) ** 2).sum(axis=1) / 2
        return Known(np.minimum(spread, largest_spread(sizes, shares.shape[1])))

    def largest(self, question: Question, sizes: IntArray) -> FloatArray:
        """Return it for people as equally divided as they can be."""
        return largest_spread(sizes, self.candidates(question)[0])

    def columns_from_sd(
        self, question: Question, sds: FloatArray, sizes: IntArray, centres: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return shares on the line from the most frequent category alone to the shares that are known.

        Without any, all but the first category are equally frequent. Where the shares that are known are not
        spread enough, they lie between these and equal shares.
        """
        alike = np.full((len(sds), self.candidates(question)[0]), 1.0 / self.candidates(question)[0])
        known = alike if centres is None else centres
        alone = np.zeros_like(known)
        alone[np.arange(len(sds)), np.argmax(known, axis=1)] = 1.0
        # half the sum of p(1 − p) is (1 − Σ p²)/2, so this is Σ p²
        squares = 1.0 - 2.0 * sds**2 * (sizes - 1) / sizes
        enough = squares >= (known**2).sum(axis=1)
        start, end = np.where(enough[:, None], alone, known), np.where(enough[:, None], known, alike)
        step = _first_on_line(start, end - start, squares)
        return {"proportion": start + step[:, None] * (end - start)}

    def in_row(self, question: Question, levels: int, known: Known) -> Quadratic:
        """Return half the sum over the shares."""
        return shares_in_row(levels, known.spread)

    def in_table(self, levels: int, cells: int | None) -> tuple[float, float]:
        """Return it for counts, of which one person moves two; their total is known."""
        return (levels - 1) / (2 * levels) * (cells or levels), 2.0

    def table_in_words(self, levels: int) -> str:
        """Name the counts."""
        return f"the counts of its {levels} answers"

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Find the category."""
        name, names = self.from_cell(question, answer), self.cases(question)
        return None if name is None else Fraction(names.index(str(name)), len(names) - 1)

    def answer_at(self, question: Question, place: int, levels: int) -> str | float:
        """Return the category."""
        return self.cases(question)[place]

    def written(self, question: Question) -> str:
        """Ask for one of the names."""
        return f"one of {self.answers(question)}"

    def from_cell(self, question: Question, cell: Any) -> float | str | None:
        """Read a name in any case; a code that a program has turned into 2.0 is the category 2."""
        names = _by_plain_name(self.cases(question))
        found = names.get(text_of(cell).casefold())
        if found is None and (number := read_number(cell)) is not None and number.is_integer():
            return names.get(str(int(number)))
        return found

    def checked(
        self, question: Question, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None
    ) -> FloatArray:
        """Require names of categories, and return the place of each."""
        cells = given.tolist() if isinstance(given, np.ndarray) else given
        place = {name: i for i, name in enumerate(self.cases(question))}
        found: list[int | None] = [None]
        if isinstance(cells, Sequence) and not isinstance(cells, str):
            names = [self.from_cell(question, cell) for cell in cells]
            found = [None if name is None else place[str(name)] for name in names]
        if None in found:
            in_place = f" in {where}" if where else ""
            raise InputError(
                f"every answer must be {self.written(question)}, got something else{in_place}.",
                where=where,
            )
        return np.array(found, dtype=float)

    def sd_of(self, question: Question, given: npt.ArrayLike) -> float:
        """Root of half the sum of the variances of the indicators."""
        values = self.space(question).names
        counts = np.bincount(self.checked(question, given).astype(np.int64), minlength=values).tolist()
        size = sum(counts)
        pairs = (size**2 - sum(count**2 for count in counts)) / 2  # half the sum of p(1 − p), times N²
        return float(np.sqrt(pairs / (size * max(size - 1, 1))))

    def made_up_with_sd(self, question: Question, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up people: so many outside the first category, evenly over the others, that the spread fits.

        Pairs of people in different categories are S²·N(N − 1), and their number rises with those outside.
        """
        names = self.cases(question)
        wanted = sd**2 * size * (size - 1)
        low, high = 0, size - -(-size // len(names))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _pairs(size, middle, len(names)) <= wanted else (low, middle)
        outside = min((low, high), key=lambda each: abs(_pairs(size, each, len(names)) - wanted))
        counts = [size - outside, *_evenly(outside, len(names) - 1)]
        return np.repeat(np.array(names, dtype=object), counts)

    def shorthand(self, question: Question) -> str:
        """Write the names, as in rent|own|other."""
        return SEPARATOR.join(question.categories)

    def shown(self, estimate: float) -> str:
        """Write a share in percent."""
        return share_in_percent(estimate)

    def made_up(self, question: Question, given: Given, stratum: int, size: int) -> Any:
        """Divide people as the shares say, each category in whole numbers."""
        shares = completed(given["proportion"][stratum : stratum + 1])[0]
        return np.repeat(np.array(self.cases(question)), whole_numbers(shares, size))

    def answers(self, question: Question) -> str:
        """List the first few categories."""
        return listed(question.categories)


def _first_on_line(start: FloatArray, way: FloatArray, squares: FloatArray) -> FloatArray:
    """Return t from 0 to 1 where the squares of start + t·way first add up to so much, by row."""
    a, b, c = (way**2).sum(axis=1), (start * way).sum(axis=1), (start**2).sum(axis=1) - squares
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    # b is below 0: squares fall along the way; written so that nothing cancels
    t = np.divide(c, root - b, out=np.zeros_like(c), where=root - b > 0)
    return np.asarray(np.clip(t, 0.0, 1.0))


@lru_cache(maxsize=64)
def _by_plain_name(names: tuple[str, ...]) -> dict[str, str]:
    """Look names up without regard to case: there may be many answers."""
    return {name.casefold(): name for name in names}


def _evenly(people: int, places: int) -> list[int]:
    few, more = divmod(people, places)
    return [few + (i < more) for i in range(places)]


def _pairs(size: int, outside: int, names: int) -> int:
    """Count pairs of people in different categories, with so many people outside the first one."""
    others = sum(count**2 for count in _evenly(outside, names - 1))
    return outside * (size - outside) + (outside**2 - others) // 2


class CategoryOrBlank(Category):
    """One of several named answers or none, which is one more answer."""

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return the categories, and a blank."""
        return (*Category.cases(self, question), BLANK)

    def from_cell(self, question: Question, cell: Any) -> float | str | None:
        """Read a name; nothing is a blank."""
        return Category.from_cell(self, question, text_of(cell) or BLANK)

    def answers(self, question: Question) -> str:
        """List the first few categories."""
        return f"{Category.answers(self, question)}, or blank"


def listed(names: Sequence[str]) -> str:
    """List the first few of several answers, by semicolons where one has a comma.

    Examples
    --------
    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    >>> listed(["no", "yes, alone"])
    'no; yes, alone'
    """
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    between = "; " if any("," in name for name in names) else ", "
    return f"{between.join(names[:_LISTED])}{more}"


def completed(shares: FloatArray) -> FloatArray:
    """Fill in the shares that are not known with equal parts of the rest, and let all add up to 1."""
    missing = np.isnan(shares)
    left = np.clip(1 - np.nansum(shares, axis=1), 0.0, None) / np.maximum(missing.sum(axis=1), 1)
    shares = np.where(missing, left[:, None], shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def whole_numbers(shares: FloatArray, size: int) -> IntArray:
    """Divide people by shares that add up to 1, in whole numbers.

    Examples
    --------
    >>> whole_numbers(np.array([0.5, 0.3, 0.2]), 7).tolist()
    [4, 2, 1]
    """
    whole = np.floor(shares * size + 1e-9).astype(np.int64)
    most = np.argsort(whole - shares * size, kind="stable")[: size - int(whole.sum())]
    whole[most] += 1
    return whole


def out_of_bounds(share: float, stratum: int, case: int | None = None) -> Impossible:
    """Say that a share is none."""
    return Impossible(stratum, case, "proportion", "proportion must lie between 0 and 1", f"{share:g}")


def largest_spread(sizes: IntArray, categories: int) -> FloatArray:
    """Return the largest half sum of p(1 − p), divisor N − 1: people as equally divided as whole ones can be.

    Examples
    --------
    >>> largest_spread(np.array([1, 2, 3, 1000]), 2).round(4).tolist()
    [0.0, 0.5, 0.3333, 0.2503]
    """
    each, over = np.divmod(sizes.astype(float), categories)
    alike = over * (each + 1) * each + (categories - over) * each * (each - 1)  # ordered pairs of people
    pairs = sizes * np.maximum(sizes - 1.0, 1.0)
    return np.asarray(np.where(sizes > 1, (1 - alike / pairs) / 2, 0.0))


class YesNo(Category):
    """Yes or no: two categories, of which the share of yes is estimated."""

    title: ClassVar[str] = "yes/no"
    fields: ClassVar[tuple[str, ...]] = ()
    estimated: ClassVar[str] = "the population mean"

    def find(self, given: dict[str, Any]) -> Iterator[Finding]:
        """Find nothing: such a question has no fields of its own."""
        return iter(())

    def space(self, question: Question) -> AnswerSpace:
        """Code no as 0 and yes as 1, so that a mean is a share."""
        return AnswerSpace(0, 1, 1)

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Two."""
        return (2,)

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return none: one proportion, that of yes, tells everything."""
        return ()

    def labelled(self, categories: Sequence[str]) -> int:
        """No and yes."""
        return 2

    def find_impossible(self, question: Question, given: Given, sizes: IntArray) -> Iterator[Impossible]:
        """Require a share between 0 and 1."""
        shares = given["proportion"]
        for row in np.flatnonzero((shares < 0) | (shares > 1)).tolist():
            yield out_of_bounds(shares[row], row)

    def known(self, question: Question, given: Given, sizes: IntArray) -> Known:
        """Return p(1 − p), with divisor N − 1; half of the people say yes in the worst case."""
        yes = given["proportion"]
        return Category.known(self, question, {"proportion": np.stack([1 - yes, yes], axis=1)}, sizes)

    def columns_from_sd(
        self, question: Question, sds: FloatArray, sizes: IntArray, centres: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return the share of yes; that is the smaller one unless something else is known."""
        both = None if centres is None else np.stack([1 - centres, centres], axis=1)
        return {"proportion": Category.columns_from_sd(self, question, sds, sizes, both)["proportion"][:, 1]}

    def from_cell(self, question: Question, cell: Any) -> float | str | None:
        """Read yes, no, true, false, y, n, 1 and 0 in any case."""
        value = read_yes_no(cell)
        return None if value is None else float(value)

    def checked(
        self, question: Question, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None
    ) -> FloatArray:
        """Take 0 for no and 1 for yes, or the words."""
        values, place = as_numbers(given), f" in {where}" if where else ""
        cells = given.tolist() if isinstance(given, np.ndarray) else given
        if values is None and isinstance(cells, Sequence) and not isinstance(cells, str):
            read = [self.from_cell(question, cell) for cell in cells]
            values = None if None in read else np.array(read, dtype=float)
        if values is None or not np.isin(values, (0.0, 1.0)).all():
            raise InputError(f"every answer must be yes or no{place}, got something else.", where=where)
        return values

    def sd_of(self, question: Question, given: npt.ArrayLike) -> float:
        """Return that of 0 and 1."""
        return float(self.checked(question, given).std(ddof=1))

    def made_up_with_sd(self, question: Question, size: int, sd: float) -> npt.NDArray[Any]:
        """Let as many say yes as comes nearest."""
        _, yes = two_groups_on_grid(size, sd, 1)
        return np.repeat([0.0, 1.0], [size - yes, yes])

    def shorthand(self, question: Question) -> str:
        """Write the kind."""
        return "yes_no"

    def made_up(self, question: Question, given: Given, stratum: int, size: int) -> Any:
        """Let as many say yes as the share says; half of them where nothing does."""
        yes = float(np.nan_to_num(given["proportion"][stratum], nan=0.5))
        return np.repeat([0.0, 1.0], whole_numbers(np.array([1 - yes, yes]), size))

    def in_table(self, levels: int, cells: int | None) -> tuple[float, float]:
        """Return it for the count of yes, which one person moves by one."""
        return (1.0, 1.0) if cells is None else Category.in_table(self, levels, cells)

    def table_in_words(self, levels: int) -> str:
        """Say that no is what is left."""
        return "the count of yes"

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Read yes, no, true, false, 1 and 0."""
        value = read_yes_no(answer)
        return None if value is None else Fraction(value)

    def answer_at(self, question: Question, place: int, levels: int) -> str | float:
        """Say yes or no."""
        return ("no", "yes")[place]

    def answers(self, question: Question) -> str:
        """Say it."""
        return "yes or no"

    def written(self, question: Question) -> str:
        """Say it."""
        return self.answers(question)


class YesNoOrBlank(CategoryOrBlank):
    """Yes, no or nothing: three categories, whose shares are estimated."""

    title: ClassVar[str] = YesNo.title
    fields: ClassVar[tuple[str, ...]] = YesNo.fields

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return no, yes and a blank."""
        return ("no", "yes", BLANK)

    def told_alone(self, question: Question) -> int | None:
        """Yes, as where it may not be left blank; how the others divide the rest is not known then."""
        return 1

    def labelled(self, categories: Sequence[str]) -> int:
        """No and yes."""
        return 2

    def from_cell(self, question: Question, cell: Any) -> float | str | None:
        """Read yes and no as people write them; nothing is a blank."""
        value = read_yes_no(cell)
        return CategoryOrBlank.from_cell(self, question, cell if value is None else ("no", "yes")[value])

    def shorthand(self, question: Question) -> str:
        """Write the kind."""
        return "yes_no"

    def answers(self, question: Question) -> str:
        """Say it."""
        return "yes or no, or blank"

    def written(self, question: Question) -> str:
        """Say it."""
        return self.answers(question)
