"""Whether the result of a survey could tell anything apart, in a sentence for its headline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.errors import Sentence, option
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from dpstrata.designs.questions import DesignedQuestion
    from dpstrata.designs.record import Design
    from dpstrata.survey.questionnaires.question import Question

LARGE_MARGIN = 0.25  # of the answer range
LARGE_ERROR = 0.2  # of a question's range
_LISTED = 3


def alarm(plan: Design) -> str | None:
    """Say what the result could not tell apart, where that makes it useless; otherwise ``None``.

    That is so where the margin of error, at the confidence of the design, is a quarter of the answer range or
    more, or where it reaches from the mean that is expected beyond the nearest end of the range: the result
    could then not tell it from nobody, or everybody, giving that answer. What is expected is
    ``expected_mean``, the column of that name, or the proportions that the standard deviations come from. A
    first wave of two is left out, since its estimate is not the result.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900])
    >>> alarm(dps.design(strata, epsilon=0.2, total=90, questions="yes_no", proportion=0.08))[-47:]
    'a share of 8% could not be told from 0% or 21%.'
    """
    if plan.inputs.rows:
        return imprecise_questions(plan)
    if plan.standard_error is None or (plan.waves is not None and plan.waves.first):
        return None
    question, space = plan.inputs.question, plan.inputs.space
    margin, mean = plan.inputs.z * plan.standard_error, plan.expected_mean
    reaches_the_end = mean is not None and margin >= min(mean - space.lower, space.upper - mean)
    if not reaches_the_end and margin < LARGE_MARGIN * space.range:
        return None
    start = f"Too imprecise: with a margin of error of {_rounded(margin)} ({confidence_in_words(plan)}),"
    if mean is None:
        means = "means" if space.numbers else "shares"
        return f"{start} {means} closer than that could not be told apart."
    ends = max(mean - margin, space.lower), min(mean + margin, space.upper)
    this, low, high = map(question.of_kind.shown, (mean, *ends))
    return f"{start} a {question.of_kind.figure} of {this} could not be told from {low} or {high}."


def imprecise_questions(plan: Design) -> str | None:
    """Say for which questions the result would be useless in the same way; ``None`` where for none."""
    found = [
        f"{question.name!r} ({_could_not_tell(question, designed)})"
        for question, designed in zip(plan.inputs.questions, plan.questions, strict=True)
        if _reaches_the_end(question, designed) or designed.margin >= LARGE_MARGIN * question.range
    ]
    if not found:
        return None
    rest = len(found) - _LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return (
        f"Too imprecise at {confidence_in_words(plan)} for {len(found):,} of "
        f"{counted(len(plan.questions), 'question')}: {'; '.join(found[:_LISTED])}{more}."
    )


def single_strata_in_words(plan: Design) -> str | None:
    """Say that results of single strata would be of little use, where the worst has a large error.

    ``None`` if no typical standard error is above a fifth of a question's range, if there is one stratum, or
    if the figures of all strata are shown anyway.
    """
    errors = plan.stratum_errors
    shown = plan.inputs.has_classes or "stratum" in (plan.inputs.domains or ())
    if len(errors) == 1 or shown or errors.max() <= LARGE_ERROR:
        return None
    worst, large = plan.strata.name(int(errors.argmax())), int((errors > LARGE_ERROR).sum())
    return Sentence(
        f"Single strata are less precise: the typical standard error is {_percent(errors.max())} of a "
        f"question's range in {worst!r} and above {LARGE_ERROR:.0%} in {large:,} of "
        f"{counted(len(errors), 'stratum')}; {option('domains', ['stratum'])} shows each."
    )


def _percent(share: float) -> str:
    return "more than 100%" if share > 1 else f"{100 * share:.0f}%"


def _reaches_the_end(question: Question, designed: DesignedQuestion) -> bool:
    """Whether the margin reaches from what is expected beyond the nearest end of the range."""
    if designed.expected is None:
        return False
    lower, upper = _ends(question)
    return designed.margin >= min(designed.expected - lower, upper - designed.expected)


def _could_not_tell(question: Question, designed: DesignedQuestion) -> str:
    margin, expected, (lower, upper) = designed.margin, designed.expected, _ends(question)
    if expected is None:
        return f"margin of error {_rounded(margin)}"
    ends = max(expected - margin, lower), min(expected + margin, upper)
    share = question.lower is None
    this, low, high = (
        f"{_rounded(100 * value)}%" if share else _rounded(value) for value in (expected, *ends)
    )
    return f"{this} could not be told from {low} or {high}"


def _ends(question: Question) -> tuple[float, float]:
    """Return the smallest and the largest answer; shares lie between 0 and 1."""
    lower = 0.0 if question.lower is None else question.lower
    return lower, lower + question.range


def confidence_in_words(plan: Design) -> str:
    """Write the level of margins and intervals."""
    return f"{100 * plan.inputs.confidence:.10g}% confidence"


def _rounded(value: float) -> str:
    """Write a number with two digits, and no exponent."""
    return f"{float(f'{value:.2g}'):,.10g}"
