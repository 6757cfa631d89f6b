"""Yes or no."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError
from dpstrata.files.cells import text_of
from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.survey.questionnaires.kinds.base import BLANK, Given, Impossible, Known, as_numbers
from dpstrata.survey.questionnaires.kinds.category import (
    Category,
    CategoryOrBlank,
    out_of_bounds,
    whole_numbers,
)
from dpstrata.survey.questionnaires.made_up import two_groups_on_grid

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question


_WORDS = {"yes": 1, "y": 1, "true": 1, "1": 1, "1.0": 1, "no": 0, "n": 0, "false": 0, "0": 0, "0.0": 0}
_NAME = "yes_no"


def read_yes_no(cell: object) -> int | None:
    """Read 1 for yes and 0 for no in any case, as words or numbers; ``None`` for what is neither."""
    return _WORDS.get(text_of(cell).casefold())


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

    def told_by_sd(self, question: Question, sds: FloatArray, sizes: IntArray) -> dict[str, FloatArray]:
        """Return the share of yes if that is the smaller one."""
        return {"proportion": Category.told_by_sd(self, question, sds, sizes)["proportion"][:, 1]}

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
        return _NAME

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
        return _NAME

    def answers(self, question: Question) -> str:
        """Say it."""
        return "yes or no, or blank"

    def written(self, question: Question) -> str:
        """Say it."""
        return self.answers(question)
