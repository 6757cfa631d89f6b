"""What a mechanism must say about itself.

Its variance is a :class:`~dpstrata.privacy.mechanisms.noise.Noise` in units of R²: two numbers, the remainder
with two derivatives and its stable increase, and the plain textbook variance in mpmath, which shares no code
with the rest and settles near-ties. Besides, it says which answers it protects, what it is called, and how it
is drawn exactly.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms.grid import GridNoise, fineness
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.privacy.mechanisms.noise import Noise


class Mechanism(Noise):
    """Noise for one answer.

    Parameters
    ----------
    space : AnswerSpace
        What can be answered; numbers between two ends, on a grid or not, or names.

    Raises
    ------
    InputError
        If the mechanism cannot protect such answers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    needs_delta: ClassVar[bool] = False
    """Whether it keeps a promise of (ε, δ), and no other."""
    numbers: ClassVar[bool] = True
    """Whether it protects numbers; otherwise it protects categories."""
    additive: bool = True
    """Whether noise of one distribution is added to every answer; only then can a sum have it."""
    replaces: ClassVar[bool] = False
    """Whether an answer is kept or replaced by any of all answers, with probability K/(K + exp(e) − 1)."""
    worst_case: bool = False
    """Whether the variance depends on the answer, and the one given is the largest."""
    convexity_proven: ClassVar[bool] = True
    """Whether (x − 1)²v is proven convex in x = exp(e), which makes the terms of designs convex."""

    def __init__(self, space: AnswerSpace) -> None:
        self.space = space
        self.unit = space.range**2
        if self.numbers and not space.numbers:
            raise InputError(
                f"{self.title} noise protects numbers, got {space.described}. Use "
                f"{option('mechanism', 'category_response')} or {option('mechanism', 'best')}.",
                argument="questions",
            )
        self.check()

    @property
    def answer_range(self) -> float:
        """R, in whose square all variances are counted."""
        return self.space.range

    def prepare(self, epsilon: float, delta: float) -> None:
        """Fit the mechanism to the central promise, before anything else is asked of it."""

    def check(self) -> None:
        """Raise :class:`InputError` for answers that this mechanism cannot protect."""

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Name mechanisms whose variance is nowhere below this one's, so that the best is never among them.

        Only what is proven belongs here; ``tests/privacy/test_never_worse.py`` compares the variances.

        Parameters
        ----------
        least, most : float
            The budgets of one answer between which it must hold, 0 <= least <= most.
        """
        return frozenset()

    def in_words(self, what: str) -> str:
        """Say, as the beginning of a sentence, how ``what`` is noised: ``"an answer"``, say."""
        if not self.additive:
            return f"Each answer is replaced by a random one (the {self.title.lower()} mechanism)"
        return f"{self.title} noise is added to {what}"

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Noise answers for simulations only: seeded, in floating point, and so of no protection to anyone.

        Parameters
        ----------
        shares : array
            Answers as shares of the range, 0 for its lower end and 1 for its upper end.
        e : float
            Budget of one answer.
        generator : numpy.random.Generator
            Where the randomness comes from.

        Returns
        -------
        array
            Noised shares, whose means are the answers.
        """
        return shares + self.simulated_noise(e, shares.shape, generator) / self.answer_range

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw additive noise for simulations only."""
        raise NotImplementedError(f"{self.title} is not additive")

    def debiasing(self, e: float) -> float:
        """How far a kept or flipped answer is stretched to take its bias out; 1 for other mechanisms."""
        return 1.0

    @property
    def at_office(self) -> str:
        """Name what an office adds to a sum of outputs, where devices use this mechanism."""
        return self.name if self.additive else "staircase"

    def reach(self, e: float) -> float:
        """By how many ranges an output can move when the answer changes: 1 where noise is added.

        With the same randomness, added noise moves with the answer; other outputs lie between two ends.
        """
        if self.additive:
            return 1.0
        noise = self.on_grid(e, self.grid_steps(e))
        return noise.width * noise.origin_and_unit[1]

    def informative(self, e: float) -> float:
        r"""Probability with which an output depends on the answer: :math:`1 - \int \inf_x P_x`.

        Only what is below 1 saves the office noise (:mod:`dpstrata.privacy.amplification`); it is 1 for added
        noise, which has no ends.
        """
        return 1.0

    def share_changed(self, e: float) -> float | None:
        """Return how often another answer is sent than was given; ``None`` where every number is moved."""
        return None

    def estimated_variance(self, mean_square: FloatArray, e: FloatArray) -> FloatArray:
        """Estimate the variance of the noise of released shares; for most mechanisms it is known.

        Parameters
        ----------
        mean_square : array
            Mean square of released answers, measured from the middle of the range in half ranges.
        e : array
            Their budgets.
        """
        return self.variance(e) / self.answer_range**2 + 0.0 * mean_square

    def seen_variance(self, shares: FloatArray, e: FloatArray) -> FloatArray:
        """Estimate the variance of the noise from every released share; their mean is unbiased.

        Parameters
        ----------
        shares : array
            Released shares of the range.
        e : array
            Their budgets, one for each.
        """
        return self.estimated_variance((2.0 * shares - 1.0) ** 2, e)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Return what this mechanism releases, exactly, for answers on a grid of ``steps``.

        Parameters
        ----------
        e : float
            Budget of one answer; what is drawn never spends more.
        steps : int
            As :meth:`grid_steps` says.
        """
        raise NotImplementedError(f"{self.title} has no sampler")

    def grid_steps(self, e: float) -> int:
        """Return how many steps the grid has: so many that rounding is invisible beside the noise."""
        return fineness(float(self.variance(e)) / self.answer_range**2)

    def variance(self, local_epsilon: npt.ArrayLike) -> FloatArray:
        """Variance of the noise that one answer gets.

        Parameters
        ----------
        local_epsilon : float or array
            Budget of the answer, > 0.

        Examples
        --------
        >>> from dpstrata.privacy.answer_space import AnswerSpace
        >>> from dpstrata.privacy.mechanisms import get_mechanism
        >>> round(float(get_mechanism("laplace", AnswerSpace(0, 1)).variance(5.153)), 4)
        0.0753
        """
        e = np.asarray(local_epsilon, dtype=float)
        if not np.all(e > 0):
            raise InputError(f"{option('local_epsilon')} must be positive.")
        return self.variance_at(point(np.atleast_1d(e))).reshape(e.shape)

    def __repr__(self) -> str:
        return f"<{self.title} for answers in {self.space}>"
