"""The privacy promise of a design in plain words: what holds, for whom, and what does not."""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
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
ASSUMPTIONS = (
    "inside each stratum a simple random sample is drawn without replacement, and nobody learns who is in it "
    "or who is not",
    "everyone who is invited answers, or whether they do has nothing to do with who they are",
    "nobody is listed twice in the frame",
    "strata, sample sizes and noise are fixed before any answer is seen, and the standard deviations are not "
    "computed from the confidential answers",
    "noised answers are shuffled or added up before anything is released",
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
        "If the assumptions hold, whoever sees the released results, and does not know who was invited, can "
        "change their odds about any one person's answer by a factor of at most "
        f"{_factor(central)} (epsilon = {plain_number(inputs.epsilon)}), whether that person took part or "
        "not. If answers are noised before anyone else sees them, whoever sees a single noised answer and "
        f"knows who gave it can change their odds by a factor of at most {_factor(local)} "
        f"(local epsilon at most {round_up(largest_local, 2)})."
    )
    return {
        "unit": "one person's answers",
        "neighbours": "replace one person within a stratum",
        "central": {"epsilon": inputs.epsilon, "delta": inputs.delta},
        "local": {"smallest_epsilon": smallest_local, "largest_epsilon": largest_local},
        "trust": inputs.trust,
        "assumptions": list(ASSUMPTIONS),
        "public": list(PUBLIC),
        "secret": list(SECRET),
        "not_protected": list(NOT_PROTECTED),
        "in_words": words,
    }


def round_up(value: float, digits: int) -> str:
    """Write a number rounded upwards, so that no promise is overstated."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(value).quantize(step, rounding=ROUND_CEILING):f}"


def plain_number(value: float) -> str:
    """Write a number with all the digits it has, and no more."""
    return f"{value:.0f}" if value.is_integer() else repr(value)


def _factor(value: float) -> str:
    """Two decimals, or three leading digits of a large number; upwards."""
    if value < 1e4:
        return round_up(value, 2)
    digits = math.floor(math.log10(value)) - 2
    return f"{float(round_up(value / 10.0**digits * (1 + 1e-12), 0)) * 10.0**digits:.3g}"
