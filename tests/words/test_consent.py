"""Words for respondents: every language has every sentence, and they keep to the rules."""

import re
import string
from importlib import resources

import pytest

import dpstrata as dps
from dpstrata.words.consent import ConsentFigures, consent_text, has_texts, languages, texts

ENGLISH = texts()["en"]
CODES = languages()
FIGURES = ConsentFigures(
    published="sums",
    unit="answers",
    raw=False,
    changed=(0.051, 0.059),
    amount=None,
    moved=False,
    added=True,
    sent=0.95,
    released=0.7311,
)


def placeholders(sentence):
    return sorted(name for _, name, *_ in string.Formatter().parse(sentence) if name is not None)


def test_the_languages_that_ship():
    assert {"ar", "de", "en", "es", "fr"} <= set(CODES)
    folder = resources.files("dpstrata.words").joinpath("consent_texts")
    for file in folder.iterdir():
        assert file.name == f"{file.name[:-5]}.toml"
        assert file.name[:-5] in CODES


@pytest.mark.parametrize("code", CODES)
def test_every_language_has_every_sentence_and_every_placeholder(code):
    text = texts()[code]
    assert set(text) == set(ENGLISH)
    for part in ("headings", "sentences", "letter"):
        assert list(text[part]) == list(ENGLISH[part])
        for name, sentence in text[part].items():
            assert sentence.strip() == sentence != "", name
            assert placeholders(sentence) == placeholders(ENGLISH[part][name]), name
            if code != "en" and name != "date":
                assert sentence != ENGLISH[part][name], name
    assert len(text["letter"]["months"].split()) == 12
    assert text["direction"] == ("rtl" if code == "ar" else "ltr")
    assert text["names"][0].isascii()


@pytest.mark.parametrize("code", CODES)
def test_the_rules_of_wording_hold(code):
    """No epsilon, no budget, and no word for false; odds are whole numbers of 100, with 50:50 where they are due."""
    for name, sentence in texts()[code]["sentences"].items():
        plain = sentence.casefold()
        for word in (
            "epsilon",
            "ε",
            "budget",
            "falsch",
            "false",
            "wrong",
            "faux",
            "fals",
            "untrue",
            "خاطئ",
            "كاذب",
        ):
            assert word not in plain, name
        assert ("50:50" in sentence) is (name.endswith(("_sure", "_certain")))
        if name.startswith(("answers_", "rows_")):
            assert "100" in sentence
        if name.endswith("_certain"):
            assert re.search(r"99\s?%", sentence), name
        assert sentence.endswith("."), name


@pytest.mark.parametrize("code", CODES)
def test_every_sentence_is_used_somewhere(code):
    said = set()
    for published in ("sent", "sums", "mean", "counts"):
        for raw in (False, True):
            for changed, amount, moved in _ways():
                for unit in ("answers", "rows"):
                    for share in (0.7, 0.999):
                        figures = ConsentFigures(
                            *(
                                published,
                                unit,
                                raw,
                                changed,
                                amount,
                                moved,
                                True,
                                None if raw else share,
                                share,
                            ),
                            complete=True,
                            levelled=True,
                        )
                        for everyone in (False, True):
                            told = consent_text(figures._replace(everyone=everyone), code)
                            said |= {sentence for _, sentences in told.parts for sentence in sentences}
    shown = "\n".join(said)
    for name, sentence in texts()[code]["sentences"].items():
        pattern = re.sub(r"\\{\w+\\}", "[^ ]+", re.escape(sentence))
        assert re.search(f"^{pattern}$", shown, re.MULTILINE), name


@pytest.mark.parametrize("code", CODES)
def test_where_everyone_is_asked_nobody_is_asked_to_keep_it_secret(code):
    """Two sentences are about that; the others, and the number, stay."""
    some, all_ = (consent_text(FIGURES._replace(everyone=everyone), code) for everyone in (False, True))
    sentences = texts()[code]["sentences"]
    assert set(all_.parts[1][1]) == {
        sentences["published_sums"],
        sentences["added"],
        sentences["everyone_sure"].format(sure=74),
        sentences["general"],
    }
    assert (all_.parts[0], all_.parts[2]) == (some.parts[0], some.parts[2])
    assert sentences["secret"] in some.parts[1][1]


