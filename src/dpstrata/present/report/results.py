"""The report of results: what was asked, what was kept of the promise, every estimate, and what to doubt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from dpstrata.allocation.domains import WHOLE
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.frames.files import file_digest
from dpstrata.fielding.ledger import Entry, find_release
from dpstrata.fielding.results.figures import Causes
from dpstrata.fielding.results.ratios import combinations
from dpstrata.fielding.results.results import Results, Wave
from dpstrata.fielding.results.table import TOTAL, added, texts
from dpstrata.numerics.arrays import IntArray
from dpstrata.present.charts.chart import require_charts
from dpstrata.present.charts.plot import estimates_chart
from dpstrata.present.report.markup import (
    bullets,
    check_report_path,
    code,
    figure,
    long_text,
    paragraphs,
    section,
    signatures,
    table,
    text,
    whole_page,
    write_page,
)
from dpstrata.present.report.tables import SHOWN, asked_table, versions_table
from dpstrata.privacy.promises import Spent
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.numbers import at_error, counted
from dpstrata.words.results import (
    REPORTED,
    beyond_in_words,
    cautions_of_ledger,
    cautions_of_results,
    doubts_in_words,
    estimates_table,
    headline_of_results,
    interval_in_words,
    kept_in_words,
    method_of_results,
    names_of,
    promise_in_words,
    promised_in_words,
    ratio_name,
    spread_of_design,
    summary_table,
    waves_in_words,
    what_is_estimated,
)
from dpstrata.words.tables import TextTable, not_shown

RESULTS_TITLE = "Survey results under differential privacy"
_WIDE = 0.5  # of all that is possible
_HEADER = ("estimate", "variance", "standard error", "who is asked", "devices", "office")

_NOT_SHOWN = (
    "Sums and means of numbers show no spread, and numbers that are rounded at random on devices show one in "
    "which rounding cannot be told from who is asked. They have planned figures only."
)


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
    others : tuple of str
        If a ledger lists releases of this design but not this very file: their names.
    """

    name: str = "the published file"
    digest: str = ""
    entry: Entry | None = None
    spent: Spent | None = None
    others: tuple[str, ...] = ()


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
    if not isinstance(answers, str | Path):
        raise InputError(
            f"a report names the file that was published and its digest, got {type(answers).__name__}. Give "
            "the path of that file."
        )
    path = Path(answers)
    found = find_release(plan, path, None if design is None else Path(design))
    return Published(path.name, file_digest(path), found.entry, found.spent, found.others)


class _Release(NamedTuple):
    """What was published under one design; of two waves there are two."""

    plan: Design
    published: Published
    wave: str = ""

    @property
    def prefix(self) -> str:
        """What a sentence about one of two waves begins with."""
        return f"{self.wave.capitalize()}: " if self.wave else ""

    @property
    def file(self) -> str:
        """Name the file for a command line, in the folder of its wave if there are two."""
        name = self.published.name if self.published.digest else "published.csv"
        return f"{self.wave.split()[0]}/{name}" if self.wave else name


