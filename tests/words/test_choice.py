"""No sentence about a design, its releases or a suggestion stutters."""

import re

import pytest

import dpstrata as dps
from dpstrata.words.designs import (
    as_text,
    choice_in_words,
    other_releases_in_words,
    outcome_sentences,
    promise_in_full,
    promise_in_short,
    sentences,
)
from dpstrata.words.released import release_notes

STRATA = dps.Strata([900, 2000, 400], [0.3, 0.2, 0.4], ["a", "b", "c"], extra={"region": ["N", "N", "S"]})
PROMISED = {"epsilon": 1.0, "questions": (0, 1)}
DESIGNS = [
    {"total": 200},
    {"total": 200, "mechanism": "laplace"},
    {"total": 200, "mechanism": "gaussian", "delta": 1e-6},
    {"total": 200, "epsilon": None, "zcdp": 0.2},
    {"total": 200, "epsilon": None, "gdp": 0.5},
    {"at_most": 300},
    {"target_se": 0.05},
    {"target_margin": 0.1},
    {"total": 200, "objective": "trace"},
    {"total": 200, "domains": "region"},
    {"total": 200, "questions": "yes_no"},
    {"total": 200, "questions": (0, 10, 1)},
    {"total": 200, "release": "sums"},
    {"total": 200, "release": "sums", "device_epsilon": 3.0},
    {"total": 200, "release": "mean"},
    {"total": 200, "release": "mean", "domains": "region"},
]
DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)


def doubled(text):
    return [found[0] for found in DOUBLED.finditer(text)]


@pytest.mark.parametrize("options", DESIGNS, ids=str)
def test_no_word_is_doubled(options):
    plan = dps.design(STRATA, **(PROMISED | options))
    said = [*sentences(plan), *outcome_sentences(plan), *promise_in_full(plan), promise_in_short(plan)]
    said += [choice_in_words(plan) or "", *other_releases_in_words(plan)]
    said += [*other_releases_in_words(plan, released=True), *release_notes(None, 3)]
    for sentence in (*said, *as_text(plan).split("\n")):
        assert not doubled(sentence), sentence


def test_a_suggestion_has_one_article():
    plan = dps.design(STRATA, total=200, **PROMISED)
    suggested = other_releases_in_words(plan)
    assert suggested
    assert all("would have a standard error of" in each for each in suggested)


def test_a_doubled_word_is_found():
    assert doubled("would have a a standard error") == ["a a"]
    assert not doubled("a standard error as small as that")
