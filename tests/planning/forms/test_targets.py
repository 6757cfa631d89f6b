"""Forms for precision targets: everyone who is needed, and not many more than the bound."""

import math

import numpy as np
import pytest

from dpstrata.allocation.forms import FormItem, LevelChoice, TargetsProblem
from dpstrata.allocation.proof.forms import certify_forms
from dpstrata.planning.forms.choose import choose_forms, with_more_forms
from dpstrata.planning.forms.prices import best_bound, bound_forms
from dpstrata.planning.forms.search import best_partition
from extent import few
from form_problems import category, precision, random_problem, variance, yes_no

PROBLEMS = few(6, of=60)


@pytest.mark.slow
@pytest.mark.parametrize("everyone", [0, 1, 2])
def test_targets_are_met(everyone):
    rng = np.random.default_rng(everyone)
    for _ in range(PROBLEMS):
        problem = random_problem(
            rng, int(rng.integers(1, 14)), everyone=everyone, targets=True, levels=(2, 3, 4, 6, 9)
        )
        forms, bound = choose_forms(problem)
        told, variances = precision(problem, forms.forms, forms.value)
        assert told.min() >= 1 - 1e-9
        assert variances.max(initial=0.0) <= 1 + 1e-9
        assert bound.lower_bound <= bound.value == forms.value
        again = certify_forms(problem, forms, bound.prices)
        assert again.lower_bound == pytest.approx(bound.lower_bound, rel=1e-9)


def test_twenty_questions_come_close_to_the_bound():
    rng = np.random.default_rng(20)
    gaps = []
    for budget in (2.5, 3.0, 4.0, 5.0):
        problem = random_problem(rng, 20, targets=True, budget=budget)
        gaps.append(choose_forms(problem)[1].relative_gap)
    assert np.mean(gaps) < 0.08


def test_a_tight_question_may_be_on_several_forms():
    """One yes/no question needs nearly everyone; three categories of ten need some people each."""
    items = (FormItem((0,), yes_no(4)), *(FormItem((q,), category(10, 0.5)) for q in (1, 2)))
    problem = TargetsProblem(items, (), math.expm1(5))
    partition = best_partition(problem)
    bound, others = best_bound(problem, partition)
    forms = with_more_forms(problem, partition, others, 0.0)
    assert forms.value < partition.value
    told, _ = precision(problem, forms.forms, forms.value)
    assert told.min() >= 1 - 1e-12
    assert sum(0 in form.items for form in forms.forms) > 1
    assert bound == bound_forms(problem, partition)
    assert bound.lower_bound <= forms.value


def test_questions_kept_together():
    """Each of the two has its own target; the form needs people for the tighter one."""
    parts = ((0.3, 0.5, 0.25), (0.9, 0.4, 0.1))
    kept = FormItem((0, 1), (LevelChoice(4, (2, 2), 1.2, 0.9, 0.35, parts),))
    problem = TargetsProblem((kept, FormItem((2,), yes_no(1))), (), math.expm1(4))
    forms, bound = choose_forms(problem)
    told, _ = precision(problem, forms.forms, forms.value)
    assert told.min() >= 1 - 1e-12
    assert len(bound.prices) == 3
    assert bound.lower_bound <= forms.value


def test_one_question():
    problem = TargetsProblem((FormItem((0,), category(5, 7)),), (), 30.0)
    forms, bound = choose_forms(problem)
    assert forms.value == pytest.approx(variance(problem.items[0].choices[0], 5 / 30))
    assert bound.relative_gap < 1e-3
