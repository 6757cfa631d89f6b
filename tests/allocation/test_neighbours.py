"""Which stratum stands in for one without an answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.allocation.response import nearest_with_answers


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=12))
def test_it_is_the_nearest_within_the_same_domains(strata):
    answers, first, second = (np.array(column) for column in zip(*strata, strict=True))
    if not answers.any():
        with pytest.raises(dps.InputError, match="there must be at least one answer, got none"):
            nearest_with_answers(answers, [first, second])
        return
    for i, found in enumerate(nearest_with_answers(answers, [first, second]).tolist()):
        if answers[i]:
            assert found == i
            continue
        full = [j for j in range(len(answers)) if answers[j]]
        inside = [j for j in full if first[j] == first[i]]
        both = [j for j in inside if second[j] == second[i]]
        assert found == min(both or inside or full, key=lambda j: (abs(j - i), j))


def test_a_figure_without_an_answer_spends_nothing():
    strata = dps.Strata([100, 100], extra={"half": ["a", "b"]})
    plan = dps.design(strata, epsilon=1, total=40, release="mean", domains=["half"], questions="yes_no")
    assert plan.budgets_given(np.array([20, 0])) == pytest.approx([np.log1p(np.expm1(1) * 100 / 20), 0])
