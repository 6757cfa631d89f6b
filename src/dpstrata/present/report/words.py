"""A plan in sentences: what was asked, what came out beside Neyman's allocation, what the promise means."""

from __future__ import annotations

import math

import numpy as np

from dpstrata.allocation.comparison import Comparison
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.variances import stratum_variances
from dpstrata.designs.questions import largest_influence
from dpstrata.designs.record import Design
from dpstrata.survey.inputs import Inputs
from dpstrata.words.estimates import REPORTED
from dpstrata.words.forms import beside_in_words, forms_bound_in_words, result_in_short
from dpstrata.words.numbers import counted, money, percent_up, round_up
from dpstrata.words.usefulness import alarm

_LISTED_SIZES = 6
OBJECTIVES = {
    "mean": "the variance of the estimated population mean",
    "trace": "the sum of the variances of the stratum means",
    "unit_free": "the sum of the variances of the stratum means, each relative to its stratum's own",
    "custom": "the sum of the variances of the stratum means, weighted by the squared coefficients",
}
OBJECTIVES_OF_SHARES = {
    "mean": "half the sum of the variances of the estimated shares",
    "trace": "half the sum of the variances of all strata's shares",
    "unit_free": "half the sum of the variances of all strata's shares, each relative to its stratum's own",
    "custom": "half the sum of the variances of all strata's shares, weighted by the squared coefficients",
}


def minimised_in_words(inputs: Inputs) -> str:
    """Name what is made as small as possible."""
    if inputs.rows:
        return "the average variance of the questions, in squared ranges and weighted by importance,"
    return (OBJECTIVES if inputs.space.numbers else OBJECTIVES_OF_SHARES)[inputs.objective]


def headline(plan: Design) -> str:
    """Say in a few sentences what a design gives, and what Neyman's allocation would.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> print(headline(dps.design(strata, epsilon=1.0, total=200)))
    117 + 42 + 22 + 19 = 200 interviews give a standard error of 0.00937; without privacy, they would give 0.00622. Neyman's allocation would give 0.00972 under the same privacy. Proven optimal.
    """  # noqa: E501 - the sentence is shown whole
    useless = alarm(plan)
    said = [_result(plan), *([] if useless is None else [useless])]
    if plan.forms_bound is not None:
        return " ".join([*said, f"{_proof(plan)[:-1]} for these forms.", forms_bound_in_words(plan)])
    return " ".join([*said, neyman_in_words(plan), _proof(plan)])


def _result(plan: Design) -> str:
    if plan.inputs.rows:
        return f"{result_in_short(plan)} {beside_in_words(plan)}"
    sizes = plan.sample_sizes.tolist()
    if 1 < len(sizes) <= _LISTED_SIZES:
        who = f"{' + '.join(f'{n:,}' for n in sizes)} = {plan.strata.counted(plan.total)}"
    else:
        who = f"{plan.strata.counted(plan.total)} in {counted(len(sizes), 'stratum')}"
    give = "gives" if plan.total == 1 else "give"
    cost = "" if plan.cost is None else f" at a cost of {money(plan.cost)}"
    plain = plan.standard_error_without_privacy
    plain = plan.variance_parts.sampling if plain is None else plain
    it = "it" if plan.total == 1 else "they"
    beside = f"without privacy, {it} would give {three_digits(plain)}"
    return f"{who} {give} {measure_in_words(plan)}{cost}; {beside}."


def measure_in_words(plan: Design) -> str:
    """Name the precision of a design and give its value."""
    if plan.standard_error is None:
        return f"an objective ({plan.inputs.objective}) of {three_digits(plan.variance)}"
    error, of = plan.inputs.precision_in_words
    said = f" for {of}" if not plan.inputs.space.numbers else ""
    said = f" for the {plan.inputs.mean_in_words}" if plan.inputs.clip else said
    return f"{error} {three_digits(plan.standard_error)}{said}"


def three_digits(value: float) -> str:
    """Write a positive number with three digits, and as people write numbers.

    Examples
    --------
    >>> three_digits(0.01956), three_digits(588.2), three_digits(5741.0), three_digits(3e-9)
    ('0.0196', '588', '5,740', '3.00e-09')
    """
    if value == 0 or not 1e-5 <= value < 1e9:
        return f"{value:.2e}" if value else "0"
    rounded = float(f"{value:.2e}")
    return f"{rounded:,.{max(2 - math.floor(math.log10(rounded)), 0)}f}"


def neyman_in_words(plan: Design) -> str:
    """Say what Neyman's allocation would give for the same cost; with equal costs, with as many people."""
    neyman = next(row for row in plan.compare() if row.design == "neyman")
    shown = three_digits(neyman.variance if neyman.standard_error is None else neyman.standard_error)
    if np.array_equal(neyman.sample_sizes, plan.sample_sizes):
        return "Neyman's allocation is the same."
    amount = " of the same cost" if plan.strata.costs_differ else ""
    looks_better = neyman.ratio <= 1 or neyman.variance <= plan.variance
    drawbacks = _drawbacks(plan, neyman) if looks_better else ""
    return f"Neyman's allocation{amount} would give {shown} under the same privacy{drawbacks}."


