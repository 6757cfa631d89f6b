"""What forms cost, and how people are best divided over them, against the definition."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.forms import FormItem, FormsProblem, LevelChoice, TargetsProblem
from form_problems import best_shares, category, number, random_problem, reached, variance, yes_no


def rows_of(problem, groups):
    """Forms as rows of options, with the first choice of every item."""
    none = len(problem.own.item)
    rows = np.full((len(groups), max(map(len, groups))), none)
    for row, group in zip(rows, groups, strict=True):
        row[: len(group)] = problem.own.starts[list(group)]
    return rows


def random_groups(rng, count):
    places = rng.integers(0, max(1, count // 2), count)
    return [np.flatnonzero(places == g).tolist() for g in np.unique(places)]


@pytest.mark.parametrize("seed", range(20))
def test_the_value_is_the_square_of_the_sum_of_roots(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 9)))
    groups = random_groups(rng, len(problem.items))
    forms = problem.forms(rows_of(problem, groups))
    roots = [
        math.sqrt(sum(variance(problem.items[j].choices[0], form.cells / problem.y) for j in form.items))
        for form in forms.forms
    ]
    assert forms.value == pytest.approx(sum(roots) ** 2, rel=1e-12)
    assert [form.share for form in forms.forms] == pytest.approx(
        [root / sum(roots) for root in roots], rel=1e-12
    )
    assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-12)
    assert [form.items for form in forms.forms] == sorted(tuple(group) for group in groups)


@pytest.mark.parametrize("seed", range(20))
def test_people_are_divided_best_with_questions_for_everyone(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 7)), everyone=int(rng.integers(1, 3)), levels=(2, 3))
    forms = problem.forms(rows_of(problem, random_groups(rng, len(problem.items))))
    assert sum(form.share for form in forms.forms) == pytest.approx(1, rel=1e-12)
    assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-9)
    pairs = []
    for form in forms.forms:
        r = form.cells / problem.y
        own = sum(
            variance(problem.items[j].choices[c], r) for j, c in zip(form.items, form.choices, strict=True)
        )
        asked = zip(problem.everyone, form.everyone, strict=True)
        pairs.append((own, sum(variance(item.choices[c], r) for item, c in asked)))
    assert forms.value == pytest.approx(best_shares(pairs), rel=1e-9)


def test_a_question_for_everyone_that_matters_most_has_a_form_of_its_own():
    problem = FormsProblem((FormItem((0,), yes_no(1)),), (FormItem((1,), yes_no(50)),), math.expm1(2))
    forms = problem.forms(rows_of(problem, [[0]]))
    assert [form.items for form in forms.forms] == [(0,), ()]
    assert [form.cells for form in forms.forms] == [4, 2]
    assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-12)

    def value(x):
        a, b, alone = (
            w * (0.25 + r / 2 + r * r / 4)
            for w, r in ((1, 4 / problem.y), (50, 4 / problem.y), (50, 2 / problem.y))
        )
        return a / x + b * x + alone * (1 - x)

    assert forms.value == pytest.approx(min(map(value, np.linspace(1e-3, 1, 100001))), rel=1e-8)


def test_levels_are_told_by_question():
    kept = FormItem((2, 0), (LevelChoice(6, (2, 3), 1, 1, 1), LevelChoice(10, (2, 5), 0.5, 1, 1)))
    problem = FormsProblem((kept,), (FormItem((1,), category(4, 1)),), 50.0)
    (form,) = problem.forms(np.array([[1]])).forms
    assert (form.cells, problem.levels(form)) == (40, {2: 2, 0: 5, 1: 4})


@pytest.mark.parametrize("seed", range(20))
def test_the_people_of_a_partition_meet_all_targets_and_no_fewer_do(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(1, 9)), targets=True)
    forms = problem.forms(rows_of(problem, random_groups(rng, len(problem.items))))
    needed = [
        max(variance(problem.items[j].choices[0], form.cells / problem.y) for j in form.items)
        for form in forms.forms
    ]
    assert forms.value == pytest.approx(sum(needed), rel=1e-12)
    assert [form.share * forms.value for form in forms.forms] == pytest.approx(needed, rel=1e-12)


@pytest.mark.parametrize("weight", [0.1, 30, 3000])
def test_a_tight_target_of_a_question_for_everyone_takes_more_people(weight):
    everyone = FormItem((2,), number((2, 3), weight))
    items = (FormItem((0,), yes_no(5)), FormItem((1,), category(5, 3)))
    problem = TargetsProblem(items, (everyone,), math.expm1(4))
    forms = problem.forms(rows_of(problem, [[0], [1]]))
    variances = [variance(everyone.choices[form.everyone[0]], form.cells / problem.y) for form in forms.forms]
    shares = [form.share for form in forms.forms]
    reaches = np.dot(shares, variances) / forms.value
    own = sum(
        variance(items[j].choices[0], form.cells / problem.y) for form in forms.forms for j in form.items
    )
    assert reaches <= 1 + 1e-12
    assert forms.value == pytest.approx(own, rel=1e-12) or reaches == pytest.approx(1, rel=1e-12)


def test_questions_kept_together_meet_their_targets_one_by_one():
    parts = ((1.0, 0.0, 2.0), (3.0, 1.0, 0.0))
    kept = FormItem((0, 1), (LevelChoice(6, (2, 3), 4.0, 1.0, 2.0, parts),))
    for y in (2.0, 6.0, 60.0):
        r = 6 / y
        forms = TargetsProblem((kept,), (), y).forms(np.array([[0]]))
        assert forms.value == pytest.approx(max(1 + 2 * r * r, 3 + r), rel=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LevelChoice(1, (1,), 1, 1, 1), "cells must be at least 2, got cells=1"),
        (lambda: LevelChoice(2, (2,), 1, -1, 1), "variance must be positive, with no negative coefficient"),
        (lambda: LevelChoice(2, (2,), 0, 0, 0), "variance must be positive"),
        (lambda: FormItem((0,), ()), "choices must have at least one way to ask an item"),
        (lambda: FormsProblem((), (), 1.0), "items must have at least one question"),
        (lambda: FormsProblem((FormItem((0,), yes_no(1)),), (), 0.0), "y must be positive and finite"),
    ],
)
def test_impossible_problems_are_refused(make, message):
    with pytest.raises(dps.InputError, match=message):
        make()