def results_html(
    plan: Design,
    result: Results,
    published: Published | None = None,
    *,
    title: str | None = None,
    ratios: Sequence[Results] = (),
    pilot: Published | None = None,
    language: str | None = None,
) -> str:
    """Return the results of a survey as one self-contained HTML page to sign.

    Parameters
    ----------
    plan : Design
        The design.
    result : Results
        What :func:`dpstrata.estimate` found.
    published : Published, optional
        The file that it comes from, as :func:`dpstrata.find_published` finds it with its entry in the ledger.
    title : str, optional
        Heading of the report; by default the title of the questionnaire, if it has one.
    ratios : sequence of Results
        What :meth:`Results.ratio` found, to be shown after the other estimates.
    pilot : Published, optional
        If the result is that of two waves, which :func:`dpstrata.combine_waves` found: the file of the first.
    language : str, optional
        Language of the questionnaire in which questions and answers are shown, by default its own; the
        report itself is in English.

    Returns
    -------
    str
        The page, with its charts, without scripts or requests to anywhere. It needs the extra ``charts``.

    Raises
    ------
    InputError
        If the questionnaire is not in this language.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> strata = [name for name, n in zip(plan.strata.names, plan.sample_sizes) for _ in range(n)]
    >>> result = dps.estimate_means(plan, strata, [0.4 + 0.01 * i for i in range(40)])
    >>> "Where the error comes from" in dps.results_html(plan, result)
    True
    """
    require_charts()
    asked_for = {"--title": title, "--language": language}
    title = title or plan.inputs.questions.title or RESULTS_TITLE
    language = require_language(plan, language)
    result, *ratios = [with_labels(plan, each, language) for each in (result, *ratios)]
    releases = _releases(plan, result, published or Published(), pilot)
    shares = len(set(result.columns.level)) > 1
    method = method_of_results(plan, _people(result, releases), shares=shares, waves=len(releases))
    body = [
        *_header(plan, result, releases, title),
        "<main>",
        section("asked", "What was asked, and of whom", _asked(plan, result, language)),
        section("results", "Results", *_results(plan, result, language)),
        section("ratios", "Ratios", *_ratios(plan, ratios, language)) if ratios else "",
        section("error", "Where the error comes from", error_by_cause(plan, result)),
        section("promise", "The promise that was kept", _promise(plan, releases)),
        section("method", "Method", paragraphs(method)),
        section("again", "How to reproduce it", _again(plan, releases, ratios, asked_for)),
        section("signatures", "Signatures", _signatures(releases)),
        "</main>",
    ]
    return whole_page(title, body)


def write_results(
    plan: Design,
    result: Results,
    path: str | Path,
    published: Published | None = None,
    *,
    title: str | None = None,
    ratios: Sequence[Results] = (),
    pilot: Published | None = None,
    language: str | None = None,
) -> None:
    """Write the results of a survey to a file, in full or not at all.

    Parameters
    ----------
    plan, result, published, title, ratios, pilot, language
        As for :func:`results_html`.
    path : path
        Where to: ``.html``, or ``.pdf`` with the extra ``pdf``.

    Raises
    ------
    InputError
        If the file has another ending or cannot be written, or the questionnaire is not in this language.
    MissingExtraError
        If an extra is missing.
    """
    path = Path(path)
    check_report_path(path)
    page = results_html(plan, result, published, title=title, ratios=ratios, pilot=pilot, language=language)
    write_page(page, path)


def _releases(plan: Design, result: Results, published: Published, pilot: Published | None) -> list[_Release]:
    """List what was published, wave by wave."""
    waves = result.waves
    if not waves:
        return [_Release(plan, published)]
    of_first = _Release(waves[0].design, pilot or Published(), "first wave")
    return [of_first, _Release(plan, published, "second wave")]


def _header(plan: Design, result: Results, releases: Sequence[_Release], title: str) -> Iterator[str]:
    """Write the heading, the main result, and what a reader must know before the figures."""
    people = counted(plan.strata.population, "person")
    under = f"{counted(len(plan.strata), 'stratum')}, {people}, {promised_in_words(plan, len(releases))}"
    ledger = [
        f"{each.prefix}{caution}"
        for each in releases
        for caution in cautions_of_ledger(each.plan, each.published)
    ]
    rows = result.at(result.columns.column != TOTAL)
    cautions = cautions_of_results(plan, doubts_in_words(result), _wide(plan, rows), len(rows), ledger)
    headline = headline_of_results(plan, result, _people(result, releases))
    yield f"<header><h1>{text(title)}</h1>"
    yield f'<p class="under">{long_text(under)}</p>'
    yield f'<p class="headline">{long_text(headline)}</p>'
    summary = summary_table(result, SHOWN)
    yield "" if summary is None else table(summary)
    yield f"{paragraphs(cautions, kind='caution')}</header>"


def _people(result: Results, releases: Sequence[_Release]) -> tuple[int, int]:
    """Return how many people answered, and how many were invited."""
    return int(result.answered.sum()), sum(each.plan.total for each in releases)


