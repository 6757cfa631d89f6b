"""The smallest budget that reaches a wanted precision: bisection on designs.

A larger budget never makes a design less precise, since every noise shrinks with it. So there is one smallest
budget; it is sought among the numbers of a few digits, which is how budgets are written and told to people.
The next smaller one is designed as well, and shown to miss: that is the proof.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpstrata.allocation.proof.bound import Bound
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError, Sentence, option
from dpstrata.planning.design import design_as_asked, read_survey
from dpstrata.survey.goals import TARGETS, has_targets
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OPTIONS, as_number
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import counted, figure
from dpstrata.words.tables import shown_as_html, shown_as_text
from dpstrata.words.what_if import budget_sentences, budget_table, goal_in_words, missed_in_words

SolveFor = Literal["epsilon", "device_epsilon"]
SOLVED: tuple[SolveFor, ...] = ("epsilon", "device_epsilon")
SMALLEST, LARGEST = 1e-6, 100.0  # the range of both
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """A budget that was tried.

    Attributes
    ----------
    value : float
        The budget.
    reaches : bool
        Whether some design reaches the precision with it.
    total : int or None
        People to invite; ``None`` where no number of people reaches the precision.
    reason : str
        Why it does not, or nothing.
    proven : bool
        Whether that is proven: no design at all reaches it.
    """

    value: float
    reaches: bool
    total: int | None
    reason: str
    proven: bool


@dataclass(frozen=True, slots=True, eq=False)
class SolvedEpsilon:
    """The smallest budget that reaches a precision.

    Attributes
    ----------
    solve_for : str
        ``epsilon`` or ``device_epsilon``.
    value : float
        The budget.
    design : Design
        The design that reaches the precision with it, with the fewest people.
    goal : str
        What was to be reached.
    missed : Tried or None
        The next smaller budget, which misses; ``None`` if even the smallest reaches the precision.
    tried : tuple of Tried
        All budgets for which designs were made, in ascending order.
    """

    solve_for: str
    value: float
    design: Design
    goal: str
    missed: Tried | None
    tried: tuple[Tried, ...]

    @property
    def proven(self) -> bool:
        """Whether it is proven that no design reaches the precision with the next smaller budget."""
        return self.missed is None or self.missed.proven

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, a row for each budget that was tried."""
        names = (self.solve_for, "reaches", "total", "reason")
        rows = [(each.value, each.reaches, each.total, each.reason) for each in self.tried]
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the design itself as plain Python data."""
        return {
            "solve_for": self.solve_for,
            "value": self.value,
            "goal": self.goal,
            "proven": self.proven,
            "total": self.design.total,
            "standard_error": self.design.standard_error,
            "digest": self.design.digest,
            "missed": None
            if self.missed is None
            else {"value": self.missed.value, "total": self.missed.total, "reason": self.missed.reason},
            "tried": self.table(),
        }

    def __repr__(self) -> str:
        return shown_as_text([budget_table(self)], [], lead=budget_sentences(self))

    def _repr_html_(self) -> str:
        return shown_as_html([budget_table(self)], lead=budget_sentences(self))


def solve_epsilon(
    strata: Strata,
    *,
    solve_for: SolveFor = "epsilon",
    at_most: int | None = None,
    digits: int = 3,
    **options: Any,
) -> SolvedEpsilon:
    """Find the smallest epsilon, or device epsilon, with which a survey reaches a wanted precision.

    Parameters
    ----------
    strata : Strata
        The population.
    solve_for : {"epsilon", "device_epsilon"}
        Which budget to find. The other one, if any, is given.
    at_most : int, optional
        The most people that may be invited; by default all whom the limits allow.
    digits : int
        How many digits the budget has, from 1 to 6: with 3 it is the smallest of 0.511, 0.512, ...
    **options
        As for :func:`design`: what must be reached (``target_se``, ``target_margin`` or ``target_cv``,
        targets of ``domains``, or of the questions of a ``questionnaire``), a ``budget`` in money if there is
        one, and everything else but ``total``.

    Returns
    -------
    SolvedEpsilon
        The budget, the design that it takes, and why the next smaller budget does not do.

    Raises
    ------
    InfeasibleError
        If no budget up to 100 reaches it, with what is then left of the error.

    Notes
    -----
    It takes about 14 designs with three digits. For a target of the whole the fewest people are exact, so
    that the next smaller budget is proven to miss. With response rates, for questionnaires, and where the
    certificate of a design leaves a gap, a slightly smaller budget might do; then ``proven`` is False.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> found = dps.solve_epsilon(strata, target_se=0.015, at_most=200)
    >>> found.value, found.design.total
    (0.255, 200)
    >>> found.missed.value, found.missed.total, found.proven
    (0.254, 202, True)
    """
    steps = _steps(digits)
    limit = None if at_most is None else int(OPTIONS["at_most"].read(at_most))
    survey, inputs = read_survey(strata, _checked(solve_for, options))
    if not inputs.asks_for_least:
        raise _no_precision()
    if limit is not None and survey.costs_differ:
        raise InputError(
            f"{option('at_most')} cannot be used where people cost differently, because designs for a "
            f"precision minimise the cost; give {option('budget')}."
        )
    search = _Search(survey, inputs, solve_for, limit, {})
    if search.at(LARGEST) is None:
        raise search.out_of_reach()
    place = _first_place(steps, search)
    value = _number(place, steps)
    plan = search.at(value)
    assert plan is not None
    tried = tuple(each for _, (each, _) in sorted(search.tried.items()))
    missed = None if place == 0 else search.tried[_number(place - 1, steps)][0]
    return SolvedEpsilon(solve_for, value, plan, goal_in_words(inputs, limit, survey.unit), missed, tried)


def _first_place(steps: int, search: _Search) -> int:
    """Bisect for the first number of the grid that reaches the precision; the last one does."""
    last = round(math.log10(LARGEST / SMALLEST)) * steps
    return bisect_left(range(last), True, key=lambda place: search.at(_number(place, steps)) is not None)


def _number(place: int, steps: int) -> float:
    """Return a number of few digits by its place: each decade has as many."""
    decade, step = divmod(place, steps)
    lead = steps // 9
    exponent = round(math.log10(SMALLEST)) + decade - round(math.log10(lead))
    return float(f"{lead + step}e{exponent}")


@dataclass(frozen=True, slots=True)
class _Search:
    """Designs by their budget."""

    strata: Strata
    inputs: Inputs
    name: SolveFor
    at_most: int | None
    tried: dict[float, tuple[Tried, Design | None]]

    def at(self, value: float) -> Design | None:
        """Design with a budget; nothing if that misses the precision."""
        if value not in self.tried:
            self.tried[value] = self._try(value)
        return self.tried[value][1]

    def _try(self, value: float) -> tuple[Tried, Design | None]:
        changes: dict[str, Any] = {self.name: value}
        try:
            plan = design_as_asked(self.strata, replace(self.inputs, **changes), warn=False)
        except InfeasibleError as error:
            # forms are searched, and others may do
            searched = self.inputs.asks_by_question
            proven = not searched and (error.misses is None or error.misses[1] > 1.0)
            return Tried(value, False, None, error.sentence, proven), None
        if self.at_most is None or plan.total <= self.at_most:
            return Tried(value, True, plan.total, "", True), plan
        reason = missed_in_words(plan, self.at_most)
        return Tried(value, False, plan.total, reason, self._needs_more(plan)), None

    def _needs_more(self, plan: Design) -> bool:
        """Whether it is proven that no design reaches the precision with as many people as are allowed."""
        proof = plan.certificate
        if plan.problem.planned:
            return False  # a bound is minimised, or forms were searched
        if not isinstance(proof, Bound) or proof.optimal:
            return True
        return proof.measure == "total" and self.at_most is not None and proof.lower_bound > self.at_most

    def out_of_reach(self) -> InfeasibleError:
        """Say that no budget is enough, and what the largest one leaves of the error."""
        largest, _ = self.tried[LARGEST]
        goal = goal_in_words(self.inputs, self.at_most, self.strata.unit)
        said = f"no {option(self.name)} up to {LARGEST:g} reaches {goal}"
        if largest.total is None:
            return InfeasibleError(f"{said}: {Sentence(largest.reason).marked}", argument=self.name)
        alone = self.name == "epsilon" and self.inputs.device_epsilon is None
        cause = "sampling alone" if alone else f"even {option(self.name, int(LARGEST))}"
        needed = counted(largest.total, self.strata.unit)
        left = self._left()
        if left is None:
            return InfeasibleError(f"{said}: {cause} takes {needed}.", argument=self.name)
        error = f"{cause} gives a standard error of {figure(left)}, and {needed} would be needed"
        return InfeasibleError(f"{said}: {error}.", argument=self.name)

    def _left(self) -> float | None:
        """Return the standard error that the largest budget leaves with as many people as are allowed."""
        if self.inputs.targets.whole is None or self.inputs.targets.of_domains:
            return None
        changes: dict[str, Any] = dict.fromkeys((*TARGETS, "expected_mean", "budget"))
        changes |= {self.name: LARGEST, "at_most": self.at_most}
        return design_as_asked(self.strata, replace(self.inputs, **changes), warn=False).standard_error


def _steps(digits: object) -> int:
    """Return how many numbers of so many digits a decade has."""
    number = as_number("digits", digits, whole=True)
    if not 1 <= number <= _MOST_DIGITS:
        raise InputError.must("digits", f"be a whole number from 1 to {_MOST_DIGITS}", digits)
    return 9 * int(10 ** (number - 1))


def _checked(solve_for: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """Require options that leave open what is to be found, and nothing else."""
    if solve_for not in SOLVED:
        raise InputError.must("solve_for", f"be one of {', '.join(SOLVED)}", solve_for)
    name = str(solve_for)
    if options.get(name) is not None:
        other = next(each for each in SOLVED if each != name)
        raise InputError(
            f"{option(name)} is the budget to be found, so it cannot be given; to find the other budget, "
            f"pass {option('solve_for', other)}.",
            argument=name,
        )
    if options.get("total") is not None:
        raise InputError(
            f"{option('total')} cannot be used where a budget is to be found; give {option('at_most')}.",
            argument="total",
        )
    targets = [options.get(each) for each in TARGETS]
    targets += [has_targets(OPTIONS["domains"].read(options.get("domains"))) or None]
    targets += [OPTIONS["questions"].read(options.get("questions")).has_targets or None]
    if all(each is None for each in targets):
        raise _no_precision()
    return {**options, name: LARGEST}


def _no_precision() -> InputError:
    """Say that there is nothing to reach."""
    return InputError(
        f"solve_epsilon needs a precision to reach: {option('target_se')}, {option('target_margin')}, "
        f"{option('target_cv')}, or targets of {option('domains')} or of questions."
    )
