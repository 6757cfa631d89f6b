"""Numbers: any in a range, put on a few levels on the device, or those of a scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import MOST_STEPS, AnswerSpace
from dpstrata.privacy.rows import Quadratic, largest_rounding, number_in_row
from dpstrata.survey.questionnaires.kinds.base import Given, Impossible, Known, QuestionKind, as_numbers
from dpstrata.survey.questionnaires.kinds.category import largest_spread
from dpstrata.survey.questionnaires.made_up import counts_with_moments, two_groups, two_groups_on_grid
from dpstrata.words.numbers import figure, plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpstrata.survey.questionnaires.question import Question


LEVELS = (*range(2, 17), 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 64, 72, 80, 90, 100)
"""Candidates: every number of levels up to 16, then steps that lose nothing that matters."""
_TOLERANCE = 1e-9  # relative, also of the distance from the lower end by which a number may miss the grid
MOST_POINTS = 100  # that a scale keeps beside other questions
_FEW_POINTS = 7  # that a scale keeps anyway
_MADE_UP = 101  # points of the grid that made-up numbers lie on


class Number(QuestionKind):
    """Any number from ``lower`` to ``upper``; the mean is estimated.

    The device puts it on L equidistant levels, on one of the two next to it at random, so that the
    expectation stays. The design chooses L.
    """

    title: ClassVar[str] = "number"
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper")
    instead: ClassVar[Mapping[str, str]] = {"step": "use a scale for answers on a grid"}
    told_by: ClassVar[tuple[str, ...]] = ("sd", "mean")
    averaged: ClassVar[bool] = True
    rounded: ClassVar[bool] = True
    can_clip: ClassVar[bool] = True

    def find(self, given: dict[str, Any]) -> Iterator[Finding]:
        """Require lower < upper."""
        lower, upper = given["lower"], given["upper"]
        if lower is None or upper is None:
            for name in ("lower", "upper"):
                if given[name] is None:
                    yield Finding(
                        None, name, f"{name} must be a number for a {self.title} question", "nothing"
                    )
        elif not lower < upper:
            yield Finding(None, "lower", "lower must be below upper", f"lower={lower:g}, upper={upper:g}")
        elif not 1e-30 <= upper - lower <= 1e30:
            rule = "upper must exceed lower by at least 1e-30 and at most 1e30"
            yield Finding(None, "upper", rule, f"{upper - lower:g}")
        else:
            yield from self._find_off_grid(given)

    def _find_off_grid(self, given: dict[str, Any]) -> Iterator[Finding]:
        return iter(())

    def range(self, question: Question) -> float:
        """Return upper − lower."""
        lower, upper = _ends(question)
        return upper - lower

    def space(self, question: Question) -> AnswerSpace:
        """Return the ends, and the step of a scale."""
        return AnswerSpace(*_ends(question), question.step)

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Return every number of levels that may be the best."""
        return LEVELS

    def find_impossible(self, question: Question, given: Given, sizes: IntArray) -> Iterator[Impossible]:
        """Require means within the range, and spreads that answers within it, with these means, can have."""
        lower, upper = _ends(question)
        sds, means = given["sd"], given["mean"]
        outside = (means < lower) | (means > upper)
        for row in np.flatnonzero(outside).tolist():
            rule = f"mean must lie between {figure(lower, 10)} and {figure(upper, 10)}"
            yield Impossible(row, None, "mean", rule, f"{means[row]:g}")
        negative = ~(sds >= 0) & ~np.isnan(sds)
        for row in np.flatnonzero(negative).tolist():
            yield Impossible(row, None, "sd", "sd must be a number >= 0", f"{sds[row]:g}")
        whole = np.sqrt(largest_spread(sizes, 2)) * self.range(question)
        largest = np.sqrt(self._largest(question, means, sizes)) * self.range(question)
        for row in np.flatnonzero((sds > largest * (1 + _TOLERANCE)) & ~negative & ~outside).tolist():
            why = "with this mean " if largest[row] < whole[row] else ""
            ends = f"from {figure(lower, 10)} to {figure(upper, 10)}"
            rule = f"sd must be at most {largest[row]:.6g}, the largest that answers {ends} {why}can have"
            yield Impossible(row, None, "sd", rule, f"{sds[row]:g}")

    def _largest(self, question: Question, means: FloatArray, sizes: IntArray) -> FloatArray:
        """Return the largest S² there can be: all answers at the two ends, as many as the mean says."""
        off = np.nan_to_num((means - _middle(question)) / self.range(question))
        N = sizes.astype(float)
        at_ends = (0.25 - off**2) * N / np.maximum(N - 1, 1)
        return np.asarray(np.clip(at_ends, 0.0, largest_spread(sizes, 2)))

    def known(self, question: Question, given: Given, sizes: IntArray) -> Known:
        """Return S², and x² = S²(N − 1)/N + (mean − middle)² where the spread and the mean are known.

        Of x² without a mean only this is known: it is at least S²(N − 1)/N and at most 1/4.
        """
        sds, means = given["sd"], given["mean"]
        worst = self._largest(question, means, sizes)
        spread = np.where(np.isnan(sds), worst, (sds / self.range(question)) ** 2)
        off = np.nan_to_num((means - _middle(question)) / self.range(question))
        low = np.minimum(spread * (sizes - 1) / sizes + off**2, 0.25)
        high = np.where(np.isnan(sds) | np.isnan(means), 0.25, low)
        return Known(spread, (low, high), ~np.isnan(sds))

    def largest(self, question: Question, sizes: IntArray) -> FloatArray:
        """Return it for people at the two ends of the range."""
        return largest_spread(sizes, 2)

    def columns_from_sd(
        self, question: Question, sds: FloatArray, sizes: IntArray, centres: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return them with the means, whose answers can have no larger ones."""
        if centres is None:
            return {"sd": sds}
        most = self.range(question) * np.sqrt(self._largest(question, centres, sizes))
        return {"sd": np.minimum(sds, most), "mean": centres}

    def in_row(self, question: Question, levels: int, known: Known) -> Quadratic:
        """Return it for equidistant levels over the range."""
        assert known.squares is not None
        return number_in_row(levels, known.spread, known.squares, rounded=question.is_rounded(levels))

    def rounding(self, question: Question, levels: int, known: Known) -> FloatArray:
        r"""Return u = 1/(4(L − 1)²), the most that rounding can be, where the spread is not known.

        Notes
        -----
        Answers with the spread S² and the rounding u have at most :math:`S^2 + u N/(N - 1) = W`, the
        largest spread. From both, their mean over n of N people has

        .. math:: S^2 \left(\frac{1}{n} - \frac{1}{N}\right) + \frac{u}{n}
            \;\le\; \frac{W}{n} - \frac{W - u}{N} ,

        most where u is largest; there the two sides differ by less than u/(n(N − 1)).
        """
        assert known.told is not None
        most = largest_rounding(levels) if question.is_rounded(levels) else 0.0
        return np.where(known.told, 0.0, np.minimum(known.spread, most))

    def in_table(self, levels: int, cells: int | None) -> tuple[float, float]:
        """Return it for the sum of levels, which one person moves by L − 1, or for counts."""
        if cells is None:
            return 1.0 / (levels - 1) ** 2, levels - 1.0
        return cells * (levels + 1) / (12.0 * (levels - 1)), 2.0

    def table_in_words(self, levels: int) -> str:
        """Name the sum."""
        return f"the sum of the answers, each on one of {levels} levels"

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Return the place in the range, exactly for the decimal number that was written."""
        number = None if isinstance(answer, bool) else self.from_cell(question, answer)
        if not isinstance(number, float):
            return None
        lower, upper = _ends(question)
        if clip:
            number = min(max(number, lower), upper)
        if not lower <= number <= upper:
            return None
        low, high = Fraction(repr(lower)), Fraction(repr(upper))
        return (Fraction(repr(number)) - low) / (high - low)

    def answer_at(self, question: Question, place: int, levels: int) -> str | float:
        """Return the number."""
        lower, upper = (Fraction(repr(end)) for end in _ends(question))
        return float(lower + (upper - lower) * place / (levels - 1))

    def checked(
        self, question: Question, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None
    ) -> FloatArray:
        """Require numbers, and clip those outside if asked to."""
        place = f" in {where}" if where else ""
        values, space = as_numbers(given), self.space(question)
        if values is None:
            raise InputError(f"every answer must be a number, got something else{place}.", where=where)
        if not self._is_allowed(space, values):
            raise InputError(
                f"answers must lie on the grid {space}, got one that does not{place}.", where=where
            )
        inside = np.asarray(np.clip(values, space.lower, space.upper))
        outside = int(np.sum(np.abs(values - inside) > _TOLERANCE * space.range))
        if outside and not clip:
            remedy = f", or design again with {option('clip', True)}" if self.can_clip else " or the design"
            raise InputError(
                f"answers must lie in {space}, got {outside:,} of {values.size:,} outside{place}. "
                f"Correct them{remedy}.",
                argument="questions",
                where=where,
            )
        return inside

    def _is_allowed(self, space: AnswerSpace, values: FloatArray) -> bool:
        """Whether all numbers are of the allowed kind, inside the range or not."""
        return True

    def made_up_with_sd(self, question: Question, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up two halves of people who answer alike, around the middle of the range."""
        above = size // 2
        distance = sd * np.sqrt(size * (size - 1) / (above * (size - above))) if above else 0.0
        return two_groups(self.space(question), size, above, _middle(question) - distance / 2, distance)

    def shorthand(self, question: Question) -> str:
        """Write the ends, as in 0:8000."""
        return ":".join(map(plain_number, _ends(question)))

    def _points(self, question: Question) -> int:
        """Of the grid that made-up answers lie on."""
        return _MADE_UP

    def made_up(self, question: Question, given: Given, stratum: int, size: int) -> Any:
        """Place people on a grid so that spread and mean are as told, and at the ends where no mean is."""
        lower, width = _ends(question)[0], self.range(question)
        told = {name: values[stratum : stratum + 1] for name, values in given.items()}
        variance = float(self.known(question, told, np.array([size])).spread[0]) * (size - 1) / size
        at_ends = (1 - math.sqrt(max(1 - 4 * variance, 0.0))) / 2  # mean·(1 − mean) is the variance
        mean = float(np.nan_to_num((told["mean"][0] - lower) / width, nan=at_ends))
        counts = counts_with_moments(self._points(question), size, mean, variance)
        return lower + width * np.repeat(np.linspace(0.0, 1.0, len(counts)), counts)

    def answers(self, question: Question) -> str:
        """Say the range."""
        lower, upper = _ends(question)
        return f"{figure(lower, 10)} to {figure(upper, 10)}"

    def written(self, question: Question) -> str:
        """Say what can be answered, and where that has thousands, how these are written."""
        large = max(map(abs, _ends(question))) >= 1000
        separators = ", written without thousands separators" if large else ""
        return f"a number from {self._in_steps(question)}{separators}"

    def _in_steps(self, question: Question) -> str:
        return self.answers(question)


def _ends(question: Question) -> tuple[float, float]:
    assert question.lower is not None
    assert question.upper is not None
    return question.lower, question.upper


def _middle(question: Question) -> float:
    return math.fsum(_ends(question)) / 2


class Scale(Number):
    """Numbers from ``lower`` to ``upper`` in steps; the mean is estimated."""

    title: ClassVar[str] = "scale"
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "levels")
    instead: ClassVar[Mapping[str, str]] = {}
    can_clip: ClassVar[bool] = False

    def _find_off_grid(self, given: dict[str, Any]) -> Iterator[Finding]:
        """Require a whole number of steps; one step is 1 unless it is given."""
        step = 1.0 if given["step"] is None else given["step"]
        given["step"] = step
        if not step > 0:
            yield Finding(None, "step", "step must be above 0", f"{step:g}")
            return
        steps = (given["upper"] - given["lower"]) / step
        if not (steps > 0.5 and abs(steps - round(steps)) <= 1e-9 * steps):
            rule = "a scale must have a whole number of steps from lower to upper"
            yield Finding(None, "step", rule, f"{steps:g}")
        elif steps > MOST_STEPS:
            rule = f"a scale must have at most {MOST_STEPS:,} steps (use a number for more)"
            yield Finding(None, "step", rule, figure(steps, 10))
        elif given["levels"] == "all" and steps >= MOST_POINTS:
            rule = f"a scale that keeps all its levels must have at most {MOST_POINTS} points"
            yield Finding(None, "levels", rule, f"{round(steps) + 1:,}")

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Return all points; of many points fewer levels too, which cost less in a row."""
        points = self._points(question)
        if question.levels == "all" or points <= _FEW_POINTS:
            return (points,)
        fewer = tuple(number for number in LEVELS if number < points)
        return (*fewer, points) if points <= MOST_POINTS else fewer

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Return the place of a point of the grid."""
        share = Number.share_of(self, question, answer, clip=clip)
        steps = self._points(question) - 1
        if share is None or abs(share * steps - round(share * steps)) > Fraction(1, 10**6):
            return None
        return Fraction(round(share * steps), steps)

    def _is_allowed(self, space: AnswerSpace, values: FloatArray) -> bool:
        """Whether all numbers are on the grid."""
        assert space.step is not None
        steps = (values - space.lower) / space.step
        return bool(np.all(np.abs(steps - np.rint(steps)) <= _TOLERANCE * np.maximum(np.abs(steps), 1.0)))

    def made_up_with_sd(self, question: Question, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up two groups of people who answer alike, around the middle of the range."""
        space = self.space(question)
        assert space.steps is not None
        unit = space.range / space.steps
        steps, above = two_groups_on_grid(size, sd / unit, space.steps)
        low = space.lower + unit * ((space.steps - steps) // 2)
        return two_groups(space, size, above, low, unit * steps)

    def shorthand(self, question: Question) -> str:
        """Write the ends and the step, as in 1:5:1."""
        assert question.step is not None
        return f"{Number.shorthand(self, question)}:{plain_number(question.step)}"

    def _points(self, question: Question) -> int:
        assert question.step is not None
        return round(self.range(question) / question.step) + 1

    def answers(self, question: Question) -> str:
        """Say the range, and the step unless it is 1."""
        assert question.step is not None
        steps = "" if question.step == 1 else f" in steps of {figure(question.step, 10)}"
        return f"{Number.answers(self, question)}{steps}"

    def _in_steps(self, question: Question) -> str:
        """Say the range and the step, also if it is 1."""
        return f"{self.answers(question)}{' in whole steps' if question.step == 1 else ''}"
