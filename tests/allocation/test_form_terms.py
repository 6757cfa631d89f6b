"""Many questions as one function of n: against the textbook, exhaustive search and mpmath."""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.allocation.rows_on_forms import FormVariances, deal
from extent import few
from questionnaires import form, question
from surveys import random_survey


def designed(seed, release, *, total=None, **more):
    """A random design, and what its objective is made of."""
    questionnaire, forms, strata, rng = random_survey(seed, **more)
    asked = {"release": "sums", "device_epsilon": float(rng.uniform(0.5, 8))}
    if release == "microdata":
        asked, forms = {}, [{**each, "tables": []} for each in forms]
    epsilon = float(10 ** rng.uniform(-1, 0.7))
    least = dps.design(
        strata,
        questions=questionnaire,
        forms=forms,
        epsilon=epsilon,
        at_most=int(strata.sizes.sum()),
        **asked,
    ).problem
    low, high = int(least.lower.sum()), int(least.upper.sum())
    total = int(rng.integers(low, high + 1))
    [row] = dps.sweep(
        strata, questions=questionnaire, forms=forms, epsilon=[epsilon], total=total, **asked
    )  # a sweep does not warn of totals beyond the best
    return questionnaire, forms, strata, {"epsilon": epsilon, **asked}, row, least


# --- the textbook ----------------------------------------------------------------------------------


def noise_in_row(kind, levels, spread, N, r):
    """Variance of one unbiased answer in the worst case: nothing is known of the answers."""
    if kind in ("yes_no", "category"):
        return spread + (levels - 1) / (2 * levels) * r * (2 + r)
    square = (levels + 1) / (12 * (levels - 1))
    # with the largest spread answers are at the ends of the range, unless their number is odd
    left = 1 / 4 - spread * (N - 1) / N
    rounding = min(1 / (4 * (levels - 1) ** 2), left) if kind == "number" else 0
    return spread + rounding + r / 4 + square * r * (1 + r)


def v(e):
    return 1 / (2 * math.sinh(e / 2) ** 2)


def noise_of_table(kind, levels, cells, e):
    """What the office adds to the sum of the answers to a question; ``cells`` where combinations are counted."""
    if cells is not None:
        part = {"yes_no": 1 / 4, "category": (levels - 1) / (2 * levels)}.get(
            kind, (levels + 1) / (12 * (levels - 1))
        )
        return cells * part * v(e / 2)
    if kind == "yes_no":
        return v(e)
    if kind == "category":
        return (levels - 1) / 2 * v(e / 2)
    return v(e / (levels - 1)) / (levels - 1) ** 2


