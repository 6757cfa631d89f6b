"""What is said of a release: everything that holds, and nothing else."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from dpstrata.errors import Sentence, option
from dpstrata.fielding.releasing import Released
from dpstrata.privacy.promises import Spent
from dpstrata.words.released import collecting_in_words, privatized_sentences, raw_rows_in_words

NOTE = Sentence(f"Design with {option('total', 40)}.")


def said(**more):
    facts = {"known_before": 0, "spent": Spent(epsilon=1.5), "response": None, "notes": ()}
    release = Released(answers=1234, invited=2000, **{**facts, **more})
    return privatized_sentences(release, Path("noised.csv"))


def test_what_was_written_and_spent_is_always_said():
    first, seen, spent = said()
    assert all(word in first for word in ("1,234", "2,000", "noised.csv"))
    assert "central" in seen
    assert Spent(epsilon=1.5).in_words in spent


def test_notes_keep_the_options_that_they_mention():
    assert said(notes=(NOTE,))[2] is NOTE


@pytest.mark.parametrize(
    ("earlier", "number"),
    [
        ({"known_before": 1200}, "1,200"),
        ({"untold_releases": 1}, "1 earlier release,"),
        ({"untold_releases": 1000}, "1,000"),
    ],
)
def test_earlier_releases_are_said_where_there_are_any(earlier, number):
    *others, last = said(**earlier)
    assert others == said()
    assert number in last


def test_losses_of_copying_are_rounded_up_and_do_not_hold_for_what_is_left_over():
    promise, copies, left = collecting_in_words(promised=3.0841, within=0.7441, batch=20, delta=1e-5)
    assert "E = 3.09:" in promise
    assert copies.endswith("at most 0.75, with δ = 1e-05.")
    assert left == (
        "No copy shows the last answers of a stratum and form; E and any noise of the office protect them."
    )
    assert collecting_in_words(promised=2.0, within=2.0, batch=20, delta=1e-5)[1:] == [
        "Whoever copies the database again and again sees batches of 20 answers: at most E, too."
    ]


@pytest.mark.parametrize(("over", "holds"), [(None, True), (0, True), (2, False)])
def test_the_promise_about_what_is_published_is_claimed_only_where_it_holds(over, holds):
    said = raw_rows_in_words(None if over is None else SimpleNamespace(over=over))
    assert "nothing protects them against the office" in said
    assert ("the promise about what is published holds" in said) == holds
