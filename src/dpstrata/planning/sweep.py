"""Many designs at once: one for every combination of options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpstrata.errors import InfeasibleError
from dpstrata.planning.best import Posed, design_as_asked
from dpstrata.planning.design import read_survey
from dpstrata.survey.goals import GOAL_OPTIONS
from dpstrata.survey.strata import Strata

_RESULTS = ("noise", "total", "variance", "standard_error", "privacy_share", "sample_sizes", "problem")


def sweep(strata: Strata, **options: Any) -> list[dict[str, Any]]:
    """Design for every combination of the options that are given as lists.

    Parameters
    ----------
    strata : Strata
        The population.
    **options
        As for :func:`design`; an option given as a list, tuple, range or array is varied over its entries
        (``answers`` and ``domains`` are not varied).

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
