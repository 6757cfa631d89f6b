"""One term for one thing: words that the glossary has another term for appear on no page and in no message."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# what not to say, and the term of docs/explanation/notation.md that says it
INSTEAD = {
    r"\b(?:data )?curators?\b": "office",
    r"\b(?:participants?|interviewees?|survey.?takers?)\b": "respondent",
    r"\bnoisy\b": "noised",
    r"\b(?:perturb|scrambl|obfuscat|anonymi[sz])\w*": "noise, randomise",
    r"\b(?:is|are|was|were|be) randomized\b(?!\s+response)": "randomise",
    r"\bbudgets? of (?:the )?devices\b": "device budget",
    r"\bto\s+the\s+(whole\s+)?world\b": "against the public",
    r"\b(?:words for respondents|consent texts?\b(?!s))": "text for respondents",
    r"\b(?:survey folder|collector's folder|folder of the collector)\b": "folder of the survey",
    r"\b(?:sampling frame|roster)\b": "frame",
    r"\b(?:access code|invitation code)\b": "link",
    r"\b(?:privacy.loss budget|global epsilon)\b": "budget",
}
# where others are quoted, or earlier versions
QUOTED = {
    "docs/explanation/anonymous-surveys.md": r"anonymi[sz]|participant",
    "docs/start/moving.md": "curator",
    "src/dpstrata/designs/migrations.py": "curator",
    "src/dpstrata/survey/options.py": "curator",
}


def texts():
    """Every page, and every source of sentences, by its place in the project."""
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
    words = [path for kind in ("*.py", "*.toml") for path in (ROOT / "src").rglob(kind)]
    found = [path for path in pages + words if not {"_build", "static"} & set(path.parts)]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def deviations(name, text):
    """Find words with a better term, each with its line."""
    text = re.sub(r"consent_texts|\w*\.CONSENT\w*", "", text)
    return [
        f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]!r}; say {term!r}"
        for pattern, term in INSTEAD.items()
        for hit in re.finditer(pattern, text, re.IGNORECASE)
        if not re.search(QUOTED.get(name, "(?!)"), hit[0], re.IGNORECASE)
    ]


def test_pages_and_messages_use_the_terms_of_the_glossary():
    found = texts()
    assert len(found) > 400
    assert [each for name, text in found.items() for each in deviations(name, text)] == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A trusted curator asks participants.", 2),
        ("randomized response, k-ary Randomized Response", 0),
        ("The row is randomized.", 1),
        ("the device budget; the budget of the devices", 1),
    ],
)
def test_a_deviation_is_found(text, number):
    assert len(deviations("docs/page.md", text)) == number


def test_every_term_that_is_asked_for_is_in_the_glossary():
    glossary = (
        (ROOT / "docs" / "explanation" / "notation.md").read_text(encoding="utf-8").partition("## Terms")[2]
    )
    terms = {term for said in INSTEAD.values() for term in said.split(", ")} - {
        "noised",
        "folder of the survey",
    }
    assert [term for term in terms if not re.search(rf"\b{term}\b", glossary)] == []
