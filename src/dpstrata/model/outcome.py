"""How the total of a design came about, and what other numbers of interviews would give."""

from __future__ import annotations

import math
from dataclasses import dataclass


def counted(number: int, unit: str = "interview") -> str:
    """Write a number of interviews, or of other things.

    Examples
    --------
    >>> counted(1), counted(1200, "invitation")
    ('1 interview', '1,200 invitations')
    """
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


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

    def in_words(self, total: int, *, mean: bool, unit: str) -> str:
        """Say it for a design with ``total`` interviews or invitations."""
        measure = "standard error" if mean else "objective"

        def show(variance: float) -> str:
            return f"{math.sqrt(variance) if mean else variance:.6g}"

        if self.budget is not None and self.target_variance is None and self.cost is not None:
            beyond = (
                "more would not help, however much could be spent"
                if total >= self.best_total
                else f"{counted(self.best_total, unit)} would be best"
            )
            return (
                f"The budget of {self.budget:,.10g} buys {counted(total, unit)} that cost {self.cost:,.10g}; "
                f"{beyond}, with a {measure} of {show(self.best_variance)}."
            )
        if self.limit is not None and self.variance_at_limit is not None:
            if total < self.limit:
                are, saved = "is" if total == 1 else "are", self.limit - total
                return (
                    f"{counted(total, unit)} {are} best: {saved:,} of the {self.limit:,} are saved, "
                    f"and with all of them the {measure} would be {show(self.variance_at_limit)}."
                )
            return f"All {counted(self.limit, unit)} help; the best number would be {self.best_total:,}."
        if self.target_variance is not None and self.least_cost and self.cost is not None:
            reach = "reaches" if total == 1 else "reach"
            return (
                f"{counted(total, unit)} {reach} a {measure} of {show(self.target_variance)} for a cost of "
                f"{self.cost:,.10g}, the least that was found; the certificate bounds how much less there is."
            )
        if self.target_variance is not None:
            fewer = self.variance_with_one_fewer
            reason = "the minimums ask for as many" if fewer is None else f"one fewer gives {show(fewer)}"
            goal = show(self.target_variance)
            spent = "" if self.cost is None else f", for a cost of {self.cost:,.10g}"
            are = "is" if total == 1 else "are"
            return (
                f"{counted(total, unit)} {are} the fewest that reach a {measure} of {goal}{spent}; {reason}."
            )
        return (
            f"{counted(self.best_total, unit)} would be best, with a {measure} of "
            f"{show(self.best_variance)}; beyond that, more {unit}s lose secrecy and hurt."
        )
