"""What respondents read: a question and its answers in another language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpstrata.errors import QuestionnaireError
from dpstrata.files.columns import Finding
from dpstrata.survey.questionnaires.kinds.base import is_plain
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR


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
