"""Choosing for someone who plans a survey: the best mechanism, and whom to trust."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpstrata.errors import InfeasibleError, InputError
from dpstrata.model.choice import BEST, Choice, valid_mechanisms
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs
from dpstrata.model.problem import Problem
from dpstrata.model.releases import kind_of
from dpstrata.model.releases.base import Release
from dpstrata.model.strata import Strata
from dpstrata.planning.questions import answer, warn_beyond_the_best, warn_of_empty_strata


def answer_best(strata: Strata, inputs: Inputs) -> Design:
    """Answer the question with the valid mechanism that does best.

    That is the least variance; for a precision target the least cost or the fewest people, then the least
    variance. Ties go to the mechanism that comes first. If none meets the question, the reason is that
    of the one that comes closest.
    """
    plans: dict[str, Design] = {}
    reasons: list[InfeasibleError] = []
    rows = []
    for name in valid_mechanisms(inputs):
        try:
            plans[name] = answer(strata, replace(inputs, mechanism=name))
        except InfeasibleError as reason:
            reasons.append(reason)
            rows.append(Choice(name, None, None, None))
            continue
        plan = plans[name]
        rows.append(Choice(name, plan.total, plan.variance, plan.cost))
    if not plans:
        raise min(reasons, key=lambda reason: reason.misses or (True, math.inf))
    targets = inputs.asks_for_least

    def rank(name: str) -> tuple[float, ...]:
        plan = plans[name]
        people = plan.total if plan.cost is None else plan.cost
        return (people, plan.variance) if targets else (plan.variance,)

    return replace(plans[min(plans, key=rank)], choice=tuple(rows))


def answer_any(
    strata: Strata, inputs: Inputs, problem: Problem | None = None, *, warn: bool = True
) -> Design:
    """Answer the question, with the best mechanism if that is asked for.

    ``warn`` says whether a total beyond the best one is warned about, to the caller's caller.
    """
    best = inputs.mechanism == BEST
    plan = answer_best(strata, inputs) if best else answer(strata, inputs, problem)
    if warn:
        warn_beyond_the_best(plan, stacklevel=3)
        warn_of_empty_strata(plan, stacklevel=3)
    return plan


@dataclass(frozen=True, slots=True, eq=False)
class TrustComparison:
    """The same question answered with noise on every answer and by a trusted curator.

    Attributes
    ----------
    local, curator : Design or None
        The two designs; ``None`` where no design meets the question.
    """

    local: Design | None
    curator: Design | None

    @property
    def ratio(self) -> float | None:
        """Variance with noise on every answer over that of the curator, where both can be designed."""
        if self.local is None or self.curator is None or self.curator.variance == 0:
            return None
        return self.local.variance / self.curator.variance

    @property
    def in_words(self) -> str:
        """What local protection costs, in a sentence."""
        if self.local is None or self.curator is None:
            other = "with a trusted curator it can" if self.curator is not None else "nor by a curator"
            return f"With noise on every answer the question cannot be met, {other}."
        if self.local.inputs.asks_for_least:
            return (
                f"Noise on every answer needs {self.local.strata.counted(self.local.total)}, a trusted "
                f"curator {self.curator.strata.counted(self.curator.total)}."
            )
        first, second = (_described(plan) for plan in (self.local, self.curator))
        return (
            f"With noise on every answer {first}, with a trusted curator {second}: not having to trust "
            f"anyone costs {self.ratio or 1.0:.3g} times the variance."
        )

    def __repr__(self) -> str:
        return self.in_words


def _described(plan: Design) -> str:
    value = plan.variance if plan.standard_error is None else plan.standard_error
    measure = "an objective" if plan.standard_error is None else "a standard error"
    return f"{plan.strata.counted(plan.total)} give {measure} of {value:.4g}"


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
    mechanism = plan.inputs.mechanism if plan.choice is None else BEST
    local, curator = (_with_release(plan, kind_of(name), mechanism) for name in ("local", "curator"))
    return TrustComparison(local, curator)


def _with_release(plan: Design, kind: type[Release], mechanism: str) -> Design | None:
    """Answer the question of a design with another release, if it can be met."""
    inputs = kind.instead_of(plan.inputs)
    fits = inputs.release.misfit(plan.mechanism) is None
    try:
        return answer_any(plan.strata, replace(inputs, mechanism=mechanism if fits else BEST), warn=False)
    except InfeasibleError:
        return None
