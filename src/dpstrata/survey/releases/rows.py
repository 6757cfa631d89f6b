"""The releases of forms: a person answers one of them, and answers, tables or figures of them are published.

The mathematics is that of forms (``allocation/rows_on_forms.py``); what differs here is what else can be
asked for, and who sees what.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpstrata.errors import InputError, option
from dpstrata.privacy.mechanisms.category_response import CategoryResponse
from dpstrata.survey.forms import (
    AUTO,
    ONE,
    ROWS,
    are_chosen,
    as_forms,
    names_on,
    require_complete,
    require_partition,
    require_together,
)
from dpstrata.survey.goals import check_expected_mean, has_targets
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.aggregated import Aggregated
from dpstrata.survey.releases.base import Release, one_target
from dpstrata.survey.releases.mean import Mean
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.survey.releases.sums import Sums
from dpstrata.survey.targets import CV
from dpstrata.words.numbers import factor_up, round_up

if TYPE_CHECKING:
    from dpstrata.survey.forms import Forms
    from dpstrata.survey.inputs import Inputs

OF_COUNTS = "discrete_laplace"  # what the office adds to counts, and the name of its noise in documents
# options that speak of a single answer, and what they are where nobody gave them
_OF_ONE_ANSWER: dict[str, Any] = {"local_epsilon_cap": None, "objective": "mean"}
# those that speak of one question, which may be the only one
_OF_ONE_QUESTION: dict[str, Any] = {
    "target_se": None,
    "target_margin": None,
    "target_cv": None,
    "expected_mean": None,
    "clip": False,
    "prior": None,
}
_INSTEAD = {
    "target_se": "give each question its own target_se (in an XLSForm: dp_target)",
    "target_margin": "give each question its own target_margin",
}

_FIXED = "forms are fixed before any answer is seen, and are the same in all strata"
_DEALT_IN_SECRET = (
    "every person in the sample gets one form, dealt at random as part of the secret draw, and nobody learns "
    "who got which"
)
_DEALT = "everyone gets one form, dealt at random before any answer is seen"
_FORMS = "the questionnaire, its forms, and how many people get each of them in each stratum"
_ROWS = "the number of rows in each stratum and of each form"
_WHO_GOT = "who got which form"


def are_rows(inputs: Inputs) -> bool:
    """Whether a person's answers are randomised together, as a row on a form.

    The only question of a survey is noised by any mechanism that fits it instead, unless its form is given,
    the points of a scale are counted, or categories of which many answers are added up.
    """
    first, *others = inputs.questions
    counted = first.levels == "all" or (inputs.release != Microdata.name and first.names)
    return bool(others) or inputs.forms != AUTO or bool(counted)


def kind_of_rows(name: str, *, several: bool) -> type[Release]:
    """Return the form of release of rows, of one answer or several, that a value of the option asks for."""
    return _KINDS[name][several]


class _OfRows(Release):
    """What can be asked for, whatever is published of rows."""

    __slots__ = ()

    of_rows: ClassVar[bool] = True

    def settle(self, inputs: Inputs) -> None:
        """Give the only question its targets; refuse what is not for rows, and read the forms."""
        put = object.__setattr__
        of_one = {**_OF_ONE_ANSWER, **({} if len(inputs.questions) == 1 else _OF_ONE_QUESTION)}
        for name, default in of_one.items():
            if getattr(inputs, name) != default:
                instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
                raise InputError(
                    f"{option(name)} is for a single question that is noised by itself{instead}.",
                    argument=name,
                )
        mechanism = OF_COUNTS if self.gets_raw else ROWS
        allowed = {"best", mechanism}
        if len(inputs.questions) == 1 and not self.gets_raw:
            allowed.add(CategoryResponse.name)  # which is the same
        if inputs.mechanism not in allowed:
            how = (
                "the office noises counts with discrete Laplace noise and sums with staircase noise"
                if self.gets_raw
                else "rows of answers are always randomised as a whole, by randomized response"
            )
            raise InputError(f"{how}; remove {option('mechanism')}.", argument="mechanism")
        if inputs.epsilon is None or inputs.delta or inputs.zcdp is not None or inputs.gdp is not None:
            raise InputError("rows of answers support pure epsilon only; remove delta, zcdp or gdp.")
        if has_targets(inputs.domains):
            raise InputError(
                f"targets of {option('domains')} cannot be used where answers are rows on a form; give "
                "targets to questions.",
                argument="domains",
            )
        put(inputs, "mechanism", mechanism)
        put(inputs, "forms", self._read_forms(inputs.forms))
        names = inputs.questions.names
        if not isinstance(inputs.forms, str):
            everyone = [question.name for question in inputs.questions if question.everyone]
            chosen = are_chosen(inputs.forms)
            require_partition(names_on(inputs.forms), names, everyone, overlap=chosen)
            require_together(names_on(inputs.forms), inputs.questions)
        if are_chosen(inputs.forms):
            require_complete(
                inputs.forms, inputs.questions, tables=not self.publishes_answers, raw=self.gets_raw
            )
        if len(names) == 1:
            _give_targets(inputs)

    def _read_forms(self, given: Any) -> Forms:
        return as_forms(given)


def _give_targets(inputs: Inputs) -> None:
    """Make the targets of the survey those of its only question, so that they are stated once."""
    put, question = object.__setattr__, inputs.question
    check_expected_mean(inputs)
    if inputs.target_cv is not None and inputs.target_se is None:
        put(inputs, "target_se", CV(inputs.target_cv).standard_error(z=inputs.z, mean=inputs.expected_mean))
        put(inputs, "target_cv", None)
        put(inputs, "expected_mean", None)
    own = replace(
        question,
        target_se=one_target("target_se", question, inputs.target_se),
        target_margin=one_target("target_margin", question, inputs.target_margin),
    )
    put(inputs, "target_se", None)
    put(inputs, "target_margin", None)
    put(inputs, "questions", replace(inputs.questions, questions=(own,)))


class AnswerMicrodata(_OfRows, Microdata):
    """Every randomised answer to the only question is published."""

    __slots__ = ()

    noise_sd_of: ClassVar[str] = "the mean"

    def check(self, inputs: Inputs) -> None:
        """Refuse a device budget."""
        if inputs.device_epsilon is not None:
            raise InputError(
                f"with rows of answers, {option(OPTION, self.name)} takes the device budget from the "
                f"sample sizes; remove {option('device_epsilon')}, or use {option(OPTION, 'sums')}.",
                argument="device_epsilon",
            )


class _OfSeveral(_OfRows):
    """What is said of rows of several answers, whatever is published of them."""

    __slots__ = ()

    protected: ClassVar[str] = "a person's answers, all of them together,"

    @property
    def also_public(self) -> tuple[str, ...]:
        """Name the forms, and how many rows there are."""
        return _FORMS, _ROWS

    def also_assumed(self, *, everyone: bool) -> tuple[str, ...]:
        """Say how forms come to people; where everyone is asked, each form alone keeps the promise."""
        return _FIXED, _DEALT if everyone else _DEALT_IN_SECRET

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """Name who got which form, as far as the sample hides anyone."""
        return (*(() if everyone else (_WHO_GOT,)), *super().also_secret(everyone=everyone))


class RowMicrodata(_OfSeveral, AnswerMicrodata):
    """Every randomised row is published."""

    __slots__ = ()

    published: ClassVar[str] = "a single randomised row"
    published_one: ClassVar[str] = "one randomised row"

    @property
    def who_noises(self) -> str:
        """Say that devices do."""
        return "devices send a person's row of answers as it is or a random one, and all rows are published"

    @property
    def noise_goes_to(self) -> str:
        """A row."""
        return "a row of answers"

    @property
    def assumption(self) -> str:
        """Say that the order of rows tells nothing."""
        return "randomised rows are shuffled or added up before anything is released"

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what one person's rows tell."""
        factor = factor_up(math.exp(largest))
        rows = "a single row and knows who gave it" if waves == 1 else "all rows of one person"
        answers, whole = ("its answers", "the whole row") if waves == 1 else ("their answers", "all of them")
        return (
            f"If rows are randomised before anyone else sees them, whoever sees {rows} can change their odds "
            f"about all {answers} together by a factor of at most {factor} (local epsilon at most "
            f"{round_up(largest, 2)}).",
            "If the office's list of who gave which row leaks, protection is limited to a factor of "
            f"{factor} for {whole}.",
        )

    def seen_in_words(self) -> str:
        """Name one person's row."""
        return "a person's randomised row, knowing who gave it"


