"""One question of a questionnaire: what it is made of, in all languages, and what must hold for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal

from dpstrata.errors import QuestionnaireError
from dpstrata.files.columns import Finding
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.survey.questionnaires.kinds.base import (
    KINDS,
    OF_KINDS,
    OR_BLANK,
    QuestionKind,
    is_plain,
    kind_named,
    read_kind,
)
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR

Kind = Literal["yes_no", "category", "scale", "number"]
NUMBERS = ("lower", "upper", "step", "importance", "target_se", "target_margin")
RESERVED = ("cell", "form", "part", "stratum")
LEAST_IMPORTANCE, LARGEST_IMPORTANCE = 1e-6, 1e6


@dataclass(frozen=True, slots=True)
class Translation:
    """A question in another language than that of the questionnaire.

    Parameters
    ----------
    language : str
        A code such as ``de``, or a name.
    text : str
        The question; empty if it is not translated.
    labels : sequence of str
        The answers of a category question in the order of its categories, or no and yes; empty if they are
        not translated.

    Raises
    ------
    QuestionnaireError
        With every mistake found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> german = dps.Translation("de", "Rauchen Sie?", labels=["Nein", "Ja"])
    >>> dps.Question("smokes", "yes_no", text="Do you smoke?", translations=[german]).translations[0].text
    'Rauchen Sie?'
    """

    language: str
    text: str = ""
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        found = []
        if not isinstance(self.language, str) or not self.language.strip() or not is_plain(self.language):
            found.append(Finding(None, "language", "language must be a line of text", repr(self.language)))
        else:
            put(self, "language", self.language.strip())
        if not isinstance(self.text, str) or not is_plain(self.text, but="\r\n\t"):
            rule = "text must be text without control characters"
            found.append(Finding(None, "text", rule, repr(self.text)))
        else:
            put(self, "text", lines(self.text))
        labels, mistakes = read_labels(self.labels)
        found += mistakes
        put(self, "labels", labels)
        if found:
            raise QuestionnaireError([f"{finding.words}." for finding in found], source="a translation")


@dataclass(frozen=True, slots=True)
class Question:
    """A question: what can be answered, how much it matters, and who is asked.

    Parameters
    ----------
    name : str
        A short name, a line of text; results are listed under it.
    kind : "yes_no", "category", "scale" or "number"
        ``category`` is one of several named answers, ``scale`` a number on a grid, ``number`` any number in a
        range.
    lower, upper : float, optional
        Smallest and largest answer of a scale or number, lower < upper.
    step : float, optional
        Distance between neighbouring points of a scale, 1 by default.
    levels : "all", optional
        On a form of several questions a scale of more than 7 points may be put on fewer levels, at random up
        or down so that its mean stays, because every level makes the row less precise. With ``"all"`` it
        keeps its points, at most 100, and the share of each point is estimated beside the mean.
    categories : sequence of str
        From 2 to 1,000 names that differ in more than case.
    importance : float
        Weight of the squared standard error, in units of the range, against those of other questions, from
        1e-6 to 1e6.
    target_se, target_margin : float, optional
        Standard error or margin of error to reach, > 0, in the units of the answer; for yes/no and categories
        as a share. For a category it is the root of half the sum of the variances of its shares. At most one
        of the two.
    together : str, optional
        A name that this question shares with others: all of them are asked on the same form, so that they can
        be tabulated together.
    everyone : bool
        Whether it is on every form; it cannot be kept together with others then.
    blank : bool, optional
        Whether the question may be left blank; by default yes/no and category questions may, scales and
        numbers never. A blank is then an answer of its own, called ``no answer``, which is randomised and
        counted like the others. A row in which any other question is left blank does not count.
    no_first : bool
        Whether respondents read no before yes; the answers to a yes/no question are otherwise in the other
        order.
    text : str
        The question as respondents read it.
    labels : sequence of str
        The answers of a category question as respondents read them, in the order of its categories, or no and
        yes; by default the names of the categories.
    translations : sequence of Translation
        The same in other languages.

    Raises
    ------
    QuestionnaireError
        With every mistake found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> trust = dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust the police?")
    >>> trust.answer_count
    5
    >>> dps.Question("home", "category", categories=["rent", "own", "other"]).answers
    'rent, own, other, or blank'
    >>> dps.Question("smokes", "yes_no", blank=False).answers
    'yes or no'
    """

    name: str
    kind: Kind
    _: KW_ONLY
    lower: float | None = None
    upper: float | None = None
    step: float | None = None
    levels: Literal["all"] | None = None
    categories: Sequence[str] = ()
    importance: float = 1.0
    target_se: float | None = None
    target_margin: float | None = None
    together: str | None = None
    everyone: bool = False
    blank: bool | None = None
    no_first: bool = False
    text: str = ""
    labels: Sequence[str] = ()
    translations: Sequence[Translation] = ()

    def __post_init__(self) -> None:
        read, found = read_question({name: getattr(self, name) for name in FIELDS})
        if found:
            source = f"question {self.name!r}" if isinstance(self.name, str) and self.name else "a question"
            raise QuestionnaireError([f"{finding.words}." for finding in found], source=source)
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @property
    def of_kind(self) -> QuestionKind:
        """What questions of this kind have in common."""
        return kind_named(self.kind, blank=bool(self.blank))

    @property
    def space(self) -> AnswerSpace:
        """What privacy needs to know of its answers."""
        return self.of_kind.space(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The answers that are names, a blank among them; none of numbers, and yes and no are 1 and 0."""
        return self.of_kind.cases(self)

    @property
    def range(self) -> float:
        """Distance between the largest and the smallest answer; 1 for yes/no and categories."""
        return self.of_kind.range(self)

    @property
    def candidates(self) -> tuple[int, ...]:
        """Numbers of levels that its answers can be put on; a design chooses one of them for a number."""
        return self.of_kind.candidates(self)

    @property
    def answer_count(self) -> int | None:
        """How many different answers there are; ``None`` for a number."""
        return self.space.values

    def is_rounded(self, levels: int) -> bool:
        """Whether answers are moved at random where they are put on so many levels."""
        return self.of_kind.rounded and levels != self.answer_count

    @property
    def answers(self) -> str:
        """What can be answered, in words."""
        return self.of_kind.answers(self)

    def wording(self, language: str) -> tuple[str, tuple[str, ...]]:
        """Return its text and labels in a language; what is not translated, in that of the questionnaire."""
        own = next((each for each in self.translations if each.language == language), self)
        return own.text or self.text, tuple(own.labels or self.labels)


