"""Forms that overlap: shares of people against a general optimiser, and what is gained."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpstrata.allocation.forms import FormItem, FormsProblem, TargetsProblem
from dpstrata.planning.forms.choose import with_more_forms
from dpstrata.planning.forms.prices import best_bound
from dpstrata.planning.forms.search import best_partition
from extent import few
from form_problems import category, number, precision, random_problem, reached, scale, yes_no

# Five questions, the first of which matters most: no partition comes within 10% of the bound.
INCOME = (number(range(2, 17), 5), scale(21, 1), scale(11, 1), category(20, 1), yes_no(1))


def income(budget=5.0, kind=FormsProblem):
    return kind(tuple(FormItem((q,), choices) for q, choices in enumerate(INCOME)), (), math.expm1(budget))


def others_than(problem, partition):
    return best_bound(problem, partition)[1]


def test_a_question_that_matters_most_is_on_several_forms():
    problem = income()
    partition = best_partition(problem)
    bound, others = best_bound(problem, partition)
    assert bound.relative_gap > 0.15
    forms = with_more_forms(problem, partition, others, 1.1 * bound.lower_bound)
    assert bound.lower_bound <= forms.value <= 1.1 * bound.lower_bound
    assert sum(0 in form.items for form in forms.forms) > 1
    assert reached(problem, forms.forms) == pytest.approx(forms.value, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("everyone", [0, 1])
def test_people_are_divided_best(everyone):
    rng = np.random.default_rng(everyone)
    tried = 0
    for _ in range(few(5, of=12)):
        problem = random_problem(rng, 5, everyone=everyone, budget=6.0, levels=(2, 3, 5, 8))
        partition = best_partition(problem)
        forms = with_more_forms(problem, partition, others_than(problem, partition), 0.0)
        count = sum(len(form.items) for form in forms.forms)
        if count == 5 or not forms.forms[-1].items:
            continue
        tried += 1

        def value(x, problem=problem, forms=forms):
            shares = np.exp(x) / np.exp(x).sum()
            moved = [
                type(f)(f.items, f.choices, f.everyone, f.cells, s)
                for f, s in zip(forms.forms, shares, strict=True)
            ]
            return reached(problem, moved)

        start = np.log([form.share for form in forms.forms])
        assert minimize(value, np.zeros(len(start)), tol=1e-12).fun >= forms.value * (1 - 1e-6)
    assert tried


def test_nothing_changes_where_the_value_is_enough_or_nothing_helps():
    problem = income()
    partition = best_partition(problem)
    assert with_more_forms(problem, partition, others_than(problem, partition), partition.value) is partition
    single = FormsProblem((FormItem((0,), yes_no(1)),), (), 5.0)
    alone = best_partition(single)
    assert with_more_forms(single, alone, others_than(single, alone), 0.0) is alone


def test_targets_are_met_on_overlapping_forms():
    problem = income(6.0, TargetsProblem)
    partition = best_partition(problem)
    forms = with_more_forms(problem, partition, others_than(problem, partition), 0.0)
    told, _ = precision(problem, forms.forms, forms.value)
    assert forms.value < partition.value
    assert told.min() >= 1 - 1e-12
