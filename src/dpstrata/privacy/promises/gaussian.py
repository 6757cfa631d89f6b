"""Gaussian differential privacy (Dong, Roth and Su 2022), kept by Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpstrata.privacy.promises.constant import ConstantNoise


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
