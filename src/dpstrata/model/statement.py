"""The privacy promise of a design in plain words: what holds, for whom, and what does not."""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from dpstrata.arrays import FloatArray
from dpstrata.model.inputs import Inputs, plain_number
from dpstrata.model.waves import Waves, as_written, what_is_left

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
EVERYONE_ANSWERS = "everyone who is invited answers, or whether they do has nothing to do with who they are"
SOME_ANSWER = (
    "in each stratum at least the stated share of people would answer if invited, which is publicly known; "
    "substitutes and reserves count as invited"
)
SHUFFLED = "noised answers are shuffled or added up before anything is released"
SAME_PEOPLE = "the same people answer every question"
ONCE = "the results are released once; what else is released about the same people adds up"
CURATED = (
    "the curator may be trusted with the answers, and releases the noised means and nothing else about them"
)
NOT_FROM_ANSWERS = (
    "strata, sample sizes and noise are fixed before any answer is seen, and the standard deviations are not "
    "computed from the confidential answers"
)
AT_A_COST = (
    "strata, sample sizes and noise are fixed before any answer of this survey is seen, and the standard "
    "deviations that were computed from confidential answers kept to the budget stated for them"
)
FROM_THE_PILOT = (
    "strata, sample sizes and noise were fixed before any answer of this wave was seen, and nothing of the "
    "first wave but its noised answers was used for them"
)
DRAWN_APART = (
    "the samples of the two waves are drawn apart from each other, each from the whole frame, and nobody "
    "learns either"
)
ASSUMPTIONS = (
    "inside each stratum a simple random sample is drawn without replacement, and nobody learns who is in it "
    "or who is not",
    EVERYONE_ANSWERS,
    "nobody is listed twice in the frame",
    NOT_FROM_ANSWERS,
    SHUFFLED,
    ONCE,
)
NOT_PROTECTED = (
    "which stratum a person belongs to: never stratify on the sensitive trait itself",
    "what can be inferred about a person from the population as a whole",
    "a person who is listed more than once in the frame, or who tells others that they were invited",
)
WILLINGNESS = "whether a person would answer if invited: what is protected is what they answer"


def privacy_statement(
    inputs: Inputs,
    local: FloatArray,
    *,
    central: FloatArray,
    on_deviations: float,
    everyone_answers: bool,
    largest_delta: float,
    waves: Waves | None = None,
) -> Mapping[str, Any]:
    """Put the promise of a design into a record and into words.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    local : array
        Local budget in each stratum.
    central : array
        What the release spends in the strata where the cap binds.
    on_deviations : float
        What was spent on the standard deviations before.
    everyone_answers : bool
        Whether no response rate is below 1.
    largest_delta : float
        Largest δ of a single noised answer or mean.
    waves : Waves, optional
        What two waves spend together, if this is one of them.
    """
    if inputs.epsilon is None:
        words = _constant_in_words(inputs)
        promise = {"zcdp": inputs.zcdp, "gdp": inputs.gdp}
        budgets = None
    else:
        words = _amplified_in_words(inputs, inputs.epsilon, float(local.max()))
        promise = {"epsilon": inputs.epsilon, "delta": inputs.delta}
        budgets = {
            "smallest_epsilon": float(local.min()),
            "largest_epsilon": float(local.max()),
            "largest_delta": largest_delta,
        }
    if len(central):
        words += (
            f" The cap of {plain_number(inputs.local_epsilon_cap or 0.0)} on one noised answer binds in "
            f"{len(central):,} of {len(local):,} strata; there the release spends only "
            f"{_range(float(central.min()), float(central.max()))} instead of "
            f"{plain_number(inputs.epsilon or 0.0)}."
        )
    if waves is not None:
        words += " " + _waves_in_words(inputs, waves, on_deviations)
    elif on_deviations > 0:
        words += (
            f" The standard deviations were computed from confidential answers and have cost "
            f"{plain_number(on_deviations)} already, so the survey spends "
            + (
                "that on top of its promise."
                if inputs.epsilon is None
                else f"{_sum(inputs.epsilon, on_deviations)} in all."
            )
        )
    instead = {
        **({} if everyone_answers else {EVERYONE_ANSWERS: SOME_ANSWER}),
        **({SHUFFLED: CURATED} if inputs.trust == "curator" else {}),
        **({NOT_FROM_ANSWERS: AT_A_COST if waves is None else FROM_THE_PILOT} if on_deviations > 0 else {}),
    }
    assumptions = [instead.get(assumption, assumption) for assumption in ASSUMPTIONS]
    if waves is not None:
        assumptions.append(DRAWN_APART)
    if inputs.questions > 1:
        assumptions.append(SAME_PEOPLE)
    return {
        "unit": "one person's answers",
        "neighbours": "replace one person within a stratum",
        "central": promise,
        "local": budgets,
        "spent_on_deviations": on_deviations,
        "central_in_all": _in_all(inputs, _other_wave(inputs, waves, on_deviations)),
        "trust": inputs.trust,
        "assumptions": assumptions,
        "public": list(PUBLIC),
        "secret": list(SECRET),
        "not_protected": [*NOT_PROTECTED, *(() if everyone_answers else (WILLINGNESS,))],
        "in_words": words,
    }


