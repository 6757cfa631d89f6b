"""Estimates for the eye: a table of means and sentences, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dpstrata.words.numbers import at_error, counted, figure
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from dpstrata.fielding.neighbours import StandIn
    from dpstrata.fielding.results.estimators import Estimate, Estimation, ShareEstimation
    from dpstrata.fielding.results.figures import QuestionEstimate

REPORTED = "reported_stratum"
"""The column of strata crossed with classes whose groups are shown in place of the strata."""
BIAS = "bias at most"
"""Heading of what strata without an answer can make of an estimate, where there are any."""
SAFE = "safe interval"
"""Heading of the intervals that allow for the largest spread, if a result has any."""
SAFE_IN_WORDS = (
    "A published mean shows no spread. The interval assumes that the strata vary as the design states; the "
    "safe interval allows for the largest spread that this mean could have."
)
_NAMED = 5


def estimation_table(result: Estimation) -> TextTable:
    """Means of the whole, the domains and the strata, each rounded to its error."""
    both = (result.domains, result.strata_reported)
    domains, strata = (list(islice(rows, SHOWN_STRATA)) for rows in both)
    left = [
        not_shown(len(result.domains) - len(domains), "domains"),
        not_shown(len(result.strata_reported) - len(strata), "strata"),
    ]
    return TextTable(
        "Means from noised answers"
        if result.of == "mean"
        else f"{result.of.capitalize()}, from noised answers",
        *_header_and_cells(_level(result), (result.whole, *domains, *strata)),
        " ".join(filter(None, left)),
    )


def share_table(result: ShareEstimation) -> TextTable:
    """Shares of all categories in the whole, the domains and the strata, each rounded to its error."""
    rows = result.rows
    shown = max(SHOWN_STRATA, len(result.categories))
    (_, *header), cells = _header_and_cells(_level(result), rows[:shown])
    return TextTable(
        "Shares from noised answers",
        ("share in", "category", *header),
        [(place, row.category, *others) for row, (place, *others) in zip(rows, cells, strict=False)],
        not_shown(len(rows) - shown, "shares"),
    )


def estimates_table(rows: Sequence[Estimate]) -> TextTable:
    """Show some of the estimates, whose level and quantity only the whole knows."""
    shown = list(islice(rows, SHOWN_STRATA))
    left = not_shown(len(rows) - len(shown), "estimates")
    return TextTable("Estimates from noised answers", *_header_and_cells("interval", shown), left)


def estimation_sentences(result: Estimation) -> list[str]:
    """State the total, the strata to be careful with, and what became of the promise."""
    total = result.total
    figures = (total.estimate, total.lower, total.upper)
    estimate, lower, upper = at_error(figures, total.standard_error, whole=result.counts_people)
    clipped = result.of.removeprefix("mean")
    return [
        f"The population total{clipped} is {estimate} ({_level(result)}: {lower} to {upper}).",
        *not_told_from_zero([place_of(row) for row in result.rows if row.lower == 0]),
        *((SAFE_IN_WORDS,) if result.whole.safe_lower is not None else ()),
        *strata_without_answers(result.stand_ins, result.largest_bias, "the population mean"),
        *_doubts(
            result,
            "the noised answers vary less than the noise alone would, so the answers are taken to have no "
            "spread",
        ),
        *result.notes,
    ]


def share_sentences(result: ShareEstimation) -> list[str]:
    """State what the intervals hold for, the strata to be careful with, and what became of the promise."""
    return [
        "The shares of all categories add up to 1, so noise may take an estimate below 0 or above 1. "
        "Intervals stay between 0 and 1, and hold for all categories together.",
        *not_told_from_zero([f"{row.category} in {place_of(row)}" for row in result.rows if row.lower == 0]),
        *strata_without_answers(result.stand_ins, result.largest_bias, "a share of the population"),
        *_doubts(
            result,
            "a category is reported so rarely or so often that noise alone explains it, so its share is "
            "taken to have no sampling error",
        ),
        *result.notes,
    ]


def _doubts(result: Estimation | ShareEstimation, floored: str) -> list[str]:
    """Name the strata to be careful with."""
    doubts = (
        (result.floored, floored),
        (result.single, "there is only one answer, so the spread stated in the design is used"),
        (result.few, "there are fewer than 10 answers, too few for a reliable standard error"),
    )
    return [
        f"In {counted(len(names), 'stratum')}, {words}: {_listed(names)}." for names, words in doubts if names
    ]


def _header_and_cells(level: str, rows: Sequence[Estimate]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Write estimates as lines of a table, with how far strata without an answer can shift any of them."""
    safe = (SAFE,) if any(row.safe_lower is not None for row in rows) else ()
    header = ("mean of", "estimate", "standard error", level, *safe, "answers", "invited")
    last = bias_cells([row.largest_bias for row in rows])
    cells = [(*_cells(row), *bias) for row, bias in zip(rows, last, strict=True)]
    return (*header, *bias_header([row.largest_bias for row in rows])), cells


