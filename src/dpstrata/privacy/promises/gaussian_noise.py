"""Promises that Gaussian noise keeps and a secret sample does not strengthen: the same noise for everyone.

Zero-concentrated differential privacy (Bun and Steinke 2016) and Gaussian differential privacy (Dong, Roth
and Su 2022).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

from dpstrata.errors import InputError, option
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.gaussian import ConstantGaussian
from dpstrata.privacy.promises.base import FALSE_ALARMS, Promise, Seen, power_in_words


class ConstantNoise(Promise):
    """A promise of one number that Gaussian noise keeps, wherever and however many are asked."""

    __slots__ = ()

    amplified: ClassVar[bool] = False
    adjective: ClassVar[str]
    """What comes before "differential privacy"."""

    @property
    @abstractmethod
    def mu(self) -> float:
        """μ of the Gaussian DP that the noise has: telling N(0, 1) from N(μ, 1)."""

    def __post_init__(self) -> None:
        ((name, value),) = ((name, getattr(self, name)) for name in self.symbols)
        if not 1e-6 <= value <= 1e6:
            raise InputError.must(name, "lie between 1e-6 and 1e6", value, "g")

    def check(self, *, mechanism: str, delta: float, cap: float | None) -> None:
        """Require Gaussian noise, and nothing about ε."""
        super().check(mechanism=mechanism, delta=delta, cap=cap)
        (name,) = self.symbols
        if mechanism not in ("gaussian", "best"):
            raise InputError(
                f"{option(name)} requires {option('mechanism', 'gaussian')}, "
                f"got {option('mechanism', mechanism)}.",
                argument="mechanism",
                value=mechanism,
            )
        if delta != 0:
            raise InputError(
                f"{option(name)} does not go with {option('delta', delta, 'g')}; remove {option('delta')}.",
                argument="delta",
                value=delta,
            )
        if cap is not None:
            raise InputError(
                f"{option(name)} does not go with {option('local_epsilon_cap', cap, 'g')}; remove "
                f"{option('local_epsilon_cap')}.",
                argument="local_epsilon_cap",
                value=cap,
            )

    def fitted(self, mechanism: str, space: AnswerSpace) -> Mechanism:
        """Return Gaussian noise."""
        return ConstantGaussian(space, 1.0 / self.mu)

    def in_all_in_words(self, on_deviations: float) -> str:
        """Say no sum."""
        return "that on top of its promise."

    def sentences(self, *, largest: float, release: Seen, everyone: bool, waves: int = 1) -> tuple[str, ...]:
        """Say that it holds for everyone, invited or not."""
        return (
            "Whoever sees the published results learns no more about a person's answers than "
            f"{self.adjective} differential privacy allows ({self.in_words}), whether or not they know who "
            "was invited: a secret sample does not strengthen this promise.",
            *release.always_against_the_office(),
        )

    def odds_in_words(self, in_all: Mapping[str, float] | None, *, both_waves: bool) -> str:
        """Say how well a test can tell answers apart."""
        return power_in_words(NormalDist().cdf(NormalDist().inv_cdf(FALSE_ALARMS) + self.mu))


@dataclass(frozen=True, slots=True)
class ZeroConcentrated(ConstantNoise):
    """The promise of ρ-zCDP.

    Parameters
    ----------
    zcdp : float
        ρ = R²/(2σ²), from 1e-6 to 1e6.
    """

    title: ClassVar[str] = "zCDP"
    symbols: ClassVar[Mapping[str, str]] = {"zcdp": "zCDP rho"}
    adjective: ClassVar[str] = "zero-concentrated"

    zcdp: float

    @property
    def mu(self) -> float:
        """√(2ρ)."""
        return math.sqrt(2 * self.zcdp)

    @property
    def central(self) -> dict[str, float | None]:
        """ρ, and no μ."""
        return {"zcdp": self.zcdp, "gdp": None}

    def in_all(self, on_deviations: float) -> dict[str, float]:
        """Add ε²/2: pure ε keeps zCDP with that ρ."""
        return {"zcdp": self.zcdp + on_deviations**2 / 2}


@dataclass(frozen=True, slots=True)
class GaussianPrivacy(ConstantNoise):
    """The promise of μ-GDP.

    Parameters
    ----------
    gdp : float
        μ = R/σ, from 1e-6 to 1e6.
    """

    title: ClassVar[str] = "GDP"
    symbols: ClassVar[Mapping[str, str]] = {"gdp": "GDP mu"}
    adjective: ClassVar[str] = "Gaussian"

    gdp: float

    @property
    def mu(self) -> float:
        """μ itself."""
        return self.gdp

    @classmethod
    def added(cls, values: Iterable[float]) -> float:
        """Add squares."""
        return math.hypot(*values)

    @property
    def central(self) -> dict[str, float | None]:
        """μ, and no ρ."""
        return {"zcdp": None, "gdp": self.gdp}

    def in_all(self, on_deviations: float) -> dict[str, float] | None:
        """Add nothing: there is no such sum with an ε."""
        return {"gdp": self.gdp} if on_deviations == 0 else None