def _amplified_in_words(inputs: Inputs, epsilon: float, largest: float) -> str:
    """Say what a promise of epsilon means for the public and for whoever sees one answer."""
    words = (
        "If the assumptions hold, whoever sees the released results, and does not know who was invited, can "
        "change their odds about any one person's answer, beyond what the results tell of people in general, "
        f"by a factor of at most {factor_up(math.exp(epsilon))} (epsilon = {plain_number(epsilon)}), whether "
        "that person took part or not. "
    )
    if inputs.delta > 0:
        what = "a noised mean" if inputs.trust == "curator" else "a single noised answer"
        words += (
            f"Beyond that factor, the probability of anything seen may differ by delta = "
            f"{plain_number(inputs.delta)}; for {what} by that times the size of its stratum over its sample "
            "size. "
        )
    if inputs.trust == "curator":
        means = "the noised mean" if inputs.questions == 1 else "all noised means"
        words += (
            "Answers reach a trusted curator without noise, and nothing protects them there. Whoever sees "
            f"{means} of a stratum and knows everyone who was invited can change their odds about one of "
            f"them by a factor of at most {factor_up(math.exp(largest))} (local epsilon at most "
            f"{round_up(largest, 2)})."
        )
    else:
        answers = "a single noised answer" if inputs.questions == 1 else "all noised answers of one person"
        gave = "it" if inputs.questions == 1 else "them"
        words += (
            f"If answers are noised before anyone else sees them, whoever sees {answers} and knows who gave "
            f"{gave} can change their odds by a factor of at most {factor_up(math.exp(largest))} (local "
            f"epsilon at most {round_up(largest, 2)})."
        )
    return words


def _waves_in_words(inputs: Inputs, waves: Waves, spent: float) -> str:
    """Say what a wave and the other one spend together."""
    both = (
        f"so both spend at most {plain_number(waves.epsilon)} in all; whoever is drawn for both spends the "
        "local budgets of both."
    )
    if waves.first:
        return (
            f"This is the first of two waves. The second is designed from its noised answers and spends "
            f"{plain_number(_other_wave(inputs, waves, spent))}, {both}"
        )
    return (
        "This is the second of two waves. The standard deviations come from the noised answers of the first, "
        f"which spent {plain_number(spent)}, {both}"
    )


def _other_wave(inputs: Inputs, waves: Waves | None, spent: float) -> float:
    """Return what was spent before, or will be spent by the wave that follows."""
    if waves is None or not waves.first or inputs.epsilon is None:
        return spent
    return what_is_left(waves.epsilon, inputs.epsilon)


def _constant_in_words(inputs: Inputs) -> str:
    """Say what a promise of zCDP or GDP means."""
    name = "zero-concentrated" if inputs.zcdp is not None else "Gaussian"
    if inputs.trust == "curator":
        start = "Answers reach a trusted curator without noise. Whoever sees the noised means"
    else:
        start = "If answers are noised before anyone else sees them, whoever sees those of one person"
    return (
        f"{start} learns no more about a person's answers than {name} differential privacy "
        f"allows ({inputs.promise_in_words}), whether or not they know who was invited: a secret sample does "
        "not strengthen this promise."
    )


def _in_all(inputs: Inputs, on_deviations: float) -> dict[str, float] | None:
    """Add up what the survey and the deviations before it spend, where the two can be added.

    Pure ε keeps zCDP with ρ = ε²/2. There is no such sum for Gaussian DP.
    """
    if inputs.epsilon is not None:
        return {"epsilon": float(_sum(inputs.epsilon, on_deviations)), "delta": inputs.delta}
    if inputs.zcdp is not None:
        return {"zcdp": inputs.zcdp + on_deviations**2 / 2}
    return {"gdp": inputs.gdp or 0.0} if on_deviations == 0 else None


def _sum(first: float, second: float) -> str:
    """Add two numbers as they are written."""
    return f"{(as_written(first) + as_written(second)).normalize():f}"


def _range(smallest: float, largest: float) -> str:
    """Write a range of budgets, rounded upwards."""
    low, high = round_up(smallest, 3), round_up(largest, 3)
    return high if low == high else f"{low} to {high}"


def round_up(value: float, digits: int) -> str:
    """Write a number rounded upwards, so that no promise is overstated."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(value).quantize(step, rounding=ROUND_CEILING):f}"


def round_down(value: float, digits: int) -> str:
    """Write a number rounded downwards."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(value).quantize(step, rounding=ROUND_FLOOR):f}"


def percent_up(chance: float) -> str:
    """Write a chance in percent, upwards; nothing is said to be impossible that is not.

    Examples
    --------
    >>> percent_up(0.0123), percent_up(1e-9), percent_up(0.4), percent_up(0.998)
    ('1.3%', 'below 0.1%', '40%', 'above 99%')
    """
    if chance < 0.001:
        return "below 0.1%"
    if chance > 0.99:
        return "above 99%"
    return f"{round_up(100 * chance * (1 - 1e-12), 1 if chance < 0.1 else 0)}%"


def factor_up(value: float) -> str:
    """Write a factor with two decimals, or three leading digits of a large number; upwards."""
    if value < 1e4:
        return round_up(value, 2)
    digits = math.floor(math.log10(value)) - 2
    return f"{float(round_up(value / 10.0**digits * (1 + 1e-12), 0)) * 10.0**digits:.3g}"
