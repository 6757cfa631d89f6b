"""The most that a form is worth, against all subsets and levels; bounds, against thousands of overlapping designs."""

import math

import numpy as np
import pytest

from dpstrata.allocation.forms import Form, FormItem, Forms, FormsProblem, LevelChoice, TargetsProblem
from dpstrata.allocation.proof.forms import Pricing, bound_by_prices, certify_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.search import best_partition
from extent import few
from form_problems import (
    category,
    cells,
    number,
    precision,
    random_problem,
    reached,
    variance,
    ways_for_everyone,
    yes_no,
)

PRICINGS = few(80, of=600)
DESIGNS = few(200, of=3000)


def worth_of_all(problem, prices, tolls):
    """The most over all subsets, levels and ways to ask the items for everyone, by enumeration."""
    options = [[None, *item.choices] for item in problem.items]
    grid = np.stack(np.meshgrid(*(np.arange(len(each)) for each in options), indexing="ij"), axis=-1)
    grid = grid.reshape(-1, len(options))
    table = [
        np.array([(c.cells, c.constant, c.linear, c.square) if c else (1, 0, 0, 0) for c in each])
        for each in options
    ]
    product = np.prod([each[grid[:, j], 0] for j, each in enumerate(table)], axis=0)
    best = -math.inf
    for way in ways_for_everyone(problem):
        r = product * cells(way) / problem.y
        total = -sum(
            (u * variance(choice, r) for u, choice in zip(tolls, way, strict=True)), np.zeros(len(r))
        )
        for j, each in enumerate(table):
            phi = each[grid[:, j], 1] + r * (each[grid[:, j], 2] + r * each[grid[:, j], 3])
            total += np.where(grid[:, j] > 0, prices[j] / np.where(phi > 0, phi, 1.0), 0.0)
        best = max(best, float(total.max()))
    return best


def small_problem(rng, *, targets=False, most=10):
    """At most ten items, and so few levels that everything can be listed."""
    everyone = int(rng.integers(0, 3)) if rng.random() < 0.5 else 0
    while True:
        problem = random_problem(
            rng,
            int(rng.integers(1, most + 1)),
            everyone=everyone,
            targets=targets,
            budget=float(rng.uniform(0.5, 8)),
            levels=(2, 3, 5),
        )
        if math.prod(1 + len(item.choices) for item in problem.items) <= 20_000:
            return problem


def random_prices(rng, problem):
    """Prices of about the size that counts."""
    sizes = np.array([item.choices[0].constant for item in problem.items])
    return sizes**2 * rng.lognormal(0, 1, len(sizes)) * float(rng.choice([1, 10, 100]))


@pytest.mark.parametrize("targets", [False, True])
def test_pricing_equals_enumeration(targets):
    rng = np.random.default_rng(17)
    for _ in range(PRICINGS):
        problem = small_problem(rng, targets=targets)
        pricing = Pricing(problem)
        for _ in range(2):  # the second one starts from the prices of cells of the first
            prices = random_prices(rng, problem)
            tolls = rng.lognormal(0, 1, len(problem.everyone)) if targets else np.ones(len(problem.everyone))
            found = pricing.best(*pricing.split(np.append(prices, tolls) if targets else prices))
            exact = worth_of_all(problem, prices, tolls)
            size = abs(exact) + float(prices.sum())
            assert exact - 1e-14 * size <= found.most <= exact + 1e-9 * size


def test_a_form_that_is_known_saves_work_and_changes_nothing():
    rng = np.random.default_rng(5)
    for _ in range(20):
        pricing = Pricing(random_problem(rng, 12))
        prices = random_prices(rng, pricing.problem)
        most = pricing.best(*pricing.split(prices)).most
        assert pricing.best(*pricing.split(prices), most * (1 - 1e-9)).most == pytest.approx(most, rel=1e-10)


def test_forms_far_larger_than_expected_are_not_left_out():
    """Many cheap questions: the best form has thousands of times more cells than exp(E)."""
    tiny = LevelChoice(3, (3,), 1.0, 0.0, 1e-12)
    problem = FormsProblem(tuple(FormItem((q,), (tiny,)) for q in range(11)), (), 1.0)
    pricing = Pricing(problem)
    most = pricing.best(*pricing.split(np.ones(11))).most
    assert most == pytest.approx(worth_of_all(problem, np.ones(11), ()), rel=1e-9)
    assert most > 10.5


