"""One of several named answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpstrata.files.cells import text_of
from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.rows import Quadratic, shares_in_row
from dpstrata.survey.questionnaires.kinds.base import (
    BLANK,
    Given,
    Impossible,
    Known,
    QuestionKind,
    is_plain,
)
from dpstrata.survey.strata_columns import spread_of_proportions

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

    def in_row(self, levels: int, known: Known) -> Quadratic:
        """Return half the sum over the shares."""
        return shares_in_row(levels, known.spread)

    def in_table(self, levels: int, cells: int | None) -> tuple[float, float]:
        """Return it for counts, of which one person moves two; their total is known."""
        return (levels - 1) / (2 * levels) * (cells or levels), 2.0

    def table_in_words(self, levels: int) -> str:
        """Name the counts."""
        return f"the counts of its {levels} answers"

    def share_of(self, question: Question, answer: object) -> Fraction | None:
        """Find the category."""
        names = self.cases(question)
        given = text_of(answer)
        return Fraction(names.index(given), len(names) - 1) if given in names else None

    def answer_at(self, question: Question, place: int, levels: int) -> str | float:
        """Return the category."""
        return self.cases(question)[place]

    def in_shares(self, question: Question, answers: Any) -> FloatArray | None:
        """Count the categories from 0."""
        place = {name: float(i) for i, name in enumerate(self.cases(question))}
        found = [place.get(answer) for answer in np.asarray(answers).tolist()]
        return None if None in found else np.array(found, dtype=float)

    def made_up(self, question: Question, given: Given, stratum: int, size: int) -> Any:
        """Divide people as the shares say, each category in whole numbers."""
        shares = completed(given["proportion"][stratum : stratum + 1])[0]
        return np.repeat(np.array(self.cases(question)), whole_numbers(shares, size))

    def answers(self, question: Question) -> str:
        """List the first few categories."""
        return listed(question.categories)


class CategoryOrBlank(Category):
    """One of several named answers or none, which is one more answer."""

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return the categories, and a blank."""
        return (*Category.cases(self, question), BLANK)

    def share_of(self, question: Question, answer: object) -> Fraction | None:
        """Find the category; nothing is a blank."""
        return Category.share_of(self, question, text_of(answer) or BLANK)

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
