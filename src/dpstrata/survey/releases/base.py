r"""What a form of release must say about itself.

However answers are released, the mean of a stratum with m answers has the variance

.. math:: \frac{S^2 + d}{m} + \frac{g^2\, v(e(n))}{m^p}

(S² with the finite population correction). v is the variance of one draw of noise at the budget e(n) that a
secret sample of n people allows. If every answer gets a draw, p = 1; if their sum gets one, p = 2. d is the
variance of noise that every answer has besides, whatever n is, and g is how far a noised sum is stretched to
take the bias of such noise out. A form of release states p, d and g; ``allocation.form_terms`` composes
them with everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.noise import Noise, ScaledNoise
from dpstrata.survey.releases import OPTION

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs
    from dpstrata.survey.questionnaires.question import Question


def one_target(name: str, question: Question, stated: float | None) -> float | None:
    """Return the target of the only question, which may be stated for the survey or for the question."""
    own: float | None = getattr(question, name)
    if None not in (own, stated) and own != stated:
        raise InputError(
            f"{option(name)} is {stated:g}, and the question {question.name!r} has a target of {own:g}; "
            "remove one of them.",
            argument=name,
        )
    return own if stated is None else stated


class Release(ABC):
    """What is published about the answers, who noises it, and who sees what."""

    __slots__ = ()

    name: ClassVar[str]
    """The value of the option that asks for it."""
    noise_power: ClassVar[Literal[1, 2]]
    """p: 1 where every answer gets a draw of noise, 2 where their sum gets one."""
    shows_spread: ClassVar[bool]
    """Whether what is published always shows how far answers differ, so that a pilot can learn from it."""
    noised_once: ClassVar[bool] = False
    """Whether the strata have no noise at the budget that depends on n, but each published figure has."""
    leaves_out: ClassVar[Mapping[str, Any]] = {}
    """Options that do not go with it, and what they are then."""
    of_rows: ClassVar[bool] = False
    """Whether a person's answers are randomised together, as a row on a form, and not one by itself."""
    publishes_answers: ClassVar[bool] = False
    """Whether what single people sent is published, and not what was made of many answers."""

    # words: who noises what, and who sees it
    budget_of: ClassVar[str] = "local epsilon"
    """What the budgets of the strata are called in tables."""
    noise_sd_of: ClassVar[str]
    """What the noise that tables show is that of: "an answer"."""
    published: ClassVar[str]
    """What comes of it: "a single noised answer"."""
    published_one: ClassVar[str]
    """The same where it is counted: "one noised answer"."""
    to_know: ClassVar[str]
    """What someone who sees it must know to learn something about a person: "who gave it"."""
    protected: ClassVar[str] = "a person's answer"
    """What of a person the promise is about."""
    told: ClassVar[str]
    """What is published, as respondents are told: the sentence ``published_...`` of their texts."""

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Return the release that someone's options, an attribute each, ask for."""
        return cls()

    @classmethod
    def alternatives(cls, plan: Design) -> list[Inputs]:
        """List what to ask for to get this release instead of that of a design, if it is worth suggesting."""
        return []

    # --- checks -------------------------------------------------------------------------------

    def settle(self, inputs: Inputs) -> None:
        """Fill in the options that follow from others: the target of the only question is the survey's."""
        put, question = object.__setattr__, inputs.question
        for name in ("target_se", "target_margin"):
            if getattr(question, name) is not None:
                put(inputs, name, one_target(name, question, getattr(inputs, name)))
        put(inputs, "questions", inputs.questions.without_targets())

    def check(self, inputs: Inputs) -> None:  # noqa: B027 - some go with everything
        """Refuse other options that do not go with it."""

    def misfit(self, mechanism: Mechanism) -> str | None:
        """Say why it cannot be carried out with a mechanism; ``None`` where it can."""
        return None

    def office_mechanism(self, mechanism: str) -> str:
        """Name the noise at the budget that depends on n, given the one that was asked for."""
        return mechanism

    # --- mathematics --------------------------------------------------------------------------

    def fitted(self, inputs: Inputs) -> Mechanism:
        """Return what noises an answer, or a sum, at the budget of the secret sample."""
        return inputs.promise.fitted(self.office_mechanism(inputs.mechanism), inputs.space)

    @property
    def device(self) -> Mechanism | None:
        """What noises answers before, whatever n is."""
        return None

    @property
    def device_variance(self) -> float:
        """d: the variance of noise that every answer has whatever n is."""
        return 0.0

    @property
    def stretch(self) -> float:
        """g: by how many ranges one person can move a sum."""
        return 1.0

    def noise(self, mechanism: Mechanism) -> Noise:
        """Return g²·v of a stratum, for what noises at the budget of the secret sample."""
        return mechanism if self.stretch == 1.0 else ScaledNoise(mechanism, self.stretch**2)

    @property
    def credits_devices(self) -> bool:
        """Whether less noise may be added than is minimised, because answers are random by themselves."""
        return False

    def credited(self, budgets: FloatArray) -> FloatArray:
        """Return the budgets at which noise is added after all; infinite where none is needed."""
        return budgets

    def losses_inside(self, budgets: FloatArray, times: int) -> FloatArray:
        """Return what those in the sample lose if the same answers are released several times.

        Parameters
        ----------
        budgets : array
            What one release may lose in each stratum.
        times : int
            How often, >= 0.
        """
        return times * budgets

    def worst_epsilon(self, largest: float) -> float:
        """Return the most that anyone who sees something noised can learn about one person.

        Parameters
        ----------
        largest : float
            The largest budget of any stratum.
        """
        return largest

    @property
    def gets_raw(self) -> bool:
        """Whether the office adds up answers as they were given."""
        return False

    @property
    @abstractmethod
    def noised_at(self) -> tuple[str, ...]:
        """Where answers can be changed at random, the usual place first; nowhere if only results are."""

    def simulated_answers(
        self, mechanism: Mechanism, shares: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Do to answers, for simulations only, what is done to each of them.

        Parameters
        ----------
        mechanism : Mechanism
            What noises at the budget that depends on n.
        shares : array
            Answers as shares of the range.
        e : float
            That budget.
        generator : numpy.random.Generator
            Where the randomness comes from.
        """
        return shares

    def simulated_sums(
        self, mechanism: Mechanism, sums: FloatArray, e: float, generator: np.random.Generator
    ) -> FloatArray:
        """Do to sums of such answers, for simulations only, what is done to each of them."""
        return sums

    # --- pilots -------------------------------------------------------------------------------

    def why_no_spread(self, question: Question, *, crossed: bool) -> str | None:
        """Say why what is published does not show how far answers differ; ``None`` where it does.

        Parameters
        ----------
        question : Question
            What is asked.
        crossed : bool
            Whether its answers are counted in combination with those to other questions.
        """
        return None if self.shows_spread else f"{self.published_one} shows no spread"

    # --- JSON ---------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """What the privacy part of a design document says about it."""
        return {OPTION: self.name}

    # --- words --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def who_noises(self) -> str:
        """As a clause: "answers are noised one by one"."""

    @property
    def in_title(self) -> str:
        """What follows "Laplace noise" in the title of a table, where that needs saying."""
        return ""

    @property
    @abstractmethod
    def noise_goes_to(self) -> str:
        """What gets one draw of noise: "an answer"."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What must hold of the release itself."""

    def also_assumed(self, *, everyone: bool) -> tuple[str, ...]:
        """List what else must hold, if everyone is invited or only a secret sample."""
        return ()

    @property
    def also_public(self) -> tuple[str, ...]:
        """What else becomes public."""
        return ()

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """List what else must stay secret, if everyone is invited or only a secret sample."""
        return ()

    @abstractmethod
    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what whoever sees a person's noised answer can learn, and what is left if the file leaks.

        Parameters
        ----------
        largest : float
            The largest local ε of any stratum.
        waves : int
            How many waves a person may answer in.
        """

    @abstractmethod
    def always_against_the_office(self) -> tuple[str, str]:
        """Say the same for a promise that holds whether or not someone knows who was invited."""

    @abstractmethod
    def seen_in_words(self) -> str:
        """Say, after "after seeing", what one has to see and to know for the largest loss."""

    @abstractmethod
    def cautions(self, local: FloatArray) -> list[str]:
        """List what a reader should know before signing.

        Parameters
        ----------
        local : array
            The local ε of each stratum; empty where the promise has none.
        """

    def suggestion(self, *, gives: str, noise: str, too_late: bool) -> str:
        """Say to someone who designs another release what this one would give.

        Parameters
        ----------
        gives : str
            Its precision for the same sample sizes, beside theirs.
        noise : str
            " with ... noise" where it is not theirs, or nothing.
        too_late : bool
            Whether their release was made.
        """
        raise NotImplementedError(f"{self.name} is not suggested")
