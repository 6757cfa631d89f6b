"""Prices: how close partitions come to the bound over all forms there could be."""

import numpy as np
import pytest

from dpstrata.allocation.forms import FormItem, FormsProblem
from dpstrata.planning.forms.choose import choose_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.search import best_levels, best_partition
from extent import few
from form_problems import category, cheapest_partition, random_problem, yes_no

QUESTIONNAIRES = few(5, of=30)


@pytest.mark.slow
def test_forms_come_close_to_the_bound():
    """Partitions on average; one by one only with questions on several forms.

    With few questions and a large budget the best partition that there is can be more than 10% above the bound.
    """
    rng = np.random.default_rng(17)
    partitions, chosen = [], []
    for _ in range(QUESTIONNAIRES):
        problem = random_problem(rng, int(rng.integers(5, 51)))
        forms, bound = choose_forms(problem)
        partition = best_partition(problem)
        partitions.append(partition.value / bound.lower_bound - 1)
        chosen.append(bound.relative_gap)
        assert forms.value <= partition.value
    assert np.mean(partitions) < 0.03
    assert max(chosen) <= 0.10


def test_the_bound_is_below_the_best_partition():
    rng = np.random.default_rng(18)
    for _ in range(15):
        problem = random_problem(rng, int(rng.integers(2, 6)), levels=(2, 3, 4, 6))
        bound = bound_forms(problem, best_partition(problem))
        assert bound.lower_bound <= cheapest_partition(problem) * (1 + 1e-12)


def test_where_forms_cannot_overlap_better_the_bound_is_reached():
    """Equal yes/no questions, two on a form at best: nothing is lost by a partition."""
    problem = FormsProblem(tuple(FormItem((q,), yes_no(1)) for q in range(4)), (), 6.0)
    assert bound_forms(problem, best_partition(problem)).relative_gap < 1e-3


def test_one_form_for_all_is_far_from_the_bound():
    items = tuple(FormItem((q,), category(6, 1)) for q in range(6))
    problem = FormsProblem(items, (), 50.0)
    assert bound_forms(problem, best_levels(problem, [list(range(6))])).relative_gap > 1.0


@pytest.mark.parametrize("everyone", [1, 2])
def test_with_questions_for_everyone(everyone):
    rng = np.random.default_rng(everyone)
    gaps = []
    for _ in range(6):
        problem = random_problem(rng, int(rng.integers(3, 15)), everyone=everyone, levels=(2, 3, 4, 6))
        gaps.append(bound_forms(problem, best_partition(problem)).relative_gap)
    assert np.mean(gaps) < 0.03
    assert max(gaps) <= 0.10
