r"""What is publicly expected of an amount before anyone is asked: a distribution, or values of a reference.

It is used for two things: to choose the range to which amounts are clipped, and to say how much higher the
mean of unlimited amounts is expected to be. With X an amount and U the upper end of the range, both need

.. math::
    B = E (X - U)_+, \qquad m_1 = E \min(X, U), \qquad m_2 = E \min(X, U)^2, \qquad \bar F = P(X > U).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, read_only
from dpstrata.words.numbers import figure, plain_number

OPTION = "prior"
_WRITTEN = "lognormal:MU:SIGMA, gamma:SHAPE:SCALE or excess:AMOUNT"
_LARGEST = 1e100


class Clipped(NamedTuple):
    """What becomes of an amount that counts as ``upper`` where it is larger.

    Attributes
    ----------
    excess : float
        How much lower its mean is: E(X − U)₊.
    mean, variance : float
        Of the clipped amount.
    above : float
        The share of amounts above the upper end.
    """

    excess: float
    mean: float
    variance: float
    above: float


class Prior(ABC):
    """What is expected of an amount, publicly and beforehand."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """As it is written on the command line and in design documents."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """As it is named in a sentence, after "under"."""

    @abstractmethod
    def excess(self, upper: float) -> float:
        """How much higher the mean of unlimited amounts is than that of clipped ones."""


class Distribution(Prior):
    """A prior that says how amounts are distributed, so that a range can be chosen with it."""

    __slots__ = ()

    @property
    @abstractmethod
    def least(self) -> float:
        """The smallest amount there can be."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Of unlimited amounts."""

    @abstractmethod
    def clipped(self, upper: float) -> Clipped:
        """Describe amounts that count as ``upper`` where they are larger."""

    def excess(self, upper: float) -> float:
        """Return B."""
        return self.clipped(upper).excess

    @property
    def stated(self) -> str | None:
        """What to give a design as its prior; ``None`` where only the excess can be stated."""
        return self.text


@dataclass(frozen=True, slots=True)
class Lognormal(Distribution):
    """An amount whose logarithm is normal.

    Parameters
    ----------
    mu, sigma : float
        Mean and standard deviation of the logarithm, sigma > 0. The median is exp(mu), the mean
        exp(mu + sigma²/2).
    """

    kind: ClassVar[str] = "lognormal"
    least: ClassVar[float] = 0.0

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise _must("have a sigma above 0", self)
        if not (abs(self.mu) <= 200 and self.sigma <= 10):
            raise _must("have mu between -200 and 200 and a sigma of at most 10", self)

    @property
    def text(self) -> str:
        """Both numbers."""
        return f"{self.kind}:{plain_number(self.mu)}:{plain_number(self.sigma)}"

    @property
    def in_words(self) -> str:
        """The family, with its median and mean."""
        median = figure(math.exp(self.mu))
        return f"a lognormal prior with median {median} and mean {figure(self.mean)}"

    @property
    def mean(self) -> float:
        """exp(mu + sigma²/2)."""
        return math.exp(self.mu + self.sigma**2 / 2)

    def clipped(self, upper: float) -> Clipped:
        r"""Use :math:`E[X^k; X \le U] = e^{k\mu + k^2\sigma^2/2}\, \Phi(z - k\sigma)`, z = (ln U − μ)/σ."""
        from scipy.special import ndtr

        z = (math.log(upper) - self.mu) / self.sigma if upper > 0 else -math.inf
        above = float(ndtr(-z))
        low = [
            math.exp(k * self.mu + (k * self.sigma) ** 2 / 2) * float(ndtr(z - k * self.sigma))
            for k in (1, 2)
        ]
        excess = self.mean * float(ndtr(self.sigma - z)) - upper * above
        return _clipped(upper, above, excess, low)


@dataclass(frozen=True, slots=True)
class Gamma(Distribution):
    """An amount with a gamma distribution.

    Parameters
    ----------
    shape, scale : float
        Both > 0; the mean is their product, the standard deviation scale·√shape.
    """

    kind: ClassVar[str] = "gamma"
    least: ClassVar[float] = 0.0

    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.shape > 0 and self.scale > 0):
            raise _must("have a shape and a scale above 0", self)
        if not (1e-3 <= self.shape <= 1e6 and 1e-80 <= self.scale <= 1e80):
            raise _must("have a shape from 0.001 to 1e6 and a scale from 1e-80 to 1e80", self)

    @property
    def text(self) -> str:
        """Both numbers."""
        return f"{self.kind}:{plain_number(self.shape)}:{plain_number(self.scale)}"

    @property
    def in_words(self) -> str:
        """The family, with its mean and spread."""
        sd = figure(self.scale * math.sqrt(self.shape))
        return f"a gamma prior with mean {figure(self.mean)} and standard deviation {sd}"

    @property
    def mean(self) -> float:
        """shape·scale."""
        return self.shape * self.scale

    def clipped(self, upper: float) -> Clipped:
        r"""Use :math:`E[X^k; X \le U] = \theta^k (a)_k\, P(a + k, U/\theta)`, a the shape, θ the scale."""
        from scipy.special import gammainc, gammaincc

        x, a = max(upper, 0.0) / self.scale, self.shape
        above = float(gammaincc(a, x))
        low = [
            self.mean * float(gammainc(a + 1, x)),
            self.mean * self.scale * (a + 1) * float(gammainc(a + 2, x)),
        ]
        excess = self.mean * float(gammaincc(a + 1, x)) - upper * above
        return _clipped(upper, above, excess, low)


