"""One draw of noise for each figure: sample sizes and scales together."""

from __future__ import annotations

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.solvers.noised_once.one_family import solve_one_family
from dpstrata.allocation.solvers.noised_once.shared_room import solve_shared_room
from dpstrata.allocation.solvers.solution import NoisedOnceSolution


def solve_noised_once(problem: NoisedOnce) -> NoisedOnceSolution:
    r"""Find the sample sizes and scales with the least variance, and prove how close they come to the best.

    Parameters
    ----------
    problem : NoisedOnce
        Terms without noise, bounds, total and figures.

    Returns
    -------
    NoisedOnceSolution
        Sizes that add up to the total, the scale of every figure, and the bound.

    Notes
    -----
    Minimise :math:`\sum_i f_i(n_i) + \sum_g 2\omega_g b_g^2` over whole :math:`l_i \le n_i \le h_i` with
    :math:`\sum_i n_i = \eta` and scales :math:`b_g > 0`, subject to
    :math:`\sum_g a_{ig} R / b_g \le r_i n_i \ln(1 + cN_i/n_i)` in every stratum.
    """
    return solve_one_family(problem) if len(problem.families) == 1 else solve_shared_room(problem)