def _asked(plan: Design, result: Results, language: str) -> str:
    answered, waves = result.answered, result.waves
    asked = table(asked_table(plan, language))
    invited = np.sum([wave.design.sample_sizes for wave in waves] or [plan.sample_sizes], axis=0)
    strata = _strata(plan, invited, answered)
    people = [*strata[:SHOWN], ("all", plan.strata.population, int(invited.sum()), int(answered.sum()))]
    rows = [
        (name, f"{size:,}", f"{invited:,}", f"{came:,}", f"{came / invited:.0%}")
        for name, size, invited, came in people
    ]
    return (asked + _waves_table(waves) if waves else asked) + table(
        TextTable(
            "People, invitations and answers",
            ("stratum", "people", "invited", "answered", "response"),
            rows,
            not_shown(len(strata) - SHOWN, "strata"),
        )
    )


def _waves_table(waves: Sequence[Wave]) -> str:
    """Show what each wave promised, how many it asked, and what it gave by itself."""
    wholes = [wave.result.whole.uncrossed for wave in waves]
    names = names_of(wholes[0], wholes[0])
    several = len(names) > 1
    cells = [
        (
            *((name,) if several else ()),
            called,
            wave.design.inputs.promise.in_words,
            f"{row.invited:,}",
            f"{row.answered:,}",
            f"{wave.weights[row.question]:.0%}",
            *at_error((row.estimate, row.standard_error), row.standard_error),
        )
        for name, *rows in zip(names, *wholes, strict=True)
        for called, wave, row in zip(("first, the pilot", "second"), waves, rows, strict=True)
    ]
    figures = ("invited", "answered", "weight", "estimate", "standard error")
    header = (*(("estimate of",) if several else ()), "wave", "promise", *figures)
    shown = TextTable("The two waves, each by itself", header, cells, columns_of_text=2 + several)
    return paragraphs([waves_in_words()]) + table(shown)


def _strata(plan: Design, invited: IntArray, answered: IntArray) -> list[tuple[str, int, int, int]]:
    """Count people, invitations and answers by stratum, without classes."""
    names = plan.strata.extra[REPORTED] if plan.inputs.has_classes else plan.strata.names
    of = {name: place for place, name in enumerate(dict.fromkeys(names))}
    codes = np.array([of[name] for name in names])
    numbers = (plan.strata.sizes, invited, answered)
    return list(zip(of, *(added(codes, len(of), each).tolist() for each in numbers), strict=True))


def _wide(plan: Design, rows: Results) -> list[str]:
    """Name estimates whose intervals leave half of all that is possible open, those of the whole first."""
    ranges = {each.name: each.range for each in plan.inputs.questions}
    columns = rows.columns
    reach = np.array([ranges.get(name, 1.0) for name in columns.question])  # a cross-table has shares
    wide = np.flatnonzero(columns.upper - columns.lower > _WIDE * reach)
    first = wide[np.argsort(columns.column[wide] != WHOLE, kind="stable")]
    return names_of(rows.at(first), rows)


def _results(plan: Design, result: Results, language: str) -> Iterator[str]:
    """Write a table and a chart for every question."""
    texts = {each.name: each.wording(language)[0] for each in plan.inputs.questions}
    several = len(plan.inputs.questions) > 1
    for name in dict.fromkeys(result.columns.question):
        found = result.question(name)
        yield f"<h3>{text(name)}</h3>" if several else ""
        yield paragraphs(filter(None, [texts.get(name)]))
        yield table(_question_table(found))
        whole = found.at(found.columns.column == WHOLE)
        # of many answers those of the whole
        of = name if several else what_is_estimated(found)
        yield _chart(whole if len(whole) > 1 else found.shown, of)


def _question_table(found: Results) -> TextTable:
    """Show all estimates of one question, and explain what would look wrong."""
    shown = estimates_table(found, SHOWN)
    notes = [*beyond_in_words(found.shown[:SHOWN]), shown.note, *spread_of_design(found)]
    return shown._replace(note=" ".join(filter(None, notes)))


