"""What if: someone's own allocation, and many designs at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.allocation.posing import size_limits
from dpstrata.allocation.proof.bound import Bound, certify_budget
from dpstrata.allocation.proof.certificate import Certificate, certify
from dpstrata.allocation.proof.single_mean import certify_figures
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.variances import VarianceParts, planned_variance, variance_parts
from dpstrata.designs.questions import DesignedQuestion, questions_of
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.planning.design import Posed, design_as_asked, read_survey
from dpstrata.planning.goal_search import require_costs
from dpstrata.survey.costs import fits_budget, total_cost
from dpstrata.survey.goals import GOAL_OPTIONS, has_targets
from dpstrata.survey.options import OPTIONS
from dpstrata.survey.strata import Strata
from dpstrata.words.tables import TextTable, shown_as_html, shown_as_text
from dpstrata.words.what_if import evaluation_sentences, evaluation_tables


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """An allocation that someone already has, scored under the same privacy as the best one.

    Attributes
    ----------
    sample_sizes : array of int
        The allocation.
    variance_parts : VarianceParts
        Its variance by cause.
    certificate : Certificate or Bound
        Whether it is optimal for its total, and if not, what moving one person would gain; where people cost
        differently, how close it comes to the best of the same cost.
    best : Design
        The best design with the same total, or of the same cost where people cost differently.
    budget : float or None
        The most that the allocation may cost, if that was given.
    """

    sample_sizes: IntArray
    variance_parts: VarianceParts
    certificate: Certificate | Bound
    best: Design
    budget: float | None = None

    @property
    def total(self) -> int:
        """People invited in all strata together."""
        return int(self.sample_sizes.sum())

    @property
    def cost(self) -> float | None:
        """What they cost, if the strata say what one does."""
        costs = self.best.strata.costs
        return None if costs is None else total_cost(costs, self.sample_sizes)

    @property
    def within_budget(self) -> bool | None:
        """Whether the budget pays for them; ``None`` without one."""
        costs = self.best.strata.costs
        if self.budget is None or costs is None:
            return None
        return fits_budget(costs, self.sample_sizes, self.budget)

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
        """What is minimised over that of the best design; 1 is best.

        The variance, or where the number of answers is random the planned variance.
        """
        best = self._planned(self.best.sample_sizes)
        return self._planned(self.sample_sizes) / best if best > 0 else 1.0

    def _planned(self, sizes: IntArray) -> float:
        correct = self.best.inputs.finite_population
        return planned_variance(self.best.problem, sizes, finite_population=correct)

    @property
    def chance_of_empty_stratum(self) -> float:
        """Chance that some stratum is left without an answer, and takes its neighbour's result."""
        return self.best.chance_of_empty_stratum_at(self.sample_sizes)

    @property
    def questions(self) -> tuple[DesignedQuestion, ...]:
        """The precision of every question."""
        return questions_of(self.best, self.sample_sizes)

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, a row for each stratum."""
        problem, n = self.best.problem, self.sample_sizes.astype(float)
        return {
            "stratum": list(self.best.strata.names),
            "size": self.best.strata.sizes.tolist(),
            "sample_size": self.sample_sizes.tolist(),
            "best_sample_size": self.best.sample_sizes.tolist(),
            "local_epsilon": self._budgets().tolist(),
            "noise_sd": np.sqrt(problem.forms.released_variances(problem.terms, n)).tolist(),
        }

    def _budgets(self) -> FloatArray:
        problem, n = self.best.problem, self.sample_sizes.astype(float)
        if problem.families:
            return SingleMean(problem).budgets_at(n)
        amplified = self.best.inputs.promise.amplified
        return problem.terms.budgets(n).e if amplified else np.full(len(n), math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as plain data."""
        return {
            "total": self.total,
            "cost": self.cost,
            "budget": self.budget,
            "within_budget": self.within_budget,
            "sample_sizes": self.sample_sizes.tolist(),
            "variance": self.variance,
            "standard_error": self.standard_error,
            "variance_parts": asdict(self.variance_parts),
            "certificate": asdict(self.certificate),
            "best_sample_sizes": self.best.sample_sizes.tolist(),
            "best_variance": self.best.variance,
            "ratio": self.ratio,
            "questions": self._questions(),
            "chance_of_empty_stratum": self.chance_of_empty_stratum,
        }

    def _questions(self) -> list[dict[str, Any]]:
        """Set the standard errors of all questions beside those of the best design."""
        pairs = zip(self.questions, self.best.questions, strict=True)
        return [
            {"name": q.name, "standard_error": q.standard_error, "best_standard_error": best.standard_error}
            for q, best in pairs
        ]

    def text_tables(self) -> list[TextTable]:
        """Return the allocation beside the best one, and the questions of a questionnaire, for the eye."""
        return evaluation_tables(self)

    def sentences(self) -> list[str]:
        """Say how good the allocation is."""
        return evaluation_sentences(self)

    def __repr__(self) -> str:
        return shown_as_text(self.text_tables(), self.sentences())

    def _repr_html_(self) -> str:
        return shown_as_html(self.text_tables(), self.sentences())


