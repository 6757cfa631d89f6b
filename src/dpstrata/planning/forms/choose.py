r"""Choosing forms: a partition of the questions or, where that is far from the bound, forms that overlap.

Where a partition is far from the bound, more forms are added.

With few questions and a large budget, partitions are coarse: one form is too large and two are too small.
Then it helps to ask some questions on several forms. Those worth adding have the largest shares in the best
division over all forms, from which the bound comes. For any forms the best shares of people are found so:

- The sum of variances: with the weights :math:`c_{jT} = x_T / (\varphi_{jT} I_j)` of a question's estimates
  from its forms, the problem is that of a partition, :math:`a_T = \sum_j c_{jT}^2 \varphi_{jT}`; it touches
  the true one at these x and lies above it everywhere. So the best x for it are better for both; repeat.
- The people for precision targets: the fewest with :math:`\sum_T x_T / \varphi_{jT} \ge 1` for each question,
  a linear program.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.forms import Costs, Division, Forms, FormsProblem, TargetsProblem
from dpstrata.allocation.proof.forms import FormsBound, certify_forms
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.prices import best_bound
from dpstrata.planning.forms.search import Limits, best_partition

_FAR = 0.10  # from the bound: questions may be on several forms
_QUICK, _STEPS = 30, 5000  # steps to compare forms, and to settle them
_SETTLED = 1e-13
_HELPS = 0.005  # relative: what one more form must gain
_NOBODY = 1e-6  # a share of people so small that the form is dropped


def choose_forms(problem: FormsProblem, *, most: int | None = None) -> tuple[Forms, FormsBound]:
    """Search forms, and the prices that bound all others, also those that are too many.

    Questions are on several forms where the best partition found is over 10% above the bound.

    Parameters
    ----------
    problem : FormsProblem or TargetsProblem
        The items. With targets the fewest people are searched.
    most : int, optional
        How many forms there may be, >= 1.

    Examples
    --------
    >>> import math
    >>> from dpstrata.allocation.forms import FormItem, FormsProblem, LevelChoice
    >>> yes_no = LevelChoice(cells=2, levels=(2,), constant=0.25, linear=0.5, square=0.25)
    >>> items = tuple(FormItem((question,), (yes_no,)) for question in range(4))
    >>> forms, bound = choose_forms(FormsProblem(items, (), math.expm1(3)))
    >>> [form.items for form in forms.forms], [form.cells for form in forms.forms]
    ([(0, 1), (2, 3)], [4, 4])
    >>> round(bound.relative_gap, 2)
    0.09
    """
    forms = best_partition(problem, most=most)
    if not problem.items:
        return forms, certify_forms(problem, forms, ())
    bound, others = best_bound(problem, forms)
    if bound.relative_gap > _FAR:
        forms = with_more_forms(problem, forms, others, bound.lower_bound * (1.0 + _FAR), most=most)
        bound = FormsBound(forms.value, bound.lower_bound, bound.prices)
    return forms, bound


def with_more_forms(
    problem: FormsProblem,
    forms: Forms,
    candidates: list[tuple[IntArray, int]],
    enough: float,
    *,
    most: int | None = None,
) -> Forms:
    """Add forms, the one that helps most first, until the value is enough or none helps.

    Parameters
    ----------
    problem : FormsProblem
        The items.
    forms : Forms
        A partition of the items.
    candidates : list of (array of int, int)
        Forms to try, as options and the way to ask the items for everyone (see
        :func:`~dpstrata.planning.forms.prices.best_bound`).
    enough : float
        The value at which to stop.
    most : int, optional
        How many forms there may be: the last ones that are no more are taken.
    """
    limits = Limits.of(problem, most)
    candidates = [(row, way) for row, way in candidates if limits.fit([problem.own.item[row].tolist()])]
    overlap, best = _Overlap(problem, forms), forms
    while True:
        if overlap.value < best.value:
            found = overlap.forms()
            best = found if most is None or len(found.forms) <= most else best
        if not (overlap.value > enough and overlap.step(candidates)):
            return best


class _Overlap:
    """Forms as lists of options, with the ways to ask the items for everyone, and how people are divided."""

    def __init__(self, problem: FormsProblem, forms: Forms) -> None:
        self.problem = problem
        rows, ways = problem.rows(forms)
        used = np.array([bool(form.items) for form in forms.forms])
        self.lists = [row[row < len(problem.own.item)].tolist() for row in rows[used]]
        self.ways = ways[used]
        self.division = self._divided(self.lists, self.ways, _STEPS)

    @property
    def value(self) -> float:
        """What the forms reach."""
        return self.division.value

    def forms(self) -> Forms:
        """Make the record."""
        return self.problem.recorded([np.array(each) for each in self.lists], self.ways, self.division)

    def step(self, candidates: list[tuple[IntArray, int]]) -> bool:
        """Add the form that helps most; return whether any does."""
        more = [
            ([*self.lists, row.tolist()], np.append(self.ways, way)) for row, way in candidates if len(row)
        ]
        values = [self._divided(*each, _QUICK).value for each in more]
        if not values or not min(values) < self.value * (1.0 - _HELPS):
            return False
        self._settle(*more[values.index(min(values))])
        return True

    def _settle(self, lists: list[list[int]], ways: IntArray) -> None:
        """Take forms, without those that nobody would get."""
        people = self._divided(lists, ways, _STEPS).people
        used = people > _NOBODY * people.sum()
        self.lists = [each for each, some in zip(lists, used, strict=True) if some]
        self.ways = ways[used]
        self.division = self._divided(self.lists, self.ways, _STEPS)

    def _divided(self, lists: list[list[int]], ways: IntArray, steps: int) -> Division:
        told, everyone = self.problem.told(self.problem.padded(lists), ways)
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
