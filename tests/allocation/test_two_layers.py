"""Designs that publish sums, against exhaustive search and plain greedy; what they report, by hand.

The objective is written out once more below, from the textbook, without any code of the library.
"""

import contextlib
import itertools
import math
import warnings

import mpmath
import numpy as np
import pytest

import dpstrata as dps
from dpstrata.privacy.mechanisms import MECHANISMS
from extent import few

PROBLEMS = few(60, of=3000)
SEED = few(16, of=None)

# --- the textbook -----------------------------------------------------------------------------


def variance(mechanism, e, K):
    """Variance of one draw of noise, for answers from 0 to 1 on a grid of K steps."""
    if mechanism == "laplace":
        return 2 / e**2
    b = math.exp(-e)
    if mechanism == "tulap":
        return 1 / 12 + 2 * b / (1 - b) ** 2
    if mechanism == "staircase":
        return (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2
    if mechanism == "randomized_response":
        return b / (1 - b) ** 2
    return 0.5 / (K * math.sinh(e / K / 2)) ** 2


def layers(mechanism, E, K):
    """Variance of a report's noise, how far sums are stretched, and what the office adds."""
    if E is None:
        return 0.0, 1.0, mechanism
    bits = mechanism == "randomized_response"
    stretch = 1 / math.tanh(E / 2) if bits else 1.0
    return variance(mechanism, E, K), stretch, "discrete_laplace" if bits else mechanism


def credited(e, E):
    """The office's budget beside devices that flip bits at E: tanh(e/2) = tanh(E/2)·tanh(e_c/2)."""
    if e >= E:
        return math.inf
    with mpmath.mp.workdps(60):
        e, E = mpmath.mpf(e), mpmath.mpf(E)
        return float(2 * mpmath.atanh(mpmath.tanh(e / 2) / mpmath.tanh(E / 2)))


def mean_inverses(rate, n, N, *, planned):
    """What stands for 1/m and 1/m²: where everyone answers, as planned with chance, or expected."""
    if rate == 1:
        return 1 / n, 1 / n**2
    if not planned:  # where rN is not whole, one person more or fewer would answer
        fewer = math.floor(rate * N)
        sums = np.zeros(3)
        for willing, chance in ((fewer, fewer + 1 - rate * N), (fewer + 1, rate * N - fewer)):
            for m in range(1, n + 1):
                ways = math.comb(willing, m) * math.comb(N - willing, n - m) if willing <= N else 0
                sums += chance * ways / math.comb(N, n) * np.array([1, 1 / m, 1 / m**2])
        return sums[1] / sums[0], sums[2] / sums[0]
    u, q = rate * n, 1 - rate
    once = 1 / u + q / u**2 + (q + q**2) / u**3 + (2 * q + 8 * q**2 + 2 * q**3) / u**4
    last = 2.6 * (5 * q + 27 * q**2 + 18 * q**3)
    return once, 1 / u**2 + 3 * q / u**3 + (4 * q + 7 * q**2) / u**4 + last / u**5


class Asked:
    """A problem, with what its design would be asked."""

    def __init__(self, rng, *, rates=True, domains=False):
        k = int(rng.integers(1, 5))
        self.sizes = np.floor(10 ** rng.uniform(0.5, rng.choice([1, 2, 5]), k)).astype(int)
        self.sds = rng.uniform(0, 0.5, k) * (rng.random(k) > 0.15)
        self.K = int(rng.choice([1, 1, 4]))
        names = ["laplace", "tulap", "staircase", "discrete_laplace"]
        self.E = None if rng.random() < 0.2 else float(10 ** rng.uniform(-0.5, 1))
        if self.K == 1 and self.E is not None:
            names += ["randomized_response"] * 3
        self.mechanism = str(rng.choice(names))
        self.epsilon = float(10 ** rng.uniform(-2, 0.7))
        willing = self.sizes.copy()
        if rates and rng.random() < 0.4:
            willing = np.maximum((self.sizes * rng.uniform(0.3, 1, k)).astype(int), 1)
        self.rates = np.minimum((willing + 0.3) / self.sizes, 1.0)
        self.lower = np.minimum(rng.integers(1, 4, k), willing)
        self.upper = np.minimum(willing, self.lower + rng.integers(0, 9, k))  # nobody can answer beyond
        self.costs = rng.integers(1, 6, k).astype(float)
        self.total = int(rng.integers(self.lower.sum(), self.upper.sum() + 1))
        self.groups = rng.integers(0, 2, k).astype(str).tolist() if domains else None

    @property
    def strata(self):
        return dps.Strata(
            self.sizes,
            self.sds,
            mins=self.lower,
            maxs=self.upper,
            costs=self.costs,
            response_rates=None if np.all(self.rates == 1) else self.rates,
            extra=None if self.groups is None else {"group": self.groups},
        )

    def design(self, **goal):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dps.DpstrataWarning)
            return dps.design(
                self.strata,
                epsilon=self.epsilon,
                release="sums",
                device_epsilon=self.E,
                mechanism=goal.pop("mechanism", self.mechanism),
                questions=(0, 1, 1 / self.K),
                **goal,
            )

    def terms(self, *, finite=False, planned=True):
        """f of each stratum as a function of n: as it is minimised, or reported with the credit."""
        d, g, office = layers(self.mechanism, self.E, self.K)
        for N, S, rate in zip(self.sizes.tolist(), self.sds.tolist(), self.rates.tolist(), strict=True):
            a = N / self.sizes.sum()

            def f(n, N=N, S=S, rate=rate, a=a):
                e = math.log1p(math.expm1(self.epsilon) * rate * N / n)
                if not planned and self.mechanism == "randomized_response":
                    e = credited(e, self.E)
                once, twice = mean_inverses(rate, n, N, planned=planned)
                v = 0.0 if math.isinf(e) else g**2 * variance(office, e, self.K)
                correction = S**2 / N if finite else 0.0
                return a**2 * ((S**2 + d) * once - correction + v * twice)

            yield f

    def table(self, **how):
        """f at every size within the limits."""
        return [
            [f(n) for n in range(low, high + 1)]
            for f, low, high in zip(self.terms(**how), self.lower, self.upper, strict=True)
        ]

    def choices(self):
        return itertools.product(
            *(range(low, high + 1) for low, high in zip(self.lower, self.upper, strict=True))
        )