def test_a_question_with_very_many_cells():
    items = [FormItem((0,), category(1000, 1)), *(FormItem((q,), yes_no(1)) for q in range(1, 8))]
    problem = FormsProblem(tuple(items), (), math.expm1(2))
    forms = best_partition(problem)
    bound = bound_forms(problem, forms)
    assert bound.relative_gap < 0.005
    prices = np.array(bound.prices)
    pricing = Pricing(problem)
    assert pricing.best(*pricing.split(prices)).most == pytest.approx(
        worth_of_all(problem, prices, ()), rel=1e-9
    )


def random_design(rng, problem):
    """Any forms with any shares, every item on one at least."""
    count = int(rng.integers(1, 3 * len(problem.items) + 1))
    asked = rng.random((count, len(problem.items))) < rng.uniform(0.05, 0.6)
    for j in np.flatnonzero(~asked.any(axis=0)):
        asked[rng.integers(count), j] = True
    forms = []
    for line, share in zip(asked, rng.dirichlet(np.full(count, 0.7)), strict=True):
        items = tuple(np.flatnonzero(line).tolist())
        choices = tuple(int(rng.integers(len(problem.items[j].choices))) for j in items)
        everyone = tuple(int(rng.integers(len(item.choices))) for item in problem.everyone)
        product = cells(problem.items[j].choices[c] for j, c in zip(items, choices, strict=True))
        product *= cells(item.choices[c] for item, c in zip(problem.everyone, everyone, strict=True))
        forms.append(Form(items, choices, everyone, product, max(float(share), 1e-12)))
    return forms


@pytest.mark.parametrize("everyone", [0, 1, 2])
def test_no_overlapping_design_beats_a_bound(everyone):
    rng = np.random.default_rng(everyone)
    for _ in range(DESIGNS // 20):
        problem = random_problem(rng, int(rng.integers(2, 9)), everyone=everyone, levels=(2, 3, 4, 6))
        bound = bound_forms(problem, best_partition(problem, kicks=2))
        random, _ = bound_by_prices(Pricing(problem), random_prices(rng, problem))
        values = [reached(problem, random_design(rng, problem)) for _ in range(20)]
        assert max(bound.lower_bound, random) <= min(values)


@pytest.mark.parametrize("everyone", [0, 1, 2])
def test_no_overlapping_design_meets_targets_with_fewer_people_than_a_bound(everyone):
    rng = np.random.default_rng(everyone)
    for _ in range(DESIGNS // 20):
        problem = random_problem(
            rng, int(rng.integers(2, 9)), everyone=everyone, targets=True, levels=(2, 3, 4, 6)
        )
        for _ in range(5):
            prices = np.append(random_prices(rng, problem), rng.lognormal(-2, 1, everyone))
            bound, _ = bound_by_prices(Pricing(problem), prices)
            for _ in range(4):
                design = random_design(rng, problem)
                told, variances = precision(problem, design, 1.0)
                assert bound <= max(float((1 / told).max()), float(variances.max(initial=0.0)))


def test_the_proof_can_be_repeated_from_its_prices():
    rng = np.random.default_rng(8)
    for everyone in (0, 1):
        problem = random_problem(rng, 9, everyone=everyone)
        forms = best_partition(problem)
        bound = bound_forms(problem, forms)
        again = certify_forms(problem, forms, bound.prices)
        assert again.lower_bound == pytest.approx(bound.lower_bound, rel=1e-9)
        assert again.value == pytest.approx(forms.value, rel=1e-12)
        assert again.relative_gap == pytest.approx(forms.value / again.lower_bound - 1)


def test_prices_are_checked():
    problem = FormsProblem((FormItem((0,), yes_no(1)), FormItem((1,), yes_no(1))), (), 5.0)
    forms = best_partition(problem)
    for prices in ((1.0,), (1.0, -1.0), (0.0, 0.0), (1.0, math.nan), (1.0, 1.0, 1.0)):
        with pytest.raises(ValueError, match="prices must"):
            certify_forms(problem, forms, prices)


def test_a_value_that_forms_do_not_have_is_not_believed():
    problem = random_problem(np.random.default_rng(3), 6)
    forms = best_partition(problem)
    bound = bound_forms(problem, forms)
    better = Forms(forms.forms, forms.value / 2)
    assert certify_forms(problem, better, bound.prices).value == pytest.approx(forms.value)


@pytest.mark.parametrize("targets", [False, True])
def test_questions_for_everyone_alone(targets):
    kind = TargetsProblem if targets else FormsProblem
    problem = kind((), (FormItem((0,), number((2, 3, 4), 3.0)),), math.expm1(3))
    forms = best_partition(problem)
    least = min(variance(choice, choice.cells / problem.y) for choice in problem.everyone[0].choices)
    assert forms.value == pytest.approx(least)
    assert [form.items for form in forms.forms] == [()]
