"""From what was asked for to the optimisation problem: its terms, limits and total.

The limits hold the minimum per stratum that applies by default where not everyone answers, or as much of it
as fits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import Family, families_of, find_partitions
from dpstrata.allocation.form_terms import FormTerms, OneQuestion
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.response import fewest_for_two_answers
from dpstrata.allocation.rows_on_forms import RowsOnForms, fewest_per_form
from dpstrata.allocation.terms import Terms
from dpstrata.errors import InfeasibleError, InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.costs import fits_budget, total_cost
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OPTIONS, Objective
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import counted, money_above

# No local budget that epsilon and sizes allow comes near this, so a larger cap changes nothing.
_NO_CAP = 200.0


def forms_in(inputs: Inputs, strata: Strata, factors: FloatArray | None = None) -> FormTerms:
    """State how people are asked.

    With ``factors`` the standard deviations of each stratum are so many times larger, but no larger than what
    the answers allow.
    """
    if inputs.rows:
        spreads = inputs.spreads_in(strata)
        return RowsOnForms.of(inputs, strata, spreads if factors is None else spreads.scaled(factors))
    sds = strata.spreads(inputs.question)
    if factors is not None:
        most = inputs.question.of_kind.largest_sd(inputs.question, strata.sizes)
        sds = np.minimum(sds * factors, np.maximum(most, sds))
    fitted, name = inputs.fitted_mechanism(), inputs.question.name
    return OneQuestion(sds, fitted, inputs.release_form, inputs.device_epsilon, name)


def terms_of(inputs: Inputs, strata: Strata, forms: FormTerms) -> Terms:
    """State the functions of the sample sizes that all that is asked comes to."""
    rates, cap = strata.response_rates, inputs.local_epsilon_cap
    return Terms(
        sizes=strata.sizes,
        variances=forms.core(),
        coefficients=_coefficients(strata, forms.sds, inputs.objective),
        objective=inputs.objective,
        promise=inputs.promise,
        noise=forms.noise(),
        noise_power=forms.noise_power,
        response_rates=None if rates is None or bool(np.all(rates == 1.0)) else rates,
        cap=cap if cap is not None and cap < _NO_CAP else None,
        units=forms.sds if inputs.objective == "unit_free" else None,
        series_factors=forms.series_factors,
    )


def _coefficients(strata: Strata, sds: FloatArray, objective: Objective) -> FloatArray:
    """Return a_i: N_i/ΣN for ``mean``, 1 for ``trace``, 1/S_i for ``unit_free``, the column for ``custom``.

    Raises
    ------
    InputError
        If the objective is unknown, a coefficient is missing, or ``unit_free`` meets a spread of zero.
    """
    match objective:
        case "mean":
            return read_only(strata.sizes / strata.population)
        case "trace":
            return read_only(np.ones(len(strata)))
        case "unit_free":
            if sds.min() < 1e-30:
                name = strata.name(int(np.argmin(sds)))
                raise InputError(
                    f"{option('objective', objective)} divides by sd, which must be above 0, "
                    f"got 0 in stratum {name!r}.",
                    value=objective,
                    where=f"stratum {name!r}",
                )
            return read_only(1.0 / sds)
        case "custom":
            if strata.coefficients is None:
                raise InputError(
                    f"{option('objective', objective)} needs a coefficient for every stratum, got none.",
                    value=objective,
                )
            if not strata.coefficients.any():
                raise InputError(
                    f"{option('objective', objective)} needs at least one coefficient other than 0.",
                    value=objective,
                )
            return strata.coefficients
    raise InputError.must("objective", f"be one of {', '.join(OPTIONS['objective'].choices)}", objective)


def pose(inputs: Inputs, strata: Strata, total: int | None = None, *, like: Problem | None = None) -> Problem:
    """State the optimisation problem that inputs pose for ``strata``.

    Parameters
    ----------
    inputs : Inputs
        What was asked for.
    strata : Strata
        The population.
    total : int, optional
        Where the inputs do not fix it; by default the least that the limits allow.
    like : Problem, optional
        What another goal of the same survey posed: only limits and total differ.
    """
    forms = forms_in(inputs, strata) if like is None else like.forms
    terms = terms_of(inputs, strata, forms) if like is None else like.terms
    lower, upper = size_limits(inputs, strata)
    if inputs.rows:
        _require_forms_carried(inputs, strata, lower)
    if total is None:
        total = int(lower.sum()) if inputs.total is None else inputs.total
    if inputs.promise.least_rate > 0 and total < int(lower.sum()):
        raise InfeasibleError(
            f"{option('total')} must be at least the sum of the minimums ({int(lower.sum()):,}), "
            f"because {inputs.promise.least_rate_in_words} of every stratum, got "
            f"{option('total', total, ',')}.",
            nearest=int(lower.sum()),
        )
    if terms.response_rates is not None and total > int(upper.sum()):
        advice = _to_ask_everyone(inputs, strata, total)
        raise InfeasibleError(
            f"{option('total')} must be at most what the maximums and the people who would answer allow "
            f"({int(upper.sum()):,}), got {option('total', total, ',')}.{advice}",
            nearest=int(upper.sum()),
        )
    families = figures_in(inputs, strata, forms, terms) if like is None else like.families
    return Problem(forms, terms, lower, upper, total, families)


def _to_ask_everyone(inputs: Inputs, strata: Strata, total: int) -> str:
    """Say how to ask everyone, to someone who wants to and does not count on everyone's answer."""
    if total != strata.population:
        return ""
    sums = f" and publish sums ({option('release', 'sums')})" if inputs.release_form.noised_once else ""
    return f" To ask everyone, leave the response rate out{sums}: the promise then holds however many answer."