def bias_header(biases: Sequence[float | None]) -> tuple[str, ...]:
    """Head a column of largest biases, if there is any."""
    return (BIAS,) if any(each != 0.0 for each in biases) else ()


def bias_cells(biases: Sequence[float | None]) -> list[tuple[str, ...]]:
    """Write largest biases as the last cells of lines, if there is any; ``None`` is one that is not known."""
    if not bias_header(biases):
        return [()] * len(biases)
    return [("not known" if each is None else figure(each) if each else "",) for each in biases]


def _cells(row: Estimate) -> tuple[str, ...]:
    figures = (row.estimate, row.standard_error, row.lower, row.upper)
    estimate, error, lower, upper = at_error(figures, row.standard_error)
    safe = safe_cells(row.safe_lower, row.safe_upper, row.standard_error)
    people = f"{row.answers:,}", f"{row.invited:,}"
    return (place_of(row), estimate, error, f"{lower} to {upper}", *safe, *people)


def safe_cells(lower: float | None, upper: float | None, error: float) -> tuple[str, ...]:
    """Write a safe interval, rounded as the other one; nothing where there is none."""
    if lower is None or upper is None:
        return ()
    return (" to ".join(at_error((lower, upper), error)),)


def place_of(row: Estimate | QuestionEstimate) -> str:
    """Name what an estimate is for, and the stratum whose result it takes."""
    place = row.group if row.column in ("all", "stratum", REPORTED) else f"{row.column}: {row.group}"
    return f"{place} (as {row.taken_from})" if row.taken_from else place


def strata_without_answers(stand_ins: Sequence[StandIn], largest_bias: float, whole: str) -> list[str]:
    """Name strata that nobody answered in, what stands in for them, and how much that can matter."""
    if not stand_ins:
        return []
    each = [f"{one.stratum} (as {one.neighbour})" for one in stand_ins]
    takes = "it takes the result" if len(each) == 1 else "they take the results"
    return [
        f"Nobody answered in {counted(len(each), 'stratum')}; {takes} of the nearest with answers: "
        f"{_listed(each)}. This can shift {whole} by at most {figure(largest_bias)}."
    ]


def beyond_interval(estimate: float, lower: float, upper: float) -> bool:
    """Whether noise took an estimate out of its interval, which never leaves what is possible."""
    return not lower <= estimate <= upper


def beyond_in_words(rows: int) -> list[str]:
    """Explain estimates outside their intervals, if there are any."""
    if not rows:
        return []
    left = "it is" if rows == 1 else "such estimates are"
    holds = "its interval is" if rows == 1 else "their intervals are"
    return [
        f"In {counted(rows, 'row')} noise took the estimate out of the possible range; {left} not cut, "
        f"so that figures add up, and {holds} what holds."
    ]


def not_told_from_zero(names: Sequence[str]) -> list[str]:
    """Name the estimates whose intervals begin at zero."""
    return [f"{counted(len(names), 'estimate')} cannot be told from zero: {_listed(names)}."] if names else []


def _level(result: Estimation | ShareEstimation) -> str:
    return f"{100 * result.confidence:.10g}% interval"


def _listed(names: Sequence[str]) -> str:
    left = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {left:,} more" if left > 0 else "")
