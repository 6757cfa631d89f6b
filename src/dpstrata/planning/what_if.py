"""What if: someone's own allocation, many designs at once, standard deviations that were wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InputError
from dpstrata.model.certificate import Certificate, certify
from dpstrata.model.comparison import VarianceParts, stratum_variances, variance_parts
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import QUESTIONS
from dpstrata.model.problem import Problem
from dpstrata.model.statement import round_up
from dpstrata.model.strata import Strata
from dpstrata.model.summary import SHOWN_STRATA, TextTable, as_plain_text
from dpstrata.model.terms import Terms
from dpstrata.planning.designing import design, read_inputs
from dpstrata.planning.questions import answer
from dpstrata.solvers.exact import solve_exactly


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """An allocation that someone already has, scored under the same privacy as the best one.

    Attributes
    ----------
    sample_sizes : array of int
        The allocation.
    variance_parts : VarianceParts
        Its variance by cause.
    certificate : Certificate
        Whether it is optimal for its total, and if not, what moving one person would gain.
    best : Design
        The best design with the same total.
    """

    sample_sizes: IntArray
    variance_parts: VarianceParts
    certificate: Certificate
    best: Design

    @property
    def variance(self) -> float:
        """Variance of the estimate; for objectives other than ``mean`` the value of the objective."""
        return self.variance_parts.total

    @property
    def standard_error(self) -> float | None:
        """Root of the variance for the population mean, ``None`` for other objectives."""
        return math.sqrt(self.variance) if self.best.inputs.objective == "mean" else None

    @property
    def ratio(self) -> float:
        """Variance over that of the best design with the same total; 1 is best."""
        return self.variance / self.best.variance if self.best.variance > 0 else 1.0

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, a row for each stratum."""
        terms = self.best.problem.terms
        n = self.sample_sizes.astype(float)
        return {
            "stratum": list(self.best.strata.names),
            "size": self.best.strata.sizes.tolist(),
            "sample_size": self.sample_sizes.tolist(),
            "best_sample_size": self.best.sample_sizes.tolist(),
            "local_epsilon": terms.budgets(n).e.tolist(),
            "noise_sd": np.sqrt(terms.noise_variances(n)).tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as plain data."""
        return {
            "total": self.best.total,
            "sample_sizes": self.sample_sizes.tolist(),
            "variance": self.variance,
            "standard_error": self.standard_error,
            "variance_parts": asdict(self.variance_parts),
            "certificate": asdict(self.certificate),
            "best_sample_sizes": self.best.sample_sizes.tolist(),
            "best_variance": self.best.variance,
            "ratio": self.ratio,
        }

    def text_table(self) -> TextTable:
        """Return the allocation beside the best one, for the eye."""
        columns = self.table()
        rows = [
            (name, f"{size:,}", f"{given:,}", f"{best:,}", round_up(e, 3), f"{sd:.4g}")
            for name, size, given, best, e, sd in zip(*columns.values(), strict=True)
        ]
        left = len(rows) - SHOWN_STRATA
        return TextTable(
            f"{self.best.total:,} interviews as given, beside the best allocation of as many",
            ("stratum", "size", "given", "best", "local epsilon", "noise sd"),
            rows[:SHOWN_STRATA],
            f"{left:,} more strata are not shown." if left > 0 else "",
        )

    def sentences(self) -> list[str]:
        """Say how good the allocation is."""
        name = "standard error" if self.standard_error is not None else "objective"
        given, best = (
            math.sqrt(value) if self.standard_error is not None else value
            for value in (self.variance, self.best.variance)
        )
        return [
            f"As given they have a {name} of {given:.4g}, the best allocation of as many {best:.4g}: "
            f"{self.ratio:.4g} times its variance.",
            self.certificate.in_words,
        ]

    def __repr__(self) -> str:
        return "\n".join([as_plain_text(self.text_table()), "", *self.sentences()])


def evaluate(strata: Strata, sample_sizes: npt.ArrayLike, **options: Any) -> Evaluation:
    """Score an allocation under the same privacy as :func:`design` would give it.

    Parameters
    ----------
    strata : Strata
        The population.
    sample_sizes : array of int
        People to invite in each stratum, within the bounds of the options.
    **options
        As for :func:`design`, without ``total`` and the other questions.

    Raises
    ------
    InputError
        If the sizes do not fit strata and bounds.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> round(dps.evaluate(strata, [50, 50, 50, 50], epsilon=1).ratio, 3)
    1.015
    """
    sizes = np.asarray(sample_sizes)
    if sizes.ndim != 1 or len(sizes) != len(strata) or not np.issubdtype(sizes.dtype, np.number):
        raise InputError(f"sample_sizes must be {len(strata)} whole numbers, one for each stratum.")
    if not np.all((sizes == np.floor(sizes)) & (sizes >= 1)):
        raise InputError("sample_sizes must be whole numbers >= 1.")
    questions = {*QUESTIONS, "expected_mean"} & set(options)
    if questions:
        raise InputError(f"evaluate takes the total from sample_sizes, got {min(questions)} too.")
    sizes = read_only(sizes.astype(np.int64))
    best = design(strata, total=int(sizes.sum()), **options)
    outside = np.flatnonzero((sizes < best.problem.lower) | (sizes > best.problem.upper))
    if outside.size:
        i = int(outside[0])
        raise InputError(
            f"sample_size must lie between {best.problem.lower[i]:,} and {best.problem.upper[i]:,}, "
            f"got {sizes[i]:,} in stratum {strata.name(i)!r}."
        )
    parts = variance_parts(best.problem, sizes, finite_population=best.inputs.finite_population)
    return Evaluation(sizes, parts, certify(best.problem, sizes), best)


def sweep(strata: Strata, **options: Any) -> list[dict[str, Any]]:
    """Design for every combination of the options that are given as lists.

    Parameters
    ----------
    strata : Strata
        The population.
    **options
        As for :func:`design`; an option given as a list is varied over its entries.

    Returns
    -------
    list of dict
        A row for each combination: the varied options, ``total``, ``variance``, ``standard_error``,
        ``privacy_share`` and ``sample_sizes``; ``pandas.DataFrame(rows)`` makes a table of it. Warnings about
        totals beyond the best one are left out, since a sweep is made to see that.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000], sds=[0.283, 0.08])
    >>> rows = dps.sweep(strata, epsilon=[0.5, 1.0], total=[100, 200])
    >>> [(row["epsilon"], row["total"], round(row["standard_error"], 3)) for row in rows]
    [(0.5, 100, 0.036), (0.5, 200, 0.029), (1.0, 100, 0.032), (1.0, 200, 0.025)]
    """
    return list(sweep_rows(strata, options))


def combinations(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List every combination of the options that are given as lists; ``domains`` are not varied."""
    varied = {
        name: list(values)
        for name, values in options.items()
        if isinstance(values, list) and name != "domains"
    }
    return [dict(zip(varied, chosen, strict=True)) for chosen in itertools.product(*varied.values())]


