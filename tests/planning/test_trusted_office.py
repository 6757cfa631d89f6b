"""Questionnaires whose answers the office gets as they were given: everyone is asked everything, or forms are better."""

import itertools
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.planning.forms.raw import _best_shares
from extent import few, mean_limit, variance_limits

TEN = [dps.Question(f"q{i}", "yes_no", blank=False) for i in range(10)]
MIXED = [
    dps.Question("smokes", "yes_no", blank=False, importance=2),
    dps.Question("home", "category", categories=["rent", "own", "other"]),
    dps.Question("trust", "scale", lower=1, upper=5),
    dps.Question("income", "number", lower=0, upper=8000),
]


def designed(questions=TEN, sizes=(5000,) * 10, **options):
    given = {"epsilon": 1.0, "total": 3000, "release": "sums"} | options
    return dps.design(dps.Strata(list(sizes)), questions=questions, **given)


def test_ten_questions_are_asked_of_everyone():
    """300 of 5,000 in every stratum, the budget ln(1 + (e - 1)·5000/300) in ten parts: s(e/10)/300² beside 1/4/300."""
    plan = designed()
    (form,) = plan.forms
    assert form.questions == tuple(question.name for question in TEN)
    assert plan.sample_sizes.tolist() == [300] * 10
    e = math.log1p(math.expm1(1) * 5000 / 300)
    noise = 1 / (2 * math.sinh(e / 20) ** 2) / 300**2
    sampling = 0.25 * 5000 / 4999 / 300 * (1 - 300 / 5000)
    assert plan.variance == pytest.approx((sampling + noise) / 10, rel=1e-9)
    assert plan.certificate.optimal
    errors = [designed(device_epsilon=E).standard_error for E in (3, 5)]
    assert [round(error, 4) for error in (plan.standard_error, *errors)] == [0.0099, 0.024, 0.0162]


@pytest.mark.parametrize("questions", [TEN, MIXED], ids=["ten yes/no", "four kinds"])
def test_repeated_surveys(questions):
    plan = designed(questions)
    repeats = few(500, of=2000)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=repeats, seed=4)
    least, most = variance_limits(repeats * len(questions) // 2)
    assert least < result.variance / result.predicted_variance < most
    assert result.agrees()
    for name, each in result.questions.items():
        assert abs(each.bias) < 6 * each.bias_error, name


def test_forms_where_the_noise_would_drown_the_answers():
    """Few people who hardly differ, and a large budget: ten tables of a tenth each are noisier than forms."""
    strata = dps.Strata([5000])
    spreads = dps.Spreads(strata, TEN, proportions={question.name: 0.01 for question in TEN})

    def variance(**more):
        asked = {"epsilon": 4.0, "total": 20, "release": "sums", "spreads": spreads} | more
        plan = dps.design(strata, questions=TEN, **asked)
        return plan.variance, len(plan.forms)

    best, forms = variance()
    assert forms > 1
    assert best < 0.8 * variance(forms="one")[0]
    for number in (2, 3, 5, 10):
        given = [[question.name for question in TEN[i::number]] for i in range(number)]
        assert best <= variance(forms=given)[0] * 1.001


def test_no_other_division_of_four_questions_is_better():
    names = [question.name for question in MIXED]
    options = {"sizes": (400, 900), "total": 80, "epsilon": 2.0}
    plan = designed(MIXED, **options)
    divisions = []
    for code in itertools.product(range(4), repeat=4):
        groups = [[name for name, g in zip(names, code, strict=True) if g == k] for k in range(4)]
        divisions.append(tuple(sorted(tuple(group) for group in groups if group)))
    found = {}
    for division in set(divisions):
        found[division] = designed(MIXED, **options, forms=[list(group) for group in division]).variance
    assert plan.variance <= min(found.values()) * 1.002
    assert plan.forms_bound.lower_bound <= plan.forms_bound.value


def test_a_number_is_not_put_on_levels():
    plan = designed(MIXED)
    (form,) = plan.forms
    assert dict(zip(form.questions, form.levels, strict=True))["income"] == 0
    income = plan.questions[3]
    e, share = float(plan.local_epsilons[0]), form.tables[3].budget
    assert form.tables[3].questions == ("income",)
    b = math.exp(-e * share)
    stairs = (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2
    assert income.office == pytest.approx(8000**2 * stairs / 300**2 / 10, rel=1e-9)
    assert income.device == 0


@pytest.mark.parametrize("number", [2, 3, 7])
def test_shares_of_people_are_the_best(number):
    rng = np.random.default_rng(number)
    a, o = rng.uniform(0.1, 2, number), rng.uniform(0, 3, number)
    x = _best_shares(a, o)
    slopes = a / x**2 + 2 * o / x**3
    assert x.sum() == pytest.approx(1)
    assert slopes == pytest.approx(np.full(number, slopes.mean()), rel=1e-6)


def test_one_category_at_a_trusted_office():
    """Counts with noise of two, put on their known total."""
    home = dps.Question("home", "category", categories=list("abcd"), blank=False)
    plan = designed(home, sizes=(2000, 3000), total=400)
    e, n = plan.local_epsilons, plan.sample_sizes
    noise = 1.5 / (2 * np.sinh(e / 4) ** 2) / n**2  # half of 4·(1 − 1/4)·s(e/2)
    W = np.array([0.4, 0.6])
    assert plan.questions[0].office == pytest.approx(float(W**2 @ noise), rel=1e-9)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=few(400, of=4000), seed=2)
    assert result.agrees()
    mean = designed(home, sizes=(2000, 3000), total=400, release="mean")
    assert mean.variance < plan.variance
    assert dps.simulate(mean, dps.synthetic_population(mean), replications=few(400, of=4000), seed=2).agrees()


@pytest.mark.parametrize("device", [None, 4.0])
def test_figures_of_several_questions(device):
    plan = designed(MIXED, sizes=(900, 1500), total=500, release="mean", device_epsilon=device)
    assert len(plan.forms) == 1
    repeats = few(400, of=4000)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=repeats, seed=8)
    assert result.agrees()


