"""The privacy promise of a design in plain words: what holds, for whom, and what does not."""

import math
from collections.abc import Mapping
from typing import Any

from dpstrata.model.inputs import Inputs

PUBLIC = (
    "the strata, their sizes and who belongs to which",
    "the number of people invited in each stratum",
    "this design: mechanism, budgets, standard deviations and where they come from",
)
SECRET = (
    "who was invited and who answered",
    "the order and the time in which answers arrived",
    "the answers before noise",
    "the key of the draw",
)
NOT_PROTECTED = (
    "which stratum a person belongs to: never stratify on the sensitive trait itself",
    "what can be inferred about a person from the population as a whole",
    "a person who is listed more than once in the frame, or who tells others that they were invited",
)


def privacy_statement(inputs: Inputs, smallest_local: float, largest_local: float) -> Mapping[str, Any]:
    """Put the promise of a design into a record and into words.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    smallest_local, largest_local : float
        Least and largest local budget over the strata.
    """
    central, local = math.exp(inputs.epsilon), math.exp(largest_local)
    words = (
        "Whoever sees the released results, and does not know who was invited, can change their odds about "
        f"any one person's answer by a factor of at most {_factor(central)} (epsilon = {inputs.epsilon:g}), "
        "whether that person took part or not. Whoever sees a single noised answer and knows who gave it can "
        f"change their odds by a factor of at most {_factor(local)} "
        f"(local epsilon at most {_up(largest_local)})."
    )
    return {
        "unit": "one person's answers",
        "neighbours": "replace one person within a stratum",
        "central": {"epsilon": inputs.epsilon, "delta": inputs.delta},
        "local": {"smallest_epsilon": smallest_local, "largest_epsilon": largest_local},
        "trust": inputs.trust,
        "public": list(PUBLIC),
        "secret": list(SECRET),
        "not_protected": list(NOT_PROTECTED),
        "in_words": words,
    }


def _up(value: float, digits: int = 2) -> str:
    """Write a budget rounded upwards, so that no promise is overstated."""
    scale = 10**digits
    return f"{math.ceil(value * scale * (1 - 1e-12)) / scale:.{digits}f}"


def _factor(value: float) -> str:
    return _up(value) if value < 1e4 else f"{value * 1.0005:.3g}"
