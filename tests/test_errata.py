"""Where the paper errs or is silent, shown numerically; docs/explanation/errata.md tells the same in words.

True losses are computed from the output distributions of neighbouring inputs, secret sampling included, by
enumeration, summation or a search over outputs, and never with the library's own formulas.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.solvers.solve import solve
from problems import PAPER_SDS, PAPER_SIZES, make_problem, plain_term


def loss(p, q):
    """Largest log ratio of two discrete distributions, either way."""
    keys = set(p) | set(q)
    return max(
        abs(math.log(p.get(key, 0.0) / q[key])) if q.get(key) and p.get(key) else math.inf for key in keys
    )


def sampled_release(answers, n, keep, arrange, samples=None):
    """Distribution of noised bits of a secret sample; ``arrange`` says what of them is released."""
    samples = list(itertools.combinations(range(len(answers)), n)) if samples is None else samples
    distribution = {}
    for sample in samples:
        for noised in itertools.product((0, 1), repeat=len(sample)):
            probability = math.prod(
                keep if answers[i] == bit else 1 - keep for i, bit in zip(sample, noised, strict=True)
            )
            key = arrange(noised)
            distribution[key] = distribution.get(key, 0.0) + probability / len(samples)
    return distribution


def keep_probability(e):
    return math.exp(e) / (1 + math.exp(e))


# 1 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sensitivity", "true_loss"), [(2, 3.79), (5, 11.1)])
def test_1_the_noise_scale_is_wrong_for_other_sensitivities(sensitivity, true_loss):
    """One of 100 people is asked; the others answer 0. Search the output for the largest density ratio."""
    epsilon, q = 1.0, 0.01

    def central_loss(scale):
        y = np.linspace(-3 * sensitivity, 4 * sensitivity, 200_001)
        plain, moved = np.exp(-np.abs(y) / scale), np.exp(-np.abs(y - sensitivity) / scale)
        return float(np.max(np.abs(np.log(((1 - q) * plain + q * moved) / plain))))

    printed = 1 / math.log1p(math.expm1(epsilon / sensitivity) / q)
    right = sensitivity / math.log1p(math.expm1(epsilon) / q)
    assert central_loss(printed) == pytest.approx(true_loss, rel=0.005)
    assert central_loss(right) == pytest.approx(epsilon, rel=1e-6)
    # and that is the scale the library designs with
    plan = dps.design(
        dps.Strata([100], [0.1]), epsilon=epsilon, total=1, questions=(0, sensitivity), mechanism="laplace"
    )
    assert plan.noise_sds[0] == pytest.approx(math.sqrt(2) * right)


def test_1_a_small_sensitivity_wastes_noise():
    epsilon, q, sensitivity = 1.0, 0.01, 0.5
    printed = 1 / math.log1p(math.expm1(epsilon / sensitivity) / q)
    right = sensitivity / math.log1p(math.expm1(epsilon) / q)
    assert printed / right == pytest.approx(1.6, abs=0.1)


# 2 and 3 --------------------------------------------------------------------------------------


def test_2_the_printed_discrete_laplace_does_not_sum():
    p = math.exp(+1.0)
    partial = [sum(p ** abs(k) for k in range(-reach, reach + 1)) for reach in (5, 10, 20)]
    assert partial[1] > 100 * partial[0]
    assert partial[2] > 10_000 * partial[1]


def test_3_discrete_noise_off_the_grid_protects_nobody():
    """Answers 0 and 0.5 with whole-number noise never share an output."""
    outputs = [{answer + k for k in range(-50, 51)} for answer in (0.0, 0.5)]
    assert not outputs[0] & outputs[1]
    with pytest.raises(dps.InputError, match="protects answers on a grid"):
        dps.design(dps.Strata([100], [0.1]), epsilon=1, total=5, mechanism="discrete_laplace")


@pytest.mark.parametrize("sensitivity", [1.5, 2.2])
def test_3_tulap_with_an_unscaled_uniform_loses_too_much(sensitivity):
    e = 1.0

    def density(w, p, unit):
        return (1 - p) / (1 + p) * p ** abs(math.floor(w / unit + 0.5)) / unit

    def worst(p, unit):
        return max(
            abs(math.log(density(w, p, unit) / density(w - shift, p, unit)))
            for w in np.linspace(-6.01, 6.01, 2001)
            for shift in (sensitivity / 3, sensitivity)
        )

    assert worst(math.exp(-e / sensitivity), 1.0) == pytest.approx(e * math.ceil(sensitivity) / sensitivity)
    assert worst(math.exp(-e), sensitivity) == pytest.approx(e)


# 4 --------------------------------------------------------------------------------------------


def printed_noise_curvature(x, c):
    L = mpmath.log(1 + c / x)
    return 2 * ((x + c) ** 2 * L**2 - c * (4 * x + 3 * c) * L + 3 * c**2) / (x**3 * (x + c) ** 2 * L**4)


def test_4_the_printed_hessian_misses_a_factor_of_two():
    for x, c in ((10, 50), (60, 12_000), (200, 3)):
        true = mpmath.diff(lambda n, c=c: 2 / (n * mpmath.log(1 + c / n) ** 2), x, 2)
        assert float(true / printed_noise_curvature(mpmath.mpf(x), mpmath.mpf(c))) == pytest.approx(2)


def newton_steps(factor, sds, limit=5000):
    """Newton's method for the relaxation of the four strata, the noise curvature times ``factor``."""
    problem = make_problem(PAPER_SIZES, sds, total=200)
    terms = problem.terms
    x = np.array([50.0, 50.0, 50.0, 50.0])
    for step in range(1, limit + 1):
        W, H = terms.curve(x)
        spread = 2 * terms.variances
        curvature = terms.scale * (spread + factor * (H - spread)) / x**3
        slope = terms.scale * W / x**2
        price = (np.sum(slope / curvature)) / np.sum(1 / curvature)
        move = (slope - price) / curvature
        x = x + move
        if np.max(np.abs(move)) < 1e-9:
            return step
        if not np.all((x > 0) & (x < 1e6)):
            return None
    return None


