"""The interval of a share: figures worked out by hand elsewhere, exact coverage, coverage of many surveys."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups
from extent import FULL

LEAST, REPEATS = 0.93, 2000
STANDARD_ERRORS = 4


def chances(epsilon, categories=2):
    """How likely a category is reported if it is not true, and by how much more if it is."""
    if epsilon is None:
        return 0.0, 1.0
    x = np.exp(epsilon)
    return 1.0 / (x + categories - 1), (x - 1.0) / (x + categories - 1)


def limits(counts, *, sizes, answers, epsilon=None, categories=2, noise=0.0, alpha=0.05, finite=True):
    """Estimate and limits of surveys, one a row of counts with a column a stratum."""
    counts = np.atleast_2d(np.asarray(counts, dtype=float))
    surveys, strata = counts.shape
    sizes, answers = (np.tile(np.broadcast_to(each, strata), surveys) for each in (sizes, answers))
    q, d = (np.full(counts.size, chance) for chance in chances(epsilon, categories))
    m, people = answers * 1.0, sizes * 1.0 if finite else np.full(counts.size, np.inf)
    reports = Reports(counts.ravel(), m, m, people, q, d, np.full(counts.size, noise))
    weights = sizes / sizes[:strata].sum()
    groups = Groups(np.repeat(np.arange(surveys), strata), surveys, weights)
    return groups.add(weights * reports.shares), *reports.limits(groups, alpha)


@pytest.mark.parametrize(
    ("counts", "survey", "expected"),
    [
        ([3], {"sizes": 5000, "answers": 50, "epsilon": 5}, (0.0540303837, 0.0053656758, 0.1618953909)),
        ([60], {"sizes": 10_000, "answers": 150, "epsilon": 1}, (0.2836046586, 0.1124239799, 0.4633632986)),
        (
            [2, -1, 5],
            {"sizes": 2000, "answers": 40, "epsilon": 4, "noise": 1 / (2 * np.sinh(0.5) ** 2)},
            (0.0332083757, 0.0, 0.1063598405),
        ),
        (
            [40],
            {"sizes": 6000, "answers": 150, "epsilon": 3, "categories": 5},
            (0.2841318988, 0.1977407708, 0.3823160646),
        ),
    ],
)
def test_pinned_cases(counts, survey, expected):
    found = limits(counts, **survey)
    assert [each[0] for each in found] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("answers", "tolerance"), [(20, 0.008), (50, 0.008), (100, 0.002), (1000, 0.002)])
def test_without_noise_it_is_nearly_that_of_clopper_and_pearson(answers, tolerance):
    counts = np.arange(answers + 1)
    _, lower, upper = limits(counts[:, None], sizes=answers, answers=answers, finite=False)
    exact_lower = np.nan_to_num(stats.beta.ppf(0.025, counts, answers - counts + 1))
    exact_upper = np.nan_to_num(stats.beta.ppf(0.975, counts + 1, answers - counts), nan=1.0)
    assert np.abs(lower - exact_lower).max() < tolerance
    assert np.abs(upper - exact_upper).max() < tolerance


def reported(size, true, answers, epsilon, categories=2):
    """Probabilities of all counts of a stratum in which so many have the category."""
    q, d = chances(epsilon, categories)
    mass = np.zeros(answers + 1)
    for sampled in range(max(0, answers - size + true), min(true, answers) + 1):
        kept = stats.binom.pmf(np.arange(sampled + 1), sampled, q + d)
        made = stats.binom.pmf(np.arange(answers - sampled + 1), answers - sampled, q)
        mass += stats.hypergeom.pmf(sampled, size, true, answers) * np.convolve(kept, made)
    return mass


@pytest.mark.parametrize("epsilon", [None, 8.0, 5.0, 2.0, 1.0])
@pytest.mark.parametrize(
    ("size", "answers"),
    [(400, 60), (100, 30), (60, 60), (73, 69), (200, 195), (100, 70), (100, 50), (200, 160)],
)
def test_exact_coverage_of_one_stratum(size, answers, epsilon):
    _, lower, upper = limits(np.arange(answers + 1)[:, None], sizes=size, answers=answers, epsilon=epsilon)
    for true in [0, 1, 2, 3, 5, 8, size // 10, size // 4, size // 2, size - 3, size]:
        mass = reported(size, true, answers, epsilon)
        assert mass.sum() == pytest.approx(1)
        covered = (lower - 1e-9 <= true / size) & (true / size <= upper + 1e-9)
        assert mass[covered].sum() >= LEAST


@pytest.mark.parametrize(
    ("size", "answers"), [(40, 38), (40, 25), (40, 20), (40, 8), (4000, 60), (2, 1), (3, 2)]
)
@pytest.mark.parametrize(("epsilon", "categories"), [(None, 2), (3.0, 2), (3.0, 5), (1.0, 20)])
@pytest.mark.parametrize("share", [0.1, 0.7])
def test_third_cumulants_are_those_of_all_counts(size, answers, epsilon, categories, share):
    q, d = chances(epsilon, categories)
    true = round(share * size)
    reports = Reports(*(np.array([float(value)]) for value in (1, answers, answers, size, q, d, 0)))
    mass = reported(size, true, answers, epsilon, categories)
    counts = np.arange(answers + 1)
    exact = mass @ (counts - mass @ counts) ** 3
    assert reports.thirds(np.array([true / size]))[0] == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("epsilon", [None, 3.0])
def test_several_forms_are_one_sample(epsilon):
    """What forms with other numbers of cells add up to has the moments of all that everyone may report."""
    size, m, cells = 30, (3, 5, 4), (4, 6, 12)
    each, true, ones = sum(m), 13, np.ones(3)
    q, d = np.array([chances(epsilon, K) for K in cells]).T
    forms = Reports(0 * ones, np.array(m, dtype=float), each * ones, size * ones, q, d, 0 * ones)
    law = {}
    for sampled in product(*(range(number + 1) for number in m)):  # who has it, form by form
        chance = np.prod([comb(n, k) for n, k in zip(m, sampled, strict=True)])
        chance *= comb(size - each, true - sum(sampled)) / comb(size, true)
        laws = [reported(n, k, n, epsilon, K) for n, k, K in zip(m, sampled, cells, strict=True)]
        for counts in product(*(range(number + 1) for number in m)):
            at = sum(count / slope for count, slope in zip(counts, d, strict=True))
            law[at] = law.get(at, 0.0) + chance * np.prod(
                [mass[c] for mass, c in zip(laws, counts, strict=True)]
            )
    values, mass = np.array(list(law)), np.array(list(law.values()))
    away = values - mass @ values
    p = np.full(3, true / size)
    assert (forms.variances(p) / d**2).sum() == pytest.approx(mass @ away**2, rel=1e-9)
    assert (forms.thirds(p) / d**3).sum() == pytest.approx(mass @ away**3, rel=1e-9)


def surveys(number):
    """Settings: share, strata, answers in all, local budget, office's budget, and how much strata differ."""
    grid = list(
        product((0.001, 0.01, 0.03, 0.1, 0.5), (1, 3, 12), (60, 240, 2000), (1, 2, 4, 8, None), (None, 1))
    )
    rng = np.random.default_rng(19)
    return [grid[i] for i in rng.permutation(len(grid))[:number]]


