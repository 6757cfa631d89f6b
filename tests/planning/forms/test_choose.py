"""Forms with their bound, as a design asks for them."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.planning.forms.choose import choose_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.search import best_levels, best_partition
from form_problems import random_problem


@pytest.mark.parametrize("targets", [False, True])
@pytest.mark.parametrize("everyone", [0, 1])
def test_forms_come_with_their_bound(targets, everyone):
    problem = random_problem(np.random.default_rng(1), 8, everyone=everyone, targets=targets, budget=7.0)
    forms, bound = choose_forms(problem)
    partition = best_partition(problem)
    its_bound = bound_forms(problem, partition)
    assert bound.value == forms.value <= partition.value
    assert bound.lower_bound == its_bound.lower_bound <= forms.value
    assert sorted(j for form in partition.forms for j in form.items) == list(range(8))


@pytest.mark.parametrize("targets", [False, True])
def test_given_forms_stay(targets):
    problem = random_problem(np.random.default_rng(2), 6, targets=targets, budget=3.0)
    for groups in ([list(range(6))], [[0, 5], [1, 2], [3], [4]]):
        forms = best_levels(problem, groups)
        bound = bound_forms(problem, forms)
        assert [list(form.items) for form in forms.forms] == groups
        assert bound.lower_bound <= forms.value
    assert best_levels(problem, [range(6)]).value > choose_forms(problem)[0].value


@pytest.mark.parametrize("groups", [[[0], [1]], [[0, 1, 2], [2]], [[0, 1, 2, 3]], []])
def test_given_forms_must_have_every_item_once(groups):
    problem = random_problem(np.random.default_rng(3), 3, budget=math.log(20))
    with pytest.raises(dps.InputError, match="forms must have each of the items 0 to 2 once, got forms="):
        best_levels(problem, groups)
