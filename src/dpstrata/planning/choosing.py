"""Choosing for the planner: the best mechanism, and whom to trust."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpstrata.errors import InfeasibleError, InputError
from dpstrata.model.choice import BEST, Choice, valid_mechanisms
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs
from dpstrata.model.problem import Problem
from dpstrata.model.strata import Strata
from dpstrata.planning.questions import answer


def answer_best(strata: Strata, inputs: Inputs, *, warn: bool = True) -> Design:
    """Answer the question with the valid mechanism that does best.

    That is the least variance; for a precision target the least cost or the fewest people, then the least
    variance. Ties go to the mechanism that comes first.
    """
    plans: dict[str, Design] = {}
    reasons: list[InfeasibleError] = []
    rows = []
    for name in valid_mechanisms(inputs):
        try:
            plans[name] = answer(strata, replace(inputs, mechanism=name), warn=False)
        except InfeasibleError as reason:
            reasons.append(reason)
            rows.append(Choice(name, None, None, None))
            continue
        plan = plans[name]
        rows.append(Choice(name, plan.total, plan.variance, plan.cost))
    if not plans:
        raise reasons[-1]
    targets = inputs.target_variance is not None or inputs.has_domain_targets

    def rank(name: str) -> tuple[float, ...]:
        plan = plans[name]
        people = plan.total if plan.cost is None else plan.cost
        return (people, plan.variance) if targets else (plan.variance,)

    chosen = min(plans, key=rank)
    plan = plans[chosen]
    if warn and inputs.total is not None:  # again, for its warning
        plan = answer(strata, plan.inputs)
    return replace(plan, choice=tuple(rows))


def answer_any(
    strata: Strata, inputs: Inputs, problem: Problem | None = None, *, warn: bool = True
) -> Design:
    """Answer the question, with the best mechanism if that is asked for."""
    if inputs.mechanism == BEST:
        return answer_best(strata, inputs, warn=warn)
    return answer(strata, inputs, problem, warn=warn)


@dataclass(frozen=True, slots=True, eq=False)
class TrustComparison:
    """The same question answered with noise on every answer and by a trusted curator.

    Attributes
    ----------
    local, curator : Design
        The two designs.
    """

    local: Design
    curator: Design

    @property
    def ratio(self) -> float:
        """Variance with noise on every answer over that of the curator."""
        return self.local.variance / self.curator.variance if self.curator.variance > 0 else 1.0

    @property
    def in_words(self) -> str:
        """What local protection costs, in one or two sentences."""
        if self.local.total != self.curator.total:
            return (
                f"Noise on every answer needs {self.local.total:,} people, a trusted curator "
                f"{self.curator.total:,}."
            )
        first, second = self.local.standard_error, self.curator.standard_error
        if first is None or second is None:
            first, second = self.local.variance, self.curator.variance
        measure = "objective" if self.local.standard_error is None else "standard error"
        return (
            f"With noise on every answer the {measure} is {first:.4g}, with a trusted curator {second:.4g}: "
            f"not having to trust anyone costs {self.ratio:.3g} times the variance."
        )

    def __repr__(self) -> str:
        return self.in_words


def compare_trust(plan: Design) -> TrustComparison:
    """Answer the question of a design with noise on every answer, and by a trusted curator.

    Parameters
    ----------
    plan : Design
        The design. A mechanism that a curator cannot use is replaced by the additive one that does best; a
        cap on single answers is left out there, since there are none.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> round(dps.compare_trust(dps.design(strata, epsilon=1.0, total=200)).ratio, 2)
    7.01
    """
    if not isinstance(plan, Design):
        raise InputError(f"compare_trust needs a Design, got {type(plan).__name__}.")
    local = replace(plan.inputs, trust="local")
    curator = replace(plan.inputs, trust="curator", local_epsilon_cap=None)
    if not plan.mechanism.additive:
        curator = replace(curator, mechanism=BEST)
    return TrustComparison(*(answer_any(plan.strata, each, warn=False) for each in (local, curator)))
