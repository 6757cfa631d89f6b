"""One estimate from two waves: intervals worked out by hand, strata empty in one wave, coverage."""

import warnings
from itertools import product

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import PartLimits
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.fielding.results.figures import Figure, over_waves
from dpstrata.fielding.results.microdata import Moments, estimate_from_moments
from dpstrata.pilots.pilot import combine_waves, pilot_weights, plan_second_wave
from dpstrata.words.results import FEW, ONLY_ONE
from extent import FULL, few
from surveys import microdata

LEAST, REPEATS, STANDARD_ERRORS = 0.93, 2000, 4
N = np.array([2000, 1500, 2500])
BUDGETS = {"epsilon": 1.2, "pilot_epsilon": 0.4, "total": 300, "pilot_total": 90}


def designs(**options):
    """A pilot, and a main design that follows it."""
    first = dps.pilot(dps.Strata(N, names=["a", "b", "c"]), **BUDGETS, **options)
    names = np.repeat(first.strata.names, first.sample_sizes).tolist()
    return first, dps.main_design(first, microdata(names, np.resize([0.0, 1.0], len(names))))


def of_yes_and_no(plan, yes, m=None):
    """Estimate from so many reports of yes, by randomized response."""
    m = plan.sample_sizes if m is None else np.array(m)
    flip = 1 / (1 + np.exp(plan.local_epsilons))
    share = np.array(yes) / np.maximum(m, 1)
    means, squares = (share - flip) / (1 - 2 * flip), m * share * (1 - share) / (1 - 2 * flip) ** 2
    return estimate_from_moments(plan, Moments(m, means, squares))


def parts_of(plan, yes, m=None):
    """What is known of the strata of one wave, written out."""
    m = plan.sample_sizes if m is None else np.array(m)
    flip = 1 / (1 + np.exp(plan.local_epsilons))
    return np.array([yes, m, m, N, flip, 1 - 2 * flip, np.zeros(3)], dtype=float)


def test_every_stratum_of_either_wave_is_one_part_of_the_interval():
    first, main = designs(questions="yes_no", mechanism="randomized_response")
    counts = ([1, 0, 2], [3, 1, 4])
    both = combine_waves(
        first, main, *(of_yes_and_no(plan, yes) for plan, yes in zip((first, main), counts, strict=True))
    )
    assert [wave.design for wave in both.waves] == [first, main]
    w, share = pilot_weights(first)["answer"], N / N.sum()
    known = [parts_of(plan, yes) for plan, yes in zip((first, main), counts, strict=True)]
    reports = Reports(*np.concatenate(known, axis=1))
    whole = Groups(np.zeros(6, dtype=np.int64), 1, np.concatenate([w * share, (1 - w) * share]))
    strata = Groups(np.tile(np.arange(3), 2), 3, np.repeat([w, 1 - w], 3))
    for rows, groups in ((both.whole, whole), (both.by("stratum"), strata)):
        lower, upper = reports.limits(groups, 0.05)
        assert [row.lower for row in rows] == pytest.approx(lower, abs=1e-9)
        assert [row.upper for row in rows] == pytest.approx(upper, abs=1e-9)
    assert both.whole[0].lower >= 0
    assert (
        both.whole[0].upper - both.whole[0].estimate > both.whole[0].estimate - both.whole[0].lower
    )  # not symmetric


def test_intervals_of_numbers_of_two_waves():
    first, main = designs(questions=(10, 30), mechanism="laplace")
    rng = np.random.default_rng(5)
    waves, known = [], []
    for plan in (first, main):
        m, noise = plan.sample_sizes, 2 * (20 / plan.local_epsilons) ** 2
        means, squares = rng.uniform(11, 14, 3), (noise + rng.uniform(5, 20, 3)) * (m - 1)
        waves.append(estimate_from_moments(plan, Moments(m, means, squares)))
        spread = squares / (m - 1) - noise
        known.append([(means - 10) / 20, m, 1 - m / N, spread / 400, noise / m / 400])
    whole = combine_waves(first, main, *waves).whole[0]
    w, share = pilot_weights(first)["answer"], N / N.sum()
    groups = Groups(np.zeros(6, dtype=np.int64), 1, np.concatenate([w * share, (1 - w) * share]))
    (lower,), (upper,) = Means(*np.concatenate(known, axis=1)).limits(groups, 0.05)
    assert (whole.lower, whole.upper) == pytest.approx((10 + 20 * lower, 10 + 20 * upper))