class _AddedUp(_OfRows, Aggregated):
    """What is said of forms whose answers are added up, by devices or raw."""

    __slots__ = ()

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Take the device budget; what it does to answers is up to their form."""
        return cls(options.device_epsilon)

    def check(self, inputs: Inputs) -> None:
        """Refuse nothing: both layers, or one, go with every kind of question."""

    @property
    def noised_at(self) -> tuple[str, ...]:
        """On devices if they have a budget, or at the office where it gets raw answers in their place."""
        return () if self.gets_raw else ("device", "office")

    @property
    def who_noises(self) -> str:
        """Name the layers."""
        sent = f"devices send {self._whose} as it is or a random one"
        first = "the office sees raw answers" if self.gets_raw else sent
        return f"{first}, and {'noises' if self.gets_raw else 'the office noises'} {self.noised_at_office}"

    @property
    def assumption(self) -> str:
        """Say what the office must do, and whom it must be trusted with."""
        trusted = "the office may be trusted with raw answers, and publishes" if self.gets_raw else ""
        return f"{trusted or 'the office publishes'} {self._noised} once, and no single {self._single}"

    def seen_in_words(self) -> str:
        """Name what has to be seen for the largest loss."""
        seen = f"{self._noised}, knowing everyone {self._known}"
        return seen if self.gets_raw else f"what a person's device sends, or {seen}"

    noised_at_office: ClassVar[str]
    _whose: ClassVar[str] = "a person's answer"
    _single: ClassVar[str] = "answer"
    _noised: ClassVar[str]
    _known: ClassVar[str] = "invited"


class AnswerSums(_AddedUp, Sums):
    """The counts of the answers to the only question, or their sum, are published with the office's noise."""

    __slots__ = ()

    budget_of: ClassVar[str] = "epsilon of the totals"
    published: ClassVar[str] = "what is published of a stratum"
    published_one: ClassVar[str] = "the totals of a stratum"
    noised_at_office: ClassVar[str] = "the totals of each stratum"
    told: ClassVar[str] = "counts"
    _noised: ClassVar[str] = "the noised totals of a stratum"


