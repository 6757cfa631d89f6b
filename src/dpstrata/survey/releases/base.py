r"""What a form of release must say about itself.

However answers are released, the mean of a stratum with m answers has the variance

.. math:: \frac{S^2 + d}{m} + \frac{g^2\, v(e(n))}{m^p}

(S² with the finite population correction). v is the variance of one draw of noise at the budget e(n) that a
secret sample of n people allows. If every answer gets a draw, p = 1; if their sum gets one, p = 2. d is the
variance of noise that every answer has besides, whatever n is, and g is how far a noised sum is stretched to
take the bias of such noise out. A form of release states p, d and g; ``model.terms`` composes them with
everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.releases import OPTION

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs


class Release(ABC):
    """What is published about the answers, who noises it, and who sees what."""

    __slots__ = ()

    name: ClassVar[str]
    """The value of the option that asks for it."""
    noise_power: ClassVar[Literal[1, 2]]
    """p: 1 where every answer gets a draw of noise, 2 where their sum gets one."""
    shows_spread: ClassVar[bool]
    """Whether what is published shows how far answers differ, so that a pilot can learn from it."""
    leaves_out: ClassVar[Mapping[str, Any]] = {}
    """Options that do not go with it, and what they are then."""
    suggested: ClassVar[bool] = False
    """Whether someone who designs another release is told what this one would give (:meth:`suggestion`)."""

    # words: who noises what, and who sees it
    who_noises: ClassVar[str]
    """As a clause: "answers are noised one by one"."""
    in_title: ClassVar[str] = ""
    """What follows "Laplace noise" in the title of a table, where that needs saying."""
    noise_goes_to: ClassVar[str]
    """What gets one draw of noise: "an answer"."""
    noise_sd_of: ClassVar[str]
    """What the noise that tables show is that of: "an answer"."""
    published: ClassVar[str]
    """What comes of it: "a single noised answer"."""
    published_one: ClassVar[str]
    """The same where it is counted: "one noised answer"."""
    to_know: ClassVar[str]
    """What someone who sees it must know to learn something about a person: "who gave it"."""
    assumption: ClassVar[str]
    """What must hold of the release itself."""
    whoever_sees: ClassVar[str]
    """The beginning of a sentence about whoever sees what was noised once."""

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Return the release that someone's options, an attribute each, ask for."""
        return cls()

    @classmethod
    def instead_of(cls, inputs: Inputs) -> Inputs:
        """Ask the same for this release, without the options that do not go with it."""
        return replace(inputs, **{OPTION: cls.name, **cls.leaves_out})

    # --- checks -------------------------------------------------------------------------------

    def check(self, inputs: Inputs) -> None:  # noqa: B027 - some go with everything
        """Refuse other options that do not go with it."""

    def misfit(self, mechanism: Mechanism) -> str | None:
        """Say why it cannot be carried out with a mechanism; ``None`` where it can."""
        return None

    # --- mathematics --------------------------------------------------------------------------

    @property
    def device_variance(self) -> float:
        """d: the variance of noise that every answer has whatever n is."""
        return 0.0

    @property
    def stretch(self) -> float:
        """g: how far a noised sum is stretched."""
        return 1.0

    def exact_layers(self, mp: Any) -> tuple[Any, Any]:
        """Return d and g in mpmath, by the textbook."""
        return mp.mpf(0), mp.mpf(1)

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

    # --- JSON ---------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """What the privacy part of a design document says about it."""
        return {OPTION: self.name}

    # --- words --------------------------------------------------------------------------------

    @abstractmethod
    def local_in_words(self, largest: float, *, questions: int) -> str:
        """Say what whoever sees what was noised once can learn, for a promise with local budgets.

        Parameters
        ----------
        largest : float
            The largest local ε of any stratum.
        questions : int
            How many answers a person gives.
        """

    @abstractmethod
    def seen_in_words(self, *, questions: int) -> str:
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
