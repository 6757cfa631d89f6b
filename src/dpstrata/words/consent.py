"""The text for respondents: what happens to their answers, in numbers that everyone knows.

The sentences stand in a file for each language (``consent_texts/``), so that a translator adds one without
touching code. Consequences come before process: who sees an answer, what is published, then how it works.
Shares are whole numbers of 100, rounded so that nothing is promised that does not hold.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from dpstrata.errors import InputError, option
from dpstrata.words.numbers import figure, round_down, round_up

ENGLISH = "en"
PARTS = ("who", "published", "how")
_CODE_IN_NAME = re.compile(r"\(([\w-]+)\)\s*$")  # as XLSForms have it: "Deutsch (de)"


class ConsentFigures(NamedTuple):
    """What a text for respondents is made of; shares are between 0 and 1.

    Attributes
    ----------
    published : str
        What is published: the name of a sentence without ``published_``.
    unit : str
        What is changed as a whole: ``answers`` or ``rows``.
    raw : bool
        Whether the office sees answers as they are given.
    changed : (float, float) or None
        The smallest and the largest share that is changed; ``None`` where numbers are moved, or nothing is.
    amount : float or None
        By how much a number is typically moved, at least.
    moved : bool
        Whether every answer is.
    added : bool
        Whether a random amount is added to every result.
    sent : float or None
        How sure someone can become who sees what a device sent and thought it 50:50; ``None`` if it is raw.
    released : float
        How sure someone can become who sees what is published.
    complete : bool
        Whether a questionnaire counts only if it is complete, so that taking part tells that it was.
    everyone : bool
        Whether everyone is asked, so that nothing depends on who knows that.
    levelled : bool
        Whether numbers are first put on a few levels, up or down at random.
    """

    published: str
    unit: str
    raw: bool
    changed: tuple[float, float] | None
    amount: float | None
    moved: bool
    added: bool
    sent: float | None
    released: float
    complete: bool = False
    everyone: bool = False
    levelled: bool = False

    @property
    def changes_answers(self) -> bool:
        """Whether single answers are changed, on devices or at the office."""
        return self.moved or self.changed is not None


@dataclass(frozen=True, slots=True)
class Consent:
    """What respondents are told before they answer.

    Attributes
    ----------
    language : str
        Its code.
    direction : str
        ``ltr``, or ``rtl`` where it is written from right to left.
    title : str
        Its heading.
    parts : tuple of (str, tuple of str)
        A heading and its sentences: who sees answers, what is published, how it works.
    figures : ConsentFigures
        The numbers in it, before they were rounded.
    """

    language: str
    direction: str
    title: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]
    figures: ConsentFigures

    def __str__(self) -> str:
        blocks = [self.title, *(f"{heading}\n{' '.join(said)}" for heading, said in self.parts)]
        return "\n\n".join(blocks) + "\n"

    def html(self, *, level: int = 1) -> str:
        """Return it as a piece of HTML that knows its language and its direction.

        Parameters
        ----------
        level : int
            Level of the title's heading, from 1 to 5.
        """
        body = "".join(
            f"<h{level + 1}>{escape(heading)}</h{level + 1}><p>{escape(' '.join(said))}</p>"
            for heading, said in self.parts
        )
        return (
            f'<article lang="{self.language}" dir="{self.direction}">'
            f"<h{level}>{escape(self.title)}</h{level}>{body}</article>"
        )

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python data, with the numbers it was made of."""
        return {
            "language": self.language,
            "direction": self.direction,
            "title": self.title,
            "parts": [{"heading": heading, "sentences": list(said)} for heading, said in self.parts],
            "figures": self.figures._asdict(),
        }


@cache
def texts() -> dict[str, Mapping[str, Any]]:
    """Read the texts of all languages, by code."""
    folder = resources.files("dpstrata.words").joinpath("consent_texts")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda f: f.name)
    read = (tomllib.loads(file.read_text(encoding="utf-8")) for file in files)
    return {each["code"]: each for each in read}


def languages() -> tuple[str, ...]:
    """Codes of the languages that there are texts in."""
    return tuple(texts())


def has_texts(language: str) -> bool:
    """Whether there are texts in a language, named as people do."""
    return _code_of(language) is not None


def consent_text(figures: ConsentFigures, language: str) -> Consent:
    """Write the text for respondents.

    Parameters
    ----------
    figures : ConsentFigures
        Its numbers.
    language : str
        A code such as ``de``, ``de-AT`` or ``Deutsch (de)``, or a name.

    Raises
    ------
    InputError
        If there are no texts in that language.
    """
    code = _code_of(language)
    if code is None:
        known = ", ".join(f"{each} ({text['names'][0]})" for each, text in texts().items())
        raise InputError.must("language", f"have texts for respondents; there are {known}", language)
    text = texts()[code]
    said = {
        "who": _who(figures, text),
        "published": _published(figures, text),
        "how": [text["sentences"]["how_changed" if figures.changes_answers else "how_added"]],
    }
    parts = tuple((text["headings"][part], tuple(said[part])) for part in PARTS)
    return Consent(code, text["direction"], text["headings"]["title"], parts, figures)