def test_a_stratum_that_is_empty_in_one_wave_uses_the_other():
    first, main = designs(questions="yes_no", mechanism="randomized_response")
    n, w, share = main.sample_sizes, pilot_weights(first)["answer"], N / N.sum()
    one = of_yes_and_no(first, [3, 5, 8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        two = of_yes_and_no(main, [6, 0, 9], [n[0], 0, n[2]])
    both = combine_waves(first, main, one, two)
    a, b, c = both.by("stratum")
    alone = one.by("stratum")[1]
    assert (b.estimate, b.standard_error) == pytest.approx((alone.estimate, alone.standard_error))
    assert (b.lower, b.upper) == pytest.approx((alone.lower, alone.upper))
    assert (b.taken_from, b.largest_bias, b.answered) == ("", 0.0, first.sample_sizes[1])
    assert (both.questions["answer"].stand_ins, both[0].largest_bias) == ((), 0.0)
    assert a.estimate == pytest.approx(
        w * one.by("stratum")[0].estimate + (1 - w) * two.by("stratum")[0].estimate
    )
    assert both.whole[0].estimate == pytest.approx(share @ [a.estimate, b.estimate, c.estimate])
    matrix = both.covariance.matrix
    assert np.diag(matrix) == pytest.approx([row.standard_error**2 for row in both])


def test_a_stratum_that_is_empty_in_both_waves_takes_the_result_of_a_neighbour():
    first, main = designs(questions="yes_no", mechanism="randomized_response")
    one, two = (
        of_yes_and_no(plan, [3, 0, 8], [plan.sample_sizes[0], 0, plan.sample_sizes[2]])
        for plan in (first, main)
    )
    both = combine_waves(first, main, one, two)
    a, b, _ = both.by("stratum")
    assert (b.taken_from, b.estimate, b.upper, b.answered) == ("a", a.estimate, a.upper, 0)
    assert [each.stratum for each in both.questions["answer"].stand_ins] == ["b"]
    assert (b.largest_bias, both[0].largest_bias) == pytest.approx((1.0, 0.25))
    assert FEW not in both.questions["answer"].doubts


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*product((0.005, 0.01, 0.02, 0.1, 0.5), (1, 4), (2, 5, 8))], ids=str)
def test_coverage_of_two_waves(setting):
    """Shares from half a percent on, in 2,000 surveys each; t intervals covered as little as 81%."""
    share, strata, budget = setting
    rng = np.random.default_rng([int(1000 * share), strata, budget])
    sizes = rng.integers(800, 3000, strata) * (4 // strata)
    true = np.rint(sizes * np.minimum(share * (rng.uniform(0, 2, strata) if strata > 1 else 1), 1)).astype(
        int
    )
    q = 1 / (1 + np.exp(budget))
    first, main = (np.maximum(rng.multinomial(n, sizes / sizes.sum()), 2) for n in (60, 240))

    def wave(m):
        said = rng.hypergeometric(true, sizes - true, m, (REPEATS, strata))
        counts = (rng.binomial(said, 1 - q) + rng.binomial(m - said, q)).ravel().astype(float)
        answers, known = np.tile(m, REPEATS), np.ones(REPEATS * strata)
        people = np.tile(sizes, REPEATS) * 1.0
        reports = Reports(
            counts, answers * 1.0, answers * 1.0, people, q * known, (1 - 2 * q) * known, 0 * known
        )
        limits = PartLimits(reports, 0.05, (0.0, 1.0))
        return Figure("", reports.shares, known, known, known, answers, answers, limits)

    both = over_waves([wave(first), wave(main)], [0.2, 0.8])
    surveys = np.repeat(np.arange(REPEATS), strata)
    lower, upper = both.limits(Groups(surveys, REPEATS, np.tile(sizes / sizes.sum(), REPEATS)))
    truth = true.sum() / sizes.sum()
    covered = np.mean((lower - 1e-9 <= truth) & (truth <= upper + 1e-9))
    assert covered >= LEAST - STANDARD_ERRORS * np.sqrt(LEAST * (1 - LEAST) / REPEATS)
    assert lower.min() >= 0
    assert upper.max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.1] if FULL else [0.01])
