"""What is said of a release: everything that holds, and nothing else."""

from pathlib import Path

import pytest

from dpstrata.errors import Sentence, option
from dpstrata.fielding.releasing import Released
from dpstrata.privacy.promises import Spent
from dpstrata.words.released import privatized_sentences

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
        ({"untold_releases": 1}, "one"),
        ({"untold_releases": 1000}, "1,000"),
    ],
)
def test_earlier_releases_are_said_where_there_are_any(earlier, number):
    *others, last = said(**earlier)
    assert others == said()
    assert number in last
