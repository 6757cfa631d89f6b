"""Zero-concentrated differential privacy (Bun and Steinke 2016), kept by Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpstrata.privacy.promises.constant import ConstantNoise


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
