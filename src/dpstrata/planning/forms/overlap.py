r"""Forms that overlap: where a partition is far from the bound, questions may be on two forms.

With few questions and a large budget, partitions are coarse: one form is too large and two are too small.
Then it helps to ask some questions on two forms. For any forms the best shares of people are found so:

- The sum of variances: with the weights :math:`c_{jT} = x_T / (\varphi_{jT} I_j)` of a question's estimates
  from its forms, the problem is that of a partition, :math:`a_T = \sum_j c_{jT}^2 \varphi_{jT}`; it touches
  the true one at these x and lies above it everywhere. So the best x for it are better for both; repeat.
- The people for precision targets: the fewest with :math:`\sum_T x_T / \varphi_{jT} \ge 1` for each question,
  a linear program.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.forms import Costs, Division, Forms, FormsProblem, TargetsProblem
from dpstrata.numerics.arrays import FloatArray

_QUICK, _STEPS = 12, 400  # steps to compare forms, and to settle them
_SETTLED = 1e-10
_HELPS = 0.005  # relative: what a question on two forms must gain


def with_questions_on_two_forms(problem: FormsProblem, forms: Forms, enough: float) -> Forms:
    """Put questions on a second form, the one that helps most first, until the value is enough or none helps.

    Parameters
    ----------
    problem : FormsProblem
        The items.
    forms : Forms
        A partition of the items.
    enough : float
        The value at which to stop.
    """
    overlap = _Overlap(problem, forms)
    while overlap.value > enough and overlap.step():
        pass
    return overlap.forms() if overlap.twice else forms


class _Overlap:
    """Forms as lists of options, and the items that are on two of them."""

    def __init__(self, problem: FormsProblem, forms: Forms) -> None:
        self.problem = problem
        rows, ways = problem.rows(forms)
        used = np.array([bool(form.items) for form in forms.forms])
        self.lists = [row[row < len(problem.own.item)].tolist() for row in rows[used]]
        self.ways = ways[used]
        self.twice: set[int] = set()
        self.division = self._divided(self.lists, _STEPS)

    @property
    def value(self) -> float:
        """What the forms reach."""
        return self.division.value

    def forms(self) -> Forms:
        """Make the record."""
        return self.problem.recorded([np.array(each) for each in self.lists], self.ways, self.division)

    def step(self) -> bool:
        """Add the option that helps most to a form; return whether any does."""
        own = self.problem.own
        best, found = self.value * (1.0 - _HELPS), None
        for h, row in enumerate(self.lists):
            there = set(own.item[row].tolist()) | self.twice
            for option in range(len(own.item)):
                if int(own.item[option]) not in there:
                    lists = [*self.lists[:h], [*row, option], *self.lists[h + 1 :]]
                    value = self._divided(lists, _QUICK).value
                    if value < best:
                        best, found = value, (lists, int(own.item[option]))
        if found is None:
            return False
        self.lists = found[0]
        self.twice.add(found[1])
        self.division = self._divided(self.lists, _STEPS)
        return True

    def _divided(self, lists: list[list[int]], steps: int) -> Division:
        told, everyone = self.problem.told(self.problem.padded(lists), self.ways)
        if isinstance(self.problem, TargetsProblem):
            needed = _fewest(told[:, self.problem.own.present[:, self.problem.own.starts].T])
            return self.problem.divided(Costs(needed, everyone))
        return self._settled(told[:, :, 0], everyone, steps)

    def _settled(self, told: FloatArray, everyone: FloatArray, steps: int) -> Division:
        """Divide people best, step by step."""
        people = np.full(len(told), 1.0 / len(told))
        before = np.inf
        for _ in range(steps):
            slopes = told @ (1.0 / (people @ told)) ** 2
            division = self.problem.divided(Costs(people**2 * slopes, everyone))
            people = division.people
            if not division.value < before * (1.0 - _SETTLED):
                break
            before = division.value
        # what the shares really reach, with the best weights of each question's estimates
        least = float(self.problem.alone.sum(axis=-1).min())
        value = float((1.0 / (people @ told)).sum() + (people @ everyone).sum()) + division.spare * least
        return division._replace(value=value)


def _fewest(told: FloatArray) -> FloatArray:
    """Find the fewest people on forms who tell enough of each question."""
    from scipy.optimize import linprog  # heavy, and rarely needed

    scale = float((1.0 / told.max(axis=0)).max())
    solved = linprog(np.ones(len(told)), A_ub=-told.T * scale, b_ub=-np.ones(told.shape[1]), method="highs")
    people = np.asarray(solved.x, dtype=float) * scale
    # a solver's tolerance is not the target's: a little more, so that every target is met
    return people * max(1.0, float((1.0 / (people @ told)).max()))
