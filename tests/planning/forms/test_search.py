"""The search for a partition, against all partitions and levels."""

import itertools
import math

import numpy as np
import pytest

from dpstrata.allocation.forms import FormItem, FormsProblem
from dpstrata.planning.forms.search import best_levels, best_partition
from extent import few
from form_problems import (
    best_shares,
    cells,
    cheapest_group,
    cheapest_partition,
    random_problem,
    reached,
    set_partitions,
    variance,
    ways_for_everyone,
)

PROBLEMS = few(30, of=200)


@pytest.mark.slow
@pytest.mark.parametrize("targets", [False, True])
def test_the_partition_equals_exhaustive_search(targets):
    rng = np.random.default_rng(1)
    worse = []
    for _ in range(PROBLEMS):
        problem = random_problem(
            rng, int(rng.integers(2, few(7, of=8))), targets=targets, levels=(2, 3, 4, 5, 7, 9)
        )
        exact = cheapest_partition(problem, largest=targets)
        found = best_partition(problem).value
        assert found >= exact * (1 - 1e-12)
        worse.append(found / exact - 1)
    assert np.mean(np.array(worse) < 1e-9) >= 0.95
    assert max(worse) < 0.03


def with_a_form_for_everyone(pairs, alone):
    """Σ(a/x + bx) + alone·(1 - Σx) where x = √(a/(b - alone)) leaves people for a form without items."""
    a, b = np.array(pairs).T
    shares = np.sqrt(a / (b - alone))
    return alone + 2 * float(np.sqrt(a * (b - alone)).sum()) if shares.sum() < 1 else math.inf


def cheapest_with_everyone(problem):
    """All partitions, levels, and ways to ask the items for everyone on each form; with a form of theirs alone."""
    ways = ways_for_everyone(problem)
    alone = min(sum(variance(c, cells(way) / problem.y) for c in way) for way in ways)
    best = math.inf
    for partition in set_partitions(list(range(len(problem.items)))):
        pairs = []
        for group in partition:
            found = []
            for choices in itertools.product(*(problem.items[j].choices for j in group)):
                for way in ways:
                    r = cells(choices) * cells(way) / problem.y
                    found.append((sum(variance(c, r) for c in choices), sum(variance(c, r) for c in way)))
            pairs.append([a for a in found if not any(b[0] <= a[0] and b[1] < a[1] for b in found)])
        for chosen in itertools.product(*pairs):
            best = min(best, best_shares(chosen), with_a_form_for_everyone(chosen, alone))
    return best


def test_the_partition_equals_exhaustive_search_with_a_question_for_everyone():
    rng = np.random.default_rng(2)
    worse = []
    for _ in range(PROBLEMS // 2):
        problem = random_problem(rng, int(rng.integers(1, 5)), everyone=1, levels=(2, 3, 5))
        exact, forms = cheapest_with_everyone(problem), best_partition(problem)
        assert forms.value >= exact * (1 - 1e-6)
        assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-9)
        worse.append(forms.value / exact - 1)
    assert np.mean(np.array(worse) < 1e-6) >= 0.9
    assert max(worse) < 0.02


@pytest.mark.parametrize("everyone", [0, 1])
def test_every_item_is_on_exactly_one_form(everyone):
    problem = random_problem(np.random.default_rng(3), 25, everyone=everyone, budget=4.0)
    forms = best_partition(problem, kicks=3)
    assert sorted(j for form in forms.forms for j in form.items) == list(range(25))
    assert sum(form.share for form in forms.forms) == pytest.approx(1)
    assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-9)


def test_the_same_questionnaire_has_the_same_forms():
    forms = [best_partition(random_problem(np.random.default_rng(4), 15)) for _ in range(2)]
    assert forms[0] == forms[1]


def test_importances_of_another_scale_leave_the_forms():
    problem = random_problem(np.random.default_rng(5), 12)
    scaled = FormsProblem(
        tuple(
            FormItem(
                item.questions,
                tuple(
                    type(c)(c.cells, c.levels, 4 * c.constant, 4 * c.linear, 4 * c.square)
                    for c in item.choices
                ),
            )
            for item in problem.items
        ),
        (),
        problem.y,
    )
    first, second = best_partition(problem), best_partition(scaled)
    assert [form.items for form in first.forms] == [form.items for form in second.forms]
    assert second.value == pytest.approx(4 * first.value)


def test_given_forms_have_the_best_levels():
    rng = np.random.default_rng(6)
    for _ in range(PROBLEMS):
        problem = random_problem(rng, 5, levels=(2, 3, 4, 5, 6, 8))
        groups = [[0, 3], [1, 2, 4]] if rng.random() < 0.5 else [[0, 1, 2, 3, 4]]
        exact = sum(math.sqrt(cheapest_group(problem, group)[0]) for group in groups) ** 2
        forms = best_levels(problem, groups)
        assert sorted(form.items for form in forms.forms) == sorted(tuple(group) for group in groups)
        assert exact * (1 - 1e-12) <= forms.value <= exact * (1 + 1e-9)
