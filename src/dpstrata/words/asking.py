"""How people are asked, in words: whether their answers are noised one by one, or replaced row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from dpstrata.words.numbers import plain_number

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs


class Asking(ABC):
    """The words for what happens to an answer, or to a row of answers."""

    def __init__(self, plan: Design) -> None:
        self._plan = plan

    @property
    @abstractmethod
    def noise(self) -> str:
        """What randomises answers, as in the subtitle of a chart: "Laplace noise"."""

    @property
    @abstractmethod
    def asked_for(self) -> str:
        """What is asked for as noise, in a table of options."""

    @property
    @abstractmethod
    def in_title(self) -> str:
        """What is noised where, in the title of a table."""

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """How answers are randomised, as the beginning of a sentence."""

    @property
    @abstractmethod
    def estimated_from(self) -> str:
        """How estimates are made of what was published."""


class _Noised(Asking):
    """Every answer, or their sum, is noised by a mechanism."""

    @property
    def noise(self) -> str:
        return f"{self._plan.mechanism.title} noise"

    @property
    def asked_for(self) -> str:
        return self._plan.mechanism.title + (", chosen as the best" if self._plan.choice is not None else "")

    @property
    def in_title(self) -> str:
        return f"{self.noise}{self._plan.inputs.release_form.in_title}"

    @property
    def noise_in_words(self) -> str:
        inputs = self._plan.inputs
        noised = self._plan.mechanism.in_words(inputs.release_form.noise_goes_to)
        return f"{noised}; answers {_allowed(inputs)}"

    @property
    def estimated_from(self) -> str:
        return "The noise has mean zero, so noised answers and sums are added up as if they were exact."


class _Replaced(Asking):
    """A person's answers are sent as they are, or replaced by random ones, all together."""

    def __init__(self, plan: Design) -> None:
        super().__init__(plan)
        self._several = len(plan.questions) > 1
        self._answers = "rows of answers" if self._several else "answers"

    @property
    def noise(self) -> str:
        return "Randomised rows" if self._several else "Randomised answers"

    @property
    def asked_for(self) -> str:
        return f"{self._plan.mechanism.title}{' on whole rows of answers' if self._several else ''}"

    @property
    def in_title(self) -> str:
        device = self._plan.inputs.device_epsilon
        if device is None:
            return f"{self._answers} randomised and published"
        tables = "tables noised by the office"
        if not office_adds_noise(self._plan):
            tables = "no further noise in the tables"
        return f"{self._answers} randomised on devices at epsilon = {plain_number(device)}, {tables}"

    @property
    def noise_in_words(self) -> str:
        if not self._several:
            return "Each answer is sent as it is or replaced by a random one"
        forms = ", and all forms of a stratum have the same budget" if len(self._plan.forms) > 1 else ""
        return f"Rows are randomised as a whole{forms}"

    @property
    def estimated_from(self) -> str:
        how, random = "Answers were randomised", "answers"
        if self._several:
            how, random = "Rows of answers were randomised as a whole", "rows"
        return (
            f"{how}; a share is the reported one, less what random {random} add, stretched to its own scale."
        )


def asking_of(plan: Design) -> Asking:
    """Return the words for how the people of a design are asked."""
    return _Replaced(plan) if plan.inputs.release_form.of_rows else _Noised(plan)


def office_adds_noise(plan: Design) -> bool:
    """Whether the office noises tables of forms; devices may already give all that is promised."""
    return plan.problem.forms.office_adds_noise(plan.local_epsilons)


def _allowed(inputs: Inputs) -> str:
    """Say which answers there can be."""
    if inputs.clip:
        return f"are {inputs.clipping}"
    (question,) = inputs.questions
    return f"lie in {question.space}" if question.space.numbers else f"are one of {question.answers}"
