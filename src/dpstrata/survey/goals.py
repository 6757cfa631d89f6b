"""What a design is asked for: a number of people, a limit, a budget or a precision, and how it came about."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from dpstrata.errors import InputError, option
from dpstrata.survey.costs import fits_budget
from dpstrata.survey.targets import CV, KINDS, SE, Margin, PrecisionTarget
from dpstrata.words.numbers import counted, money, plain_number, told_apart

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs


_LISTED_DOMAINS = 5


# --- precisions to reach ----------------------------------------------------------------------------


_KINDS: dict[str, type[PrecisionTarget]] = {"target_se": SE, "target_margin": Margin, "target_cv": CV}
TARGETS = tuple(_KINDS)
GOAL_OPTIONS = ("total", "at_most", "budget", *TARGETS)


def normal_quantile(confidence: float) -> float:
    """Return a margin of error in standard errors."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def has_targets(domains: Mapping[str, Any] | None) -> bool:
    """Whether any domain has a precision to reach."""
    return any(target is not None and target != {} for target in (domains or {}).values())


def each_target(domains: Mapping[str, Any] | None) -> Iterator[tuple[str, str | None, PrecisionTarget]]:
    """Yield every target of domains with its column and its group, ``None`` for all groups."""
    for column, given in (domains or {}).items():
        for group, target in given.items() if isinstance(given, Mapping) else [(None, given)]:
            if target is not None:
                yield column, group, target