def two_sided_geometric(budget, shape, rng):
    return np.subtract(*(rng.geometric(-np.expm1(-budget), shape) for _ in range(2)))


@pytest.mark.parametrize("setting", surveys(200 if FULL else 20), ids=str)
def test_coverage_of_many_surveys(setting):
    share, strata, total, epsilon, office = setting
    rng = np.random.default_rng([strata, total, int(1000 * share), epsilon or 0])
    sizes = rng.integers(500, 5000, strata) + total
    answers = np.maximum(rng.multinomial(total, np.full(strata, 1 / strata)), 2)
    true = np.minimum(np.rint(sizes * share * rng.gamma(2, 0.5, strata)), sizes).astype(int)
    sampled = rng.hypergeometric(true, sizes - true, answers, (REPEATS, strata))
    q, d = chances(epsilon)
    counts = rng.binomial(sampled, q + d) + rng.binomial(answers - sampled, q)
    noise = 0.0
    if office is not None:
        counts = counts + two_sided_geometric(office, counts.shape, rng)
        noise = 1 / (2 * np.sinh(office / 2) ** 2)
    _, lower, upper = limits(counts, sizes=sizes, answers=answers, epsilon=epsilon, noise=noise)
    truth = true.sum() / sizes.sum()
    covered = np.mean((lower <= truth) & (truth <= upper))
    assert covered >= LEAST - STANDARD_ERRORS * np.sqrt(LEAST * (1 - LEAST) / REPEATS)
    assert lower.min() >= 0
    assert upper.max() <= 1


@pytest.mark.parametrize(
    ("sizes", "answers", "true"),
    [
        ([974, 5195, 1284], [87, 71, 82], [36, 147, 25]),
        ([4850, 1055, 4204], [77, 82, 81], [53, 19, 42]),
        ([1172, 4749, 3605], [83, 76, 81], [48, 92, 27]),
        ([828, 4564, 3570], [73, 82, 85], [23, 54, 61]),
    ],
)
def test_coverage_where_answers_count_very_differently(sizes, answers, true):
    """With five answers lent to every stratum alike it was 0.87 to 0.92: a large one may report nothing."""
    sizes, true, rng = np.array(sizes), np.array(true), np.random.default_rng(8)
    sampled = rng.hypergeometric(true, sizes - true, answers, (REPEATS, 3))
    _, lower, upper = limits(sampled, sizes=sizes, answers=answers)
    truth = true.sum() / sizes.sum()
    covered = np.mean((lower <= truth) & (truth <= upper))
    assert covered >= LEAST - STANDARD_ERRORS * np.sqrt(LEAST * (1 - LEAST) / REPEATS)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-50, 250), st.integers(1, 200)), min_size=1, max_size=4),
    st.sampled_from([None, 0.1, 1.0, 6.0]),
    st.sampled_from([0.0, 0.5, 300.0]),
)
def test_it_stays_within_0_and_1_and_mirrors(strata, epsilon, noise):
    counts, answers = (np.array(column) for column in zip(*strata, strict=True))
    if not noise:
        counts = np.clip(counts, 0, answers)
    survey = {"sizes": 200, "answers": answers, "epsilon": epsilon, "noise": noise}
    _, lower, upper = limits(counts, **survey)
    assert 0 <= lower[0] <= upper[0] <= 1
    _, mirrored_lower, mirrored_upper = limits(answers - counts, **survey)
    assert (1 - mirrored_upper[0], 1 - mirrored_lower[0]) == pytest.approx((lower[0], upper[0]), abs=1e-7)


def test_everyone_without_noise_leaves_no_doubt():
    estimate, lower, upper = limits([[3, 0]], sizes=[10, 5], answers=[10, 5])
    assert (lower[0], upper[0]) == pytest.approx((estimate[0], estimate[0]), abs=1e-9)