def sweep_rows(strata: Strata, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of :func:`sweep` one by one."""
    posed: dict[tuple[Any, ...], Problem] = {}  # once for all totals
    for chosen in combinations(options):
        inputs = read_inputs(strata, {**options, **chosen})
        key = tuple(str(value) for name, value in chosen.items() if name not in QUESTIONS)
        plan = answer(strata, inputs, posed.get(key), warn=False)
        posed.setdefault(key, plan.problem)
        parts = plan.variance_parts
        total = parts.total
        yield {
            **chosen,
            "total": plan.total,
            "variance": total,
            "standard_error": math.sqrt(total) if plan.inputs.objective == "mean" else None,
            "privacy_share": parts.privacy / total if total > 0 else 0.0,
            "sample_sizes": plan.sample_sizes.tolist(),
        }


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
        Of the best design with the same total for the true ones.
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
        scenarios = [
            (row.scenario, f"{row.variance:.4g}", f"{row.best_variance:.4g}", f"{row.ratio:.4f} times")
            for row in self.scenarios
        ]
        strata = [
            (name, f"{share:.1%}", f"{larger:.4g}", f"{smaller:.4g}")
            for name, share, larger, smaller in zip(*self.table().values(), strict=True)
        ]
        left = len(strata) - SHOWN_STRATA
        return [
            TextTable(
                f"Standard deviations wrong by a factor of {self.factor:g}",
                ("if the true ones are", "variance", "best possible", "what not knowing costs"),
                scenarios,
            ),
            TextTable(
                "The strata, the one that matters most first",
                ("stratum", "share of variance", "variance if larger", "if smaller"),
                strata[:SHOWN_STRATA],
                f"{left:,} more strata are not shown." if left > 0 else "",
            ),
        ]

    def __repr__(self) -> str:
        return "\n\n".join(as_plain_text(table) for table in self.text_tables())


def sensitivity(plan: Design, *, factor: float = 1.5, strata: int = 5) -> Sensitivity:
    """Show what happens to the variance if the standard deviations were wrong by a factor.

    Parameters
    ----------
    plan : Design
        The design. Its sample sizes and noise stay as they are.
    factor : float
        How many times larger or smaller they may be, > 1. None can be larger than the answer range allows.
    strata : int
        For how many of the strata that matter most the best design is found again, >= 0.

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
    [('all larger', 1.031), ('all smaller', 1.013)]
    >>> doubt.table()["stratum"][0]
    '1'
    """
    if not isinstance(plan, Design):
        raise InputError(f"sensitivity needs a Design, got {type(plan).__name__}.")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1.0 < factor < 1e6:
        raise InputError(f"factor must be a number above 1, got {factor!r}.")
    if isinstance(strata, bool) or not isinstance(strata, int | np.integer) or strata < 0:
        raise InputError(f"strata must be a whole number >= 0, got {strata!r}.")
    correct, sizes, problem = plan.inputs.finite_population, plan.sample_sizes, plan.problem
    most = plan.inputs.answers.largest_sd(problem.terms.sizes)
    larger = np.minimum(plan.sds * factor, np.maximum(most, plan.sds))
    smaller = plan.sds / factor
    weight = problem.terms.coefficients**2

    def by_stratum(sds: FloatArray) -> FloatArray:
        sampling, privacy = stratum_variances(_with_sds(problem, sds), sizes, finite_population=correct)
        return weight * (sampling + privacy)

    now, up, down = by_stratum(plan.sds), by_stratum(larger), by_stratum(smaller)
    total = plan.variance
    order = np.argsort(-(up - down), kind="stable")

    def scenario(name: str, sds: FloatArray, times: float) -> Scenario:
        changed = _with_sds(problem, sds)
        best = np.asarray(solve_exactly(changed).sizes, dtype=np.int64)
        given, least = (
            variance_parts(changed, allocation, finite_population=correct).total
            for allocation in (sizes, best)
        )
        return Scenario(name, times, given, min(given, least))

    scenarios = [scenario("all larger", larger, factor), scenario("all smaller", smaller, 1 / factor)]
    for i in order[:strata].tolist():
        for words, sds in (("larger", larger), ("smaller", smaller)):
            one = plan.sds.copy()
            one[i] = sds[i]
            times = float(one[i] / plan.sds[i]) if plan.sds[i] > 0 else 1.0
            scenarios.append(scenario(f"{plan.strata.name(i)} {words}", one, times))
    return Sensitivity(
        plan,
        factor,
        tuple(scenarios),
        read_only(now / total if total > 0 else np.zeros(len(now))),
        read_only(total + up - now),
        read_only(total + down - now),
        read_only(order),
    )


def _with_sds(problem: Problem, sds: FloatArray) -> Problem:
    """Pose the same problem with other standard deviations; the coefficients stay."""
    terms = problem.terms
    changed = Terms(
        sizes=terms.sizes,
        sds=sds,
        coefficients=terms.coefficients,
        objective="custom" if terms.objective == "unit_free" else terms.objective,
        promise=terms.promise,
        mechanism=terms.mechanism,
        response_rates=terms.response_rates,
        cap=terms.cap,
        curator=terms.curator,
    )
    return Problem(changed, problem.lower, problem.upper, problem.total)