def letter_text(language: str, closes: date | None, *, everyone: bool = False) -> tuple[str, ...]:
    """Write the paragraphs of a letter of invitation, in a language that has texts.

    Parameters
    ----------
    language : str
        As in :func:`consent_text`.
    closes : date or None
        Until when people can answer; ``None`` leaves it open.
    everyone : bool
        Whether everyone is asked, so that nobody was chosen and nobody need keep it to themselves.
    """
    text = texts()[_code_of(language) or ENGLISH]
    letter, sentences = text["letter"], text["sentences"]
    until = [letter["until"].format(date=written_date(closes, language))] if closes else []
    secret = [] if everyone else [sentences["secret"]]
    return (
        " ".join([letter["everyone" if everyone else "invited"], *until]),
        letter["open"],
        " ".join([sentences["office_changed"], *secret]),
        letter["digest"],
    )


def written_date(day: date, language: str) -> str:
    """Write a date as a language does; as 2026-12-31 in one that has no texts."""
    code = _code_of(language)
    if code is None:
        return day.isoformat()
    letter = texts()[code]["letter"]
    month = letter["months"].split()[day.month - 1]
    return str(letter["date"].format(day=day.day, month=month, year=day.year))


def _code_of(language: object) -> str | None:
    """Find the code of a language that has texts."""
    if not isinstance(language, str):
        raise InputError.must("language", "be text", language)
    plain = language.strip().casefold()
    in_name = _CODE_IN_NAME.search(plain)
    asked = {plain, plain.replace("_", "-").partition("-")[0]}
    if in_name:
        asked |= {in_name[1].partition("-")[0], plain[: in_name.start()].strip()}
    for code, text in texts().items():
        if asked & {code, *(name.casefold() for name in text["names"])}:
            return code
    return None


def _who(figures: ConsentFigures, text: Mapping[str, Any]) -> Iterator[str]:
    """Say who sees answers."""
    if figures.raw or figures.sent is None:
        yield text["sentences"]["office_raw"]
    else:
        yield text["sentences"]["office_changed"]
        yield _sure(text, "sent_sure", "sent_certain", figures.sent)
        yield from _changed(figures, text)
    if figures.complete:
        yield text["sentences"]["complete"]


def _published(figures: ConsentFigures, text: Mapping[str, Any]) -> Iterator[str]:
    """Say what is published, and what can be learnt from it."""
    sentences = text["sentences"]
    if figures.raw and figures.changes_answers and figures.published == "sent":
        yield sentences["published_changed"]
        yield from _changed(figures, text)
    else:
        yield sentences[f"published_{figures.published}"]
    if figures.added:
        yield sentences["added"]
    sure = "everyone_sure" if figures.everyone else "published_sure"
    yield _sure(text, sure, "published_certain", figures.released)
    yield sentences["general"]
    if not figures.everyone:
        yield sentences["secret"]


def _sure(text: Mapping[str, Any], limited: str, certain: str, share: float) -> str:
    """Say how sure someone can become, rounded upwards, in one of two sentences."""
    sure = round_up(100.0 * share, 0)
    return str(text["sentences"][certain if int(sure) > 99 else limited].format(sure=sure))


def _changed(figures: ConsentFigures, text: Mapping[str, Any]) -> Iterator[str]:
    """Say how much is changed, rounded downwards."""
    sentences = text["sentences"]
    amount = None if figures.amount is None else _amount(figures.amount, text)
    if figures.changed is None:
        yield sentences["all_answers"] if amount is None else sentences["amounts"].format(amount=amount)
        return
    least, most = (int(round_down(100.0 * share, 0)) for share in figures.changed)
    kind = "few" if least < 1 else "about" if least == most else "at_least"
    yield sentences[f"{figures.unit}_{kind}"].format(changed=least)
    if figures.levelled:
        yield sentences["levels"]
    if amount is not None:
        yield sentences["by_amount"].format(amount=amount)


def _amount(value: float, text: Mapping[str, Any]) -> str:
    """Write an amount with two digits, rounded downwards, with the signs of a language."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    shown = figure(math.floor(value / unit * (1 + 1e-12)) * unit, 2)
    signs = {".": text["decimal"], ",": text["thousands"]}
    return "".join(signs.get(sign, sign) for sign in shown)


def require_place(given: str | None, possible: tuple[str, ...]) -> str | None:
    """Take where answers are changed at random: the usual place unless another one is possible and given."""
    if given is None:
        return possible[0] if possible else None
    if given not in ("device", "office"):
        raise InputError.must("noised_at", "be one of device, office", given)
    if not possible:
        raise InputError(
            f"{option('noised_at')} does not apply to this design: the office sees raw answers and noises "
            "only what it publishes.",
            value=given,
        )
    if given not in possible:
        raise InputError(
            f"{option('noised_at')} must be device where devices noise a single answer at a budget of their "
            f"own, got {given}.",
            value=given,
        )
    return given


def as_file(told: Consent, path: Path) -> bytes:
    """Return what a file of a text holds; its ending says the kind.

    Raises
    ------
    InputError
        If it has another ending.
    """
    ending = path.suffix.lower()
    if ending == ".txt":
        return str(told).encode()
    if ending not in (".html", ".htm"):
        raise InputError.must("out", "end in .txt or .html", path.name)
    page = (
        f'<!DOCTYPE html>\n<html lang="{told.language}" dir="{told.direction}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(told.title)}</title></head><body>{told.html()}</body></html>\n"
    )
    return page.encode()