def evaluate(strata: Strata, sample_sizes: npt.ArrayLike, **options: Any) -> Evaluation:
    """Compare an allocation with the best one under the same privacy.

    Parameters
    ----------
    strata : Strata
        The population.
    sample_sizes : array of int
        People to invite in each stratum, within the limits of the options.
    **options
        As for :func:`design`, without ``total`` and the other goals. A ``budget`` is compared with the cost
        of the allocation. Of a questionnaire the forms are the same for both.

    Returns
    -------
    Evaluation
        The allocation beside the best design with the same total or, where costs differ, of the same cost.

    Raises
    ------
    InputError
        If the sizes do not fit the strata and limits.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> round(dps.evaluate(strata, [50, 50, 50, 50], epsilon=1).ratio, 3)
    1.35
    """
    sizes = _as_sizes(sample_sizes, strata)
    chosen = ({*GOAL_OPTIONS, "expected_mean"} - {"budget"}) & set(options)
    if chosen:
        name = min(chosen)
        raise InputError(
            f"evaluate takes the total from {option('sample_sizes')}, got {option(name)} too.",
            argument=name,
            value=options[name],
        )
    budget = options.pop("budget", None)
    if has_targets(OPTIONS["domains"].read(options.get("domains"))):
        raise InputError(
            f"evaluate takes no targets for {option('domains')}; give only the names of the columns.",
            value=options["domains"],
        )
    if OPTIONS["questions"].read(options.get("questions")).has_targets:
        raise InputError(
            f"evaluate takes no targets of questions; remove target_se and target_margin from "
            f"{option('questions')}.",
            argument="questions",
        )
    strata, inputs = read_survey(strata, {**options, "total": int(sizes.sum())})
    if budget is not None:
        require_costs(strata)
        budget = replace(inputs, total=None, budget=budget).budget
    if strata.costs_differ and strata.costs is not None:
        inputs = replace(inputs, total=None, budget=total_cost(strata.costs, sizes))
    if not inputs.rows:
        if inputs.min_per_stratum is None and np.any(sizes < size_limits(inputs, strata)[0]):
            inputs = replace(inputs, min_per_stratum=1)  # the default is no limit for sizes that are stated
        _require_inside(sizes, strata, *size_limits(inputs, strata))
    best = design_as_asked(strata, inputs, sizes=sizes, warn=False)
    _require_inside(sizes, strata, *size_limits(best.inputs, strata))  # which the forms may have narrowed
    parts = variance_parts(best.problem, sizes, finite_population=best.inputs.finite_population)
    return Evaluation(sizes, parts, _proof(best, sizes), best, budget)


def _proof(best: Design, sizes: IntArray) -> Certificate | Bound:
    """Say how good sizes are beside the best design of the same total, or of the same cost."""
    found = best.certificate
    if not isinstance(found, Bound):
        return certify(best.problem, sizes)
    if best.problem.families:
        correct = best.inputs.finite_population
        return certify_figures(best.problem, sizes, found.prices, finite_population=correct)
    assert best.strata.costs is not None
    assert best.inputs.budget is not None
    proof = certify_budget(
        best.problem,
        best.strata.costs,
        best.inputs.budget,
        sizes,
        found.prices[0],
        finite_population=best.inputs.finite_population,
    )
    # What trying everything has shown of the best design holds for sizes that are as good.
    searched = found.searched and proof.value <= found.value * (1 + 1e-12)
    return replace(proof, searched=searched, optimal=proof.optimal or searched)