def _drawbacks(plan: Design, neyman: Comparison) -> str:
    """Say what an allocation that is more precise as a whole fails at: cost, targets, or empty strata."""
    found = []
    chance = plan.chance_of_empty_stratum_at(neyman.sample_sizes)
    if chance > plan.chance_of_empty_stratum:
        found.append(
            f"leave a stratum without an answer with a chance of {percent_up(chance)} instead of "
            f"{percent_up(plan.chance_of_empty_stratum)}"
        )
    if plan.cost is not None and neyman.cost is not None and neyman.cost > plan.cost:
        found.append(f"cost {money(neyman.cost)} instead of {money(plan.cost)}")
    missed = missed_targets(plan, neyman)
    if missed:
        found.append(f"miss {counted(missed, 'target')}")
    if not found and neyman.ratio > 1:
        found.append(f"have {neyman.ratio:.3f} times the planned variance, which counts few answers as worse")
    return f", but would {' and '.join(found)}" if found else ""


def missed_targets(plan: Design, rival: Comparison) -> int:
    """Count the targets of a design that another allocation would miss."""
    parts = stratum_variances(
        plan.problem, rival.sample_sizes, finite_population=plan.inputs.finite_population
    )
    return sum(int((part.variances(*parts) > part.limits * (1 + 1e-12)).sum()) for part in plan.partitions)


def _proof(plan: Design) -> str:
    proof = plan.certificate
    if isinstance(proof, Bound) and not proof.optimal:
        return f"Proven within {_percent_up(proof.relative_gap)} of the best."
    return "Proven optimal." if plan.mechanism.convexity_proven else "Optimal; convexity checked numerically."


def _percent_up(share: float) -> str:
    digits = max(1, 1 - math.floor(math.log10(share * 100))) if share > 0 else 1
    return f"{round_up(share * 100, digits)}%"


def why_a_proof(plan: Design) -> str:
    """Say why the certificate of a design proves what it says."""
    if plan.figures:
        return (
            "Sample sizes and the noise of the published figures depend on each other, so no single exchange "
            "decides. The prices below do: with a price on a person, and on what a stratum may spend, each "
            "stratum and each figure can be minimised by itself, and what they reach together no design can "
            "beat. Anyone can recompute that bound without knowing how the design was found."
        )
    if isinstance(plan.certificate, Bound):
        return (
            "Invitations differ in cost, or several precisions must be reached, so no single exchange "
            "decides. The prices below do: with a price on the budget or on every target each stratum can be "
            "minimised by itself, and what the strata reach together no design can beat. Anyone can "
            "recompute that bound without knowing how the design was found."
        )
    return (
        "In every stratum each further person helps less than the one before. So if moving one person from "
        "one stratum to another never helps, no larger change can: the allocation is the best of all "
        "allocations with as many people. That is a comparison of two numbers, which anyone can repeat "
        "without knowing how the allocation was found."
    )


def goal_in_words(inputs: Inputs, unit: str = "interview") -> str:
    """Write the goal of the planner, where sample sizes count ``unit``.

    Examples
    --------
    >>> goal_in_words(Inputs(epsilon=1.0, total=200))
    'Which allocation of exactly 200 interviews makes the variance of the estimated population mean smallest?'
    """
    return inputs.goal.in_words(unit, f"makes {minimised_in_words(inputs)} smallest")


def odds_in_words(plan: Design) -> str:
    """Say what the promise does to what someone believes about a person, with all that is spent.

    Examples
    --------
    >>> import dpstrata as dps
    >>> print(odds_in_words(dps.design(dps.Strata([700], [0.3]), epsilon=1, total=9))[:101])
    Whatever someone believed about a person's answer before, the release changes the odds by a factor of
    """
    in_all = plan.privacy["central_in_all"]
    return plan.inputs.promise.odds_in_words(in_all, both_waves=plan.waves is not None)


def influence_in_words(plan: Design) -> str:
    """Say how much one person can shift a result at most.

    Examples
    --------
    >>> import dpstrata as dps
    >>> options = {"questions": "yes_no", "mechanism": "randomized_response", "total": 100}
    >>> print(influence_in_words(dps.design(dps.Strata([700, 300]), epsilon=1, **options)))
    Whatever one person sends, the result of a stratum shifts by at most 3.8% of the range of the answers, range/(m(1 − ρ)) with m answers of which a share ρ is replaced: in stratum '2' with 30 answers. Someone who merely answers untruthfully shifts it by at most 3.4%.
    """  # noqa: E501 - the sentences are shown whole
    found = largest_influence(plan)
    form = "" if found.form is None else f" and form {found.form + 1}"
    name, answers = plan.strata.names[found.stratum], counted(math.floor(found.answers), "answer")
    where = f"the result of a stratum{' and form' if form else ''}"
    there, share = f"in stratum {name!r}{form} with {answers}", percent_up(found.by_lying)
    lie = f"Someone who merely answers untruthfully shifts it by at most {share}"
    if found.by_sending is None:
        return (
            f"A device that does not keep to the noise could send any number, and so shift {where} by any "
            f"amount. {lie} of the range of the answers: {there}."
        )
    if found.by_sending == found.by_lying:
        return (
            f"Whatever one person answers, {where} shifts by at most {share} of the range of the answers, "
            f"range/m with m answers: {there}."
        )
    return (
        f"Whatever one person sends, {where} shifts by at most {percent_up(found.by_sending)} of the range "
        "of the answers, range/(m(1 − ρ)) with m answers of which a share ρ is replaced: "
        f"{there}. {lie}."
    )


def neighbours_in_words(plan: Design) -> str:
    """Say whose result a stratum takes in which nobody answers: the order of the strata declares it."""
    asked = plan.inputs.domains or ()
    domains = ["coarser stratum" if name == REPORTED else name for name in asked if name != "stratum"]
    within = f", if possible within the same {' and '.join(domains)}" if domains else ""
    return (
        "A stratum in which nobody answers takes the result of the nearest one with answers, in the order of "
        f"this table{within}."
    )