def test_coverage_of_two_waves_as_they_are_estimated(share):
    """From moments to combine_waves, also where nobody answers in a stratum of the second wave."""
    sizes = np.array([1400, 900, 2200])
    first = dps.pilot(
        dps.Strata(sizes),
        epsilon=1.6,
        pilot_epsilon=0.6,
        total=240,
        pilot_total=60,
        questions="yes_no",
        mechanism="randomized_response",
    )
    names = np.repeat(first.strata.names, first.sample_sizes)
    main = dps.main_design(first, microdata(names, [0.0] * 60))
    assert plan_second_wave(first).total == main.total == 180
    rng, repeats, covered = np.random.default_rng(12), few(150, of=2000), 0
    true = np.rint(sizes * share).astype(int)
    for _ in range(repeats):
        waves = []
        for plan in (first, main):
            m, flip = plan.sample_sizes.copy(), 1 / (1 + np.exp(plan.local_epsilons))
            if plan is main and rng.random() < 0.2:
                m[rng.integers(3)] = 0
            said = rng.hypergeometric(true, sizes - true, m)
            waves.append(of_yes_and_no(plan, rng.binomial(said, 1 - flip) + rng.binomial(m - said, flip), m))
        whole = combine_waves(first, main, *waves).whole[0]
        truth = true.sum() / sizes.sum()
        covered += whole.lower <= truth <= whole.upper
    assert covered / repeats >= LEAST - STANDARD_ERRORS * np.sqrt(LEAST * (1 - LEAST) / repeats)


@pytest.mark.parametrize("budget", [2, 5, 8])
@pytest.mark.parametrize("shape", [(2, 2), (0.5, 6)], ids=["even", "skewed"])
def test_coverage_of_numbers_of_two_waves(shape, budget):
    """Means of answers that are spread evenly, or mostly near zero, with Laplace noise on each."""
    rng = np.random.default_rng([int(2 * shape[0]), budget])
    people, weights = rng.beta(*shape, (3, 4000)), np.array([0.5, 0.3, 0.2])
    noise = 2 / budget**2

    def wave(m):
        answers = people[np.arange(3)[:, None], rng.integers(0, 4000, (REPEATS, 3, m))]
        noised = answers + rng.laplace(0, 1 / budget, answers.shape)
        means, spread = noised.mean(axis=2), np.maximum(noised.var(axis=2, ddof=1) - noise, 0)
        known = np.ones(3 * REPEATS)
        parts = Means(means.ravel(), m * known, known, spread.ravel(), noise / m * known)
        count = np.full(3 * REPEATS, m)
        limits = PartLimits(parts, 0.05, (0.0, 1.0))
        return Figure("", parts.means, known, known, known, count, count, limits)

    both = over_waves([wave(20), wave(80)], [0.2, 0.8])
    surveys = np.repeat(np.arange(REPEATS), 3)
    lower, upper = both.limits(Groups(surveys, REPEATS, np.tile(weights, REPEATS)))
    truth = weights @ people.mean(axis=1)
    covered = np.mean((lower <= truth) & (truth <= upper))
    assert covered >= LEAST - STANDARD_ERRORS * np.sqrt(LEAST * (1 - LEAST) / REPEATS)


def test_only_one_answer_is_said_of_both_waves_together():
    """One answer in the pilot and more in the main wave are more than one."""
    strata = dps.Strata([7000, 900], names=["a", "b"])
    first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=200, pilot_total=40, questions="yes_no")

    def noised(plan, of_b):
        names = ["a"] * int(plan.sample_sizes[0]) + ["b"] * of_b
        return names, [dps.randomize(plan, name, i % 2).value for i, name in enumerate(names)]

    main = dps.main_design(first, microdata(*noised(first, int(first.sample_sizes[1]))))
    for in_pilot, in_main, alone in ((1, 3, False), (1, 0, True), (0, 1, True)):
        each = [
            dps.estimate_means(plan, *noised(plan, of_b))
            for plan, of_b in ((first, in_pilot), (main, in_main))
        ]
        both = dps.combine_waves(first, main, *each)
        assert both.questions["answer"].doubts.get(ONLY_ONE, ()) == (("b",) if alone else ())
        assert ("only one answer" in " ".join(both.sentences)) == alone
