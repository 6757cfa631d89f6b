"""How precise a design is, in words: what its precision is called, how it is written, and if it is any use.

A design of one question has a standard error in the units of that question. Several questions have a typical
one, as a share of their ranges, and objectives other than the population mean have a value. Whoever speaks of
precision asks :func:`precision_of` for its words, and nobody else which of the three it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from dpstrata.errors import Sentence, option
from dpstrata.words.numbers import counted, figure, three_digits

if TYPE_CHECKING:
    from dpstrata.designs.questions import DesignedQuestion
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs
    from dpstrata.survey.questionnaires.question import Question

LARGE_MARGIN = 0.25  # of the answer range
LARGE_ERROR = 0.2  # of a question's range
_LISTED = 3


class Precision(ABC):
    """The words for the precision of a design; its values are what ``Design.precision`` is.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    """

    name: ClassVar[str]
    """What it is called: "standard error"."""
    whole: ClassVar[str] = "the variance"
    """What privacy has a share of."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    @property
    @abstractmethod
    def axis(self) -> str:
        """What an axis of it is called."""

    @property
    @abstractmethod
    def minimised(self) -> str:
        """What is made as small as possible."""

    def value(self, variance: float) -> float:
        """Return the precision that a variance means."""
        return math.sqrt(variance)

    def written(self, value: float, *, short: bool = False) -> str:
        """Write a value, with three digits in short."""
        return three_digits(value) if short else figure(value)

    def with_unit(self, value: float) -> str:
        """Write a value with what it is counted in, where that is not plain."""
        return self.written(value)

    def of(self, value: float) -> str:
        """Name it and give its value: "a standard error of 0.03"."""
        return f"a {self.name} of {self.with_unit(value)}"

    def stated(self, value: float) -> str:
        """Give its value in full, with what it is the precision of."""
        return self.of(value)

    def headed(self, value: float) -> str:
        """Give its value in short, as a headline does."""
        return self.of(value)


class _OneQuestion(Precision):
    """The standard error of the only question, in its own units.

    That of categories is the root of half the sum of the variances of their shares, which the standard error
    of no share exceeds.
    """

    name = "standard error"

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs)
        self._question = inputs.questions[0]
        self._numbers = self._question.space.numbers

    @property
    def axis(self) -> str:
        if self._numbers:
            return "standard error of the estimated mean"
        return "largest standard error of a share"

    @property
    def minimised(self) -> str:
        if self._numbers:
            return "the variance of the estimated population mean"
        return "half the sum of the variances of the estimated shares"

    def of(self, value: float) -> str:
        return self._of(self.written(value))

    def _of(self, written: str) -> str:
        return f"a standard error of {'' if self._numbers else 'at most '}{written}"

    def stated(self, value: float) -> str:
        margin = figure(self._inputs.z * value)
        what = (
            f"the population {self._inputs.mean_in_words}"
            if self._numbers
            else self._question.of_kind.estimated
        )
        confidence = confidence_in_words(self._inputs)
        return f"{self.of(value)} for {what}, a margin of error of {margin} at {confidence}"

    def headed(self, value: float) -> str:
        what = self._question.of_kind.estimated
        if self._numbers:
            what = f"the {self._inputs.mean_in_words}" if self._inputs.clip else ""
        return self._of(self.written(value, short=True)) + (f" for {what}" if what else "")


class _SeveralQuestions(Precision):
    """The typical standard error of questions, as a share of their ranges."""

    name = "typical standard error"

    @property
    def explained(self) -> str:
        return "Standard errors are typical ones, as shares of a question's range."

    @property
    def axis(self) -> str:
        return "typical standard error, as a share of the range"

    @property
    def minimised(self) -> str:
        return "the average variance of the questions (in squared ranges, weighted by importance)"

    def written(self, value: float, *, short: bool = False) -> str:
        return as_percent(value)

    def with_unit(self, value: float) -> str:
        return f"{as_percent(value)} of a question's range"


class _OtherObjective(Precision):
    """The value of an objective that is not the population mean."""

    name = "objective"
    whole = "it"

    @property
    def axis(self) -> str:
        return "objective"

    @property
    def minimised(self) -> str:
        of_all = "the sum of the variances of the stratum means"
        if not self._inputs.questions[0].space.numbers:
            of_all = "half the sum of the variances of all strata's shares"
        return {
            "trace": of_all,
            "unit_free": f"{of_all}, each relative to its stratum's own",
            "custom": f"{of_all}, weighted by the squared coefficients",
        }[self._inputs.objective]

    def value(self, variance: float) -> float:
        return variance

    def of(self, value: float) -> str:
        return self._of(self.written(value))

    def headed(self, value: float) -> str:
        return self._of(self.written(value, short=True))

    def _of(self, written: str) -> str:
        return f"an objective ({self._inputs.objective}) of {written}"


