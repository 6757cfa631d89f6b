"""Numbers on a grid, such as 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import MOST_STEPS, AnswerSpace
from dpstrata.survey.questionnaires.kinds.number import Number
from dpstrata.survey.questionnaires.made_up import two_groups, two_groups_on_grid
from dpstrata.words.numbers import figure, plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpstrata.survey.questionnaires.question import Question

_TOLERANCE = 1e-9  # of the distance from the lower end, by which a number may miss the grid
MOST_POINTS = 100  # beside other questions


class Scale(Number):
    """Numbers from ``lower`` to ``upper`` in steps; the mean is estimated."""

    title: ClassVar[str] = "scale"
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    instead: ClassVar[Mapping[str, str]] = {}
    rounded: ClassVar[bool] = False
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

    def candidates(self, question: Question) -> tuple[int, ...]:
        """Count the points."""
        assert question.step is not None
        return (round(self.range(question) / question.step) + 1,)

    def share_of(self, question: Question, answer: object, *, clip: bool = False) -> Fraction | None:
        """Return the place of a point of the grid."""
        share = Number.share_of(self, question, answer, clip=clip)
        steps = self.candidates(question)[0] - 1
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
        return self.candidates(question)[0]

    def answers(self, question: Question) -> str:
        """Say the range, and the step unless it is 1."""
        assert question.step is not None
        steps = "" if question.step == 1 else f" in steps of {figure(question.step, 10)}"
        return f"{Number.answers(self, question)}{steps}"

    def _in_steps(self, question: Question) -> str:
        """Say the range and the step, also if it is 1."""
        return f"{self.answers(question)}{' in whole steps' if question.step == 1 else ''}"
