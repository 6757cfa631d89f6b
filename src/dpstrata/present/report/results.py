"""The report of results: what was asked, what was kept of the promise, every estimate, and what to doubt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from shlex import quote
from typing import Any

from dpstrata.allocation.variances import answer_noise
from dpstrata.designs.record import Design
from dpstrata.fielding.estimators import Estimate, Estimation, ShareEstimate, ShareEstimation
from dpstrata.fielding.frames.files import file_digest
from dpstrata.fielding.ledger import Entry, find_release
from dpstrata.fielding.questionnaires.estimates import QuestionnaireEstimation
from dpstrata.present.charts.plot import MOST_BARS, intervals_chart
from dpstrata.present.report.markup import (
    bullets,
    code,
    figure,
    long_text,
    paragraphs,
    section,
    signatures,
    table,
    text,
    whole_page,
)
from dpstrata.present.report.questionnaire import asked_table
from dpstrata.present.report.tables import SHOWN, versions_table
from dpstrata.privacy.promises import Spent
from dpstrata.words.numbers import at_error, counted
from dpstrata.words.question_estimates import questions_in_words
from dpstrata.words.results import (
    Figures,
    cautions_of_results,
    headline_of_results,
    kept_in_words,
    method_of_results,
)
from dpstrata.words.tables import TextTable, not_shown

RESULTS_TITLE = "Survey results under differential privacy"
_WIDE = 0.5  # of all that is possible
Result = Estimation | ShareEstimation | QuestionnaireEstimation


@dataclass(frozen=True, slots=True)
class Published:
    """The file that the results come from.

    Attributes
    ----------
    name, digest : str
        What it is called, and its SHA-256.
    entry : Entry or None
        What the ledger says of it; ``None`` if no ledger lists it.
    spent : Spent or None
        What everyone in the frame has spent in all, by that ledger.
    """

    name: str = "the published file"
    digest: str = ""
    entry: Entry | None = None
    spent: Spent | None = None


def find_published(plan: Design, answers: str | Path, design: str | Path | None = None) -> Published:
    """Find what the ledger says of a published file.

    Parameters
    ----------
    plan : Design
        The design.
    answers : path
        What :func:`dpstrata.privatize` or :func:`dpstrata.publish` wrote; a ledger may lie beside it.
    design : path, optional
        The design document; a ledger may lie beside it.
    """
    path = Path(answers)
    found = find_release(plan, path, None if design is None else Path(design))
    return Published(path.name, file_digest(path), *(found or ()))


@dataclass(frozen=True, slots=True)
class _Row:
    """One estimate, of whatever kind."""

    of: str
    answer: str
    place: str
    figures: Figures
    answers: int
    whole: bool


def make_results_page(plan: Design, result: Result, published: Published, *, title: str) -> str:
    """Write the report of results as one HTML page."""
    answered, rows, level = _answered(result), list(_rows(result)), _level(result)
    whole = [row.figures for row in rows if row.whole]
    said = questions_in_words(result) if isinstance(result, QuestionnaireEstimation) else result.sentences
    people = counted(plan.strata.population, "person")
    under = f"{counted(len(plan.strata), 'stratum')}, {people}, {plan.inputs.promise.in_words}"
    cautions = cautions_of_results(plan, said[1:], _wide(plan, rows), listed=published.entry is not None)
    body = [
        f"<header><h1>{text(title)}</h1>",
        f'<p class="under">{long_text(under)}</p>',
        f'<p class="headline">{long_text(headline_of_results(plan, whole, sum(answered), level))}</p>',
        f"{paragraphs(cautions, kind='caution')}</header><main>",
        section("asked", "What was asked, and of whom", _asked(plan, answered)),
        section("results", "Results", *_results(plan, rows, result)),
        section("error", "Where the error comes from", _error(plan, rows)),
        section("promise", "The promise that was kept", _promise(plan, published)),
        section("method", "Method", paragraphs(method_of_results(plan))),
        section("again", "How to reproduce it", _again(plan, published)),
        section("signatures", "Signatures", _signatures(plan, published)),
        "</main>",
    ]
    return whole_page(title, body)


def _answered(result: Result) -> list[int]:
    """Return how many people of each stratum answered; all of them where only figures are published."""
    if isinstance(result, QuestionnaireEstimation):
        return list(result.answered)
    first = next(iter(result.by_category.values())) if isinstance(result, ShareEstimation) else result
    return [row.answers for row in first.strata or (first.whole,)]


def _asked(plan: Design, answered: Sequence[int]) -> str:
    if plan.forms:
        asked = table(asked_table(plan, importance=False))
    else:
        answers = plan.inputs.clipping if plan.inputs.clip else str(plan.inputs.answers)
        asked = paragraphs([f"One question, with answers {answers}."])
    rows = [
        (
            plan.strata.name(i),
            f"{plan.strata.sizes[i]:,}",
            f"{plan.sample_sizes[i]:,}",
            f"{answered[i]:,}",
            f"{answered[i] / plan.sample_sizes[i]:.0%}",
        )
        for i in range(min(len(plan.strata), SHOWN))
        if len(answered) == len(plan.strata)
    ]
    total = sum(answered)
    rows.append(
        ("all", f"{plan.strata.population:,}", f"{plan.total:,}", f"{total:,}", f"{total / plan.total:.0%}")
    )
    return asked + table(
        TextTable(
            "People, invitations and answers",
            ("stratum", "people", "invited", "answered", "response"),
            rows,
            not_shown(len(answered) - SHOWN, "strata"),
        )
    )


def _level(result: Result) -> str:
    return f"{100 * result.confidence:.10g}% interval"


def _wide(plan: Design, rows: Sequence[_Row]) -> list[str]:
    """Name estimates of the whole whose intervals leave half of all that is possible open."""
    ranges = {each.name: each.range for each in plan.inputs.questionnaire or ()}
    reach = plan.inputs.answers.range
    return [
        ", ".join(filter(None, (row.of, row.answer))) or row.place
        for row in rows
        if row.whole and row.figures.upper - row.figures.lower > _WIDE * ranges.get(row.of, reach)
    ]


def _results(plan: Design, rows: Sequence[_Row], result: Result) -> Iterator[str]:
    """Write a table and a chart for every question."""
    texts = {each.name: each.text for each in plan.inputs.questionnaire or ()}
    for question, found in groupby(rows, key=lambda row: row.of):
        every = list(found)
        yield f"<h3>{text(question)}</h3>" if question else ""
        yield paragraphs(filter(None, [texts.get(question)]))
        yield table(_estimates(every, _level(result)))
        whole = [row for row in every if row.whole]
        shown = whole if plan.forms and len(whole) > 1 else every  # of many answers those of the whole
        of = question if isinstance(result, QuestionnaireEstimation) else result.of
        yield _chart(shown[:MOST_BARS], of, result.confidence)


def _rows(result: Result) -> Iterator[_Row]:
    """Bring estimates of every kind to the same form."""
    for row in result.rows:
        place = row.group if row.column in ("all", "stratum") else f"{row.column}: {row.group}"
        figures = Figures(row.estimate, row.standard_error, row.lower, row.upper)
        taken = f" (as {row.taken_from})" if row.taken_from else ""
        if isinstance(row, Estimate):
            question, answer = "", row.category if isinstance(row, ShareEstimate) else ""
        else:
            question, answer = row.question, row.answer
        yield _Row(question, answer, f"{place}{taken}", figures, row.answers, row.column == "all")


def _estimates(rows: Sequence[_Row], level: str) -> TextTable:
    """Show estimates, each rounded to its error."""
    answers = any(row.answer for row in rows)
    cells = []
    for row in islice(rows, SHOWN):
        estimate, error, lower, upper = at_error(row.figures, row.figures.error)
        answer = (row.answer,) if answers else ()
        cells.append((row.place, *answer, estimate, error, f"{lower} to {upper}", f"{row.answers:,}"))
    return TextTable(
        "Estimates",
        ("for", *(("answer",) if answers else ()), "estimate", "standard error", level, "answers"),
        cells,
        not_shown(len(rows) - SHOWN, "estimates"),
        columns_of_text=2 if answers else 1,
    )


def _chart(rows: Sequence[_Row], of: str, confidence: float) -> str:
    values = [
        {
            "group": _line(row, alone=len({each.answer for each in rows}) == 1),
            "estimate": row.figures.estimate,
            "lower": row.figures.lower,
            "upper": row.figures.upper,
        }
        for row in rows
    ]
    chart = intervals_chart(values, confidence=confidence, of=of)
    return figure(chart, f"Estimates of {of} with {100 * confidence:.10g}% intervals.")


def _line(row: _Row, *, alone: bool) -> str:
    """Name a line of a chart: by its answer for the whole, by its place where all have the same answer."""
    if alone:
        return row.place
    return row.answer if row.whole else f"{row.place}: {row.answer}"


def _error(plan: Design, rows: Sequence[_Row]) -> str:
    """Split the planned variance by cause, beside what the standard errors became."""
    parts: list[tuple[str, float | None, tuple[float, float, float]]]
    if plan.forms:
        parts = [
            (each.name, each.standard_error, (each.sampling, each.device, each.office))
            for each in plan.questions
        ]
    else:
        split = plan.variance_parts
        finite = plan.inputs.finite_population
        device = answer_noise(plan.problem, plan.sample_sizes, finite_population=finite)
        office = max(split.privacy - device, 0.0)
        parts = [("", plan.standard_error, (split.sampling, device, office))]
    cells = []
    for name, planned, causes in parts:
        errors = [row.figures.error for row in rows if row.whole and row.of == name]
        # of shares as the design has it: the root of half the sum of their variances
        got = math.hypot(*errors) * (math.sqrt(0.5) if len(errors) > 1 else 1.0)
        total = sum(causes) or 1.0
        cells.append(
            (
                name or plan.inputs.answers.estimated,
                "" if planned is None else at_error([planned], planned)[0],
                at_error([got], got)[0],
                *(f"{cause / total:.0%}" for cause in causes),
            )
        )
    header = ("estimate", "planned standard error", "standard error", "who is asked", "devices", "office")
    words = (
        "Error comes from asking some people and not others, from noise on single answers (on devices, or in "
        "a batch at the office), and from the noise that the office adds to what it publishes. The standard "
        "error of categories is the root of half the sum of the variances of their shares."
    )
    shown = TextTable("Standard errors, and the variance by cause as planned", header, cells)
    return paragraphs([words]) + table(shown)


def _promise(plan: Design, published: Published) -> str:
    spent, entry = published.spent, published.entry
    kept = kept_in_words(
        published.name,
        None if entry is None else entry.status,
        None if entry is None else entry.spent,
        spent,
    )
    privacy: dict[str, Any] = dict(plan.privacy)
    return (
        paragraphs([kept, privacy["in_words"]])
        + "<h3>What it assumes</h3>"
        + bullets(privacy["assumptions"])
        + "<h3>What is not protected</h3>"
        + bullets(privacy["not_protected"])
    )


def _again(plan: Design, published: Published) -> str:
    versions = versions_table(plan)
    known = [(f"SHA-256 of {published.name}", published.digest)] if published.digest else []
    rows = [*versions.rows, *known]
    name = published.name if published.digest else "published.csv"
    command = f"dpstrata estimate design.json {quote(name)} --report results.html"
    return (
        table(versions._replace(rows=rows), columns_of_text=2)
        + paragraphs(["On the command line, from the design document and what was published:"])
        + code(command, "Command line")
    )


def _signatures(plan: Design, published: Published) -> str:
    file = f"of the file whose SHA-256 begins with {published.digest[:16]}, " if published.digest else ""
    said = (
        f"We have read this report. The estimates are {file}made under the design whose SHA-256 begins with "
        f"{plan.digest[:16]}."
    )
    return signatures(said, who=("For the survey methodology", "For privacy protection"))