def precision_asked_for(inputs: Inputs) -> Precision:
    """Return the words for what is asked to be precise."""
    if inputs.objective != "mean":
        return _OtherObjective(inputs)
    return _OneQuestion(inputs) if len(inputs.questions) == 1 else _SeveralQuestions(inputs)


def precision_of(plan: Design) -> Precision:
    """Return the words for the precision of a design."""
    return precision_asked_for(plan.inputs)


def as_percent(share: float) -> str:
    """Write a share of a range in percent."""
    return "more than 100%" if share > 1.0 else f"{figure(100.0 * share, 2)}%"


def confidence_in_words(inputs: Inputs) -> str:
    """Write the level of margins and intervals."""
    return f"{100 * inputs.confidence:.10g}% confidence"


# --- whether the result could tell anything apart ---------------------------------------------------


def alarm(plan: Design) -> str | None:
    """Say what the result could not tell apart, where that makes it useless; otherwise ``None``.

    That is so where the margin of error of a question, at the confidence of the design, is a quarter of the
    answer range or more, or where it reaches from the mean that is expected beyond the nearest end of the
    range: the result could then not tell it from nobody, or everybody, giving that answer. What is expected
    is what is known of a question, ``expected_mean``, the column of that name, or the proportions that the
    standard deviations come from. A first wave of two is left out, since its estimate is not the result.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900])
    >>> alarm(dps.design(strata, epsilon=0.2, total=90, questions="yes_no", proportion=0.08))[-47:]
    'a share of 8% could not be told from 0% or 21%.'
    """
    if plan.standard_error is None or (plan.waves is not None and plan.waves.first):
        return None
    found = [
        (question, designed)
        for question, designed in zip(plan.inputs.questions, plan.questions, strict=True)
        if _reaches_the_end(question, designed) or designed.margin >= LARGE_MARGIN * question.range
    ]
    if not found:
        return None
    confidence = confidence_in_words(plan.inputs)
    if len(plan.questions) == 1:
        ((question, designed),) = found
        of_kind = question.of_kind
        if designed.expected is None:
            useless = f"{of_kind.figure}s closer than that could not be told apart"
        else:
            useless = f"a {of_kind.figure} of {_could_not_tell(question, designed, designed.expected)}"
        return (
            f"Too imprecise: with a margin of error of {_rounded(designed.margin)} ({confidence}), {useless}."
        )
    named = [
        f"{question.name!r} (margin of error {_rounded(designed.margin)})"
        if designed.expected is None
        else f"{question.name!r} ({_could_not_tell(question, designed, designed.expected)})"
        for question, designed in found[:_LISTED]
    ]
    rest = len(found) - _LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return (
        f"Too imprecise at {confidence} for {len(found):,} of {counted(len(plan.questions), 'question')}: "
        f"{'; '.join(named)}{more}."
    )


def single_strata_in_words(plan: Design) -> str | None:
    """Say that results of single strata would be of little use, where the worst has a large error.

    ``None`` if no typical standard error is above a fifth of a question's range, if there is one stratum or
    one question, or if the figures of all strata are shown anyway.
    """
    errors = plan.stratum_errors
    shown = plan.inputs.has_classes or "stratum" in (plan.inputs.domains or ())
    if len(errors) == 1 or len(plan.questions) == 1 or shown or errors.max() <= LARGE_ERROR:
        return None
    worst, large = plan.strata.name(int(errors.argmax())), int((errors > LARGE_ERROR).sum())
    percent = "more than 100%" if errors.max() > 1 else f"{100 * errors.max():.0f}%"
    return Sentence(
        f"Single strata are less precise: the typical standard error is {percent} of a "
        f"question's range in {worst!r} and above {LARGE_ERROR:.0%} in {large:,} of "
        f"{counted(len(errors), 'stratum')}; {option('domains', ['stratum'])} shows each."
    )


def _reaches_the_end(question: Question, designed: DesignedQuestion) -> bool:
    """Whether the margin reaches from what is expected beyond the nearest end of the range."""
    if designed.expected is None:
        return False
    lower, upper = _ends(question)
    return designed.margin >= min(designed.expected - lower, upper - designed.expected)


def _could_not_tell(question: Question, designed: DesignedQuestion, expected: float) -> str:
    lower, upper = _ends(question)
    ends = max(expected - designed.margin, lower), min(expected + designed.margin, upper)
    this, low, high = map(question.of_kind.shown, (expected, *ends))
    return f"{this} could not be told from {low} or {high}"


def _ends(question: Question) -> tuple[float, float]:
    """Return the smallest and the largest answer; shares lie between 0 and 1."""
    lower = 0.0 if question.lower is None else question.lower
    return lower, lower + question.range


def _rounded(value: float) -> str:
    """Write a number with two digits, and no exponent."""
    return f"{float(f'{value:.2g}'):,.10g}"