def test_4_newton_with_it_crawls_or_never_arrives():
    assert newton_steps(1.0, PAPER_SDS) == 5
    assert newton_steps(0.5, PAPER_SDS) == pytest.approx(1335, abs=20)
    assert newton_steps(1.0, [0, 0, 0, 0]) <= 7
    assert newton_steps(0.5, [0, 0, 0, 0]) is None


# 5 --------------------------------------------------------------------------------------------


def closed_form(sizes, sds, total):
    """TuLap's continuous optimum as the paper has it: without any bounds."""
    shares = sizes * np.sqrt(sds**2 + 1 / 12)
    return total * shares / shares.sum()


def test_5_the_first_stage_can_have_no_candidate():
    """The lemma's set E: every size rounded up or down, the sum kept; with n >= 1 it is empty for some."""
    rng = np.random.default_rng(0)
    empty = 0
    for _ in range(500):
        k = int(rng.integers(2, 6))
        total = int(rng.integers(k, 6 * k))
        x = closed_form(rng.integers(20, 2000, k), rng.uniform(0.005, 0.5, k), total)
        choices = itertools.product(*({math.floor(v), math.ceil(v)} for v in x))
        empty += not any(sum(n) == total and min(n) >= 1 for n in choices)
    assert empty / 500 == pytest.approx(0.02, abs=0.005)


def test_5_the_optimum_can_exceed_a_stratum_and_lie_below_the_printed_range():
    x = closed_form(np.array([20, 10_000]), np.array([0.5, 0.01]), 9_000)
    assert x[0] > 20  # n <= N appears nowhere in the paper
    plan = dps.design(dps.Strata(PAPER_SIZES, PAPER_SDS), epsilon=1, total=200)
    # the printed second stage starts at x*, so it cannot reach a size below it
    assert np.any(plan.sample_sizes < plan.relaxed_sizes)


# 6 is test_table_1 in test_planning.py, with Neyman rounded by largest remainders.


def test_6_neyman_of_table_1():
    plan = dps.design(dps.Strata(PAPER_SIZES, PAPER_SDS), epsilon=1, total=200)
    neyman = next(row for row in plan.compare() if row.design == "neyman")
    assert neyman.sample_sizes.tolist() == [137, 44, 14, 5]


