"""Designs where not everyone answers."""

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from dpstrata.fielding.losses import check_response
from extent import few
from problems import PAPER_SDS, PAPER_SIZES, plain_inverses

PAPER = dps.Strata(PAPER_SIZES, PAPER_SDS)
quietly = pytest.mark.filterwarnings("ignore:total=.* exceeds the best", "ignore:Counts are invitations")


def test_response_rates_by_hand():
    strata = dps.Strata([1000, 2000], [0.3, 0.4], response_rates=[0.5, 0.8])
    plan = dps.design(strata, epsilon=1, total=200, mechanism="laplace")
    n, r, N = plan.sample_sizes, strata.response_rates, strata.sizes
    e = np.log1p(np.expm1(1.0) * r * N / n)
    assert plan.local_epsilons == pytest.approx(e)
    weight = (N / N.sum()) ** 2
    inverse = [
        np.sum(stats.hypergeom.pmf(m := np.arange(1, n[i] + 1), N[i], round(r[i] * N[i]), n[i]) / m)
        for i in (0, 1)
    ]
    expected = np.sum(weight * (strata.sds**2 * (inverse - 1 / N) + 2 / e**2 * inverse))
    assert plan.variance == pytest.approx(expected, rel=1e-6)

    def planned(m):
        pairs = zip(r.tolist(), (m, 200 - m), strict=True)
        return np.array([float(plain_inverses(*pair)[0]) for pair in pairs])

    every = {
        m: np.sum(
            weight
            * (strata.sds**2 + 2 / np.log1p(np.expm1(1.0) * r * N / np.array([m, 200 - m])) ** 2)
            * planned(m)
        )
        for m in range(1, 200)
    }
    assert n[0] == min(every, key=every.get)
    assert "at least the stated share of people would answer" in " ".join(plan.privacy["assumptions"])
    assert "whether a person would answer" in " ".join(plan.privacy["not_protected"])


def test_everyone_answering_changes_nothing():
    strata = dps.Strata(PAPER.sizes, PAPER.sds, response_rates=[1, 1, 1, 1])
    assert dps.design(strata, epsilon=1, total=200, mechanism="laplace").sample_sizes.tolist() == [
        62,
        43,
        45,
        50,
    ]


@pytest.mark.parametrize(
    ("more", "options", "words"),
    [
        ({}, {"total": 60}, r"people who would answer allow \(55\), got total=60\.$"),
        (
            {"mins": [20, 1]},
            {"total": 30},
            "minimum 20 and maximum 15, the people who would answer, in stratum '1'",
        ),
        (
            {},
            {"total": 50, "min_fraction": 0.6},
            "minimum 18 and maximum 15, the people who would answer, in stratum '1'",
        ),
    ],
)
def test_more_invitations_than_would_answer_name_both_sides(more, options, words):
    strata = dps.Strata([30, 50], [0.3, 0.3], response_rates=[0.5, 0.8], **more)
    with pytest.raises(dps.InfeasibleError, match=words):
        dps.design(strata, epsilon=1, **options)


@pytest.mark.parametrize(
    ("release", "leave_out"),
    [
        ("sums", "leave the response rate out: the"),
        ("microdata", "leave the response rate out: the"),
        ("mean", r"leave the response rate out and publish sums \(release='sums'\): the"),
    ],
)
@quietly
def test_who_wants_to_ask_everyone_is_told_how(release, leave_out):
    strata = dps.Strata([30, 50], [0.3, 0.3])
    words = rf"allow \(48\), got total=80\. To ask everyone, {leave_out} promise then holds however many answer\.$"
    with pytest.raises(dps.InfeasibleError, match=words):
        dps.design(strata, epsilon=1, total=80, release=release, response_rate=0.6)
    plan = dps.design(strata, epsilon=1, total=80, release="sums" if release == "mean" else release)
    for answers in ([0, 1], [18, 30], [30, 50]):
        assert check_response(plan, np.array(answers)).epsilon == 1.0


def test_someone_must_answer():
    with pytest.raises(
        dps.InfeasibleError, match=r"so that someone would answer, got 0\.1 times 5 in stratum '1'"
    ):
        dps.design(dps.Strata([5, 50], [0.3, 0.3], response_rates=[0.1, 0.8]), epsilon=1, total=5)


def test_a_stratum_that_may_stay_empty_is_warned_about_with_the_minimum_that_avoids_it():
    """A staff survey: 12 departments of 20 to 130 people, half of whom answer."""
    departments = dps.Strata(range(20, 140, 10), [0.4] * 12, response_rates=[0.5] * 12)
    with pytest.warns(
        dps.DpstrataWarning,
        match=r"is 39%\. With min_per_stratum=10 \(which takes 120 invitations\) it would be at most 1%",
    ):
        plan = dps.design(departments, epsilon=1, total=60, min_per_stratum=1, mechanism="laplace")
    none = [
        stats.hypergeom.pmf(0, N, N / 2, n)
        for N, n in zip(range(20, 140, 10), plan.sample_sizes, strict=True)
    ]
    assert plan.chance_of_empty_stratum == pytest.approx(1 - np.prod(1 - np.array(none)))
    assert plan.response_in_words in repr(plan)
    assert plan.expected_answers == pytest.approx(30)
    assert plan.minimum_against_empty() == (10, 120)
    assert plan.risks_empty_stratum
    safe = dps.design(departments, epsilon=1, total=140, min_per_stratum=10, mechanism="laplace")
    assert safe.chance_of_empty_stratum <= 0.01
    assert not safe.risks_empty_stratum
    assert "takes its neighbour's result, is 0." in safe.response_in_words


def test_where_no_minimum_avoids_empty_strata_the_smallest_is_named():
    strata = dps.Strata([12, 2000, 3000], names=["tiny", "b", "c"])
    with pytest.warns(
        dps.DpstrataWarning, match=r"No minimum within the limits lowers it to 1%.* such as 'tiny'"
    ):
        plan = dps.design(strata, epsilon=1, questions="yes_no", proportion=0.3, response_rate=0.3, total=400)
    assert plan.minimum_against_empty() is None
    assert plan.emptiest_stratum == "tiny"


def test_where_everyone_answers_no_stratum_stays_empty():
    plan = dps.design(PAPER, epsilon=1, total=200)
    assert (plan.expected_answers, plan.response_in_words, plan.risks_empty_stratum) == (None, None, False)
    assert plan.minimum_against_empty() == (1, 4)


@quietly
@pytest.mark.parametrize("seed", range(few(15, of=40)))
def test_other_allocations_are_compared_by_what_is_minimised(seed):
    """A rival with fewer people in small strata may look precise, given that every stratum has an answer."""
    rng = np.random.default_rng([31, seed])
    k = int(rng.integers(2, 8))
    strata = dps.Strata(
        rng.integers(30, 150, k), rng.uniform(0.1, 0.45, k), response_rates=rng.uniform(0.3, 0.9, k)
    )
    plan = dps.design(strata, epsilon=float(10 ** rng.uniform(-1, 0.5)), total=10 * k)
    assert all(row.ratio >= 1 - 1e-12 for row in plan.compare())
    for row in plan.compare()[1:]:
        other = dps.evaluate(strata, row.sample_sizes, epsilon=plan.inputs.epsilon)
        assert other.ratio == pytest.approx(row.ratio)
        assert other.chance_of_empty_stratum == plan.chance_of_empty_stratum_at(row.sample_sizes)
        assert "The chance that nobody answers in some stratum" in " ".join(other.sentences())