FIELDS = tuple(part.name for part in fields(Question))


# --- what must hold, whether questions come from Python or from a file ----------------------------


def lines(text: str) -> str:
    """Write text as it is kept: without surrounding space, and line breaks as such."""
    return text.strip().replace("\r\n", "\n").replace("\r", "\n")


def read_labels(given: object) -> tuple[tuple[str, ...], list[Finding]]:
    """Read labels of answers as they are kept, and find what is wrong with them."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (), [Finding(None, "labels", "labels must be a list of texts", repr(given))]
    labels = tuple(label.strip() if isinstance(label, str) else label for label in given)
    return labels, [
        Finding(None, "labels", f"labels must be lines of text without {SEPARATOR!r}", repr(label))
        for label in labels
        if not is_label(label)
    ]


def is_label(label: object) -> bool:
    """Whether a label is a line of text that can be listed with others."""
    return isinstance(label, str) and bool(label) and SEPARATOR not in label and is_plain(label)


def find_translated(
    labels: Sequence[str], translations: object, answers: int, title: str
) -> Iterator[Finding]:
    """Find labels that do not go with the answers of a question, and languages that appear twice.

    Parameters
    ----------
    labels : sequence of str
        Those of the question.
    translations : sequence of Translation
        The question in other languages.
    answers : int
        How many of its answers have a label.
    title : str
        What its kind is called.
    """
    if not isinstance(translations, tuple) or not all(isinstance(each, Translation) for each in translations):
        yield Finding(None, "translations", "translations must be a list of Translation", repr(translations))
        return
    listed = {"labels": labels} | {f"labels::{each.language}": each.labels for each in translations}
    for column, each in listed.items():
        if each and not answers:
            yield Finding(
                None, column, f"labels must be left out of a {title} question", SEPARATOR.join(each)
            )
        elif each and len(each) != answers:
            rule = f"labels must be one for each of the {answers} answers"
            yield Finding(None, column, rule, str(len(each)))
    languages = [translation.language for translation in translations]
    for language in sorted({each for each in languages if languages.count(each) > 1}):
        rule = "translations must be in different languages"
        yield Finding(None, "translations", rule, f"{language!r} twice")


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
    if read["levels"] not in (None, "", "all"):
        found.append(_must("levels", "be all or left out", repr(given["levels"])))
    read["levels"] = read["levels"] or None
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
        if group is not None and groups[group] == 1:
            rule = "together must be shared by at least two questions"
            found.append(Finding(row, "together", rule, f"{group!r} once"))
    return found


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
            given = read[name]
            value = "|".join(given) if name == "categories" else given if name == "levels" else f"{given:g}"
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
