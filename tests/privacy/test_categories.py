"""Privacy of categories by enumerating every sample, every report and every neighbour; nothing of the library."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

import dpstrata as dps
from laws import probabilities


def published(answers, n, x, k):
    """Chances of every multiset of reports: n of the people are drawn, and each report is shuffled in."""
    keep, other = x / (x + k - 1), 1 / (x + k - 1)
    samples = list(itertools.combinations(range(len(answers)), n))
    chances = Counter()
    for sample in samples:
        for reports in itertools.product(range(k), repeat=n):
            chance = Fraction(1, len(samples))
            for person, report in zip(sample, reports, strict=True):
                chance *= keep if answers[person] == report else other
            chances[tuple(sorted(reports))] += chance
    return chances


def largest_ratio(N, n, x, k):
    """The most that replacing one answer, the first, changes the chance of something published."""
    worst = Fraction(1)
    for others in itertools.combinations_with_replacement(range(k), N - 1):
        each = [published((mine, *others), n, x, k) for mine in range(k)]
        for one, two in itertools.permutations(each, 2):
            worst = max(worst, *(one[reports] / two[reports] for reports in one))
    return worst


@pytest.mark.parametrize(
    ("N", "n", "k"),
    [*((N, n, 3) for N in (2, 3, 4) for n in range(1, N + 1)), (5, 1, 3), (5, 2, 3), (3, 2, 4), (2, 1, 5)],
)
def test_the_central_loss_is_exactly_the_promise(N, n, k):
    """In whole fractions: with x = 1 + c·N/n the ratio is 1 + c, to the last digit."""
    c = Fraction(17, 10)
    assert largest_ratio(N, n, 1 + c * N / n, k) == 1 + c


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_design_has_the_budget_that_was_enumerated(epsilon):
    plan = dps.design(
        dps.Strata([4]), questions=["a", "b", "c"], epsilon=epsilon, at_most=2, min_per_stratum=2
    )
    x = Fraction(math.exp(plan.local_epsilon(0)))
    assert math.log(largest_ratio(4, 2, x, 3)) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_what_is_really_drawn_never_spends_more(k):
    """The sampler's own probabilities, at the budget it rounds down to."""
    from dpstrata.fielding.randomizers.noise import noise_at

    plan = dps.design(dps.Strata([40]), questions=[f"c{i}" for i in range(k)], epsilon=1, total=7)
    noise = noise_at(plan, 0)
    assert noise.e <= plan.local_epsilon(0)
    masses = [probabilities(noise, i)[1] for i in range(k)]
    worst = max(math.log(one[j] / two[j]) for one in masses for two in masses for j in range(k))
    assert worst <= plan.local_epsilon(0)
    assert worst == pytest.approx(plan.local_epsilon(0), rel=1e-12)
