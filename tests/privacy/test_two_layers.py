"""The loss of two layers of noise, by enumeration of every sample of tiny populations.

The oracle shares no code with the library: noise as the textbooks have it, in mpmath, every sample of n of N
people, and neighbours that differ in one person. It is compared with what the library draws for real designs.
Of noise without end only the middle is enumerated, so far out that the rest is nothing beside what is compared.
"""

import itertools
import math
from collections import defaultdict

import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.fielding.randomizers.noise import noise_at, office_noise_at
from laws import probabilities

pytestmark = pytest.mark.filterwarnings(
    "ignore::dpstrata.DpstrataWarning"
)  # strata may stay without an answer
ATTAINED = 0.999
ROUNDING = 1 + 1e-12


# --- the textbook -----------------------------------------------------------------------------


def discrete_laplace(e, K):
    """P(j) = p^|j|·(1 − p)/(1 + p), p = exp(−e/K)."""
    p = mp.exp(-mp.mpf(e) / K)
    return lambda j: p ** abs(j) * (1 - p) / (1 + p)


def staircase(e, K):
    """P(±(gK + i)) ∝ b^g for the first r of K steps and b^(g + 1) for the others; r/K nearest to the best width."""
    b = mp.exp(-mp.mpf(e))
    root = mp.cbrt((b - 2 * b**2 + 2 * b**4 - b**5) / 2)
    r = min(max(round(float(-b / (1 - b) + root / (1 - b) ** 2) * K), 1), K)
    total = 2 * (r + b * (K - r)) / (1 - b) - 1
    return lambda j: b ** (abs(j) // K + (abs(j) % K >= r)) / total


ADDITIVE = {"discrete_laplace": discrete_laplace, "staircase": staircase}


def budget_of_sample(N, n, epsilon, rate=1):
    return mp.log1p(mp.expm1(mp.mpf(epsilon)) * mp.mpf(rate) * N / n)


def credited(e, E):
    """The office's budget beside devices that flip bits: tanh(e/2) = tanh(E/2)·tanh(e_c/2)."""
    return mp.inf if e >= E else 2 * mp.atanh(mp.tanh(e / 2) / mp.tanh(E / 2))


class Textbook:
    """Both layers for a stratum of which n of N people are drawn."""

    def __init__(self, mechanism, *, N, n, epsilon, E, K=1, rate=1):
        e, E = budget_of_sample(N, n, epsilon, rate), mp.mpf(E)
        if mechanism == "randomized_response":
            flip, e = 1 / (1 + mp.exp(E)), credited(e, E)
            self.reports = {k: {k: 1 - flip, 1 - k: flip} for k in (0, 1)}
            self.office = (lambda j: mp.mpf(j == 0)) if e == mp.inf else discrete_laplace(e, 1)
            return
        mass, reach = ADDITIVE[mechanism](E, K), (far_out(e, E) + 8) * K
        noise = {j: mass(j) for j in range(-reach, reach + 1)}
        self.reports = {k: {k + j: p for j, p in noise.items()} for k in range(K + 1)}
        self.office = ADDITIVE[mechanism](e, K)


class Drawn:
    """Both layers as the library draws them for a real design, from the probabilities of its own noise."""

    def __init__(self, mechanism, *, N, n, epsilon, E, K=1, rate=1):
        plan = dps.design(
            dps.Strata([N], [0.1], response_rates=None if rate == 1 else [rate], names=["all"]),
            epsilon=epsilon,
            total=n,
            release="sums",
            device_epsilon=E,
            mechanism=mechanism,
            questions=(0, K, 1),
        )
        device, office = noise_at(plan, 0), office_noise_at(plan, 0)
        if mechanism == "staircase":  # its own grid is too fine to be enumerated: the same on this one
            device, office = (type(noise)(noise.e, K) for noise in (device, office))
        assert device.steps == K
        self.reports = {k: known(*probabilities(device, k)) for k in range(K + 1)}
        chances = {0: mp.mpf(1)} if office is None else known(*probabilities(office, 0))
        self.office = lambda j: chances.get(j, mp.mpf(0))


def known(first, mass):
    return {first + j: mp.mpf(float(p)) for j, p in enumerate(mass)}


BOTH = pytest.mark.parametrize("make", [Textbook, Drawn])


# --- enumeration ------------------------------------------------------------------------------


def published(layers, answers, values):
    """Probabilities of values of the published sum, given the answers of those who were asked."""
    sums = {0: mp.mpf(1)}
    for answer in answers:
        more = defaultdict(mp.mpf)
        for value, chance in sums.items():
            for report, other in layers.reports[answer].items():
                more[value + report] += chance * other
        sums = more
    return [sum(chance * layers.office(value - s) for s, chance in sums.items()) for value in values]


class Survey:
    """What is published of n people of a population."""

    def __init__(self, layers, n, values):
        self.layers, self.n, self.values, self.known = layers, n, list(values), {}

    def chances(self, people):
        """Of all published values."""
        samples, total = list(itertools.combinations(people, self.n)), None
        for sample in samples:
            given = self._given(tuple(sorted(sample)))
            total = given if total is None else [a + b for a, b in zip(total, given, strict=True)]
        return [chance / len(samples) for chance in total]

    def _given(self, answers):
        if answers not in self.known:
            self.known[answers] = published(self.layers, answers, self.values)
        return self.known[answers]

    def loss(self, population, K):
        """The largest log ratio over published values and populations that differ in one person."""
        answers = sorted({0, K // 2, K})
        worst = mp.mpf(0)
        for others in itertools.combinations_with_replacement((0, K), population - 1):
            rows = [self.chances((mine, *others)) for mine in answers]
            for chances in zip(*rows, strict=True):
                if max(chances) > 0:
                    worst = max(worst, mp.log(max(chances) / min(chances)))
        return worst


def far_out(e, E):
    """How many ranges beyond all answers the office's tail is 10,000 times the heavier one, if e < E."""
    return math.ceil(11 / float(E - e)) + 2


def values_of_bits(n):
    return range(-1, n + 2)


def values_of_grid(N, n, epsilon, E, K, rate=1):
    """Around what can be answered, and far beyond."""
    ranges = far_out(budget_of_sample(N, n, epsilon, rate), mp.mpf(E))
    return [-ranges * K, *range(-2, n * K + 3), n * K + ranges * K]


# --- tests ------------------------------------------------------------------------------------

BITS = [  # N, n, epsilon, E
    (2, 1, 1.0, 3.0),
    (3, 1, 0.1, 1.0),
    (4, 2, 0.5, 2.0),
    (4, 3, 2.0, 5.0),
    (5, 5, 1.0, 1.5),
    (5, 2, 3.0, 8.0),
    (5, 4, 0.01, 0.02),
    (4, 2, 1.0, 1.4898),  # e(n) = 1.48980..., just above
    (4, 2, 1.0, 1.4899),  # and just below E
    (4, 1, 1.0, 2.0),  # e(n) = 2.06 is above E: the office adds nothing
]
GRIDS = [  # N, n, epsilon, E, K
    (2, 1, 0.5, 1.5, 1),
    (3, 2, 1.0, 2.0, 1),
    (3, 3, 1.0, 2.5, 2),
    (3, 2, 0.7, 3.0, 3),
    (4, 2, 1.0, 4.0, 2),
    (4, 3, 0.1, 1.0, 1),
]
ABOVE = [
    (2, 1, 2.0, 1.0, 1),
    (3, 1, 1.0, 0.5, 2),
    (3, 2, 1.0, 1.0, 1),
]  # e(n) > E: more is kept than promised


@BOTH
@pytest.mark.parametrize(("N", "n", "epsilon", "E"), BITS)
def test_flipped_bits_lose_epsilon(make, N, n, epsilon, E):
    """With the credit: at most epsilon, and all of it unless devices alone keep more."""
    layers = make("randomized_response", N=N, n=n, epsilon=epsilon, E=E)
    worst = Survey(layers, n, values_of_bits(n)).loss(N, 1)
    assert worst <= epsilon * ROUNDING
    assert worst >= ATTAINED * min(epsilon, mp.log1p(mp.mpf(n) / N * mp.expm1(E)))


@BOTH
@pytest.mark.parametrize("mechanism", ADDITIVE)
@pytest.mark.parametrize(("N", "n", "epsilon", "E", "K"), GRIDS)
def test_added_noise_loses_epsilon(make, mechanism, N, n, epsilon, E, K):
    """At most epsilon, and all of it far out, since the office's tail is the heavier one where e(n) < E."""
    layers = make(mechanism, N=N, n=n, epsilon=epsilon, E=E, K=K)
    worst = Survey(layers, n, values_of_grid(N, n, epsilon, E, K)).loss(N, K)
    assert worst <= epsilon * ROUNDING
    assert worst >= ATTAINED * epsilon


@BOTH
@pytest.mark.parametrize("mechanism", ADDITIVE)
@pytest.mark.parametrize(("N", "n", "epsilon", "E", "K"), ABOVE)
def test_a_smaller_device_budget_loses_less(make, mechanism, N, n, epsilon, E, K):
    """Where e(n) > E, at most what the secret sample makes of E, which is below epsilon."""
    if make is Textbook:  # whose reports end where the office's tail begins; here it is the lighter one
        E = float(budget_of_sample(N, n, epsilon)) + E
        layers = make(mechanism, N=N, n=n, epsilon=epsilon, E=E, K=K)
        assert Survey(layers, n, range(-2, n * K + 3)).loss(N, K) <= epsilon * ROUNDING
        return
    layers = make(mechanism, N=N, n=n, epsilon=epsilon, E=E, K=K)
    worst = Survey(layers, n, range(-5 * K, (n + 5) * K + 1)).loss(N, K)
    assert worst <= min(epsilon, mp.log1p(mp.mpf(n) / N * mp.expm1(E))) * ROUNDING


@BOTH
@pytest.mark.parametrize(
    ("mechanism", "E"), [("randomized_response", 4.0), ("discrete_laplace", 4.0), ("staircase", 4.0)]
)
@pytest.mark.parametrize(
    ("N", "n", "rate", "willing", "answers"), [(8, 4, 0.5, 4, 3), (8, 3, 0.5, 4, 3), (6, 3, 0.5, 5, 2)]
)
def test_some_of_the_willing_people_answer(make, mechanism, E, N, n, rate, willing, answers):
    """Given m answers of A willing people exactly ln(1 + m/A·(exp(e) − 1)) is lost: at most epsilon if A ≥ rN."""
    epsilon = 0.8
    layers = make(mechanism, N=N, n=n, epsilon=epsilon, E=E, rate=rate)
    bits = mechanism == "randomized_response"
    values = values_of_bits(answers) if bits else values_of_grid(N, n, epsilon, E, 1, rate=rate)
    worst = Survey(layers, answers, values).loss(willing, 1)
    share = mp.mpf(answers) / willing
    expected = mp.log1p(share * mp.expm1(budget_of_sample(N, n, epsilon, rate)))
    assert expected <= epsilon * ROUNDING
    assert ATTAINED * expected <= worst <= expected * ROUNDING


@BOTH
@pytest.mark.parametrize("mechanism", ["randomized_response", *ADDITIVE])
@pytest.mark.parametrize(("E", "K"), [(0.1, 1), (1.0, 1), (3.0, 1), (8.0, 1), (2.0, 4)])
def test_a_report_loses_the_device_budget(make, mechanism, E, K):
    """Never more, and all of it: whoever sees reports learns E about a person."""
    if mechanism == "randomized_response" and K > 1:
        return
    layers = make(mechanism, N=50, n=45, epsilon=E / 20, E=E, K=K)
    worst = max(
        abs(mp.log(p / layers.reports[other][report]))
        for one, other in itertools.permutations(range(K + 1), 2)
        for report, p in layers.reports[one].items()
        if report in layers.reports[other]
    )
    assert ATTAINED * E <= worst <= E * ROUNDING


@pytest.mark.parametrize("mechanism", ["randomized_response", *ADDITIVE])
def test_the_library_draws_what_the_textbook_says(mechanism):
    """Probabilities of both layers, and of the published sum, digit by digit."""
    case = {"N": 5, "n": 2, "epsilon": 0.9, "E": 3.5, "K": 1}
    textbook, drawn = Textbook(mechanism, **case), Drawn(mechanism, **case)
    for j in range(-6, 7):
        assert float(drawn.office(j)) == pytest.approx(float(textbook.office(j)), rel=1e-12)
    for k in (0, 1):
        for report in range(-4, 5):
            one, other = (float(layers.reports[k].get(report, 0)) for layers in (textbook, drawn))
            assert one == pytest.approx(other, rel=1e-12, abs=1e-15)
    values = values_of_bits(2)
    for one, other in zip(published(textbook, (0, 1), values), published(drawn, (0, 1), values), strict=True):
        assert float(one) == pytest.approx(float(other), rel=1e-12)


def test_without_credit_less_would_be_lost():
    """What is credited is really there: at the budget of the sample itself flipped bits lose less than epsilon."""
    N, n, epsilon, E = 4, 2, 0.5, 2.0
    layers = Textbook("randomized_response", N=N, n=n, epsilon=epsilon, E=E)
    layers.office = discrete_laplace(budget_of_sample(N, n, epsilon), 1)
    assert Survey(layers, n, values_of_bits(n)).loss(N, 1) < 0.9 * epsilon


@pytest.mark.parametrize("wrong", [1.05, 1.2])
def test_too_little_noise_is_noticed(wrong):
    """The enumeration catches an office that noises at a larger budget."""
    N, n, epsilon, E = 4, 2, 0.5, 2.0
    layers = Textbook("randomized_response", N=N, n=n, epsilon=epsilon, E=E)
    layers.office = discrete_laplace(wrong * credited(budget_of_sample(N, n, epsilon), mp.mpf(E)), 1)
    assert Survey(layers, n, values_of_bits(n)).loss(N, 1) > epsilon * 1.01
