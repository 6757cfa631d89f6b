"""What was proven of an allocation, in a sentence: that it is optimal, or how close to that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure

if TYPE_CHECKING:
    from dpstrata.allocation.proof.bound import Bound
    from dpstrata.allocation.proof.certificate import Certificate


def certificate_in_words(proof: Certificate) -> str:
    """Say what moving one person from one stratum to another would do."""
    if proof.margin is None or proof.largest_gain is None or proof.smallest_loss is None:
        return "Proven optimal: the bounds leave no person to move."
    gain, loss = figure(proof.largest_gain, 6), figure(proof.smallest_loss, 6)
    if not proof.optimal:
        return (
            f"Not optimal: moving one person would take {figure(-proof.margin, 3)} off the objective "
            f"(largest gain {gain}, smallest loss {loss})."
        )
    ending = {
        "none": "is as precise",
        "equal": "is more precise, but others are exactly as precise",
        "open": "is more precise, but another agrees with it to 100 digits",
    }[proof.tie]
    return (
        f"Proven optimal: adding one person anywhere gains at most {gain}, "
        f"taking one away loses at least {loss}, so no other allocation "
        f"of the same total {ending}."
    )


def bound_in_words(proof: Bound) -> str:
    """Say what no design can beat, and how close this one comes."""
    least, measure = figure(proof.lower_bound, 6), proof.measure.replace("_", " ")
    if proof.optimal and proof.searched and proof.lower_bound < proof.value:
        return (
            f"Proven optimal: prices prove that no design has a smaller {measure} than {least}, and "
            "every candidate that they leave was tried."
        )
    if proof.optimal:
        return f"Proven optimal: prices prove that no design has a smaller {measure} than this one."
    return (
        f"Proven within {proof.relative_gap:.2g} of the best: this design has a {measure} of "
        f"{figure(proof.value, 6)}, and prices prove that none has one below {least}."
    )
