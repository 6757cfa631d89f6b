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
from dpstrata.words.asking import asking_of, office_adds_noise
from dpstrata.words.design_tables import typical_error_if_split
from dpstrata.words.numbers import counted, money, per_hundred, percent_up, round_up
from dpstrata.words.precision import alarm, precision_asked_for, precision_of
from dpstrata.words.proofs import forms_bound_in_words
from dpstrata.words.results import REPORTED

_LISTED_SIZES = 6


def headline(plan: Design) -> str:
    """Say in a few sentences what a design gives, and what Neyman's allocation would.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> print(headline(dps.design(strata, epsilon=1.0, total=200)))
    117 + 42 + 22 + 19 = 200 interviews give a standard error of 0.00937; without privacy, they would give 0.00622. Neyman's allocation would give 0.00972 under the same privacy. Proven optimal.
    """  # noqa: E501 - the sentence is shown whole
    precision, useless, of_forms = precision_of(plan), alarm(plan), forms_bound_in_words(plan)
    sizes, unit = plan.sample_sizes.tolist(), plan.strata
    if 1 < len(sizes) <= _LISTED_SIZES:
        who = f"{' + '.join(f'{n:,}' for n in sizes)} = {unit.counted(plan.total)}"
    else:
        who = f"{unit.counted(plan.total)} in {counted(len(sizes), 'stratum')}"
    on_forms = f" on {counted(len(plan.forms), 'form')}" if len(plan.forms) > 1 else ""
    give, it = ("gives", "it") if plan.total == 1 else ("give", "they")
    cost = "" if plan.cost is None else f" at a cost of {money(plan.cost)}"
    plain = precision.written(precision.value(plan.variance_parts.sampling), short=True)
    said = f"{who}{on_forms} {give} {precision.headed(plan.precision)}{cost}"
    result = f"{said}; without privacy, {it} would give {plain}"
    if of_forms is None:
        ending = [neyman_in_words(plan), _proof(plan)]
    else:
        split = precision.written(typical_error_if_split(plan))
        result += f", and with the budget split over the questions {split}"
        ending = [f"{_proof(plan)[:-1]} for these forms.", of_forms]
    return " ".join([f"{result}.", *([] if useless is None else [useless]), *ending])


def neyman_in_words(plan: Design) -> str:
    """Say what Neyman's allocation would give for the same cost; with equal costs, with as many people."""
    neyman = next(row for row in plan.compare() if row.design == "neyman")
    precision = precision_of(plan)
    shown = precision.written(precision.value(neyman.variance), short=True)
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
    return inputs.goal.in_words(unit, f"makes {precision_asked_for(inputs).minimised} smallest")


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
    form = "" if len(plan.forms) == 1 else f" and form {found.form + 1}"
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


def row_in_words(plan: Design) -> str:
    """Say what becomes of the answers of a form."""
    rates = [rate for form in plan.forms for rate in (form.least_replaced, form.replaced)]
    least, most = per_hundred(min(rates)), per_hundred(max(rates))
    of_100 = least if least == most else f"{least} to {most}"
    noise = "with noise of its own" if office_adds_noise(plan) else "without further noise"
    after = (
        "All rows are published."
        if plan.inputs.device_epsilon is None
        else f"The office adds them up, and publishes the tables below {noise}."
    )
    dealt = "one form, dealt at random" if len(plan.forms) > 1 else "the same form"
    return (
        f"Every person in the sample gets {dealt}. On their device the whole row of answers is sent as it is "
        f"or, about {of_100} times in 100, replaced by a random row. {after}"
    )


def noise_in_words(plan: Design) -> str:
    """Say how answers are randomised, and on what the budgets of the strata depend."""
    said, release = [f"{asking_of(plan).noise_in_words}."], plan.inputs.release_form
    if plan.inputs.promise.amplified:
        said.append(
            "The smaller the share of a stratum that is invited, the better the sample hides a person, and "
            f"the more {release.published} may spend (the {release.budget_of}) for the same promise to "
            "everyone."
        )
    else:
        said.append("A secret sample does not strengthen this promise, so it does not change the noise.")
    if len(plan.questions) == 1:
        said.append(f"The noise sd is that of {release.noise_sd_of}.")
    return " ".join(said)


# --- what a reader should know before signing -------------------------------------------------------


def cautions(plan: Design) -> list[str]:
    """List what might not be what was meant: sources, weak promises, too many interviews, lone answers."""
    return [*_about_deviations(plan), *_about_promise(plan), *_about_sizes(plan)]


def _about_deviations(plan: Design) -> list[str]:
    sources = [plan.strata.sd_source(i) for i in range(len(plan.strata))]
    confidential = sum(source in ("confidential", "private_pilot") for source in sources)
    found = []
    if confidential:
        spent = plan.privacy["spent_on_deviations"]
        found.append(
            f"The standard deviations of {counted(confidential, 'stratum')} come from confidential answers. "
            f"They have cost epsilon = {round_up(spent, 3)} in addition to the survey."
        )
    if "prior" in sources:
        found.append(
            f"The standard deviations of {counted(sources.count('prior'), 'stratum')} are prior knowledge: "
            "only the planner can vouch that they were not computed from the confidential answers."
        )
    return found


def _about_promise(plan: Design) -> list[str]:
    promise = plan.inputs.promise
    local = plan.local_epsilons if promise.amplified else np.empty(0)
    return [*promise.cautions, *plan.inputs.release_form.cautions(local)]


def _about_sizes(plan: Design) -> list[str]:
    found = []
    if plan.outcome is not None and plan.inputs.goal.fixes_total:
        found.append(f"{plan.strata.counted(plan.total)} exceed the best number. {plan.outcome_in_words}")
    if plan.risks_empty_stratum and plan.response_in_words is not None:
        found.append(plan.response_in_words)
    single = int(np.sum((plan.sample_sizes == 1) & (plan.strata.sizes > 1)))
    if single:
        found.append(
            f"{counted(single, 'stratum')} {'has' if single == 1 else 'have'} a single {plan.strata.unit}, "
            "from which no spread can be estimated; for intervals, set the minimum per stratum to 2 or more."
        )
    return found
