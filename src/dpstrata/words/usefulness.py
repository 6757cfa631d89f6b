"""Whether the result of a survey could tell anything apart, in a sentence for its headline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

LARGE_MARGIN = 0.25  # of the answer range


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
    >>> alarm(dps.design(strata, epsilon=0.2, total=90, answers="binary", proportion=0.08))[-47:]
    'a share of 8% could not be told from 0% or 21%.'
    """
    if plan.standard_error is None or (plan.waves is not None and plan.waves.first):
        return None
    answers = plan.inputs.answers
    margin, mean = plan.inputs.z * plan.standard_error, plan.expected_mean
    reaches_the_end = mean is not None and margin >= min(mean - answers.lower, answers.upper - mean)
    if not reaches_the_end and margin < LARGE_MARGIN * answers.range:
        return None
    start = f"Too imprecise: with a margin of error of {_rounded(margin)} ({confidence_in_words(plan)}),"
    if mean is None:
        means = "means" if answers.numbers else "shares"
        return f"{start} {means} closer than that could not be told apart."
    ends = max(mean - margin, answers.lower), min(mean + margin, answers.upper)
    this, low, high = map(answers.shown, (mean, *ends))
    return f"{start} a {answers.figure} of {this} could not be told from {low} or {high}."


def confidence_in_words(plan: Design) -> str:
    """Write the level of margins and intervals."""
    return f"{100 * plan.inputs.confidence:.10g}% confidence"


def _rounded(value: float) -> str:
    """Write a number with two digits, and no exponent."""
    return f"{float(f'{value:.2g}'):,.10g}"