def test_published_sums_are_unbiased(tmp_path):
    """Real draws, answers and noise: what is estimated of everyone is right on average."""
    rng = np.random.default_rng(5)
    N = {"north": 60, "south": 90}
    strata = dps.Strata(list(N.values()), names=list(N))
    plan = dps.design(strata, questions=MIXED, epsilon=3, total=60, release="sums")
    from dpstrata.fielding.collected import Collected
    from dpstrata.fielding.estimate import reader_of
    from dpstrata.fielding.randomizers import randomizer_of
    from dpstrata.fielding.releases import SumsFielding
    from dpstrata.fielding.sample import ReportKey

    form = randomizer_of(plan, 1)
    people = [
        [
            form.raw(
                {
                    "smokes": "yes" if rng.random() < 0.3 else "no",
                    "home": str(rng.choice(["rent", "own", "other", ""])),
                    "trust": int(rng.integers(1, 6)),
                    "income": float(rng.integers(0, 8001)),
                }
            )
            for _ in range(size)
        ]
        for size in N.values()
    ]
    everyone = [row for stratum in people for row in stratum]
    truth = {"smokes": np.mean([float(row[0]) for row in everyone])}
    truth |= {"trust": np.mean([1 + 4 * float(row[2]) for row in everyone])}
    truth |= {"income": np.mean([8000 * float(row[3]) for row in everyone])}
    found = {name: [] for name in truth}
    fielding = SumsFielding()
    for _ in range(few(150, of=2000)):
        answers = {
            ReportKey(i, 0, 0): [people[i][j] for j in rng.choice(size, int(n), replace=False)]
            for i, (size, n) in enumerate(zip(N.values(), plan.sample_sizes, strict=True))
        }
        noise = fielding.draw_office_noise(plan, plan.sample_sizes)
        columns = fielding.published(plan, Collected(answers, from_devices=False), noise, lambda n: None)
        result = reader_of(plan).estimate(*columns.values())
        for row in result.whole:
            if row.question in found and row.level in ("", "yes") and row.column == "all":
                found[row.question].append((row.estimate, row.standard_error))
    for name, each in found.items():
        estimates, errors = np.array(each).T
        assert abs(estimates.mean() - truth[name]) < mean_limit(estimates), name
        ratio = np.square(errors).mean() / estimates.var(ddof=1)
        assert 0.6 < ratio < (1.6 if name == "smokes" else 3.5), (
            name
        )  # a sum shows no spread: the worst counts