def value(table, lower, sizes):
    return sum(row[n - low] for row, low, n in zip(table, lower, sizes, strict=True))


def greedy(table, lower, total):
    """One person at a time, where it gains most, from the lower bounds."""
    sizes = lower.copy()
    while sizes.sum() < total:
        gains = [
            row[n - low] - row[n - low + 1] if n - low + 1 < len(row) else -math.inf
            for row, low, n in zip(table, lower, sizes, strict=True)
        ]
        sizes[int(np.argmax(gains))] += 1
    return sizes


@pytest.fixture
def rng():
    return np.random.default_rng(SEED)


# --- tests ------------------------------------------------------------------------------------


def test_a_total_is_the_best_of_all_and_what_greedy_gives(rng):
    for _ in range(PROBLEMS):
        asked = Asked(rng)
        plan, table = asked.design(total=asked.total), asked.table()
        found = value(table, asked.lower, plan.sample_sizes)
        least = min(value(table, asked.lower, n) for n in asked.choices() if sum(n) == asked.total)
        assert found == pytest.approx(least, rel=1e-11), vars(asked)
        assert value(table, asked.lower, greedy(table, asked.lower, asked.total)) == pytest.approx(
            least, rel=1e-11
        )
        assert plan.certificate.optimal


def test_more_people_never_hurt(rng):
    """So that at most so many is as many, or everyone."""
    for _ in range(PROBLEMS // 4):
        asked = Asked(rng)
        limit = int(rng.integers(asked.lower.sum(), asked.upper.sum() + 5))
        assert asked.design(at_most=limit).total == min(limit, asked.upper.sum()), vars(asked)


def proven(plan):
    """The share by which another design could be better, by the proof of this one."""
    return getattr(plan.certificate, "relative_gap", 0.0)


def test_a_budget_is_spent_as_exhaustive_search_would(rng):
    """Exactly where the proof says so, within its gap elsewhere."""
    exact = 0
    for _ in range(PROBLEMS // 2):
        asked = Asked(rng)
        low, high = (float(asked.costs @ bound) for bound in (asked.lower, asked.upper))
        budget = float(rng.uniform(low, high + 1))
        plan, table = asked.design(budget=budget), asked.table(finite=True)
        assert asked.costs @ plan.sample_sizes <= budget
        affordable = (n for n in asked.choices() if asked.costs @ n <= budget)
        least = min(value(table, asked.lower, n) for n in affordable)
        found = value(table, asked.lower, plan.sample_sizes)
        assert least * (1 - 1e-9) <= found, vars(asked)
        assert found * (1 - proven(plan) - 1e-9) <= least, vars(asked)
        exact += found <= least * (1 + 1e-9)
    assert exact > 0.9 * (PROBLEMS // 2)


def test_reported_variance_and_credit_by_hand(rng):
    """With the finite population correction; the noise of the office as small as it is drawn."""
    for _ in range(PROBLEMS):
        asked = Asked(rng)
        plan = asked.design(total=asked.total)
        expected = sum(
            f(int(n)) for f, n in zip(asked.terms(finite=True, planned=False), plan.sample_sizes, strict=True)
        )
        assert plan.variance == pytest.approx(expected, rel=1e-8), vars(asked)
        planned = value(asked.table(), asked.lower, plan.sample_sizes)
        assert expected <= planned * (1 + 1e-9)


def test_targets_are_reached_at_the_least_cost(rng):
    """Of what is minimised, which is never below what is reported."""
    for _ in range(PROBLEMS // 2):
        asked = Asked(rng, rates=False)
        table = asked.table(finite=True)
        near = rng.uniform(asked.lower, asked.upper).astype(int)
        target = value(table, asked.lower, near) * (1 + 1e-6)
        if target < 1e-9:  # everyone is asked, and nothing is noised
            continue
        plan = asked.design(target_se=math.sqrt(target))
        assert value(table, asked.lower, plan.sample_sizes) <= target * (1 + 1e-9), vars(asked)
        assert plan.variance <= target * (1 + 1e-9)
        enough = (n for n in asked.choices() if value(table, asked.lower, n) <= target)
        least = min(float(asked.costs @ n) for n in enough)
        assert (plan.cost or 0) * (1 - proven(plan) - 1e-9) <= least <= plan.cost * (1 + 1e-9), vars(asked)


def test_targets_of_domains_are_reached(rng):
    for _ in range(PROBLEMS // 4):
        asked = Asked(rng, rates=False, domains=True)
        reference = asked.design(total=asked.total, domains=["group"])
        if asked.mechanism == "randomized_response":  # what it reports is below what can be asked for
            continue
        target = max(domain.standard_error for domain in reference.domains) * 1.0001
        plan = asked.design(domains={"group": dps.SE(target)})
        assert max(d.standard_error for d in plan.domains[1:]) <= target * (1 + 1e-9), vars(asked)
        assert plan.cost * (1 - proven(plan)) <= reference.cost * (1 + 1e-9)


@pytest.mark.parametrize("answers", ["yes_no", (0, 1), (0, 1, 0.25)])
def test_the_best_mechanism_is_that_of_all(answers, rng):
    """Every mechanism that fits is tried here.

    With the credit randomized response has (S² + v)/n + (w(e) − w(E))/n², w = 2v that of discrete Laplace
    noise, which has (S² + w(E))/n + w(e)/n²: always more.
    """
    won = set()
    for _ in range(max(PROBLEMS // 4, 24)):
        asked = Asked(rng, rates=False)
        options = {"epsilon": asked.epsilon, "release": "sums", "total": asked.total, "questions": answers}
        options["device_epsilon"] = float(10 ** rng.uniform(-1, 1))
        options["epsilon"] = float(options["device_epsilon"] * 10 ** rng.uniform(-2, 0))
        variances = {}
        for name in (name for name in MECHANISMS if name != "gaussian"):
            try:
                variances[name] = dps.design(asked.strata, mechanism=name, **options).variance
            except dps.InputError:
                continue
        best = dps.design(asked.strata, mechanism="best", **options)
        assert best.variance == pytest.approx(min(variances.values()), rel=1e-12), (vars(asked), options)
        won.add(best.inputs.mechanism)
    expected = {"yes_no": {"randomized_response"}, (0, 1): {"sine", "staircase"}}
    assert won == expected.get(answers, {"cells", "staircase"})


def test_the_best_mechanism_for_a_target_is_that_of_all(rng):
    """Targets are held to what is minimised, without the credit: where few are asked, discrete Laplace can win."""
    won = set()
    for _ in range(max(PROBLEMS // 4, 24)):
        k = int(rng.integers(1, 4))
        strata = dps.Strata(rng.integers(10, 60, k), rng.uniform(0.01, 0.5, k))
        E = float(10 ** rng.uniform(-0.5, 0.5))
        options = {"epsilon": E / 10, "release": "sums", "device_epsilon": E, "questions": "yes_no"}
        few = dps.design(strata, total=int(rng.integers(k, 6 * k)), mechanism="discrete_laplace", **options)
        target = few.standard_error * 1.001
        totals = []
        for name in ("discrete_laplace", "randomized_response"):
            with contextlib.suppress(dps.InfeasibleError):
                totals.append(dps.design(strata, target_se=target, mechanism=name, **options).total)
        best = dps.design(strata, target_se=target, **options)
        assert best.total == min(totals)
        won.add(best.inputs.mechanism)
    assert won == {"randomized_response", "discrete_laplace"}


def test_the_credit_in_closed_form():
    """coth²(E/2)·w(e_c) is w(e) − w(E), w being the variance of discrete Laplace noise; nothing from e = E on."""
    E = 3.0
    plan = dps.design(
        dps.Strata([50, 4000], [0.3, 0.4]),
        epsilon=0.2,
        total=60,
        release="sums",
        device_epsilon=E,
        mechanism="randomized_response",
        questions="yes_no",
    )
    n = np.array([40.0, 20.0])
    e = np.log1p(math.expm1(0.2) * plan.strata.sizes / n)
    assert e[0] < E < e[1]
    w = [variance("discrete_laplace", each, 1) for each in (e[0], E)]
    parts = plan.problem.forms.question_parts(plan.problem.terms, n.astype(np.int64), finite_population=False)
    assert (parts.office[:, 0] * n**2).tolist() == pytest.approx([w[0] - w[1], 0.0], rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 1, "local_epsilon_cap": 2}, "limits what a published answer may spend"),
        *(
            ({**promise, "mechanism": "gaussian"}, "supports pure epsilon only, because")
            for promise in ({"delta": 1e-6, "epsilon": 1}, {"zcdp": 0.1}, {"gdp": 0.5})
        ),
    ],
)
def test_what_two_layers_cannot_keep_is_refused(options, words):
    with pytest.raises(dps.InputError, match=words):
        dps.design(dps.Strata([100], [0.3]), total=10, release="sums", device_epsilon=3, **options)
