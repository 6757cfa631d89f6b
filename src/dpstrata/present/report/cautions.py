"""What a reader should know before signing."""

from __future__ import annotations

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.words.numbers import counted, round_up


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