def _ratios(plan: Design, ratios: Sequence[Results], language: str) -> Iterator[str]:
    """Write a table and a chart for every ratio, and where it is left out."""
    yield paragraphs(
        [
            "Each is the ratio of two of the estimates above. Its standard error is that of the numerator "
            "less the ratio times the denominator, over the denominator. Its interval follows from those of "
            "the numerator and the denominator and from their correlation (Donner and Zou 2012), so it need "
            "not reach equally far to both sides."
        ]
    )
    for each in ratios:
        yield from _results(plan, each, language)
        yield paragraphs(each.notes, kind="caution")


def _chart(rows: Results, of: str) -> str:
    """Draw estimates, those beyond what is possible at the end of their interval."""
    columns = rows.columns
    within = np.clip(columns.estimate, columns.lower, columns.upper)
    chart = estimates_chart(replace(rows, columns=columns._replace(estimate=within)), of)
    beyond = (within != columns.estimate).any()
    note = " Estimates beyond what is possible are drawn at the end of their interval." if beyond else ""
    return figure(chart, f"Estimates of {of} with {interval_in_words(rows)}s.{note}")


def _promise(plan: Design, releases: Sequence[_Release]) -> str:
    kept = [each.prefix + kept_in_words(each.plan, each.published) for each in releases]
    raw = any(each.published.entry is not None and each.published.entry.raw for each in releases)
    privacy: dict[str, Any] = dict(plan.privacy)
    return (
        paragraphs([*kept, promise_in_words([each.plan for each in releases], raw=raw)])
        + "<h3>What it assumes</h3>"
        + bullets(privacy["assumptions"])
        + "<h3>What is not protected</h3>"
        + bullets(privacy["not_protected"])
    )


def _again(
    plan: Design,
    releases: Sequence[_Release],
    ratios: Sequence[Results],
    asked_for: Mapping[str, str | None],
) -> str:
    """List digests, and the command that writes the same report."""
    versions = versions_table(plan)
    *before, last = releases
    known = [(f"SHA-256 of the design of the {each.wave}", each.plan.digest) for each in before]
    known += [
        (f"SHA-256 of {each.file}", each.published.digest) for each in releases if each.published.digest
    ]
    words = ["dpstrata", "estimate", "design.json", last.file]
    for each in before:
        words += ["--pilot", "pilot.json", "--pilot-answers", each.file]
    for ratio in ratios:
        for flag, (question, answers) in zip(("--ratio", "--over"), ratio.ratio_of, strict=True):
            words += [flag, f"{question}={answers if isinstance(answers, str) else '|'.join(answers)}"]
    for flag, value in asked_for.items():
        words += [flag, value] if value else []
    command = " ".join(map(quote, [*words, "--report", "results.html"]))
    return (
        table(versions._replace(rows=[*versions.rows, *known]), columns_of_text=2)
        + paragraphs(["On the command line, from the design document and what was published:"])
        + code(command, "Command line")
    )


def _signatures(releases: Sequence[_Release]) -> str:
    digests = [each.published.digest[:16] for each in releases if each.published.digest]
    files = "the file whose SHA-256 begins" if len(digests) == 1 else "the files whose SHA-256 begin"
    of_files = f"of {files} with {' and '.join(digests)}, " if digests else ""
    designs = "the design whose SHA-256 begins" if len(releases) == 1 else "the designs whose SHA-256 begin"
    made = " and ".join(each.plan.digest[:16] for each in releases)
    said = f"We have read this report. The estimates are {of_files}made under {designs} with {made}."
    return signatures(said, who=("For the survey methodology", "For privacy protection"))


# --- where the error comes from ---------------------------------------------------------------------


def error_by_cause(plan: Design, result: Results) -> str:
    """Split the variance of every question by cause, as planned and as estimated."""
    words = [
        "Error comes from asking some people and not others, from noise on single answers (on devices, or in "
        "a batch at the office), and from the noise that the office adds to what it publishes. The standard "
        "error of categories is the root of half the sum of the variances of their shares.",
        "Planned figures are those of the design, with its spreads and the answers that it expected. For the "
        "estimated ones, noise follows from the design and the number of answers that came, and the rest of "
        "the estimated variance comes from who is asked.",
    ]
    splits = list(_by_question(plan, result))
    if any(estimated is None for *_, estimated in splits):
        words = [*words, _NOT_SHOWN]
    cells = [
        (name, how, *_shown(found))
        for name, planned, estimated in splits
        for how, found in (("planned", planned), ("estimated", estimated))
        if found is not None
    ]
    caption = "Standard errors, and the variance by cause"
    return paragraphs(words) + table(TextTable(caption, _HEADER, cells, columns_of_text=2))


