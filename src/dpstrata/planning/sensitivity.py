"""What happens to a design if the standard deviations it was told were wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstrata.allocation.posing import forms_in
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.single_mean import solve_single_mean
from dpstrata.allocation.variances import stratum_variances, variance_parts
from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.words.tables import TextTable, as_plain_text, shown_as_html
from dpstrata.words.what_if import sensitivity_tables


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a design gives if the standard deviations are not what it was told.

    Attributes
    ----------
    scenario : str
        What is different.
    factor : float
        How many times larger the true standard deviations are; less where the answer range allows no more.
    variance : float
        Of the design as it is.
    best_variance : float
        Of the best design of as many people, whatever they cost, for the true ones.
    """

    scenario: str
    factor: float
    variance: float
    best_variance: float

    @property
    def ratio(self) -> float:
        """What not knowing better costs: the first variance over the second."""
        return self.variance / self.best_variance if self.best_variance > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """How a design depends on the standard deviations it was told.

    Attributes
    ----------
    plan : Design
        The design.
    factor : float
        By how much they may be wrong.
    scenarios : tuple of Scenario
        All larger, all smaller, and each of the strata that matter most, larger and smaller alone.
    shares : array
        Share of each stratum in the variance of the design.
    if_larger, if_smaller : array
        Variance of the design if that stratum's standard deviation alone is larger or smaller by the factor.
    order : array of int
        The strata, the one that matters most first.
    """

    plan: Design
    factor: float
    scenarios: tuple[Scenario, ...]
    shares: FloatArray
    if_larger: FloatArray
    if_smaller: FloatArray
    order: IntArray

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, a row for each stratum, the one that matters most first."""
        strata = self.plan.strata
        return {
            "stratum": [strata.name(i) for i in self.order.tolist()],
            "share_of_variance": self.shares[self.order].tolist(),
            "variance_if_larger": self.if_larger[self.order].tolist(),
            "variance_if_smaller": self.if_smaller[self.order].tolist(),
        }

    def text_tables(self) -> list[TextTable]:
        """Return the scenarios and the strata that matter most, for the eye."""
        return sensitivity_tables(self)

    def __repr__(self) -> str:
        return "\n\n".join(as_plain_text(table) for table in self.text_tables())

    def _repr_html_(self) -> str:
        return shown_as_html(self.text_tables())


def sensitivity(plan: Design, *, factor: float = 1.5, strata: int = 5) -> Sensitivity:
    """Show how the variance changes if the standard deviations are wrong by a factor.

    Parameters
    ----------
    plan : Design
        The design. Its sample sizes and noise stay as they are.
    factor : float
        How many times larger or smaller they may be, > 1; none exceeds what the answer range allows.
    strata : int
        Number of strata, the most influential first, for which to find the best design again, >= 0.

    Returns
    -------
    Sensitivity
        The variance in each case, beside what the best design of the same total would give.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> doubt = dps.sensitivity(dps.design(strata, epsilon=1.0, total=200), factor=2)
    >>> [(row.scenario, round(row.ratio, 3)) for row in doubt.scenarios[:2]]
    [('all larger', 1.019), ('all smaller', 1.031)]
    >>> doubt.table()["stratum"][0]
    '1'
    """
    factor = _checked_factor(plan, factor, strata)
    ones = np.ones(len(plan.strata))
    larger, smaller = with_wrong_sds(plan, factor * ones), with_wrong_sds(plan, ones / factor)
    now, up, down = (_by_stratum(plan, problem) for problem in (plan.problem, larger, smaller))
    total = plan.variance
    order = np.argsort(-(up - down), kind="stable")
    scenarios = [
        _scenario(plan, "all larger", larger, factor),
        _scenario(plan, "all smaller", smaller, 1 / factor),
    ]
    for i in order[:strata].tolist():
        for words, times in (("larger", factor), ("smaller", 1 / factor)):
            one = with_wrong_sds(plan, np.where(np.arange(len(ones)) == i, times, 1.0))
            times = float(one.forms.sds[i] / plan.sds[i]) if plan.sds[i] > 0 else 1.0
            scenarios.append(_scenario(plan, f"{plan.strata.name(i)} {words}", one, times))
    return Sensitivity(
        plan,
        factor,
        tuple(scenarios),
        read_only(now / total if total > 0 else np.zeros(len(now))),
        read_only(total + up - now),
        read_only(total + down - now),
        read_only(order),
    )


def _checked_factor(plan: Design, factor: float, strata: int) -> float:
    """Require a design, a factor above 1 and a number of strata."""
    if not isinstance(plan, Design):
        raise InputError(f"sensitivity needs a Design, got {type(plan).__name__}.")
    numbers = (int, float, np.integer, np.floating)
    if isinstance(factor, bool) or not isinstance(factor, numbers) or not 1.0 < factor < 1e6:
        raise InputError(f"{option('factor')} must be a number above 1, got {factor!r}.", value=factor)
    if isinstance(strata, bool) or not isinstance(strata, int | np.integer) or strata < 0:
        raise InputError(f"{option('strata')} must be a whole number >= 0, got {strata!r}.", value=strata)
    return float(factor)


def _by_stratum(plan: Design, changed: Problem) -> FloatArray:
    """Return what each stratum adds to the variance of a design with other standard deviations."""
    sampling, privacy = stratum_variances(
        changed, plan.sample_sizes, finite_population=plan.inputs.finite_population
    )
    weighted: FloatArray = plan.problem.terms.coefficients**2 * (sampling + privacy)
    return weighted


def _scenario(plan: Design, name: str, changed: Problem, times: float) -> Scenario:
    """Score a design, beside the best one of as many people, for other standard deviations."""
    given, least = (
        variance_parts(problem, allocation, finite_population=plan.inputs.finite_population).total
        for problem, allocation in ((changed, plan.sample_sizes), _best(changed))
    )
    return Scenario(name, times, given, min(given, least))


def _best(problem: Problem) -> tuple[Problem, IntArray]:
    """Solve a problem; figures with one draw of noise each get scales too."""
    if not problem.families:
        return problem, np.asarray(solve_exactly(problem).sizes, dtype=np.int64)
    found = solve_single_mean(SingleMean(problem))
    return replace(problem, scales=found.scales), found.sizes


def with_wrong_sds(plan: Design, factors: FloatArray) -> Problem:
    """Pose the problem of a design where standard deviations are larger by a factor, in each stratum.

    None exceeds what answers allow. Of a questionnaire those of all questions are.
    """
    return plan.problem.asked(forms_in(plan.inputs, plan.strata, factors))
