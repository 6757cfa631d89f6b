"""The assumptions of a promise: those that it needs, and no others."""

import pytest

import dpstrata as dps
from questionnaires import small_plan

pytestmark = pytest.mark.filterwarnings("ignore:total.*exceeds the best total")

PEOPLE = dps.Strata([40, 90, 170])
LISTS = ("assumptions", "secret", "not_protected")
OF_A_SAMPLE = ("sample", "invited", "who got which", "unrelated to who they are")


def single(release, total, **options):
    return dps.design(PEOPLE, epsilon=1.0, total=total, questions="yes_no", release=release, **options)


def rows(release, total):
    given = {"device_epsilon": None} if release == "microdata" else {}
    return small_plan(at_most=None, total=total, release=release, **given)


PLANS = {
    "sums": lambda everyone: single("sums", 300 if everyone else 299, device_epsilon=2.0),
    "curator": lambda everyone: single("sums", 300 if everyone else 299),
    "answers": lambda everyone: single("microdata", 300 if everyone else 299),
    "delta": lambda everyone: dps.design(
        PEOPLE, epsilon=1.0, delta=1e-6, mechanism="gaussian", total=300 if everyone else 299
    ),
    "tables": lambda everyone: rows("sums", 3000 if everyone else 2999),
    "rows": lambda everyone: rows("microdata", 3000 if everyone else 2999),
}


def listed(plan):
    return [line for part in LISTS for line in plan.privacy[part]]


@pytest.mark.parametrize("case", PLANS)
def test_where_everyone_is_asked_nothing_rests_on_a_sample_or_on_who_answers(case):
    privacy = PLANS[case](True).privacy
    lines = listed(PLANS[case](True))
    assert not [
        line for line in lines for words in OF_A_SAMPLE if words in line and "sample sizes" not in line
    ]
    assert "nobody is listed twice in the frame" in privacy["assumptions"]
    assert any("released once" in line for line in privacy["assumptions"])
    assert "the answers before noise is added" in privacy["secret"]
    assert "This holds even against someone who knows everyone who took part." in privacy["in_words"]


@pytest.mark.parametrize("case", PLANS)
def test_one_person_fewer_and_everything_does(case):
    plan = PLANS[case](False)
    assert plan.privacy["assumptions"][0].startswith("within each stratum, a simple random sample")
    assert plan.privacy["assumptions"][1].startswith("everyone invited answers, or whether")
    assert plan.privacy["assumptions"][2].startswith("whether someone answers does not depend on what")
    assert plan.privacy["secret"][0] == "who was invited and who answered"
    assert any(line.endswith("or who tells others that they were invited") for line in listed(plan))
    assert ("who got which form" in listed(plan)) is (case in ("tables", "rows"))
    assert "against anyone who does not know who was invited" in plan.privacy["in_words"]


def test_forms_are_dealt_at_random_all_the_same():
    dealt = "everyone gets one form, dealt at random before any answer is seen"
    assert dealt in PLANS["tables"](True).privacy["assumptions"]


def test_the_noise_of_a_mean_counts_on_everyone():
    """Publishing is refused where someone stays away, which ``fielding/test_mean.py`` shows."""
    first, *others = single("mean", 300).privacy["assumptions"]
    assert first.startswith("everyone answers: the noise is set by the number of answers")
    assert "nobody is listed twice in the frame" in others


@pytest.mark.parametrize("promise", [{"zcdp": 0.5}, {"gdp": 1.0}])
def test_promises_that_no_sample_strengthens(promise):
    plan = dps.design(PEOPLE, **promise, total=300)
    assert "whether or not they know who was invited" in plan.privacy["in_words"]
    answering, listed_once, *_ = plan.privacy["assumptions"]
    assert answering.startswith("whether someone answers does not depend on what they would answer")
    assert listed_once == "nobody is listed twice in the frame"
