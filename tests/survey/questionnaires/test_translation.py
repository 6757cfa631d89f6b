"""Questions in several languages: kept, checked, written to files and to documents."""

import dataclasses
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from extent import few

GERMAN = dps.Translation("de", " Rauchen Sie?\r\nNoch? ", labels=["Nein ", "Ja"])
SMOKES = dps.Question(
    "smokes",
    "yes_no",
    text="Do you smoke?",
    labels=["No", "Yes"],
    translations=[GERMAN, dps.Translation("fr")],
)


def test_translations_are_kept_as_they_are_read():
    assert (GERMAN.text, GERMAN.labels) == ("Rauchen Sie?\nNoch?", ("Nein", "Ja"))
    assert SMOKES.translations == (GERMAN, dps.Translation("fr"))
    assert SMOKES.labels == ("No", "Yes")
    assert pickle.loads(pickle.dumps(SMOKES)) == SMOKES
    assert hash(dataclasses.replace(SMOKES, labels=())) != hash(SMOKES)
    questionnaire = dps.Questionnaire(
        [SMOKES, dps.Question("age", "number", lower=0, upper=99)], language="en"
    )
    assert questionnaire.languages == ("en", "de", "fr")
    assert dps.Questionnaire([SMOKES]) != dps.Questionnaire([SMOKES], language="en")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dps.Translation(""), "a translation: language must be a line of text, got ''."),
        (lambda: dps.Translation("de", 3), "text must be text without control characters, got 3."),
        (lambda: dps.Translation("de", labels="Ja"), "labels must be a list of texts, got 'Ja'."),
        (
            lambda: dps.Translation("de", labels=["Ja|Nein"]),
            "labels must be lines of text without '|', got 'Ja|Nein'.",
        ),
        (
            lambda: dps.Question("q", "yes_no", labels=["yes"]),
            "labels must be one for each of the 2 answers, got 1.",
        ),
        (
            lambda: dps.Question("q", "category", categories=["a", "b", "c"], translations=[GERMAN]),
            "labels must be one for each of the 3 answers, got 2.",
        ),
        (
            lambda: dps.Question("q", "scale", lower=1, upper=2, labels=["a", "b"]),
            "labels must be left out of a scale question, got a|b.",
        ),
        (
            lambda: dps.Question("q", "yes_no", translations=[GERMAN, GERMAN]),
            "translations must be in different languages, got 'de' twice.",
        ),
        (
            lambda: dps.Question("q", "yes_no", translations={"de": "Hm?"}),
            "translations must be a list of Translation, got {'de': 'Hm?'}.",
        ),
        (lambda: dps.Questionnaire([SMOKES], language=3), "language must be a line of text, got 3."),
        (
            lambda: dps.Questionnaire([SMOKES], language="de"),
            "translations must be in other languages than the questionnaire, got 'de'.",
        ),
    ],
)
def test_one_clear_sentence(make, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        make()
    assert str(caught.value).endswith(sentence)


def test_columns_of_languages(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text(
        "name,kind,categories,Text::en, labels :: en,text::de,labels::de\n"
        "home,category,rent|own,Home?,I rent|I own,Wohnen?,Miete|Eigentum\n"
        "smokes,yes_no,,Smoke?,,,Nein|Ja\n",
        encoding="utf-8",
    )
    read = dps.Questionnaire.from_file(path)
    assert read.language == "en"
    assert read[0].labels == ("I rent", "I own")
    assert read[1].translations == (dps.Translation("de", labels=["Nein", "Ja"]),)
    path.write_text("name,kind,labels::de,text\nq,yes_no,Ja,Smoke?\nr,yes_no,Nein||Ja,\n", encoding="utf-8")
    with pytest.raises(dps.QuestionnaireError) as caught:
        dps.Questionnaire.from_file(path)
    assert caught.value.mistakes == (
        "line 2, column 'labels::de': labels must be one for each of the 2 answers, got 1.",
        "line 3, column 'labels::de': labels must be lines of text without '|', got ''.",
    )


words = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5)


@st.composite
def worded(draw, name):
    labels = st.one_of(st.just([]), st.lists(words, min_size=2, max_size=2))
    translations = [
        dps.Translation(language, draw(words), draw(labels))
        for language in draw(st.permutations(["de", "zh-Hant"]))
    ]
    fields = {"text": draw(st.one_of(st.just(""), words)), "labels": draw(labels)}
    kept = draw(st.integers(0, 2))
    return dps.Question(
        name, "yes_no", **fields, translations=sorted(translations, key=lambda t: t.language)[:kept]
    )


@settings(max_examples=few(30, of=60), deadline=None)
@given(st.tuples(worded("a"), worded("b")), st.sampled_from(["", "en"]), st.sampled_from(["csv", "xlsx"]))
def test_what_is_written_is_read_again(tmp_path_factory, questions, language, ending):
    questionnaire = dps.Questionnaire(questions, language=language)
    path = tmp_path_factory.mktemp("written") / f"q.{ending}"
    questionnaire.to_file(path)
    assert dps.Questionnaire.from_file(path) == questionnaire


def test_the_design_document_keeps_them(tmp_path):
    questionnaire = dps.Questionnaire([SMOKES], language="en")
    strata = dps.Strata([400, 600], names=["north", "south"])
    plan = dps.design(
        strata, questions=questionnaire, epsilon=1, device_epsilon=3, release="sums", at_most=100
    )
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json").inputs.questions == questionnaire
