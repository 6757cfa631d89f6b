"""Choose forms, and prove how close they come to the best there could be."""

from __future__ import annotations

from collections.abc import Sequence

from dpstrata.allocation.forms import Forms, FormsProblem, TargetsProblem
from dpstrata.allocation.proof.forms import FormsBound, certify_forms
from dpstrata.planning.forms.overlap import with_more_forms
from dpstrata.planning.forms.prices import Dual, Variances, best_bound
from dpstrata.planning.forms.search import best_levels, best_partition
from dpstrata.planning.forms.targets import People

_FAR = 0.10  # from the bound: questions may be on several forms


def choose_forms(
    problem: FormsProblem, groups: Sequence[Sequence[int]] | None = None, *, overlap: bool = True
) -> tuple[Forms, FormsBound]:
    """Search forms, and the prices that bound all others.

    Parameters
    ----------
    problem : FormsProblem or TargetsProblem
        The items. With targets the fewest people are searched.
    groups : sequence of sequences of int, optional
        The items of each form, where they are given: then only levels are chosen. All on one form is
        ``[range(len(problem.items))]``.
    overlap : bool
        Whether questions may be on several forms where the best partition found is over 10% above the bound.

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
    forms = best_partition(problem) if groups is None else best_levels(problem, groups)
    if not problem.items:
        return forms, certify_forms(problem, forms, ())
    dual: Dual = People(problem, forms) if isinstance(problem, TargetsProblem) else Variances(problem, forms)
    bound, others = best_bound(dual, forms, problem)
    if overlap and groups is None and bound.relative_gap > _FAR:
        forms = with_more_forms(problem, forms, others, bound.lower_bound * (1.0 + _FAR))
        bound = FormsBound(forms.value, bound.lower_bound, bound.prices)
    return forms, bound
