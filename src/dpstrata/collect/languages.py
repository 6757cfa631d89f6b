"""Languages of a questionnaire, as browsers name them."""

from __future__ import annotations

import re

_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_NAMES = {
    "arabic": "ar", "العربية": "ar", "bengali": "bn", "chinese": "zh", "中文": "zh", "dutch": "nl",
    "nederlands": "nl", "english": "en", "french": "fr", "français": "fr", "german": "de", "deutsch": "de",
    "hebrew": "he", "hindi": "hi", "italian": "it", "italiano": "it", "japanese": "ja", "日本語": "ja",
    "persian": "fa", "farsi": "fa", "polish": "pl", "polski": "pl", "portuguese": "pt", "português": "pt",
    "russian": "ru", "русский": "ru", "spanish": "es", "español": "es", "swahili": "sw", "turkish": "tr",
    "türkçe": "tr", "ukrainian": "uk", "українська": "uk", "urdu": "ur",
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
