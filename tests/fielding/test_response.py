"""What the number of answers says about the promise: by enumeration, and in exact rational arithmetic."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from dpstrata.fielding.losses import central_losses, check_response, fewest_willing, planned_shares
from dpstrata.fielding.results.microdata import estimate_means

NAMES = ["a", "b", "c", "d"]


def at_least(m, willing, invited, size):
    """P(M >= m), exactly."""
    ways = sum(
        math.comb(willing, k) * math.comb(size - willing, invited - k)
        for k in range(m, min(willing, invited) + 1)
    )
    return Fraction(ways, math.comb(size, invited))


def fewest(m, invited, size):
    found = fewest_willing(np.array([m]), sample_sizes=np.array([invited]), stratum_sizes=np.array([size]))
    return int(found[0])


def survey(rates=None, **options):
    strata = dps.Strata([2000, 3000, 4000, 5000], [0.3] * 4, names=NAMES, response_rates=rates)
    return dps.design(strata, **{"epsilon": 1, "total": 800, "questions": (0, 1), **options})


def test_the_loss_given_the_answers_by_enumerating_who_is_willing_and_who_is_drawn():
    """Randomized response at budget e; the outputs of those who answered, in no order. Neighbours: one answer."""
    e = 1.3
    kept = math.exp(e) / (1 + math.exp(e))
    for size, invited, willing in ((4, 2, 2), (4, 2, 3), (5, 3, 3), (5, 3, 4), (5, 4, 2), (4, 4, 3)):

        def outputs(answers, invited=invited, willing=willing):
            """Probability of every multiset of outputs, for each number of answers."""
            chance = defaultdict(lambda: defaultdict(float))
            for drawn in itertools.combinations(range(len(answers)), invited):
                given = [answers[person] for person in drawn if person < willing]
                for out in itertools.product((0, 1), repeat=len(given)):
                    p = math.prod(kept if y == x else 1 - kept for x, y in zip(given, out, strict=True))
                    chance[len(given)][sum(out)] += p
            return chance

        worst = defaultdict(float)
        for others in itertools.product((0, 1), repeat=size - 1):
            for one, two in itertools.permutations((outputs((0, *others)), outputs((1, *others)))):
                for m, row in one.items():
                    for out, p in row.items():
                        worst[m] = max(worst[m], math.log(p / two[m][out]))
        for m, loss in worst.items():
            if m:
                assert loss == pytest.approx(float(central_losses(np.array([m / willing]), np.array([e]))[0]))


@pytest.mark.parametrize("invited", [2, 5])
def test_who_stays_away_because_of_the_answer_gives_it_away(invited):
    """The number of answers alone, which is published without noise; nothing else is looked at."""

    def numbers_of_answers(answers, willing):
        chance = defaultdict(float)
        for drawn in itertools.combinations(answers, invited):
            for who in itertools.product((0, 1), repeat=invited):
                chance[sum(who)] += math.prod(
                    willing[answer] if here else 1 - willing[answer]
                    for answer, here in zip(drawn, who, strict=True)
                )
        return chance

    def loss(willing):
        no, yes = (numbers_of_answers((mine, 0, 0, 0, 0), willing) for mine in (0, 1))
        return max(abs(math.log(no[m] / yes[m])) for m in no)

    assert loss({0: 0.6, 1: 0.6}) == pytest.approx(0, abs=1e-12)
    assert loss({0: 0.9, 1: 0.1}) > 1


def test_the_fewest_willing_people_in_exact_rational_arithmetic():
    rare = Fraction(1, 1000)
    cases = [(m, n, N) for N in (1, 2, 7, 30) for n in range(1, N + 1) for m in range(1, n + 1)]
    cases += [(153, 800, 8000), (1, 3, 6000), (40, 50, 60), (799, 800, 8000), (12, 400, 900), (3, 999, 1000)]
    m, n, N = (np.array(each) for each in zip(*cases, strict=True))
    found = fewest_willing(m, sample_sizes=n, stratum_sizes=N)
    for case, A in zip(cases, found.tolist(), strict=True):
        assert case[0] <= A
        assert at_least(case[0], A, *case[1:]) >= rare
        assert case[0] == A or at_least(case[0], A - 1, *case[1:]) < rare


def test_large_strata_are_never_understated():
    """Up to 1,000 terms exact; beyond that a little too few people, never too many; 10^12 as the normal."""
    for m, n, size in ((4_000, 20_000, 10**6), (30_000, 100_000, 10**7), (500_000, 10**6, 10**7)):
        A = fewest(m, n, size)
        tail = stats.hypergeom.sf(m - 1, size, [A, A + 1], n)
        assert tail[0] > 0.001 / 1.1
        if n <= 100_000:
            assert stats.hypergeom.sf(m - 1, size, A, n) == pytest.approx(0.001, rel=0.02)
    m, n, size = 3 * 10**10, 10**11, 10**12
    A = fewest(m, n, size)
    z = (m - n * A / size) / math.sqrt(n * (A / size) * (1 - A / size) * (1 - n / size))
    assert stats.norm.sf(z) == pytest.approx(0.001, rel=0.1)
    assert z >= stats.norm.isf(0.001) - 1e-3


def test_everyone_answers_or_as_many_as_was_promised():
    plan = survey()
    found = check_response(plan, plan.sample_sizes)
    assert (found.epsilon, found.fewer, found.over, found.in_words) == (1.0, 0, 0, None)
    assert found.shares == pytest.approx(planned_shares(plan))
    plan = survey([0.6] * 4)
    found = check_response(plan, np.floor(0.55 * plan.sample_sizes).astype(int))
    assert (found.epsilon, found.fewer) == (1.0, 0)


def test_where_all_were_to_answer_a_single_refusal_counts():
    plan = survey()
    answers = plan.sample_sizes.copy()
    answers[1] -= 1
    found = check_response(plan, answers)
    A = fewest(int(answers[1]), int(plan.sample_sizes[1]), 3000)
    loss = math.log1p(answers[1] / A * math.expm1(plan.local_epsilons[1]))
    assert (found.fewer, found.over, found.epsilon) == (1, 1, pytest.approx(loss))
    assert 1 < found.epsilon < 1.05
    with pytest.raises(dps.InputError, match=r"in 1 of 4 strata\. Up to epsilon = 1\.0"):
        found.require_promise()


def test_designed_for_60_percent_and_19_percent_answer():
    """153 of 800: in a few large strata the promise holds all the same, in small ones it does not."""
    plan = survey([0.6] * 4)
    answers = np.array([38, 38, 38, 39])
    found = check_response(plan, answers)
    assert (found.fewer, found.over, found.epsilon) == (4, 0, 1.0)
    assert "in 4 of 4 strata; the promise of epsilon = 1 still holds" in found.in_words
    found.require_promise()
    small = dps.Strata([500] * 40, [0.3] * 40, response_rates=[0.6] * 40)
    plan = dps.design(small, epsilon=1, total=800, questions=(0, 1))
    answers = np.where(np.arange(40) < 33, 4, 3)
    assert answers.sum() == 153
    found = check_response(plan, answers)
    losses = [
        math.log1p(m / fewest(m, 20, 500) * math.expm1(e))
        for m, e in zip(answers.tolist(), plan.local_epsilons.tolist(), strict=True)
    ]
    assert (found.fewer, found.over) == (40, sum(loss > 1 for loss in losses))
    assert found.epsilon == pytest.approx(max(losses))
    assert found.epsilon > 1.5
    with pytest.raises(dps.InputError, match="accept_response=True"):
        found.require_promise()


def test_deltas_scale_alike_and_other_promises_do_not_depend_on_it():
    plan = survey(mechanism="gaussian", delta=1e-6)
    answers = plan.sample_sizes - 20
    found = check_response(plan, answers)
    ratio = max(
        m / fewest(m, n, N) * N / n
        for m, n, N in zip(
            answers.tolist(), plan.sample_sizes.tolist(), plan.strata.sizes.tolist(), strict=True
        )
    )
    assert found.delta == pytest.approx(1e-6 * ratio)
    assert "and delta = 1." in found.in_words
    assert check_response(survey(epsilon=None, mechanism="gaussian", zcdp=1.0), answers) is None
    sums = survey(release="sums")
    found = check_response(sums, sums.sample_sizes - 20)
    assert found.epsilon == pytest.approx(central_losses(found.shares, sums.local_epsilons).max())


def test_estimates_say_what_the_answers_contradict_and_refuse_nothing():
    """Answers noised on the respondents' side are public by the time they are counted."""
    plan = survey()
    few = [name for name, n in zip(NAMES, plan.sample_sizes.tolist(), strict=True) for _ in range(n // 2)]
    result = estimate_means(plan, few, np.full(len(few), 0.5))
    assert result.notes[0].startswith("Fewer people answered than the design assumes, in 4 of 4 strata")
    everyone = np.repeat(NAMES, plan.sample_sizes).tolist()
    assert estimate_means(plan, everyone, np.full(len(everyone), 0.5)).notes == ()


def test_small_strata_contradict_together():
    """A staff survey: 24 of 120 answered where 72 were counted on, and no department could tell alone."""
    strata = dps.Strata([60] * 12, [0.4] * 12, response_rates=[0.6] * 12)
    plan = dps.design(strata, epsilon=1, total=120, min_per_stratum=10)
    response = check_response(plan, np.full(12, 2))
    assert (response.fewer, response.over) == (12, 12)
    assert response.epsilon > 1.5
    assert check_response(plan, np.full(12, 6)).fewer == 0
    rng = np.random.default_rng(3)
    answers = np.maximum(rng.hypergeometric(36, 24, 10, (2000, 12)), 1)
    alarms = sum(check_response(plan, row).fewer > 0 for row in answers)
    assert alarms <= 45  # 12 departments and all together, once in a thousand each: 26 expected


@pytest.mark.parametrize("release", ["sums", "mean"])
def test_what_devices_lose_bounds_the_loss_however_few_answer(release):
    """20 of 100 answers at E = 1: 1.490 used to count for sums, where devices alone lose at most 0.295."""
    plan = dps.design(
        dps.Strata([1000], [0.4]),
        questions="yes_no",
        mechanism="randomized_response",
        epsilon=1,
        device_epsilon=1,
        release=release,
        total=100,
    )
    found = check_response(plan, np.array([20]))
    assert (found.fewer, found.over, found.epsilon) == (1, 0, 1.0)
    found.require_promise()
    assert math.log1p(found.shares[0] * math.expm1(1)) == pytest.approx(0.295, abs=5e-4)
    at_office = math.log1p(10 * math.expm1(1))  # the budget of the secret sample, without devices
    assert math.log1p(found.shares[0] * math.expm1(at_office)) == pytest.approx(1.490, abs=5e-4)


def test_few_answers_count_with_what_devices_lose():
    """Where even that is more than was promised."""
    plan = dps.design(
        dps.Strata([1000], [0.4]),
        questions="yes_no",
        mechanism="randomized_response",
        epsilon=0.2,
        device_epsilon=1,
        release="sums",
        total=100,
    )
    found = check_response(plan, np.array([20]))
    assert (found.fewer, found.over) == (1, 1)
    assert found.epsilon == pytest.approx(math.log1p(found.shares[0] * math.expm1(1)), rel=1e-12)