def worst_spread(kind, N, categories):
    """Half the sum of p(1 − p) with divisor N − 1 for people as equally divided as whole ones can be."""
    k = categories if kind == "category" else 2
    parts = [N // k + (i < N % k) for i in range(k)]
    return (1 - sum(p * p for p in parts) / N**2) / 2 * N / (N - 1)


def inverses(people, rate, shares):
    """Bounds on E[1/m] and E[1/m²] of all people invited, as the documentation has them, by power."""
    u, q = rate * people, 1 - rate
    one = (1, q / u, q * (1 + q) / u**2, 2 * q * (1 + 4 * q + q * q) / u**3)
    two = (1, 3 * q / u, q * (4 + 7 * q) / u**2, 13 / 5 * q * (5 + 27 * q + 18 * q * q) / u**3)
    return (
        sum(a * b for a, b in zip(one, shares, strict=True)) / u,
        sum(a * b for a, b in zip(two, shares, strict=True)) / u**2,
    )


def textbook(questionnaire, forms, strata, asked, factors=(1.0, 1.0, 1.0, 1.0)):
    """f of each stratum: the importance-weighted variance of all questions with shares of n people on each form."""
    total = sum(each.importance for each in questionnaire)
    if len(questionnaire) == 1:  # in the units of its answers
        total /= questionnaire[0].range ** 2
    sizes = [int(N) for N in strata.sizes]
    rates = np.ones(len(sizes)) if strata.response_rates is None else strata.response_rates

    def f(i, n):
        N, rate, value = sizes[i], float(rates[i]), 0.0
        e = math.log1p(math.expm1(asked["epsilon"]) * rate * N / n)
        y = math.expm1(asked.get("device_epsilon", e))
        one, two = inverses(n, rate, factors)
        for each in questionnaire:
            on = [page for page in forms if each.name in page["questions"]]
            people = sum(page["share"] for page in on)
            for page in on:
                x, cells = page["share"], math.prod(page["levels"])
                weight, r = each.importance / total * (x / people) ** 2, cells / y
                levels = page["levels"][page["questions"].index(each.name)]
                spread = worst_spread(each.kind, N, len(each.categories))
                value += weight * noise_in_row(each.kind, levels, spread, N, r) * one / x
                for table in page["tables"]:
                    if each.name in table["questions"]:
                        places = [page["questions"].index(name) for name in table["questions"]]
                        combined = math.prod(page["levels"][p] for p in places) if len(places) > 1 else None
                        noise = noise_of_table(each.kind, levels, combined, e * table["budget"])
                        value += weight * (1 + r) ** 2 * noise * two / x**2
        return (N / sum(sizes)) ** 2 * value

    return f


def exhaustive(f, lower, upper, total):
    """The least sum over all sizes within limits that add up to the total."""
    ranges = [range(a, b + 1) for a, b in zip(lower, upper, strict=True)]
    table = [{n: f(i, n) for n in each} for i, each in enumerate(ranges)]
    best = math.inf
    for sizes in itertools.product(*ranges[:-1]):
        last = total - sum(sizes)
        if last in table[-1]:
            best = min(best, sum(table[i][n] for i, n in enumerate((*sizes, last))))
    return best


# --- tests -----------------------------------------------------------------------------------------

SEEDS = range(few(6, of=100))


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_sizes_equal_exhaustive_search(seed, release):
    questionnaire, forms, strata, asked, row, problem = designed(seed, release)
    f = textbook(questionnaire, forms, strata, asked)
    found = sum(f(i, n) for i, n in enumerate(row["sample_sizes"]))
    assert found == pytest.approx(exhaustive(f, problem.lower, problem.upper, row["total"]), rel=1e-11)


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("seed", range(200, 200 + few(6, of=40)))
def test_exact_sizes_where_not_everyone_answers(seed, release):
    """Terms of the series of E[1/m] grow where a form has part of the people; by how much is in the problem."""
    questionnaire, forms, strata, asked, row, problem = designed(
        seed, release, rates=True, sizes=(6, 10), strata=(2, 2)
    )
    f = textbook(questionnaire, forms, strata, asked, problem.terms.series_factors)
    found = sum(f(i, n) for i, n in enumerate(row["sample_sizes"]))
    assert found == pytest.approx(exhaustive(f, problem.lower, problem.upper, row["total"]), rel=1e-11)


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("rates", [False, True])
@pytest.mark.parametrize("seed", range(300, 300 + few(4, of=20)))
def test_one_function_of_n_is_convex(seed, release, rates):
    """And equal to the textbook, for every n there can be."""
    questionnaire, forms, strata, asked, _, problem = designed(
        seed, release, rates=rates, sizes=(20, 60), strata=(1, 1)
    )
    f = textbook(questionnaire, forms, strata, asked, problem.terms.series_factors)
    n = np.arange(1.0, strata.sizes[0] + 1)
    mine = np.array([f(0, int(each)) for each in n])
    theirs = np.array([problem.terms.values(np.array([each]))[0] for each in n])
    assert theirs == pytest.approx(mine, rel=1e-9)
    assert (np.diff(mine, 2) >= -1e-12 * mine[2:]).all()
    with mp.workdps(60):
        for each in (1, 2, int(strata.sizes[0]) - 1):
            gain = float(problem.terms.gain(np.array([float(each)]))[0] - problem.terms.origin)
            exact = problem.terms.exact_gain(0, each)
            error = float(problem.terms.gain_error(np.array([gain + problem.terms.origin]))[0])
            assert abs(gain - float(exact)) <= max(error, 1e-13 * problem.terms.origin)


@pytest.mark.parametrize("seed", range(few(10, of=60)))
def test_dealing_equals_exhaustive_dealing(seed):
    """Whole numbers of people for each form, none below the fewest."""
    rng = np.random.default_rng(seed)
    forms, n, least = int(rng.integers(1, 5)), int(rng.integers(12, 25)), int(rng.integers(1, 4))
    parts = [10 ** rng.uniform(-2, 2, (1, forms)) for _ in range(3)]
    parts[2] = parts[2] / n**2 * (rng.random() < 0.5)
    if rng.random() < 0.3:
        parts[1][:] = 0
    variances = FormVariances(*parts)
    shares = rng.dirichlet(np.ones(forms))
    [dealt] = deal(np.array([n]), shares, variances, np.array([least]))

    def value(m):
        return sum(
            float(a) / k + float(b) / k**2 + float(c) * k
            for a, b, c, k in zip(*(p[0] for p in parts), m, strict=True)
        )

    every = (m for m in itertools.product(range(least, n + 1), repeat=forms) if sum(m) == n)
    assert dealt.sum() == n
    assert dealt.min() >= least
    assert value(dealt) == pytest.approx(min(map(value, every)), rel=1e-12)


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("seed", range(400, 400 + few(6, of=30)))
def test_people_are_dealt_for_the_least_variance(seed, release):
    """Of all questions together, whatever is on the forms: no other whole numbers have less."""
    *_, row, problem = designed(seed, release, strata=(1, 1))
    sizes = np.array(row["sample_sizes"])

    def value(dealt):
        parts = problem.forms.stratum_parts(
            problem.terms,
            sizes,
            np.array([dealt]),
            None,
            finite_population=True,
            credited=False,
        )
        return float(parts.total[0] @ problem.forms.importances)

    dealt = problem.forms.dealt(problem.terms, sizes)[0].tolist()
    forms = len(dealt)
    every = [m for m in itertools.product(range(2, int(sizes[0]) + 1), repeat=forms) if sum(m) == sizes[0]]
    assert value(dealt) == pytest.approx(min(map(value, every)), rel=1e-10)


# --- numbers of which nothing is known -------------------------------------------------------------

PLACES = [0, 1 / 6, 1 / 4, 1 / 2, 3 / 4, 5 / 6, 1]  # levels, and half-way between two of them


def reported(place, levels, replaced):
    """Chances of every level of someone whose answer lies there: rounded up or down, kept or replaced."""
    low = min(int(place * (levels - 1)), levels - 2)
    up = place * (levels - 1) - low
    chances = np.full(levels, replaced / levels)
    chances[[low, low + 1]] += (1 - replaced) * np.array([1 - up, up])
    return chances


def enumerated(people, n, levels, replaced):
    """Variance of the estimated mean over every sample of n of these people, and everything they may report."""
    stretch, means, squares = 1 / (1 - replaced), [], []
    for sample in itertools.combinations(people, n):
        sums = np.ones(1)
        for place in sample:
            sums = np.convolve(sums, reported(place, levels, replaced))
        found = (np.arange(len(sums)) / (levels - 1) / n - 0.5) * stretch + 0.5
        means.append(sums @ found)
        squares.append(sums @ found**2)
    assert np.mean(means) == pytest.approx(np.mean(people))
    return np.mean(squares) - np.mean(means) ** 2


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0])
@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("people", [3, 4])
def test_no_numbers_have_a_larger_variance_than_planned_where_nothing_is_known(people, levels, epsilon):
    """Rounding stays if everyone is asked; two levels reach the plan, and so do more where all of it is rounding."""
    questionnaire = dps.Questionnaire([question("q", "number", lower=0, upper=1)])
    for n in range(2, people + 1):
        [row] = dps.sweep(
            dps.Strata([people]),
            questions=questionnaire,
            forms=[form(["q"], [levels])],
            epsilon=[epsilon],
            total=n,
        )
        replaced = levels / (levels + math.expm1(epsilon) * people / n)
        worst = max(
            enumerated(each, n, levels, replaced)
            for each in itertools.combinations_with_replacement(PLACES, people)
        )
        planned, most = row["variance"], 1 / (4 * (levels - 1) ** 2)
        assert worst <= planned * (1 + 1e-9)
        if n == people and (levels == 2 or epsilon == 30.0):
            even = 1 / (4 * people**2 * n) if people % 2 else 0.0  # an odd number is not at both ends alike
            assert planned - worst <= most / (n * (people - 1)) + even + 1e-9


def test_a_known_spread_is_no_rounding():
    """Nearly everyone is asked: a number without noise whose spread is known has what sampling leaves of it."""
    questionnaire = dps.Questionnaire([question("q", "number", lower=0, upper=1)])
    strata = dps.Strata([1000, 1000])
    asked = {"questions": questionnaire, "forms": [form(["q"], [2])], "epsilon": 30, "total": 1900}
    largest = 0.25 * 1000 / 999
    known = dps.Spreads(strata, questionnaire, sds={"q": math.sqrt(largest)}, means={"q": 0.5})
    told, unknown = (dps.design(strata, spreads=each, **asked) for each in (known, None))
    assert told.variance == pytest.approx((largest / 950 - largest / 1000) / 2, rel=1e-6)
    # two levels: it can be all rounding
    assert unknown.variance == pytest.approx((largest / 950 - (largest - 0.25) / 1000) / 2, rel=1e-6)