def _ways():
    yield from [(pair, None, False) for pair in ((0.001, 0.2), (0.05, 0.05), (0.05, 0.2))]
    yield from [(None, 35.0, True), (None, None, True), (None, None, False), ((0.05, 0.05), 35.0, False)]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.051, 0.059), "about 5 of"),
        ((0.059999, 0.059999), "about 5 of"),
        ((0.01, 0.01), "about 1 of"),
        ((0.051, 0.061), "at least 5 of"),
        ((0.00999, 0.5), "fewer than 1 of"),
        ((0.5, 0.5), "about 50 of"),
    ],
)
def test_shares_are_rounded_so_that_no_more_is_promised(shares, said):
    told = str(consent_text(FIGURES._replace(changed=shares), "en"))
    assert f"changes {said} every 100 answers at random." in told


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.7310585786, "at most 74% sure"),
        (0.73, "at most 73% sure"),
        (0.5000001, "at most 51% sure"),
        (0.98999, "at most 99% sure"),
        (0.9900001, "almost certain: more than 99% sure"),
        (1.0, "almost certain: more than 99% sure"),
    ],
)
def test_how_sure_is_rounded_upwards(share, said):
    figures = FIGURES._replace(released=share)
    assert said in str(consent_text(figures, "en"))


@pytest.mark.parametrize(
    ("amount", "code", "said"),
    [
        (2091.7, "en", "about 2,000."),
        (2091.7, "de", "etwa 2.000."),
        (2091.7, "fr", "de 2\u202f000 environ."),
        (0.3599, "de", "etwa 0,35."),
        (0.3599, "en", "about 0.35."),
        (35.0, "es", "en torno a 35."),
        (999.99, "en", "about 990."),
        (0.00123, "en", "about 0.0012."),
    ],
)
def test_amounts_are_rounded_downwards_and_written_as_the_language_does(amount, code, said):
    told = str(consent_text(FIGURES._replace(changed=None, amount=amount, moved=True), code))
    assert said in told


@pytest.mark.parametrize(
    "language",
    [
        "de",
        "DE",
        " de ",
        "de-AT",
        "de_CH",
        "German",
        "deutsch",
        "Deutsch (de)",
        "Hochdeutsch (de)",
        "Deutsch (x)",
    ],
)
def test_languages_are_found_as_people_name_them(language):
    assert consent_text(FIGURES, language).language == "de"
    assert has_texts(language)


@pytest.mark.parametrize("language", ["pt", "Português (pt)", "", "d", "deu", "english pidgin"])
def test_a_language_without_texts_is_refused_with_those_that_there_are(language):
    assert not has_texts(language)
    with pytest.raises(dps.InputError) as refused:
        consent_text(FIGURES, language)
    known = ", ".join(f"{code} ({text['names'][0]})" for code, text in texts().items())
    assert "de (German), en (English)" in known
    assert str(refused.value) == (
        f"language must have texts for respondents; there are {known}, got language={language!r}."
    )
    with pytest.raises(dps.InputError, match="language must be text, got language=3"):
        consent_text(FIGURES, 3)


def test_consequences_come_before_process():
    told = consent_text(FIGURES, "en")
    assert [heading for heading, _ in told.parts] == [
        "Who sees your answers?",
        "What is published?",
        "How does it work?",
    ]
    assert [len(said) for _, said in told.parts] == [3, 5, 1]
    assert "{" not in str(told)


def test_html_knows_its_direction_and_escapes():
    told = consent_text(FIGURES, "ar")
    assert told.html(level=3).startswith('<article lang="ar" dir="rtl"><h3>')
    assert told._repr_html_().startswith('<article lang="ar" dir="rtl"><h1>')
    assert told.to_dict()["parts"][0]["heading"] == texts()["ar"]["headings"]["who"]
