"""What a report of results states: of two waves together, and where the office had raw answers."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.words.numbers import factor_up, round_up
from dpstrata.words.results import headline_of_results, method_of_results, promise_in_words
from questionnaires import estimated_tables, small_plan
from surveys import microdata


@pytest.fixture(scope="module")
def waves():
    strata = dps.Strata([7000, 900], names=["a", "b"])
    first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=400, pilot_total=90, questions="yes_no")
    names = [name for name, n in zip(strata.names, first.sample_sizes, strict=True) for _ in range(n)]
    noised = [dps.randomize(first, name, i % 2).value for i, name in enumerate(names)]
    return first, dps.main_design(first, microdata(names, noised))


def test_two_waves_promise_what_both_spend(waves):
    said = promise_in_words(waves, raw=False)
    assert "by a factor of at most 2.72 (epsilon = 1)," in said
    largest = (waves[0].local_epsilons + waves[1].local_epsilons).max()
    assert f"at most {factor_up(np.exp(largest))} (local epsilon at most {round_up(largest, 2)})" in said
    assert "whoever sees all noised answers of one person" in said
    assert "epsilon = 0.3 and 0.7." in said
    assert "2.02" not in said


def test_raw_answers_leave_the_promise_about_what_is_published(waves):
    said = promise_in_words(waves, raw=True)
    assert "local epsilon" not in said
    assert "(epsilon = 1)" in said
    plan = dps.design(waves[0].strata, epsilon=2, total=90, release="sums", device_epsilon=3)
    assert promise_in_words([plan], raw=False) == plan.privacy["in_words"]
    assert "device" not in promise_in_words([plan], raw=True)
    assert promise_in_words([plan], raw=True).startswith(plan.privacy["sentences"][0])


def test_people_who_did_not_answer_are_in_no_interval(waves):
    plan = waves[0]
    said = "4 of 90 invitations were not answered."
    assert method_of_results(plan, (86, 90), shares=False)[-1].startswith(said)
    assert not any("not answered" in each for each in method_of_results(plan, (90, 90), shares=False))


def test_a_questionnaire_says_how_many_forms_it_has_and_what_intervals_hold_for():
    plan = small_plan()
    forms = f"{len(plan.questions)} questions on {len(plan.forms)} forms, one for each person; "
    assert headline_of_results(plan, estimated_tables(plan), (50, 60)).startswith(
        f"{forms}50 answers from 60 invitations."
    )
    together = "Those of a question hold for all its answers together."
    assert any(together in each for each in method_of_results(plan, (50, 60), shares=True))