def figures_in(inputs: Inputs, strata: Strata, forms: FormTerms, terms: Terms) -> tuple[Family, ...]:
    """State the figures that have one draw of noise each, by family; none for other releases."""
    if not inputs.release_form.noised_once:
        return ()
    weight = float(forms.importances @ forms.figure_factors)
    partitions = find_partitions(strata, inputs)
    return families_of(terms, partitions, stretch=inputs.release_form.stretch, weight=weight)


def size_limits(inputs: Inputs, strata: Strata) -> tuple[IntArray, IntArray]:
    """Fewest and most people to invite in each stratum, from all that binds them."""
    lower, upper = _limits_of_strata(inputs, strata)
    if inputs.rows:
        lower = np.maximum(lower, _needed_by_forms(inputs, strata, upper))
    if np.any(lower > upper):
        wrong = np.flatnonzero(lower > upper)
        i = int(wrong[0])
        answering = _answering(strata)[i]
        reason = ", the people who would answer," if answering < min(lower[i], strata.sizes[i]) else ""
        raise InfeasibleError(
            f"the minimum of a stratum must be at most its maximum, got minimum {lower[i]:,} and "
            f"maximum {upper[i]:,}{reason} in stratum {strata.name(i)!r}"
            + (f" (and in {wrong.size - 1:,} more)." if wrong.size > 1 else ".")
        )
    return read_only(with_default_minimums(inputs, strata, lower, upper)), read_only(upper)


def _limits_of_strata(inputs: Inputs, strata: Strata) -> tuple[IntArray, IntArray]:
    """Return the limits but for what forms need and what holds by default."""
    sizes = _answering(strata)
    lower, upper = np.minimum(inputs.min_per_stratum or 1, sizes), sizes
    if inputs.min_fraction > 0:
        lower = np.maximum(lower, _fraction_of(strata.sizes, inputs.min_fraction, up=True))
    if inputs.max_fraction < 1:
        upper = np.minimum(upper, _fraction_of(strata.sizes, inputs.max_fraction, up=False))
    least_rate = inputs.promise.least_rate
    if least_rate > 0:
        rates = 1.0 if strata.response_rates is None else strata.response_rates
        needed = np.ceil(least_rate * strata.sizes * rates).astype(np.int64)
        lower = np.maximum(lower, needed)
    if strata.mins is not None:
        lower = np.maximum(lower, strata.mins)
    if strata.maxs is not None:
        upper = np.minimum(upper, strata.maxs)
    return lower, upper