def _require_inside(sizes: IntArray, strata: Strata, lower: IntArray, upper: IntArray) -> None:
    outside = np.flatnonzero((sizes < lower) | (sizes > upper))
    if outside.size:
        i = int(outside[0])
        raise InputError(
            f"{option('sample_sizes')} must lie between {lower[i]:,} and {upper[i]:,}, "
            f"got {sizes[i]:,} in stratum {strata.name(i)!r}.",
            value=int(sizes[i]),
            where=f"stratum {strata.name(i)!r}",
        )


def _as_sizes(sample_sizes: npt.ArrayLike, strata: Strata) -> IntArray:
    """Take anything that is one whole number for each stratum."""
    wanted = f"{option('sample_sizes')} must be {len(strata)} whole numbers, one for each stratum"
    try:
        sizes = np.asarray(sample_sizes, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{wanted}, got something else.") from None
    if sizes.ndim != 1 or len(sizes) != len(strata):
        raise InputError(f"{wanted}, got {sizes.size}.")
    wrong = np.flatnonzero(~((sizes == np.floor(sizes)) & (sizes >= 1) & (sizes <= strata.sizes)))
    if wrong.size:
        i = int(wrong[0])
        raise InputError(
            f"{option('sample_sizes')} must be whole numbers from 1 to the size of the stratum "
            f"({strata.sizes[i]:,}), got {sizes[i]:.15g} in stratum {strata.name(i)!r}.",
            value=float(sizes[i]),
            where=f"stratum {strata.name(i)!r}",
        )
    return read_only(sizes.astype(np.int64))


_RESULTS = ("noise", "total", "variance", "standard_error", "privacy_share", "sample_sizes", "problem")


def sweep(strata: Strata, **options: Any) -> list[dict[str, Any]]:
    """Design for every combination of the options that are given as lists.

    Parameters
    ----------
    strata : Strata
        The population.
    **options
        As for :func:`design`; an option given as a list, tuple, range or array is varied over its entries
        (``questions``, ``domains`` and ``forms`` are not varied).

    Returns
    -------
    list of dict
        A row for each combination: the varied options, ``total``, ``variance``, ``standard_error``,
        ``privacy_share``, ``sample_sizes`` and ``problem``; ``pandas.DataFrame(rows)`` makes a table of it. A
        combination that no design meets has the reason as its problem and ``None`` elsewhere. Warnings about
        totals beyond the best one are left out, since a sweep is made to see that.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000], sds=[0.283, 0.08])
    >>> rows = dps.sweep(strata, epsilon=[0.5, 1.0], total=[100, 200])
    >>> [(row["epsilon"], row["total"], round(row["standard_error"], 3)) for row in rows]
    [(0.5, 100, 0.023), (0.5, 200, 0.018), (1.0, 100, 0.02), (1.0, 200, 0.015)]
    """
    return list(sweep_rows(strata, options))


def combinations(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List every combination of the options that are given as lists."""
    varied = {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in options.items()
        if isinstance(values, list | tuple | range | np.ndarray)
        and name not in ("questions", "domains", "forms")
    }
    return [dict(zip(varied, chosen, strict=True)) for chosen in itertools.product(*varied.values())]


def sweep_rows(strata: Strata, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of :func:`sweep` one by one."""
    posed: dict[tuple[Any, ...], Posed] = {}  # once for all totals
    for chosen in combinations(options):
        survey, inputs = read_survey(strata, {**options, **chosen})
        key = tuple(str(value) for name, value in chosen.items() if name not in GOAL_OPTIONS)
        try:
            plan = design_as_asked(survey, inputs, posed.setdefault(key, {}), warn=False)
        except InfeasibleError as reason:
            yield {**chosen, **dict.fromkeys(_RESULTS), "total": inputs.total, "problem": reason.sentence}
            continue
        parts = plan.variance_parts
        total = parts.total
        error = math.sqrt(total) if inputs.objective == "mean" else None
        noise, sizes = plan.mechanism.title, plan.sample_sizes.tolist()
        results = noise, plan.total, total, error, parts.privacy_share, sizes, None
        yield {**chosen, **dict(zip(_RESULTS, results, strict=True))}