def written_domains(domains: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Write the targets of domains as text, as files and the command line have them."""

    def written(target: Any) -> Any:
        if isinstance(target, Mapping):
            return {group: written(each) for group, each in target.items()}
        return None if target is None else str(target)

    return None if domains is None else {column: written(target) for column, target in domains.items()}


def has_cv(inputs: Inputs) -> bool:
    """Whether some target is a coefficient of variation, which needs means that are expected."""
    given = [target for _, _, target in each_target(inputs.domains)]
    return any(isinstance(target, CV) for target in (target_of_whole(inputs), *given))


@dataclass(frozen=True, slots=True)
class Targets:
    """The precisions to reach; there may be none.

    Attributes
    ----------
    whole : PrecisionTarget or None
        That of the population mean.
    domains : mapping
        Those of the groups of a column: one for all of them, or some by name.
    confidence : float
        Of margins of error.
    expected_mean : float or None
        Mean that a coefficient of variation of the whole is relative to.
    of : str
        What is estimated.
    """

    whole: PrecisionTarget | None
    domains: Mapping[str, Any]
    confidence: float
    expected_mean: float | None
    of: str

    @property
    def of_domains(self) -> bool:
        """Whether any domain has one."""
        return has_targets(self.domains)

    def __bool__(self) -> bool:
        return self.whole is not None or self.of_domains

    @property
    def variance(self) -> float | None:
        """Variance of the population mean to reach."""
        return None if self.whole is None else self.variance_of(self.whole, self.expected_mean)

    def variance_of(self, target: PrecisionTarget, mean: float | None) -> float:
        """Return the variance that a target of a group means, which is expected to have ``mean``.

        It is the largest number whose root is the standard error, so that a design's own can be asked for.
        """
        error = target.standard_error(z=normal_quantile(self.confidence), mean=mean)
        variance = error * error
        while math.sqrt(following := math.nextafter(variance, math.inf)) <= error:
            variance = following
        return variance

    @property
    def in_words(self) -> str:
        """All of them."""
        said = "; and ".join(self._each_in_words())
        kinds = {type(target) for _, _, target in each_target(self.domains)} | {type(self.whole)}
        return f"{said} ({100 * self.confidence:.10g}% confidence)" if Margin in kinds else said

    def _each_in_words(self) -> Iterator[str]:
        if self.whole is not None:
            mean = self.expected_mean
            expected = "" if mean is None else f", expected to be {plain_number(mean)}"
            yield f"{self.whole.in_words} for {self.of}{expected}"
        for column, given in self.domains.items():
            if isinstance(given, PrecisionTarget):
                yield f"{given.plural} by {column} of {plain_number(given.value)}"
                continue
            for kind in KINDS.values():
                own = {group: each.value for group, each in (given or {}).items() if type(each) is kind}
                listed = [f"{plain_number(value)} for {group}" for group, value in own.items()]
                more = len(listed) - _LISTED_DOMAINS
                few = ", ".join(listed[:_LISTED_DOMAINS]) + (f" and {more:,} more" if more > 0 else "")
                if listed:
                    yield f"{kind.plural} by {column} of {few}"

    def missed_by(self, plan: Design) -> bool:
        """Whether a design misses one."""
        goal = self.variance
        return (goal is not None and plan.variance > goal * (1 + 1e-12)) or any(
            domain.target is not None and domain.standard_error > domain.target * (1 + 1e-12)
            for domain in plan.domains
        )


# --- the goals --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the total of a design came about, where it was not simply given.

    Attributes
    ----------
    best_total : int
        The number of interviews with the least variance at all; more of them hurt.
    best_variance : float
        The variance there.
    limit : int or None
        ``at_most`` of the request.
    variance_at_limit : float or None
        The variance with all of them.
    target_variance : float or None
        The variance to reach.
    variance_with_one_fewer : float or None
        What one interview less would have given; more than the target.
    budget : float or None
        The most that all invitations might cost.
    cost : float or None
        What they cost.
    least_cost : bool
        Whether the target was to be reached at the least cost, not with the fewest interviews.
    """

    best_total: int
    best_variance: float
    limit: int | None = None
    variance_at_limit: float | None = None
    target_variance: float | None = None
    variance_with_one_fewer: float | None = None
    budget: float | None = None
    cost: float | None = None
    least_cost: bool = False


@dataclass(frozen=True, slots=True)
class Goal(ABC):
    """What is asked of a design."""

    asks_for_least: ClassVar[bool] = False
    """Whether the fewest people, or the least cost, that reach a precision are asked for."""
    spends_budget: ClassVar[bool] = False
    """Whether the least variance within a budget is asked for."""
    fixes_total: ClassVar[bool] = False
    """Whether the number of people is given."""

    @property
    def explains_total(self) -> bool:
        """Whether how the total came about is worth a sentence."""
        return True

    @abstractmethod
    def in_words(self, unit: str, smallest: str) -> str:
        """Ask it.

        Parameters
        ----------
        unit : str
            What sample sizes count.
        smallest : str
            What the best allocation does, as in "makes the variance smallest".
        """

    @abstractmethod
    def broken_by(self, plan: Design) -> str | None:
        """Say how a design fails it, if it does."""

    def outcome_in_words(self, outcome: Outcome, total: int, *, mean: bool, unit: str) -> str:
        """Say how the total came about and what others would give."""
        return (
            f"{counted(outcome.best_total, unit)} would be best, with {_named(outcome.best_variance, mean)}; "
            f"beyond that, more {unit}s make the sample less secret and the result less precise."
        )


@dataclass(frozen=True, slots=True)
class Total(Goal):
    """Exactly so many people."""

    fixes_total: ClassVar[bool] = True
    total: int

    def in_words(self, unit: str, smallest: str) -> str:
        """Ask for the best allocation of so many."""
        return f"Which allocation of exactly {counted(self.total, unit)} {smallest}?"

    def broken_by(self, plan: Design) -> str | None:
        """Require the total."""
        return None if plan.total == self.total else _OTHER_TOTAL


@dataclass(frozen=True, slots=True)
class AtMost(Goal):
    """The best number of people that is not above a limit."""

    limit: int

    def in_words(self, unit: str, smallest: str) -> str:
        """Ask for the best allocation of at most so many."""
        return f"Which allocation of at most {counted(self.limit, unit)} {smallest}?"

    def broken_by(self, plan: Design) -> str | None:
        """Require a total within the limit."""
        return None if plan.total <= self.limit else _OTHER_TOTAL

    def outcome_in_words(self, outcome: Outcome, total: int, *, mean: bool, unit: str) -> str:
        """Say how many of them are saved, if any."""
        limit, variance = outcome.limit, outcome.variance_at_limit
        assert limit is not None
        assert variance is not None
        fewer_people = limit < self.limit
        if total >= limit:
            return self._all_improve(outcome, limit, unit, fewer_people=fewer_people)
        are = "is" if total == 1 else "are"
        allowed = "possible" if fewer_people else "allowed"
        return (
            f"{counted(total, unit)} {are} best, {limit - total:,} fewer than the {limit:,} {allowed}; with "
            f"all of them the {'standard error' if mean else 'objective'} would be "
            f"{_shown(mean, variance, outcome.best_variance)[0]}."
        )

    @staticmethod
    def _all_improve(outcome: Outcome, limit: int, unit: str, *, fewer_people: bool) -> str:
        """Say that nobody is invited in vain, and why no more are invited."""
        every = f"All {counted(limit, unit)}"
        if not fewer_people:
            beyond = outcome.best_total > limit
            others = f"{outcome.best_total:,} would be best" if beyond else "no other number would be better"
            return f"{every} improve the result; {others}."
        if unit == "interview":
            return f"{every} that are possible improve the result."
        return (
            f"{every} that are possible improve the result; with response rates, no more people can be "
            "invited than would answer, because the promise relies on inviting a sample of those."
        )


@dataclass(frozen=True, slots=True)
class Budget(Goal):
    """The least variance that a budget buys, of the designs that meet the targets of domains."""

    spends_budget: ClassVar[bool] = True
    budget: float
    targets: Targets

    def in_words(self, unit: str, smallest: str) -> str:
        """Ask for the best allocation that it buys."""
        reaching = f" and reaches {self.targets.in_words}" if self.targets else ""
        return f"Which allocation that costs at most {money(self.budget)}{reaching} {smallest}?"

    def broken_by(self, plan: Design) -> str | None:
        """Require a cost within the budget, and the targets."""
        return _beyond(plan, self.budget) or (_MISSED if self.targets.missed_by(plan) else None)

    def outcome_in_words(self, outcome: Outcome, total: int, *, mean: bool, unit: str) -> str:
        """Say what it buys, and whether more would help."""
        best = _named(outcome.best_variance, mean)
        beyond = (
            f"with {best}, which no larger budget would improve"
            if total >= outcome.best_total
            else f"{counted(outcome.best_total, unit)} would be best, with {best}"
        )
        assert outcome.cost is not None
        return (
            f"The budget of {money(self.budget)} buys {counted(total, unit)} at a cost of "
            f"{money(outcome.cost)}; {beyond}."
        )


@dataclass(frozen=True, slots=True)
class Precision(Goal):
    """The fewest people, or the least cost, that reach the targets, within a budget if there is one."""

    asks_for_least: ClassVar[bool] = True
    targets: Targets
    budget: float | None = None

    @property
    def explains_total(self) -> bool:
        """Targets of domains have sentences of their own."""
        return not self.targets.of_domains

    def in_words(self, unit: str, smallest: str) -> str:
        """Ask how few, or how little."""
        within = "" if self.budget is None else f" within a budget of {money(self.budget)}"
        return (
            f"What is the smallest number of {unit}s, or the lowest cost, that reaches "
            f"{self.targets.in_words}{within}?"
        )

    def broken_by(self, plan: Design) -> str | None:
        """Require a cost within the budget, and the targets."""
        return _beyond(plan, self.budget) or (_MISSED if self.targets.missed_by(plan) else None)

    def outcome_in_words(self, outcome: Outcome, total: int, *, mean: bool, unit: str) -> str:
        """Say that it is the least, and why."""
        if outcome.target_variance is None:
            return Goal.outcome_in_words(self, outcome, total, mean=mean, unit=unit)
        fewer = outcome.variance_with_one_fewer
        compared = [outcome.target_variance] + ([] if fewer is None else [fewer])
        target, *missing = _shown(mean, *compared)
        goal = f"{_measure(mean)} of {target}"
        if outcome.least_cost and outcome.cost is not None:
            reach = "reaches" if total == 1 else "reach"
            return (
                f"{counted(total, unit)} {reach} {goal} at a cost of {money(outcome.cost)}, the lowest "
                "found; the certificate states how much lower it could be."
            )
        reason = f"one fewer gives {missing[0]}" if missing else "the minimums require that many"
        spent = "" if outcome.cost is None else f", at a cost of {money(outcome.cost)}"
        are = "is" if total == 1 else "are"
        return f"{counted(total, unit)} {are} the fewest that reach {goal}{spent}; {reason}."


_OTHER_TOTAL = "the sample sizes do not add up to the total asked for"
_MISSED = "the design misses its targets"


def _beyond(plan: Design, budget: float | None) -> str | None:
    costs = plan.strata.costs
    if budget is None or costs is None or fits_budget(costs, plan.sample_sizes, budget):
        return None
    return "the design costs more than its budget"


def _named(variance: float, mean: bool) -> str:
    return f"{_measure(mean)} of {_shown(mean, variance)[0]}"


def _measure(mean: bool) -> str:
    return "a standard error" if mean else "an objective"


def _shown(mean: bool, *variances: float) -> list[str]:
    return told_apart(*(math.sqrt(variance) if mean else variance for variance in variances))


@dataclass(frozen=True, slots=True)
class QuestionTargets(Goal):
    """The fewest people with whom every question of a questionnaire reaches its target."""

    asks_for_least: ClassVar[bool] = True
    budget: float | None = None

    def in_words(self, unit: str, smallest: str) -> str:
        """Ask how few."""
        return f"What is the smallest number of {unit}s with which every question reaches its target?"

    def broken_by(self, plan: Design) -> str | None:
        """Require the targets."""
        missed = any(question.target_met is False for question in plan.questions)
        return _beyond(plan, self.budget) or (_MISSED if missed else None)

    def outcome_in_words(self, outcome: Outcome, total: int, *, mean: bool, unit: str) -> str:
        """Say that they are reached."""
        return f"{counted(total, unit)} reach every target."


# --- from options -----------------------------------------------------------------------------------


def target_of_whole(inputs: Inputs) -> PrecisionTarget | None:
    """Return the precision to reach for the whole population."""
    asked = ((kind, getattr(inputs, name)) for name, kind in _KINDS.items())
    return next((kind(value) for kind, value in asked if value is not None), None)


def targets_of(inputs: Inputs) -> Targets:
    """Return the precisions that someone's options ask for."""
    return Targets(
        whole=target_of_whole(inputs),
        domains=inputs.domains or {},
        confidence=inputs.confidence,
        expected_mean=inputs.expected_mean,
        of=inputs.questions[0].of_kind.estimated,
    )


def domains_with_kinds(inputs: Inputs) -> dict[str, Any] | None:
    """Return the domains with a kind for every target: a bare number has that of the whole's target.

    Raises
    ------
    InputError
        If there is none.
    """
    if inputs.domains is None:
        return None
    whole = target_of_whole(inputs)

    def with_kind(where: str, target: Any) -> Any:
        if isinstance(target, Mapping):
            return {group: with_kind(f"{where}={group}", each) for group, each in target.items()}
        if not isinstance(target, float):
            return target
        if whole is None:
            number = plain_number(target)
            relative = f"{number}%cv" if target >= 1 else f"{number}cv"
            raise InputError(
                f"without a target for the whole, a target of {option('domains')} must say what it is: "
                f"{relative}, {number}se or {number}margin, got {number} for {where}.",
                value=target,
            )
        return type(whole)(target)

    return {column: with_kind(column, target) for column, target in inputs.domains.items()}


def goal_of(inputs: Inputs) -> Goal:
    """Return what someone's options ask for; :func:`check_goal` says whether they ask for one thing."""
    if inputs.asks_by_question:
        return QuestionTargets(inputs.budget)
    if inputs.total is not None:
        return Total(inputs.total)
    if inputs.at_most is not None:
        return AtMost(inputs.at_most)
    if inputs.budget is not None and inputs.targets.whole is None:
        return Budget(inputs.budget, inputs.targets)
    return Precision(inputs.targets, inputs.budget)


def check_goal(inputs: Inputs) -> None:
    """Require one of total, at_most, budget and a precision; a budget may join a target.

    Raises
    ------
    InputError
        If none or several are asked for, or other options do not go with it.
    """
    asked = [name for name in GOAL_OPTIONS if getattr(inputs, name) is not None]
    if inputs.asks_by_question:
        if asked:
            raise InputError(
                f"targets of questions determine how many people are invited, so {option(asked[0])} cannot "
                "be given too; remove it, or the targets.",
                argument=asked[0],
            )
        return
    targets = [name for name in asked if name in TARGETS]
    alone = [name for name in asked if name != "budget"] if targets else asked
    of_domains = has_targets(inputs.domains)
    if len(alone) > 1 or not (asked or of_domains):
        got = " and ".join(map(option, alone)) or "none of them"
        about: dict[str, Any] = {"argument": alone[0]} if alone else {}
        raise InputError(f"a design needs one of {', '.join(map(option, GOAL_OPTIONS))}, got {got}.", **about)
    if of_domains and alone and alone[0] in ("total", "at_most"):
        raise InputError(
            f"targets for {option('domains')} determine how many people are invited, so {option(alone[0])} "
            "cannot be given too.",
            argument=alone[0],
        )
    if (targets or inputs.domains) and inputs.objective != "mean":
        name = targets[0] if targets else "domains"
        got = option("objective", inputs.objective)
        raise InputError(f"{option(name)} requires {option('objective', 'mean')}, got {got}.")
    check_expected_mean(inputs)


def check_expected_mean(inputs: Inputs) -> None:
    """Require an expected mean beside a relative target alone, and one that such answers can have."""
    mean = inputs.expected_mean
    if mean is None and not has_cv(inputs):
        return
    space = inputs.space
    if not space.numbers:
        asked = option("expected_mean") if mean is not None else "a coefficient of variation"
        raise InputError(
            f"{asked} needs answers with a mean, got {space.described}. Ask for a standard error or a "
            "margin of error, which the shares of all categories then meet.",
            argument="domains" if inputs.target_cv is None and mean is None else "target_cv",
        )
    if (inputs.target_cv is None) != (mean is None):
        alone = "target_cv" if mean is None else "expected_mean"
        raise InputError(
            f"{option('target_cv')} and {option('expected_mean')}, the mean it is relative to, must be given "
            f"together (the mean may also be a column of the strata), got {option(alone)} alone.",
            argument=alone,
        )
    if mean is not None and (not space.lower <= mean <= space.upper or mean == 0):
        raise InputError.must(
            "expected_mean", f"lie in the range of the answers ({space}) and not be 0", mean, "g"
        )
