"""What a kind of question must say about itself, and the kinds by name: a line each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.rows import Quadratic
from dpstrata.words.numbers import read_number

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question

# name of the kind: module beside this one, and class in it
KINDS = {
    "yes_no": "category.YesNo",
    "category": "category.Category",
    "scale": "number.Scale",
    "number": "number.Number",
}
# of kinds that can be left blank, the class of those that may
OR_BLANK = {"yes_no": "category.YesNoOrBlank", "category": "category.CategoryOrBlank"}
BLANK = "no answer"
"""The answer that a blank is, where a question may be left blank."""
OF_KINDS = ("lower", "upper", "step", "levels", "categories")
"""Fields of a question that some kinds have and others do not."""

Given = Mapping[str, FloatArray]
"""What is known of the answers to a question, by the column that tells it; NaN in strata without."""
LONGEST_TITLE = 200  # characters of what a survey is called


class Known(NamedTuple):
    """What a question's answers can be like in each stratum, in units of their range.

    Attributes
    ----------
    spread : array
        S², divisor N − 1; for categories half the sum over their shares. The largest possible where it is not
        known.
    squares : pair of array, or None
        For numbers the smallest and the largest x² there can be, the mean squared distance from the middle.
    told : array of bool, or None
        For numbers where the spread is known, and not the largest possible.
    """

    spread: FloatArray
    squares: tuple[FloatArray, FloatArray] | None = None
    told: BoolArray | None = None


class Impossible(NamedTuple):
    """What answers cannot be like, in one stratum and, where there are categories, for one of them."""

    stratum: int
    case: int | None
    column: str
    rule: str
    got: str


class QuestionKind:
    """A kind of question: what it is made of, its levels, its spread, and its variance in a randomised row.

    Notes
    -----
    Whatever is answered becomes one of k levels on the device. A kind has no state: it is asked about a
    question.
    """

    title: ClassVar[str]
    """What tables and messages call it, after "a"."""
    fields: ClassVar[tuple[str, ...]]
    """Those of ``OF_KINDS`` that it has."""
    instead: ClassVar[Mapping[str, str]] = {}
    """What to do, by a field that it does not have."""
    told_by: ClassVar[tuple[str, ...]]
    """Columns of a file of spreads that tell something about the answers."""
    averaged: ClassVar[bool] = False
    """Whether answers are numbers, whose mean is estimated."""
    rounded: ClassVar[bool] = False
    """Whether answers may be put on levels that they are not on, and are moved to one next to them."""
    figure: ClassVar[str] = "mean"
    """What is estimated of the answers."""
    estimated: ClassVar[str] = "the population mean"
    """What a standard error of a design belongs to, in words."""
    counts_people: ClassVar[bool] = False
    """Whether the total of all answers is a number of people."""
    can_clip: ClassVar[bool] = False
    """Whether an answer outside the range may count as the nearer end of it."""

    def find(self, given: dict[str, Any]) -> Iterator[Finding]:
        """Find what is wrong with the fields of a question of this kind, each of which can be read.

        What can be left out is filled in.
        """
        raise NotImplementedError

    def range(self, question: Question) -> float:
        """Distance between the largest and the smallest answer; 1 for shares."""
        return 1.0

    def space(self, question: Question) -> AnswerSpace:
        """Return what privacy needs to know of the answers."""
        raise NotImplementedError

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Return the numbers of levels that answers can be put on; only one unless the design chooses."""
        raise NotImplementedError

    def cases(self, question: Question) -> tuple[str, ...]:
        """Return the categories whose shares tell the spread; none where one value a stratum does."""
        return ()

    def told_alone(self, question: Question) -> int | None:
        """Return the case that a single proportion tells; ``None`` where that cannot be."""
        return None

    def labelled(self, categories: Sequence[str]) -> int:
        """Count the answers that have a label; none where they are numbers."""
        return 0

    def find_impossible(self, question: Question, given: Given, sizes: IntArray) -> Iterator[Impossible]:
        """Find what the answers to this question cannot be like."""
        raise NotImplementedError

    def known(self, question: Question, given: Given, sizes: IntArray) -> Known:
        """Return the spread in each stratum, the worst case where nothing tells it."""
        raise NotImplementedError

    def largest(self, question: Question, sizes: IntArray) -> FloatArray:
        """Return the largest S² there can be in each stratum, whatever is known."""
        raise NotImplementedError

    def columns_from_sd(
        self, question: Question, sds: FloatArray, sizes: IntArray, centres: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return what standard deviations tell of the answers, by the column that tells it.

        Parameters
        ----------
        question : Question
            What is asked.
        sds : array
            Standard deviation of each stratum.
        sizes : array of int
            People of each stratum.
        centres : array, optional
            Where the answers lie, if something is known of that: their mean; of two answers the share of yes,
            of categories the share of each. They are moved as far as the standard deviation requires.
        """
        raise NotImplementedError

    def in_row(self, question: Question, levels: int, known: Known) -> Quadratic:
        """Return the variance of one person's answer, S² + noise, by r = K/(exp(E) − 1) of its form."""
        raise NotImplementedError

    def rounding(self, question: Question, levels: int, known: Known) -> FloatArray:
        """Return how much of the spread may be rounding to levels, of which asking more people takes none."""
        return np.zeros(len(known.spread))

    def in_table(self, levels: int, cells: int | None) -> tuple[float, float]:
        """Return g and q, with which the office's noise on a published table has the variance g·v(e/q).

        In squared ranges, for one answer of all that were added up; v(e) is that of discrete Laplace noise.

        Parameters
        ----------
        levels : int
            How many levels answers are put on.
        cells : int or None
            Combinations that the table counts; ``None`` where it is about this question alone.
        """
        raise NotImplementedError

    def table_in_words(self, levels: int) -> str:
        """Say what a published table about this question alone holds."""
        raise NotImplementedError

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Return where an answer lies between the first level and the last; ``None`` for what is none.

        With ``clip``, an answer outside the range counts as the nearer end of it.
        """
        raise NotImplementedError

    def answer_at(self, question: Question, place: int, levels: int) -> str | float:
        """Return the answer that a level stands for."""
        raise NotImplementedError

    def from_cell(self, question: Question, cell: Any) -> float | str | None:
        """Read an answer as someone wrote it, in a cell of a table or on a line.

        Returns
        -------
        float, str or None
            The number or name that :meth:`checked` takes; ``None`` for what cannot be read.
        """
        return read_number(cell)

    def checked(
        self, question: Question, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None
    ) -> FloatArray:
        """Return people's answers as numbers: in the units of the question, and of names their places.

        Parameters
        ----------
        question : Question
            What was asked.
        given : array
            One answer of each.
        clip : bool
            Whether an answer outside the range counts as the nearer end of it.
        where : str, optional
            Where they are written, for messages.

        Raises
        ------
        InputError
            If one of them is not allowed; no message shows it.
        """
        raise NotImplementedError

    def largest_sd(self, question: Question, sizes: IntArray) -> FloatArray:
        """Largest standard deviation (divisor N - 1) that answers of ``sizes`` people can have."""
        return np.asarray(self.range(question) * np.sqrt(self.largest(question, sizes)))

    def proportions_of(self, question: Question, sds: FloatArray, sizes: IntArray) -> FloatArray | None:
        """Shares of the upper end, the smaller of p and 1 − p, that follow from standard deviations.

        They follow from S² = p(1 − p)N/(N − 1), in squared ranges, where there are two numbers to answer;
        otherwise ``None``.
        """
        space = self.space(question)
        if space.values != 2 or not space.numbers:
            return None
        spread = (sds / space.range) ** 2 * (sizes - 1) / sizes
        return np.asarray((1 - np.sqrt(np.maximum(1 - 4 * spread, 0.0))) / 2)

    def sd_of(self, question: Question, given: npt.ArrayLike) -> float:
        """Return the standard deviation (divisor N - 1) of answers of at least two people."""
        return float(self.checked(question, given).std(ddof=1))

    def made_up_with_sd(self, question: Question, size: int, sd: float) -> npt.NDArray[Any]:
        """Make up answers of ``size`` people whose standard deviation comes as near to ``sd`` as any."""
        raise NotImplementedError

    def shorthand(self, question: Question) -> str:
        """Write what can be answered as the command line does."""
        raise NotImplementedError

    def shown(self, estimate: float) -> str:
        """Write an estimate as people read it."""
        return f"{estimate:,.3g}" if abs(estimate) < 1000 else f"{estimate:,.0f}"

    def made_up(self, question: Question, given: Given, stratum: int, size: int) -> Any:
        """Make up answers of so many people that are as nearly as can be what is known of a stratum."""
        raise NotImplementedError

    def answers(self, question: Question) -> str:
        """Say what can be answered."""
        raise NotImplementedError

    def written(self, question: Question) -> str:
        """Say how an answer must be written, to whoever wrote another one."""
        return self.answers(question)


@cache
def kind_named(name: str, *, blank: bool = False) -> QuestionKind:
    """Load a kind, or what becomes of it where questions may be left blank."""
    module, named = (OR_BLANK if blank else KINDS)[name].split(".")
    kind: QuestionKind = getattr(import_module(f"{__package__}.{module}"), named)()
    return kind


def read_kind(given: object) -> str | None:
    """Read the name of a kind as someone wrote it; ``None`` for what is none.

    Examples
    --------
    >>> read_kind("Yes/No"), read_kind(" scale "), read_kind("essay")
    ('yes_no', 'scale', None)
    """
    plain = re.sub(r"[\s/_-]+", "_", given.strip().casefold()) if isinstance(given, str) else ""
    return plain if plain in KINDS else None


def as_numbers(answers: npt.ArrayLike) -> FloatArray | None:
    """Take answers of many people as numbers; ``None`` for what are none."""
    try:
        if np.ma.is_masked(answers) or np.iscomplexobj(answers):
            return None
        values = np.asarray(answers, dtype=float)
    except (TypeError, ValueError, OverflowError):  # as a cause it would show an answer
        return None
    return values if values.ndim == 1 and np.all(np.isfinite(values)) else None


def is_plain(text: str, *, but: str = "") -> bool:
    r"""Whether text has no control characters and no line breaks, ``but`` those named.

    Spaces and marks that other languages need, such as those of text written right to left, are allowed.

    Examples
    --------
    >>> is_plain("Ça va\u00a0?"), is_plain("a\nb"), is_plain("a\nb", but="\n")
    (True, False, True)
    """
    return not any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in text if sign not in but)