def most_forms(inputs: Inputs, strata: Strata, sizes: IntArray | None = None) -> int:
    """Find how many forms a design may have: as many as every stratum and the number of people carry.

    Parameters
    ----------
    inputs, strata : Inputs, Strata
        What was asked for; the forms may be open.
    sizes : array of int, optional
        How many people of each stratum are asked, where that is known.

    Returns
    -------
    int
        0 where not even one is carried, which :func:`pose` then refuses.
    """
    lower, upper = _limits_of_strata(inputs, strata)
    upper = upper if sizes is None else np.minimum(upper, sizes)

    def too_many(forms: int) -> bool:
        needed = fewest_per_form(strata, forms) * forms
        if np.any(needed > upper):
            return True
        return _exceeded(inputs, strata, np.maximum(lower, needed)) is not None

    return bisect_left(range(1, int(upper.min()) + 1), True, key=too_many)


def _exceeded(inputs: Inputs, strata: Strata, sizes: IntArray) -> str | None:
    """Name the total, the limit or the budget that sizes exceed."""
    for name, limit in (("total", inputs.total), ("at_most", inputs.at_most)):
        if limit is not None and limit < int(sizes.sum()):
            return name
    if inputs.budget is None or strata.costs is None or fits_budget(strata.costs, sizes, inputs.budget):
        return None
    return "budget"


def _require_forms_carried(inputs: Inputs, strata: Strata, lower: IntArray) -> None:
    """Refuse forms that need more people than are asked for, and say how many would fit."""
    exceeded = _exceeded(inputs, strata, lower)
    if exceeded is None:
        return
    forms, needed = len(inputs.chosen_forms), int(lower.sum())
    each = fewest_per_form(strata, forms)
    least: float = needed
    if exceeded == "budget":
        assert inputs.budget is not None
        assert strata.costs is not None
        least = total_cost(strata.costs, lower)
        rule = f"must cover the minimums, which cost {money_above(least, inputs.budget)}"
        got = option("budget", inputs.budget, ",.10g")
    else:
        rule = f"must be at least the sum of the minimums ({needed:,})"
        if np.array_equal(lower, each * forms):
            people = "two people" if np.all(each == 2) else "enough people for two answers"
            on_forms = f" on each of {forms} forms" if forms > 1 else ""
            rule = f"must be at least {needed:,}, {people}{on_forms} in every stratum"
        got = option(exceeded, getattr(inputs, exceeded), ",")
    most = most_forms(inputs, strata)
    fewer = f" Raise it, or give at most {counted(most, 'form')} with {option('forms')}." if most else ""
    raise InfeasibleError(
        f"{option(exceeded)} {rule}, got {got}.{fewer}",
        argument=exceeded,
        value=getattr(inputs, exceeded),
        nearest=least,
    )


