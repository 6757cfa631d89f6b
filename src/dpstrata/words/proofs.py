"""What was proven of an allocation, in a sentence: that it is optimal, or how close to that it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure, told_apart

if TYPE_CHECKING:
    from dpstrata.allocation.proof.bound import Bound
    from dpstrata.allocation.proof.certificate import Certificate
    from dpstrata.designs.record import Design


def certificate_in_words(proof: Certificate, *, full: bool = True) -> str:
    """Say what moving one person from one stratum to another would do, in full with gain and loss."""
    if proof.margin is None or proof.largest_gain is None or proof.smallest_loss is None:
        return "Proven optimal: the minimums and maximums leave no choice."
    gain, loss = told_apart(proof.largest_gain, proof.smallest_loss)
    if not proof.optimal:
        return (
            f"Not optimal: moving one person would lower the objective by {figure(-proof.margin, 3)} "
            f"(largest gain {gain}, smallest loss {loss})."
        )
    ending = {
        "none": "is as precise",
        "equal": "is more precise, though others are exactly as precise",
        "open": "is more precise, though another agrees with it to 100 digits",
    }[proof.tie]
    proven = f"Proven optimal: no other allocation of the same total {ending}."
    if not full:
        return proven
    return (
        f"{proven} Adding one person anywhere gains at most {gain}, and removing one loses at least {loss}."
    )


def proof_in_words(plan: Design, proof: Certificate | Bound, *, full: bool = True) -> str:
    """State what was proven of sample sizes, and if need be that convexity was checked numerically."""
    proven = proof.in_words if full else proof.in_short
    # one exchange that lowers the objective disproves optimality, whether or not the terms are convex
    if plan.mechanism.convexity_proven or proven.startswith("Not optimal"):
        return proven
    return (
        f"{proven.replace('Proven optimal', 'Optimal', 1)} The proof requires convexity, which is checked "
        f"numerically for {plan.mechanism.title} noise."
    )


def bound_in_words(proof: Bound) -> str:
    """Say what no design can beat, and how close this one comes."""
    value, least = told_apart(proof.value, proof.lower_bound)
    measure = proof.measure.replace("_", " ")
    if proof.optimal and proof.searched and proof.lower_bound < proof.value:
        return (
            f"Proven optimal: a lower bound shows that no design has a {measure} below {least}, and every "
            "candidate that this leaves was tried."
        )
    if proof.optimal:
        return f"Proven optimal: a lower bound shows that no design has a smaller {measure}."
    return (
        f"Proven within {figure(100 * proof.relative_gap, 2)}% of the best: this design has a {measure} of "
        f"{value}, and a lower bound shows that no design is below {least}."
    )


def forms_bound_in_words(plan: Design) -> str | None:
    """Say how close the forms come to the best there could be: in variance, or for targets in people.

    ``None`` where there are no others: a single question is on one form.
    """
    if plan.forms_bound is None or len(plan.questions) == 1:
        return None
    gap, people = plan.forms_bound.relative_gap, plan.inputs.asks_by_question
    what = (
        "the number of people that the targets need" if people else "the variance from sampling and devices"
    )
    where = "before the office's noise" if people else "at these sample sizes"
    if gap > 1.0:
        return (
            f"A lower bound leaves room for better forms: with others, however many, {what} may be "
            f"{figure(1.0 + gap, 2)} times smaller {where}."
        )
    return (
        f"A lower bound proves that no other forms, however many, overlapping ones included, lower "
        f"{what} by more than {math.ceil(1000.0 * gap) / 10.0:.1f}% {where}."
    )
