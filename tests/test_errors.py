"""Errors carry what they are about, and sentences mention options so that everyone can name them."""

import copy
import pickle
import warnings

import pytest

import dpstrata as dps
from dpstrata.errors import InputError, Mention, Sentence, option


def test_a_sentence_is_plain_text_that_remembers_its_options():
    sentence = Sentence(f"{option('at_most')} must be below 9, got {option('at_most', 9000, ',')}.")
    assert sentence == "at_most must be below 9, got at_most=9,000."
    assert sentence.mentions == [Mention("at_most", None), Mention("at_most", "9,000")]
    assert "".join(map(str, sentence.parts)) == sentence
    assert sentence.worded(lambda mention: f"<{mention.name}>") == "<at_most> must be below 9, got <at_most>."


def test_text_of_others_is_never_taken_for_an_option():
    names = ["total", "\ufdd0total\ufdd2", "\ufdd0", "total=9"]
    for name in names:
        assert Sentence(f"there is no stratum {name!r}.").mentions == []
    quoted = Sentence(f"{option('mechanism', names[1])} is not known.")
    assert [mention.name for mention in quoted.mentions] == ["mechanism"]


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_survives_the_way_between_processes(again):
    error = again(InputError.must("total", "be at least 12", 10, where="stratum 'A'", then="Ask for more."))
    assert str(error) == "total must be at least 12, got total=10 in stratum 'A'. Ask for more."
    assert (error.argument, error.value, error.where) == ("total", 10, "stratum 'A'")
    assert error.sentence.mentions[1] == Mention("total", "10")


def test_an_error_is_about_the_option_it_mentions_first():
    error = dps.InfeasibleError(f"{option('budget')} does not cover {option('total', 10)}.")
    assert error.argument == "budget"
    assert dps.InputError("nothing is named.").argument is None


def test_warnings_mention_options_too():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(dps.DpstrataWarning(f"{option('total', 9)} exceeds the best total."), stacklevel=1)
    assert caught[0].message.sentence.mentions == [Mention("total", "9")]
    assert str(caught[0].message) == "total=9 exceeds the best total."
