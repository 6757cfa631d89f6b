"""How the total of a design came about, and what other numbers of interviews would give. Goals word it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the total of a design came about, where it was not simply given.

    Attributes
    ----------
    best_total : int
        The number of interviews with the least variance at all; more of them hurt.
    best_variance : float
        The variance there.
    limit : int or None
        ``at_most`` of the request.
    variance_at_limit : float or None
        The variance with all of them.
    target_variance : float or None
        The variance to reach.
    variance_with_one_fewer : float or None
        What one interview less would have given; more than the target.
    budget : float or None
        The most that all invitations might cost.
    cost : float or None
        What they cost.
    least_cost : bool
        Whether the target was to be reached at the least cost, not with the fewest interviews.
    """

    best_total: int
    best_variance: float
    limit: int | None = None
    variance_at_limit: float | None = None
    target_variance: float | None = None
    variance_with_one_fewer: float | None = None
    budget: float | None = None
    cost: float | None = None
    least_cost: bool = False