def _shown(causes: Causes) -> tuple[str, ...]:
    """Write a standard error, and the share of each cause in the variance."""
    total = sum(causes)
    error = math.sqrt(total)
    return at_error([error], error)[0], *(f"{cause / (total or 1.0):.0%}" for cause in causes)


def _by_question(plan: Design, result: Results) -> Iterator[tuple[str, Causes, Causes | None]]:
    """Split the planned and the estimated variance of every question, that of two waves together."""
    for j, question in enumerate(plan.inputs.questions):
        waves = [(wave.weights[question.name], wave.design) for wave in result.waves] or [(1.0, plan)]
        planned = [0.0, 0.0, 0.0]
        for weight, design in waves:
            each = design.questions[j]
            for i, part in enumerate((each.sampling, each.device, each.office)):
                planned[i] += weight**2 * part
        # a single question needs no name
        called = question.name if len(plan.inputs.questions) > 1 else question.of_kind.estimated
        yield called, Causes(*planned), result.questions[question.name].causes


# --- answers as respondents read them ---------------------------------------------------------------


def require_language(plan: Design, language: str | None) -> str:
    """Return the language to show a questionnaire in: its own, or the one that is asked for."""
    asked = plan.inputs.questions
    spoken = tuple(filter(None, asked.languages))
    if language is None:
        return asked.language
    if language not in spoken:
        rule = f"be a language of the questionnaire ({', '.join(spoken)})" if spoken else "be left out here"
        raise InputError.must("language", rule, language)
    return language


def with_labels(plan: Design, result: Results, language: str) -> Results:
    """Return the same estimates, with answers as respondents read them in a language."""
    labels = _labels(plan, language)
    if result.ratio_of:
        (over, above), (under, below) = (
            (name, [labels.get((name, each), each) for each in ([some] if isinstance(some, str) else some)])
            for name, some in result.ratio_of
        )
        name, answer = ratio_name(over, above, under, below)
        labels = {(name, level): answer for level in result.columns.level}
    columns = result.columns
    called = [labels.get(pair, pair[1]) for pair in zip(columns.question, columns.level, strict=True)]
    return replace(result, columns=columns._replace(level=texts(called)))


def _labels(plan: Design, language: str) -> dict[tuple[str, str], str]:
    """List what answers and combinations of answers are called, where that is not their code."""
    asked = plan.inputs.questions
    groups = [[asked[place] for place in places] for places in asked.groups.values()]
    listed = [[question] for question in asked] + groups
    labels = {}
    for questions in listed:
        name = " by ".join(question.name for question in questions)
        for levels in _levels_of(plan, questions):
            called = itertools.product(
                *(_called(each, number, language) for each, number in zip(questions, levels, strict=True))
            )
            for level, words in zip(combinations(questions, levels), called, strict=True):
                labels[name, level] = " and ".join(words)
    return labels


def _levels_of(plan: Design, questions: Sequence[Question]) -> set[tuple[int, ...]]:
    """Return the levels that questions have on the forms that have all of them."""
    forms = [dict(zip(form.questions, form.levels, strict=True)) for form in plan.forms]
    names = [question.name for question in questions]
    return {tuple(form[name] for name in names) for form in forms if set(names) <= set(form)}


def _called(question: Question, levels: int, language: str) -> list[str]:
    """Name every level by its label; by its code where it has none, or where two would be called the same."""
    codes = [str(question.of_kind.answer_at(question, place, levels)) for place in range(levels)]
    _, labels = question.wording(language)
    called = [*labels, *codes[len(labels) :]]
    return called if len(set(called)) == levels else codes
