"""The mean that a design expects, and its precision if some do not answer."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.words.designs import if_some_answer_in_words

SIZES = [700, 900]


@pytest.mark.parametrize(
    ("strata", "options", "mean"),
    [
        (dps.Strata(SIZES, [0.1, 0.1]), {"target_cv": 0.2, "expected_mean": 0.3}, 0.3),
        (
            dps.Strata(SIZES, extra={"expected_mean": [0.1, 0.2]}),
            {"total": 90},
            (700 * 0.1 + 900 * 0.2) / 1600,
        ),
        (dps.Strata(SIZES), {"total": 90, "proportion": 0.08}, 0.08),
        (dps.Strata(SIZES, [0.3, 0.3]), {"total": 90, "questions": "yes_no"}, 0.1),  # p(1 − p) = 0.09
        (dps.Strata(SIZES, [0.3, 0.3]), {"total": 90}, None),  # any answers may spread so
        (dps.Strata(SIZES, [0.1, 0.5]), {"total": 90, "questions": "yes_no"}, None),  # shares too different
        (dps.Strata(SIZES, [0.3, 0.3], sd_sources="bound"), {"total": 90, "questions": "yes_no"}, None),
        (dps.Strata(SIZES, extra={"expected_mean": ["?", ""]}), {"total": 90}, None),
        (dps.Strata(SIZES, extra={"expected_mean": [2, 3]}), {"total": 90}, None),  # outside the answers
    ],
)
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best")
def test_the_mean_that_someone_told_or_implied_is_expected(strata, options, mean):
    found = dps.design(strata, epsilon=0.5, **options).expected_mean
    assert found is None if mean is None else found == pytest.approx(mean, abs=2e-4)


@pytest.mark.parametrize(("release", "power"), [("microdata", 1), ("sums", 2)])
@pytest.mark.parametrize("total", [120, 1600])
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best")
def test_precision_if_some_answer_by_hand(release, power, total):
    """The noise is that of the design, on an answer or on a sum; fewer answers share it."""
    strata = dps.Strata(SIZES, [0.3, 0.4])
    plan = dps.design(strata, epsilon=0.5, total=total, mechanism="laplace", release=release)
    e = np.log1p(math.expm1(0.5) * strata.sizes / plan.sample_sizes)

    def error(share):
        m = share * plan.sample_sizes
        by_stratum = strata.sds**2 * (1 / m - 1 / strata.sizes) + 2 / e**2 / m**power
        return math.sqrt(((strata.sizes / 1600) ** 2 * by_stratum).sum())

    assert plan.precision_if(1.0) == pytest.approx(plan.standard_error, rel=1e-12)
    assert plan.precision_if(1.0) == pytest.approx(error(1.0), rel=1e-9)
    assert plan.precision_if(0.6) == pytest.approx(error(0.6), rel=1e-9)
    why = (
        "the standard error is then larger, because the promise must also hold if only 60% would ever answer, "
        "which takes more noise"
    )
    advice = f" Plan for that with response_rate; {why}."
    who, advice = ("everyone", "") if total == 1600 else ("everyone invited", advice)
    planned = {"epsilon": 0.5, "total": min(total, 900), "mechanism": "laplace", "release": release}
    counted_on = dps.design(strata, response_rate=0.6, **planned)
    assert counted_on.standard_error > dps.design(strata, **planned).precision_if(0.6)
    assert str(if_some_answer_in_words(plan)) == (
        f"The precision assumes that {who} answers; if 60% did, the standard error would be about "
        f"{error(0.6):.4g}.{advice}"
    )
    assert str(if_some_answer_in_words(plan)) in repr(plan)


@pytest.mark.parametrize("total", [600, 1600])
def test_precision_of_a_questionnaire_if_some_answer(total):
    """By cause: devices' noise falls with the answers, the office's with their square."""
    questions = [dps.Question(name, "yes_no", blank=False) for name in ("a", "b", "c", "d", "e")]
    strata = dps.Strata(SIZES)
    plan = dps.design(
        strata,
        questions=dps.Questionnaire(questions),
        epsilon=1,
        device_epsilon=3,
        release="sums",
        total=total,
    )
    assert len(plan.forms) > 1
    largest = sum((N / 1600) ** 2 * (0.25 * N / (N - 1)) / N for N in SIZES)  # S²/N of half yes, half no
    variances = [
        (each.sampling + largest) / 0.6 - largest + each.device / 0.6 + each.office / 0.36
        for each in plan.questions
    ]
    assert plan.precision_if(1.0) == pytest.approx(plan.standard_error, rel=1e-12)
    assert plan.precision_if(0.6) == pytest.approx(math.sqrt(np.mean(variances)), rel=1e-6)
    said = str(if_some_answer_in_words(plan))
    assert (
        f"the typical standard error would be about {100 * plan.precision_if(0.6):.2g}% of a question's range."
        in said
    )


def test_designs_that_count_on_some_share_say_nothing_of_another():
    rates = dps.design(dps.Strata(SIZES), epsilon=1, total=90, response_rate=0.5)
    mean = dps.design(dps.Strata(SIZES), epsilon=1, total=90, release="mean")
    pilot = dps.pilot(
        dps.Strata(SIZES), epsilon=1, pilot_epsilon=0.3, total=90, pilot_total=30, questions="yes_no"
    )
    for plan in (rates, mean, pilot):
        assert plan.precision_if(0.6) is None
        assert "assumes that everyone" not in repr(plan)
    trace = dps.design(dps.Strata(SIZES), epsilon=1, total=90, objective="trace")
    assert trace.precision_if(1.0) == pytest.approx(trace.variance, rel=1e-12)
    assert "the objective would be about" in str(if_some_answer_in_words(trace))