@dataclass(frozen=True, slots=True, eq=False)
class Values(Distribution):
    """Amounts of a public reference, such as an earlier survey or a published table.

    Parameters
    ----------
    values : array
        Two or more different numbers, in ascending order.
    """

    values: FloatArray

    @property
    def text(self) -> str:
        """How many there are; the values themselves are too many to write."""
        return f"{len(self.values):,} reference values"

    @property
    def in_words(self) -> str:
        """The same."""
        return f"the {self.text}"

    @property
    def least(self) -> float:
        """The smallest."""
        return float(self.values[0])

    @property
    def mean(self) -> float:
        """Of all."""
        return float(self.values.mean())

    @property
    def stated(self) -> None:
        """A design states the excess alone."""
        return

    def clipped(self, upper: float) -> Clipped:
        """Average over the values."""
        inside = np.minimum(self.values, upper)
        beyond = float((self.values - inside).mean())
        return Clipped(beyond, float(inside.mean()), float(inside.var()), float((self.values > upper).mean()))


@dataclass(frozen=True, slots=True)
class Excess(Prior):
    """How much higher the mean of unlimited amounts is expected to be, and nothing else.

    Parameters
    ----------
    amount : float
        In the units of the answers, >= 0.
    """

    kind: ClassVar[str] = "excess"

    amount: float

    def __post_init__(self) -> None:
        if not 0 <= self.amount <= _LARGEST:
            raise _must("have an excess of at least 0", self)

    @property
    def text(self) -> str:
        """The number."""
        return f"{self.kind}:{plain_number(self.amount)}"

    @property
    def in_words(self) -> str:
        """Where it comes from."""
        return "the reference used for planning"

    def excess(self, upper: float) -> float:
        """Return what was stated, whatever the range is."""
        return self.amount


_KINDS: dict[str, type[Prior]] = {"lognormal": Lognormal, "gamma": Gamma, "excess": Excess}


def read_prior(text: object, *, written: str = _WRITTEN) -> Prior:
    """Read a prior from how it is written.

    Parameters
    ----------
    text : str
        A family with its numbers.
    written : str
        What can be given, for whoever gave something else.

    Raises
    ------
    InputError
        If it is not a family with its numbers.

    Examples
    --------
    >>> read_prior("lognormal:0:1").text, round(read_prior("gamma:2:1500").excess(8000.0), 1)
    ('lognormal:0:1', 53.1)
    """
    if not isinstance(text, str):
        raise InputError.must(OPTION, f"be {written}", text)
    kind, *parts = text.strip().split(":")
    found: Any = _KINDS.get(kind)
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    wanted = 1 if found is Excess else 2
    if found is None or len(numbers) != wanted or not all(map(math.isfinite, numbers)):
        raise InputError.must(OPTION, f"be {written}", text)
    prior: Prior = found(*numbers)
    return prior


def values_prior(values: Sequence[float] | FloatArray) -> Values:
    """Take reference values as a prior.

    Raises
    ------
    InputError
        If they are not two or more different numbers.
    """
    try:
        numbers = np.sort(np.asarray(values, dtype=float).ravel())
    except (TypeError, ValueError):
        raise InputError(f"{option(OPTION)} must be reference values that are numbers.") from None
    if len(numbers) < 2 or not np.all(np.abs(numbers) <= _LARGEST) or numbers[0] == numbers[-1]:
        raise InputError(
            f"{option(OPTION)} must have at least two different reference values, all of them finite numbers."
        )
    return Values(read_only(numbers))


def _clipped(upper: float, above: float, excess: float, low: Sequence[float]) -> Clipped:
    """Put moments of amounts up to the upper end, and the share above it, together."""
    mean = low[0] + upper * above
    variance = low[1] + upper**2 * above - mean**2
    return Clipped(max(excess, 0.0), mean, max(variance, 0.0), above)


def _must(rule: str, prior: Prior) -> InputError:
    return InputError.must(OPTION, rule, prior.text)