# 7 --------------------------------------------------------------------------------------------


def test_7_releasing_in_frame_order_breaks_amplification():
    e, N, n = 3.0, 3, 2
    bound = math.log1p(n / N * math.expm1(e))
    losses = {"frame order": 0.0, "shuffled": 0.0}
    for name, arrange in (("frame order", lambda bits: bits), ("shuffled", lambda bits: tuple(sorted(bits)))):
        for target in range(N):
            for others in itertools.product((0, 1), repeat=N - 1):
                one, zero = ([*others[:target], bit, *others[target:]] for bit in (1, 0))
                p, q = (sampled_release(a, n, keep_probability(e), arrange) for a in (one, zero))
                losses[name] = max(losses[name], loss(p, q))
    assert bound == pytest.approx(2.62, abs=0.005)
    assert losses["shuffled"] == pytest.approx(bound)
    assert losses["frame order"] == pytest.approx(2.96, abs=0.005)


# 8 --------------------------------------------------------------------------------------------


def test_8_a_design_computed_from_the_answers_gives_one_of_them_away():
    """Two populations that differ in one answer; the sample sizes, which are public, tell which it is."""
    rest = np.zeros(99)
    allocations = []
    for answer in (0.0, 1.0):
        first, second = np.append(rest, answer), np.tile([0.0, 0.2], 50)
        strata = dps.Strata([100, 100], [first.std(ddof=1), second.std(ddof=1)])
        allocations.append(dps.design(strata, epsilon=1, total=40).sample_sizes.tolist())
    assert allocations[0] != allocations[1]  # an event of probability 1 against 0: an infinite loss


# 9 --------------------------------------------------------------------------------------------


def test_9_amplified_budgets_of_several_questions_do_not_add_up():
    """One of 100 people answers five questions by randomized response with e = 1 each; all others would say 0."""
    q, e, m = 0.01, 1.0, 5
    keep = keep_probability(e)

    def release(answers):
        target = {
            bits: math.prod(keep if a == b else 1 - keep for a, b in zip(answers, bits, strict=True))
            for bits in itertools.product((0, 1), repeat=m)
        }
        other = {bits: math.prod(1 - keep if b else keep for b in bits) for bits in target}
        return {bits: q * target[bits] + (1 - q) * other[bits] for bits in target}

    claimed = m * math.log1p(q * math.expm1(e))
    true = loss(release((1,) * m), release((0,) * m))
    assert claimed == pytest.approx(0.085, abs=0.001)
    assert true == pytest.approx(0.906, abs=0.001)


# 10 -------------------------------------------------------------------------------------------


def test_10_with_two_who_would_answer_nothing_is_amplified():
    """N = 4, n = 2 invited, only persons 0 and 1 ever answer; the released count says how many did."""
    e, keep = 2.0, keep_probability(2.0)
    invited = list(itertools.combinations(range(4), 2))
    answering = [tuple(i for i in sample if i < 2) for sample in invited]

    def release(first):
        return sampled_release((first, 0, 0, 0), 2, keep, lambda bits: tuple(sorted(bits)), answering)

    obvious = math.log1p(0.5 * math.expm1(e))
    assert obvious == pytest.approx(1.434, abs=0.001)
    assert loss(release(1), release(0)) == pytest.approx(e)
    # given that both answered, which the count shows, the whole local budget is lost
    both = [(0, 1)]
    p, q = (
        sampled_release((bit, 0, 0, 0), 2, keep, lambda bits: tuple(sorted(bits)), both) for bit in (1, 0)
    )
    assert loss(p, q) == pytest.approx(e)


