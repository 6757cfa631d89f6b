r"""The proof how close forms come to the best there could be where the office gets raw answers.

Whatever the forms, the mean of a question is estimated from at most n answers, with noise at no more than
the whole budget. So in no stratum, of n people, is the variance of all questions together less than

.. math:: \sum_j w_j \left( \frac{S_j^2}{n} + \frac{g_j\, v(e(n)/q_j)}{n^2} \right) .

This module imports no solver.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.forms import FormsBound
from dpstrata.allocation.rows_on_forms import RowsOnForms, inverses, variance_in_table
from dpstrata.allocation.variances import question_parts
from dpstrata.numerics.arrays import IntArray


def certify_raw_forms(problem: Problem, sizes: IntArray) -> FormsBound:
    """Bound what any forms can reach at these sample sizes; without the finite population correction."""
    forms, terms = cast(RowsOnForms, problem.forms), problem.terms
    a2, w = terms.coefficients**2, forms.importances
    value = float(a2 @ (question_parts(problem, sizes, finite_population=False).total @ w))
    one, two = inverses(sizes[:, None], terms.sizes, terms.response_rates)
    noise = np.zeros_like(forms.spreads)
    if forms.noise_power == 2:
        e = terms.budgets(sizes.astype(float)).e[:, None]
        least = forms.least_tables
        factors = np.array([each.factor for each in least])
        sensitivities = np.array([each.sensitivity for each in least])
        sums = np.array([each.of_sum for each in least])
        noise = factors * variance_in_table(e / sensitivities, sums)
    bound = float(a2 @ ((one * forms.spreads + two * noise) @ w))
    return FormsBound(value, min(bound, value), ())
