"""One solver by name."""

from collections.abc import Callable
from typing import Literal, get_args

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.continuous import solve_relaxation
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.exhaustive import (
    solve_by_algorithm1,
    solve_by_first_stage,
    solve_exhaustively,
)
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.errors import InputError, option

Method = Literal["exact", "continuous", "algorithm1", "algorithm1_first_stage", "exhaustive"]


_SOLVERS: dict[str, Callable[[Problem], Solution]] = {
    "exact": solve_exactly,
    "continuous": solve_relaxation,
    "algorithm1": solve_by_algorithm1,
    "algorithm1_first_stage": solve_by_first_stage,
    "exhaustive": solve_exhaustively,
}


def solve(problem: Problem, method: Method = "exact") -> Solution:
    """Solve ``problem``.

    Parameters
    ----------
    problem : Problem
        Terms, bounds and total.
    method : {"exact", "continuous", "algorithm1", "algorithm1_first_stage", "exhaustive"}
        ``exact`` finds the best whole numbers in time that grows with the number of strata alone;
        ``continuous`` the best real numbers; ``algorithm1`` is the paper's search in a ball around them and
        ``algorithm1_first_stage`` its best rounding of them, which need not be optimal; ``exhaustive`` tries
        every allocation. The last three refuse problems that would take too long.

    Returns
    -------
    Solution
        Sizes, and the price of one more person.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> dps.solve(plan.problem, method="exhaustive").sizes.tolist() == plan.sample_sizes.tolist()
    True
    """
    if method not in _SOLVERS:
        raise InputError(
            f"{option('method')} must be one of {', '.join(get_args(Method))}, got {method!r}.", value=method
        )
    return _SOLVERS[method](problem)