def _needed_by_forms(inputs: Inputs, strata: Strata, most: IntArray) -> IntArray:
    """Return how many people the forms of a stratum need, or say which strata are too small for them."""
    forms = len(inputs.chosen_forms)
    each = fewest_per_form(strata, forms)
    small = np.flatnonzero(each * forms > most)
    if small.size:
        i = int(small[np.argmin(most[small])])
        carries = int(most[i] // each[i])
        fewer = f", or give at most {counted(carries, 'form')} with {option('forms')}" if carries else ""
        named = ", ".join(repr(strata.name(int(row))) for row in small[:5])
        more = f" and {small.size - 5:,} more" if small.size > 5 else ""
        raise InfeasibleError(
            f"every form needs at least {each[i]:,} people in every stratum, so {counted(forms, 'form')} "
            f"must have {each[i] * forms:,}, got {most[i]:,} in stratum {strata.name(i)!r}. Merge small "
            f"strata ({named}{more}){fewer}."
        )
    return each * forms


def _answering(strata: Strata) -> IntArray:
    """Return how many people of each stratum would answer, at least."""
    rates = strata.response_rates
    if rates is None:
        return strata.sizes
    people = _fraction_of(strata.sizes, rates, up=False)
    if np.any(people < 1):
        i = int(np.argmin(people))
        raise InfeasibleError(
            "the response rate times the size must be at least 1, so that someone would answer, got "
            f"{rates[i]:g} times {strata.sizes[i]:,} in stratum {strata.name(i)!r}."
        )
    return people


def _fraction_of(sizes: IntArray, fraction: float | FloatArray, *, up: bool) -> IntArray:
    """Round fraction·N up or down, taking each fraction for the decimal number that was written."""
    rough = sizes * fraction
    rounded = np.ceil(rough) if up else np.floor(rough)
    whole: IntArray = rounded.astype(np.int64)
    rounding = math.ceil if up else math.floor
    shares = np.broadcast_to(fraction, sizes.shape)
    for i in np.flatnonzero(np.abs(rough - np.rint(rough)) <= 1e-12 * rough + 1e-9).tolist():
        whole[i] = rounding(Fraction(repr(float(shares[i]))) * int(sizes[i]))
    return whole


def default_minimums(inputs: Inputs, strata: Strata) -> IntArray | None:
    """How many people of each stratum are invited at least, where nobody said how many.

    Returns
    -------
    array of int or None
        So many that fewer than two answers in any stratum have a chance of at most 1%; 0 in strata that
        state a minimum of their own. ``None`` where a minimum was given, where everyone answers, and for
        rows, whose forms have minimums of their own.
    """
    rates = strata.response_rates
    if inputs.min_per_stratum is not None or inputs.rows:
        return None
    if rates is None or bool(np.all(rates == 1.0)):
        return None
    found = fewest_for_two_answers(strata.sizes, rates, places=len(strata))
    return found if strata.mins is None else np.where(strata.mins > 0, 0, found)


def with_default_minimums(inputs: Inputs, strata: Strata, lower: IntArray, upper: IntArray) -> IntArray:
    """Raise minimums to those that hold by default, within maximums, total and budget.

    Where the total or the budget cannot carry them, every stratum is raised by the same share, rounded down.
    """
    wanted = default_minimums(inputs, strata)
    if wanted is None:
        return lower
    more = np.clip(wanted, lower, upper) - lower
    people = [limit for limit in (inputs.total, inputs.at_most) if limit is not None]
    shares = [_share(limit, np.ones(len(strata)), lower, more) for limit in people]
    if inputs.budget is not None and strata.costs is not None:
        shares.append(_share(inputs.budget, strata.costs, lower, more))
    share = min([1.0, *shares])
    return lower + (more if share == 1.0 else np.floor(more * share).astype(np.int64))


def _share(limit: float, costs: FloatArray, lower: IntArray, more: IntArray) -> float:
    """Return the share of what is wanted that a limit carries besides the other minimums."""
    left, needed = max(limit - float(costs @ lower), 0.0), float(costs @ more)
    if needed <= left:
        return 1.0
    return left / needed * (1 - 1e-12)  # which rounding cannot bring above the limit


class DefaultMinimum(NamedTuple):
    """What the default minimums of a design take, and what they do to it.

    Attributes
    ----------
    needed : int
        How many invitations they take.
    fits : bool
        Whether the design has all of them, and not a share.
    binds : bool
        Whether nobody is invited beyond them although more could be: fewer may be more precise.
    """

    needed: int
    fits: bool
    binds: bool


def describe_default(
    inputs: Inputs, strata: Strata, problem: Problem, sizes: IntArray
) -> DefaultMinimum | None:
    """Describe the default minimums of a design; ``None`` if it has none."""
    wanted = default_minimums(inputs, strata)
    if wanted is None:
        return None
    needed = np.clip(wanted, problem.lower, problem.upper)
    more = inputs.at_most is not None and int(sizes.sum()) < inputs.at_most
    raised = bool(np.any((problem.lower == sizes) & (problem.lower > 1) & (wanted > 0)))
    return DefaultMinimum(
        int(needed.sum()),
        fits=bool(np.all(needed <= problem.lower)),
        binds=more and raised and bool(np.all(sizes == problem.lower)),
    )
