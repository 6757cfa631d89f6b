"""How much one person can shift a result: compared with moving one report in the estimator itself."""

import numpy as np
import pytest

import dpstrata as dps
from collecting import QUESTIONS
from dpstrata.designs.questions import largest_influence
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.form import odds_in
from dpstrata.present.report.words import influence_in_words
from dpstrata.privacy.rows import DENOMINATOR


def form_cells(plan, t, stratum):
    return randomizer_of(plan, t + 1).cells_in(stratum)


STRATA = dps.Strata([300, 700], names=["north", "south"])
YES_NO = {"questions": "yes_no", "mechanism": "randomized_response"}


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("rate", [None, 0.5])
def test_rows_are_replaced_and_a_report_counts_so_much_more(release, rate):
    strata = STRATA if rate is None else STRATA.filled(response_rate=rate)
    budget = {"device_epsilon": 3.0} if release == "sums" else {}
    plan = dps.design(strata, questions=QUESTIONS, epsilon=1, release=release, total=150, **budget)
    shifts = {}
    for t, form in enumerate(plan.forms):
        for i in range(2):
            y, m = odds_in(plan, i) / DENOMINATOR, form.sample_sizes[i] * (rate or 1.0)
            if form.cells:
                reach = (form.cells + y) / y
            else:
                readings = randomizer_of(plan, t + 1).noise_in(i).shares(np.arange(form_cells(plan, t, i)))
                reach = float(np.ptp(readings))
            shifts[i, t] = reach / m
    found = largest_influence(plan)
    assert found.by_sending == pytest.approx(max(shifts.values()), rel=1e-9)
    assert shifts[found.stratum, found.form] == pytest.approx(found.by_sending)
    assert found.by_lying == pytest.approx(1 / found.answers)
    assert found.by_lying < found.by_sending
    assert f"form {found.form + 1} with" in influence_in_words(plan)


def test_one_report_of_a_yes_no_question_moves_its_estimate_by_just_that():
    plan = dps.design(STRATA, epsilon=1, release="microdata", total=100, **YES_NO)
    found = largest_influence(plan)
    names = np.repeat(plan.strata.names, plan.sample_sizes)
    place = int(np.flatnonzero(names == plan.strata.names[found.stratum])[0])

    def mean(last):
        # reports of randomized response are debiased: the two that a device can send
        reports = np.zeros(len(names))
        reports[place] = last
        kept = np.tanh(plan.local_epsilons / 2)[[plan.strata.names.index(name) for name in names]]
        own = (reports - (1 - kept) / 2) / kept
        return own[names == names[place]].mean()

    assert abs(mean(1) - mean(0)) == pytest.approx(found.by_sending)


def test_where_noise_is_added_anything_can_be_sent_and_where_the_office_sees_answers_only_lies_help():
    added = dps.design(STRATA, epsilon=1, mechanism="laplace", total=100)
    assert largest_influence(added).by_sending is None
    assert "could send any number" in influence_in_words(added)
    raw = dps.design(STRATA, epsilon=1, release="sums", total=100)
    assert largest_influence(raw).by_sending == largest_influence(raw).by_lying
    assert "Whatever one person answers" in influence_in_words(raw)


def test_the_report_says_it():
    plan = dps.design(STRATA, epsilon=1, total=100, **YES_NO)
    page = dps.report_html(plan)
    assert "Whatever one person sends, the result of a stratum shifts by at most" in page
