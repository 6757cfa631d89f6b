"""Everything a design was asked for, required to go together."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpstrata.errors import InputError, NotAvailableError, option
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises import promise_of
from dpstrata.privacy.promises.base import Promise
from dpstrata.survey.forms import AUTO, FormPlan, Forms, are_chosen
from dpstrata.survey.goals import (
    Goal,
    Targets,
    check_goal,
    domains_with_kinds,
    goal_of,
    normal_quantile,
    targets_of,
)
from dpstrata.survey.options import Options
from dpstrata.survey.priors import Distribution, read_prior
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.spreads import SpreadRecord, Spreads
from dpstrata.survey.releases import release_of
from dpstrata.survey.releases.base import Release
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import figure
from dpstrata.words.results import REPORTED


@dataclass(frozen=True, slots=True)
class Inputs(Options):
    """The options of a design, each taken as it is meant, and required to go together.

    Some fields are no options. ``spreads`` is what is known of the answers to every question, and ``forms``
    divides the questions. ``default_questions`` says that nobody stated what can be answered, so that no file
    of answers is noised.

    What follows from the options is resolved once, when they are put together.

    Attributes
    ----------
    promise : Promise
        What is promised to everyone.
    release_form : Release
        What is released, and who sees what. It knows whether answers are noised one by one or together, as a
        row on a form.
    targets : Targets
        The precisions to reach, if any.
    goal : Goal
        What is asked for.
    """

    spreads: SpreadRecord | None = None
    forms: Forms = AUTO
    default_questions: bool = False

    promise: Promise = field(init=False, repr=False, compare=False)
    release_form: Release = field(init=False, repr=False, compare=False)
    targets: Targets = field(init=False, repr=False, compare=False)
    goal: Goal = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        stated: object = self.questions
        if stated is None:
            put(self, "default_questions", True)
        Options.__post_init__(self)
        put(self, "release_form", release_of(self))
        self.release_form.settle(self)
        put(self, "promise", promise_of(self))
        self.promise.check(mechanism=self.mechanism, delta=self.delta, cap=self.local_epsilon_cap)
        self._check_together()
        self._check_available()
        check_goal(self)
        put(self, "domains", domains_with_kinds(self))
        put(self, "targets", targets_of(self))  # of the domains with their kinds
        put(self, "goal", goal_of(self))

    @property
    def rows(self) -> bool:
        """Whether a person's answers are randomised together, as a row on a form."""
        return self.release_form.of_rows

    @property
    def question(self) -> Question:
        """The only question of a survey that has one."""
        (question,) = self.questions
        return question

    @property
    def space(self) -> AnswerSpace:
        """What mechanisms need to know of the answers to it."""
        return self.question.space

    @property
    def asks_for_least(self) -> bool:
        """Whether the goal is the fewest people, or the least cost, that reach a precision."""
        return self.goal.asks_for_least

    @property
    def mean_in_words(self) -> str:
        """What is estimated: the mean, or that of clipped answers."""
        return f"mean of answers {self.clipping}" if self.clip else "mean"

    @property
    def clipping(self) -> str:
        """What is done to answers outside the range, for designs that clip them."""
        return f"clipped to {_grouped(self.space.lower)}–{_grouped(self.space.upper)}"

    @property
    def unlimited_in_words(self) -> str | None:
        """How much higher the mean of unlimited answers is expected to be; ``None`` if no prior is stated."""
        if self.prior is None:
            return None
        prior = read_prior(self.prior)
        higher = figure(prior.excess(self.space.upper), 3)
        return (
            f"Under {prior.in_words}, the mean of unlimited answers is {higher} higher than the "
            f"{self.mean_in_words}."
        )

    @property
    def has_classes(self) -> bool:
        """Whether the strata are cells of weighting classes, and results are by the coarser strata."""
        return REPORTED in (self.domains or ())

    @property
    def z(self) -> float:
        """Normal quantile of the confidence: a margin of error in standard errors."""
        return normal_quantile(self.confidence)

    @property
    def asks_by_question(self) -> bool:
        """Whether targets of questions determine how many people are invited."""
        return self.questions.has_targets

    @property
    def chosen_forms(self) -> tuple[FormPlan, ...]:
        """The forms, with levels, shares and tables; planning chooses what was left open."""
        assert are_chosen(self.forms)
        return self.forms

    def spreads_in(self, strata: Strata) -> Spreads:
        """Return what is known of the answers to every question in every stratum."""
        return Spreads.from_record(strata, self.questions, self.spreads)

    def _check_together(self) -> None:
        """Require that options go together; each has been checked by itself."""
        if self.min_fraction > self.max_fraction:
            raise InputError.must(
                "min_fraction",
                f"be at most {option('max_fraction', self.max_fraction, 'g')}",
                self.min_fraction,
                "g",
            )
        if self.clip and (not self.question.of_kind.can_clip or self.default_questions):
            got = "none" if self.default_questions else str(self.space)
            raise InputError(
                f"{option('clip')} requires {option('questions')} to be a range, such as 0:8000, got {got}."
            )
        self._check_prior()
        self.release_form.check(self)

    def _check_prior(self) -> None:
        """Require that a prior is about amounts that are clipped at the upper end alone."""
        if self.prior is None:
            return
        if not self.clip:
            raise InputError(f"{option('prior')} requires {option('clip')}.", argument="prior")
        prior = read_prior(self.prior)
        if isinstance(prior, Distribution) and self.space.lower > prior.least:
            raise InputError(
                f"{option('questions')} must start at {prior.least:g} or below where {option('prior')} is "
                f"{prior.text}, got {self.question.answers}.",
                argument="questions",
            )

    def _check_available(self) -> None:
        """Refuse what this version understands but does not carry out; nothing is silently ignored."""
        capped = self.local_epsilon_cap is not None
        if capped and self.mechanism == "gaussian" and self.promise.amplified:
            raise NotAvailableError(
                f"{option('local_epsilon_cap')} with Gaussian noise is not available in this version of "
                "dpstrata; remove it."
            )

    def fitted_mechanism(self) -> Mechanism:
        """Return what noises an answer, or a sum, at the budget of the secret sample."""
        asked = get_mechanism(self.mechanism, self.space)
        misfit = self.release_form.misfit(asked)
        if misfit is not None:
            raise InputError(misfit, argument="mechanism", value=self.mechanism)
        return self.release_form.fitted(self)


def _grouped(value: float) -> str:
    """Write an end of a range as people do: 8,000."""
    return f"{value:,.10g}"
