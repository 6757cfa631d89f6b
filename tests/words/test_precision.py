"""A survey that cannot tell anything apart says so in its headline."""

import pytest

import dpstrata as dps
from dpstrata.present.report.words import headline
from dpstrata.words.designs import sentences
from dpstrata.words.precision import alarm

STAFF = dps.Strata([420, 310, 260, 180, 150, 120])


def test_a_rare_answer_cannot_be_told_from_none_or_many():
    options = {"epsilon": 0.1, "questions": "yes_no", "mechanism": "best", "proportion": 0.08}
    plan = dps.design(STAFF, at_most=1440, **options)
    assert plan.standard_error > 0.1
    words = alarm(plan)
    assert "a share of 8% could not be told from 0% or " in words
    for text in (headline(plan), sentences(plan)[0], repr(plan), plan._repr_html_()):
        assert words in text
    one = dps.design(STAFF, at_most=1440, **options | {"epsilon": 3})
    assert one.inputs.z * one.standard_error < 0.08
    assert alarm(one) is None


def test_a_margin_beyond_a_share_that_is_expected():
    """A margin of 0.09 tells much of a share of 30%, and nothing of one of 8%."""
    strata = dps.Strata([7000, 8000], [0.28, 0.27])
    plan = dps.design(strata, epsilon=1, target_margin=0.09, questions="yes_no")
    assert "a share of 8% could not be told from 0% or 17%" in alarm(plan)
    assert alarm(dps.design(strata, epsilon=1, target_margin=0.09)) is None
    wide = dps.Strata([7000, 8000], [0.46, 0.45])
    assert alarm(dps.design(wide, epsilon=1, target_margin=0.09, questions="yes_no")) is None


@pytest.mark.parametrize("factor", [1, 1000])
def test_without_an_expectation_a_quarter_of_the_range_decides(factor):
    strata = dps.Strata([7000, 8000], [0.3 * factor, 0.2 * factor])
    options = {"epsilon": 1, "questions": (0, factor), "mechanism": "laplace"}
    good = dps.design(strata, target_margin=0.24 * factor, **options)
    assert alarm(good) is None
    poor = dps.design(strata, total=4, **options)
    assert alarm(poor).endswith("means closer than that could not be told apart.")
    told = dps.design(strata, target_cv=0.2, expected_mean=0.2 * factor, **options)
    assert alarm(told) is None
    vague = dps.design(strata, target_cv=0.6, expected_mean=0.2 * factor, **options)
    assert f"a mean of {0.2 * factor:g} could not be told from 0 or " in alarm(vague)


def test_other_objectives_and_first_waves_have_no_alarm():
    assert alarm(dps.design(dps.Strata([70, 80]), epsilon=0.1, total=4, objective="trace")) is None
    first = dps.pilot(
        STAFF, epsilon=1, pilot_epsilon=0.2, total=600, pilot_total=20, questions="yes_no", proportion=0.3
    )
    assert alarm(first) is None


def test_expected_means_of_the_strata_count_and_other_cells_are_no_problem():
    good, odd = (dps.Strata([700, 900], extra={"expected_mean": cells}) for cells in ([0.1, 0.1], ["?", ""]))
    assert "a mean of 0.1 could not be told from 0 or " in alarm(dps.design(good, epsilon=1, total=30))
    assert alarm(dps.design(odd, epsilon=1, total=300)) is None
    assert "300 interviews" in repr(dps.design(odd, epsilon=1, total=300))
