"""Languages of a questionnaire, as browsers name them, and the direction in which text is written."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_NAMES = {
    "arabic": "ar", "العربية": "ar", "bengali": "bn", "chinese": "zh", "中文": "zh", "dutch": "nl",
    "nederlands": "nl", "english": "en", "french": "fr", "français": "fr", "german": "de", "deutsch": "de",
    "hebrew": "he", "hindi": "hi", "italian": "it", "italiano": "it", "japanese": "ja", "日本語": "ja",
    "persian": "fa", "farsi": "fa", "polish": "pl", "polski": "pl", "portuguese": "pt", "português": "pt",
    "russian": "ru", "русский": "ru", "spanish": "es", "español": "es", "swahili": "sw", "turkish": "tr",
    "türkçe": "tr", "ukrainian": "uk", "українська": "uk", "urdu": "ur",
}  # fmt: skip
_FROM_THE_RIGHT = {"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "syr", "ug", "ur", "yi"}
Direction = Literal["ltr", "rtl"]
_SCRIPTS: dict[str, Direction] = {
    "arab": "rtl", "hebr": "rtl", "latn": "ltr", "cyrl": "ltr", "deva": "ltr",
}  # fmt: skip


def tag_of(name: str) -> str:
    """Return the tag of a language (BCP 47) from its name or code; empty if it cannot be told.

    Examples
    --------
    >>> tag_of("German"), tag_of("Français (fr)"), tag_of("pt-BR"), tag_of("Elvish")
    ('de', 'fr', 'pt-BR', '')
    """
    in_brackets = re.search(rf"\(({_TAG.pattern})\)\s*$", name)
    plain = in_brackets[1] if in_brackets else name.strip()
    known = _NAMES.get(plain.casefold())
    return known or (plain if _TAG.fullmatch(plain) else "")


def direction_in(language: str, text: str) -> Direction:
    """Return the direction of a text in a language; if that cannot be told, by its first strong letter.

    Examples
    --------
    >>> direction_in("العربية (ar)", "SHA-256"), direction_in("uz-Arab", ""), direction_in("Elvish", "Mae")
    ('rtl', 'rtl', 'ltr')
    """
    main, *others = tag_of(language).lower().split("-")
    if not main:
        return direction_of(text)
    written = [_SCRIPTS[each] for each in others if each in _SCRIPTS]
    return written[0] if written else "rtl" if main in _FROM_THE_RIGHT else "ltr"


def direction_of(text: str) -> Direction:
    """Return the direction of a text by its first strong letter, as browsers do for ``dir="auto"``.

    Examples
    --------
    >>> direction_of("1. Health"), direction_of("(2026) صحة"), direction_of("7")
    ('ltr', 'rtl', 'ltr')
    """
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    strong = next((kind for kind in kinds if kind in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