class AnswerMean(_AddedUp, Mean):
    """Figures of the answers to the only question are published: the share of every category."""

    __slots__ = ()

    _noised: ClassVar[str] = "the noised figures"


class _SeveralAddedUp(_OfSeveral, _AddedUp):
    """What is said of rows that are added up, by devices or raw."""

    __slots__ = ()

    _whose: ClassVar[str] = "a person's row of answers"
    _single: ClassVar[str] = "row"

    @property
    def noise_goes_to(self) -> str:
        """A row, or what the office publishes."""
        return self.published if self.gets_raw else "a row of answers on the device"

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what is left against the office, and if its file leaks."""
        if self.device_epsilon is None:
            return super().against_the_office(largest, waves=waves)
        factor = factor_up(math.exp(waves * self.device_epsilon))
        return (
            "A person's whole row of answers is randomised on their own device, with any numbers moved to a "
            "level next to them at random: whoever sees what it sends, the office too, can change their odds "
            f"about all the answers together by a factor of at most {factor} ({self._device_budget(waves)}), "
            "however many questions the form has.",
            f"If the office's file leaks, protection is limited to a factor of {factor} for the whole row.",
        )


class RowSums(_SeveralAddedUp, AnswerSums):
    """Tables of each form are published, with the office's noise."""

    __slots__ = ()

    budget_of: ClassVar[str] = "epsilon of a form"
    published: ClassVar[str] = "what is published of a form"
    published_one: ClassVar[str] = "one published form"
    noised_at_office: ClassVar[str] = "the tables of each form"
    _noised: ClassVar[str] = "the noised tables of each form"
    _known: ClassVar[str] = "who got that form"


class RowMean(_SeveralAddedUp, AnswerMean):
    """Figures of every question are published, with one draw of noise each: everyone is asked everything."""

    __slots__ = ()

    def _read_forms(self, given: Any) -> Forms:
        """Put all questions on one form.

        Figures of different forms would each have the noise that the answers of the smallest form allow.
        """
        forms = as_forms(given)
        if forms == AUTO:
            return ONE
        if len(names_on(forms)) > 1:
            raise InputError(
                f"{option(OPTION, self.name)} needs one form with all questions, because the people of every "
                f"form would limit the noise of its figures; remove {option('forms')}, or use "
                f"{option(OPTION, 'sums')}.",
                argument="forms",
            )
        return forms


# of one question, and of several
_KINDS: dict[str, tuple[type[Release], type[Release]]] = {
    "microdata": (AnswerMicrodata, RowMicrodata),
    "sums": (AnswerSums, RowSums),
    "mean": (AnswerMean, RowMean),
}
