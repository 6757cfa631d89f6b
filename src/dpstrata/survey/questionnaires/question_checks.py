"""What must hold for a question and for several, whether they come from Python or from a file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpstrata.files.columns import Finding
from dpstrata.survey.questionnaires.kinds.base import (
    KINDS,
    OF_KINDS,
    OR_BLANK,
    is_plain,
    kind_named,
    read_kind,
)
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.kinds.scale import MOST_POINTS
from dpstrata.survey.questionnaires.translation import find_translated, lines, read_labels

NUMBERS = ("lower", "upper", "step", "importance", "target_se", "target_margin")
RESERVED = ("cell", "form", "part", "stratum")
LEAST_IMPORTANCE, LARGEST_IMPORTANCE = 1e-6, 1e6


def read_question(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Read the fields of a question as they are kept, and find every mistake in them."""
    read, found = dict(given), []
    for name in NUMBERS:
        if given[name] is not None or name == "importance":
            read[name] = _number(given[name])
            if read[name] is None:
                found.append(_must(name, "be a number", repr(given[name])))
    for name in ("importance", "target_se", "target_margin"):
        found += _find_size(name, read[name])
    for name in ("name", "text", "together"):
        found += _find_text(name, read)
    found += _find_reserved(read["name"])
    found += _find_categories(read)
    read["labels"], mistakes = read_labels(given["labels"])
    found += mistakes
    if isinstance(given["translations"], list):
        read["translations"] = tuple(given["translations"])
    read["kind"] = read_kind(given["kind"])
    if given["blank"] is None:
        read["blank"] = read["kind"] in OR_BLANK
    for name in ("everyone", "blank", "no_first"):
        if not isinstance(read[name], bool):
            found.append(_must(name, "be true or false", repr(given[name])))
    if read["kind"] is None:
        found.append(_must("kind", f"be one of {', '.join(KINDS)}", repr(given["kind"])))
    else:
        found += _find_of_kind(read, {finding.column for finding in found})
    return read, found + list(_find_contradictions(read))


def find_among(questions: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Find what is wrong with questions beside each other, by their places."""
    found, seen = [], set()
    groups = Counter(question["together"] for question in questions)
    for row, question in enumerate(questions):
        name, group = question["name"], question["together"]
        if name and name.casefold() in seen:  # an empty one is refused by itself
            rule = "names of questions must differ, and not only in case"
            found.append(Finding(row, "name", rule, f"{name!r} again"))
        seen.add(name.casefold())
        if len(questions) > 1 and (points := _points_of_scale(question)) > MOST_POINTS:
            rule = (
                f"a scale beside other questions must have at most {MOST_POINTS} points (else use a number)"
            )
            found.append(Finding(row, "step", rule, f"{points:,}"))
        if group is not None and groups[group] == 1:
            rule = "together must be shared by at least two questions"
            found.append(Finding(row, "together", rule, f"{group!r} once"))
    return found


def _points_of_scale(question: Mapping[str, Any]) -> int:
    """Count the points of a scale that can be read; none of what is no scale."""
    lower, upper, step = (question[name] for name in ("lower", "upper", "step"))
    if question["kind"] != "scale" or None in (lower, upper, step) or not (step > 0 and lower < upper):
        return 0
    steps: float = (upper - lower) / step
    return round(steps) + 1


def _must(name: str, requirement: str, got: str) -> Finding:
    """Say what a field must be."""
    words = "the name of a question" if name == "name" else name
    return Finding(None, name, f"{words} must {requirement}", got)


def _number(given: Any) -> float | None:
    try:
        number = math.nan if isinstance(given, str | bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _find_reserved(name: Any) -> Iterator[Finding]:
    """Refuse names that columns of the field have, and the sign that parts names."""
    if not isinstance(name, str):
        return
    if name.strip().casefold() in RESERVED:
        yield _must("name", f"be none of {', '.join(RESERVED)}, which name other columns", repr(name))
    if SEPARATOR in name:
        yield _must("name", f"not contain {SEPARATOR!r}", repr(name))


def _find_size(name: str, number: float | None) -> Iterator[Finding]:
    if number is None:
        return
    if name != "importance":
        if not number > 0:
            yield _must(name, "be above 0", f"{number:g}")
    elif not LEAST_IMPORTANCE <= number <= LARGEST_IMPORTANCE:
        yield _must(name, f"lie between {LEAST_IMPORTANCE:g} and {LARGEST_IMPORTANCE:g}", f"{number:g}")


def _find_text(name: str, read: dict[str, Any]) -> Iterator[Finding]:
    """Require text, and of a name a line of it; surrounding space does not count."""
    text = read[name]
    if name == "together" and text is None:
        return
    if not isinstance(text, str):
        yield _must(name, "be text", repr(text))
        return
    read[name] = text = lines(text)
    if name == "name" and not text:
        yield _must(name, "not be empty", "")
    elif name == "together" and not text:
        read[name] = None
    elif not is_plain(text, but="\n\t" if name == "text" else ""):
        line = "text without control characters" if name == "text" else "a line of text"
        yield _must(name, f"be {line}", repr(text))


def _find_categories(read: dict[str, Any]) -> Iterator[Finding]:
    given = read["categories"]
    names = [] if isinstance(given, str) or not isinstance(given, Sequence) else given
    read["categories"] = tuple(name.strip() for name in names if isinstance(name, str))
    if names is not given or len(read["categories"]) < len(names):
        yield _must("categories", "be a list of names", repr(given))


def _find_of_kind(read: dict[str, Any], wrong: set[str]) -> Iterator[Finding]:
    """Find fields that the kind does not have, and what is wrong with its own if they can be read."""
    kind = kind_named(read["kind"])
    for name in OF_KINDS:
        if name not in kind.fields and name not in wrong and read[name] not in (None, ()):
            instead = f" ({kind.instead[name]})" if name in kind.instead else ""
            value = "|".join(read[name]) if name == "categories" else f"{read[name]:g}"
            yield _must(name, f"be left out of a {kind.title} question{instead}", value)
    if read["blank"] is True and read["kind"] not in OR_BLANK:
        rule = (
            f"be left out of a {kind.title} question, whose blanks do not count (make it a category question "
            "to count them)"
        )
        yield _must("blank", rule, "yes")
    if read["no_first"] is True and read["kind"] != "yes_no":
        yield _must("no_first", f"be left out of a {kind.title} question", "yes")
    if not wrong & set(kind.fields):
        yield from kind.find(read)
    if not wrong & {"categories", "labels"}:
        answers = kind.labelled(read["categories"])
        yield from find_translated(read["labels"], read["translations"], answers, kind.title)


def _find_contradictions(read: Mapping[str, Any]) -> Iterator[Finding]:
    if read["target_se"] is not None and read["target_margin"] is not None:
        rule = "a question must have one target, a standard error or a margin of error"
        yield Finding(None, "target_margin", rule, "both")
    if read["everyone"] is True and read["together"]:
        rule = "a question for everyone is on every form, so it must not be kept together with others"
        yield Finding(None, "together", rule, repr(read["together"]))