@pytest.mark.parametrize(
    ("size", "rate", "n"), [(4, 0.5, 2), (5, 0.6, 2), (5, 0.6, 3), (6, 0.5, 2), (5, 1.0, 3)]
)
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best total")
@pytest.mark.filterwarnings("ignore:Counts are invitations")
def test_10_the_budget_of_a_design_with_response_rates_keeps_the_promise(size, rate, n):
    """Enumerate who would answer (at least the stated share), who is invited, and what everyone says."""
    epsilon = 1.0
    strata = dps.Strata([size], [0.3], response_rates=[rate])
    plan = dps.design(strata, epsilon=epsilon, total=n)
    keep = keep_probability(float(plan.local_epsilons[0]))
    worst = 0.0
    for answering in range(math.ceil(rate * size), size + 1):
        seen = [
            tuple(i for i in invited if i < answering) for invited in itertools.combinations(range(size), n)
        ]
        for others in itertools.product((0, 1), repeat=size - 1):
            p, q = (
                sampled_release((first, *others), n, keep, lambda bits: tuple(sorted(bits)), seen)
                for first in (0, 1)
            )
            worst = max(worst, loss(p, q))
    assert worst <= epsilon * (1 + 1e-12)
    assert worst >= 0.999 * epsilon  # the least answering is the worst case, and it is met exactly
    if rate < 1:
        obvious = math.log1p(math.expm1(epsilon) * size / n)
        keep = keep_probability(obvious)
        few = [
            tuple(i for i in invited if i < rate * size) for invited in itertools.combinations(range(size), n)
        ]
        p, q = (
            sampled_release((first, *[0] * (size - 1)), n, keep, lambda bits: tuple(sorted(bits)), few)
            for first in (0, 1)
        )
        assert loss(p, q) > 1.2 * epsilon  # q = n/N breaks it


def test_10_knowing_who_was_not_asked_undoes_the_secrecy():
    """N = 1000, n = 100, 900 people known not to be in the sample: everyone left was asked for sure."""
    e = math.log1p(math.expm1(1.0) * 10)
    keep = keep_probability(e)
    # n = 2 of 2 left stand for the 100 of 100: the sampling rate among those who can be in it is 1
    p, q = (sampled_release((bit, 0), 2, keep, lambda bits: tuple(sorted(bits))) for bit in (1, 0))
    assert loss(p, q) == pytest.approx(e)
    assert e == pytest.approx(2.90, abs=0.005)


def test_10_a_person_listed_twice_loses_more_than_once():
    epsilon, N, n = 1.0, 6, 2
    keep = keep_probability(math.log1p(math.expm1(epsilon) * N / n))

    def release(answers):
        return sampled_release(answers, n, keep, lambda bits: tuple(sorted(bits)))

    once = loss(release((1, 0, 0, 0, 0, 0)), release((0,) * N))
    twice = loss(release((1, 1, 0, 0, 0, 0)), release((0,) * N))
    assert once == pytest.approx(epsilon)
    assert 1.6 < twice <= 2 * epsilon


# 11 -------------------------------------------------------------------------------------------


def test_11_zcdp_is_not_amplified_by_sampling():
    """Rényi divergence of a subsampled Gaussian over its order returns to that without sampling."""
    sigma, q = 2.0, 0.1
    rho = 1 / (2 * sigma**2)

    def divergence(alpha):
        """Of (1−q)N(0, σ²) + q N(1, σ²) from N(0, σ²), for whole orders: a binomial sum."""
        with mpmath.workdps(60):
            total = mpmath.fsum(
                mpmath.binomial(alpha, k)
                * mpmath.mpf(1 - q) ** (alpha - k)
                * mpmath.mpf(q) ** k
                * mpmath.exp(mpmath.mpf(k * (k - 1)) / (2 * sigma**2))
                for k in range(alpha + 1)
            )
            return float(mpmath.log(total) / (alpha - 1))

    ratios = [divergence(alpha) / alpha / rho for alpha in (2, 10, 100, 1000)]
    assert ratios[0] < 0.05
    assert np.all(np.diff(ratios) > 0)
    assert 0.95 < ratios[-1] < 1


def test_the_relaxation_uses_the_right_curvature():
    """The library's own f'' against a numerical one, where the paper's is off."""
    problem = make_problem(PAPER_SIZES, PAPER_SDS, total=200)
    x = solve(problem, "continuous").sizes
    _, H = problem.terms.curve(x)
    for i in range(4):
        true = float(mpmath.diff(lambda n, i=i: plain_term(problem, i, n), x[i], 2))
        assert problem.terms.scale[i] * H[i] / x[i] ** 3 == pytest.approx(true, rel=1e-6)
