"""Questions in, designs out."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import IntArray, read_only
from dpstrata.errors import DpstrataWarning, InputError
from dpstrata.model.answers import Answers, parse_answers
from dpstrata.model.certificate import Certificate, certify
from dpstrata.model.comparison import VarianceParts, variance_parts
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs, Trust
from dpstrata.model.strata import Strata
from dpstrata.model.terms import Objective
from dpstrata.solvers.questions import answer


def design(
    strata: Strata,
    *,
    epsilon: float,
    delta: float = 0.0,
    total: int | None = None,
    at_most: int | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    target_margin: float | None = None,
    target_cv: float | None = None,
    mechanism: str = "laplace",
    objective: Objective = "mean",
    answers: tuple[float, float]
    | tuple[float, float, float]
    | Sequence[float]
    | Answers
    | Literal["binary"] = (0, 1),
    questions: int = 1,
    trust: Trust = "local",
    local_epsilon_cap: float | None = None,
    min_per_stratum: int = 1,
    min_fraction: float = 0.0,
    max_fraction: float = 1.0,
    domains: Sequence[str] | None = None,
    confidence: float = 0.95,
    finite_population: bool = True,
) -> Design:
    r"""Allocate a sample to strata so that the private estimate is as precise as it can be.

    Everyone gets the same central ``epsilon`` against whoever sees the release, because who was sampled
    stays secret; a smaller sampling rate hides people better, so its answers may carry less noise. The
    sample sizes solve, over whole numbers,

    .. math::
        \min_n \sum_i a_i^2 \frac{S_i^2 + v(e_i(n_i))}{n_i}
        \quad\text{subject to}\quad \sum_i n_i = \text{total},\; l_i \le n_i \le h_i,
        \qquad e_i(n) = \ln(1 + (e^{\varepsilon} - 1) N_i / n),

    with v(e) the noise variance of one answer at local budget e. The result is exact and carries a proof.

    Parameters
    ----------
    strata : Strata
        Sizes and standard deviations. They, the design and the strata themselves are public and must not be
        computed from the confidential answers.
    epsilon : float
        Central budget, from 1e-6 to 100.
    delta : float
        Not available yet; 0.
    total, at_most, target_se, target_margin
        Exactly one of them: people to invite in all strata together; the most to invite, fewer if that is
        better; the standard error, or the margin of error at ``confidence``, to reach with as few as can be.
    budget, target_cv
        Not available yet.
    mechanism : {"laplace", "discrete_laplace", "tulap"}
        What noises an answer.
    objective : {"mean", "trace", "unit_free", "custom"}
        Variance of the population mean; sum of the stratum variances; the same relative to each stratum's
        own variance; or the strata's own coefficients.
    answers : (lower, upper), (lower, upper, step) or "binary"
        What can be answered; a step makes it a grid.
    questions : int
        How many questions the same people are asked; each answer spends its share of the local budget.
    trust, local_epsilon_cap, domains
        Not available yet.
    min_per_stratum : int
        Fewest people to invite in a stratum, >= 1; smaller strata are taken whole.
    min_fraction, max_fraction : float
        Smallest and largest sampling rate, 0 <= min_fraction <= max_fraction <= 1.
    confidence : float
        Level of intervals, between 0 and 1.
    finite_population : bool
        Whether the variance reported counts that a stratum asked completely has no sampling error. It never
        changes the sample sizes.

    Returns
    -------
    Design
        Sample sizes, budgets, noise, variance, certificate.

    Raises
    ------
    InputError
        For input that cannot be used, with one clear sentence.
    InfeasibleError
        For requests that no design meets together, naming both sides.
    NotAvailableError
        For what this version does not carry out.

    Warns
    -----
    DpstrataWarning
        If ``total`` is beyond the best number of interviews, with both standard errors.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> plan = dps.design(strata, epsilon=1.0, total=200)
    >>> plan.sample_sizes
    array([62, 43, 45, 50])
    >>> plan.certificate.optimal
    True
    """
    if not isinstance(strata, Strata):
        raise InputError(
            f"strata must be a Strata, got {type(strata).__name__}. "
            "Use Strata(sizes, sds), Strata.from_file(path) or Strata.from_frame(frame)."
        )
    inputs = Inputs(
        epsilon=epsilon,
        delta=delta,
        total=total,
        at_most=at_most,
        budget=budget,
        target_se=target_se,
        target_margin=target_margin,
        target_cv=target_cv,
        mechanism=mechanism,
        objective=objective,
        answers=parse_answers(answers),
        questions=questions,
        trust=trust,
        local_epsilon_cap=local_epsilon_cap,
        min_per_stratum=min_per_stratum,
        min_fraction=min_fraction,
        max_fraction=max_fraction,
        domains=None if domains is None else tuple(domains),
        confidence=confidence,
        finite_population=finite_population,
    )
    return answer(strata, inputs)


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
    questions = {"total", "at_most", "budget", "target_se", "target_margin", "target_cv"} & set(options)
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
    varied = {name: list(values) for name, values in options.items() if isinstance(values, list)}
    fixed = {name: value for name, value in options.items() if name not in varied}
    rows = []
    for combination in itertools.product(*varied.values()):
        chosen = dict(zip(varied, combination, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DpstrataWarning)
            plan = design(strata, **fixed, **chosen)
        parts = plan.variance_parts
        rows.append(
            {
                **chosen,
                "total": plan.total,
                "variance": parts.total,
                "standard_error": plan.standard_error,
                "privacy_share": parts.privacy / parts.total if parts.total > 0 else 0.0,
                "sample_sizes": plan.sample_sizes.tolist(),
            }
        )
    return rows
