r"""How the shares of one question err together in a stratum: whoever gives one answer gives no other.

With k levels of which one is reported with probability :math:`\lambda = q + d p`, a form with m answers and
the weight w among the answers of its stratum, and the variance v of the office's noise of a count after all
are put on their known total, two shares a and b have the covariance

.. math:: w^2 \left(-\frac{\lambda_a \lambda_b}{d^2 (m - 1)} - \frac{v}{d^2 (k - 1) m^2}\right)
    + w\,\frac{p_a p_b}{N} ,

added up over forms; the last part only where strata are finite. Variances of the same kind make it a
correlation. All of it is taken at shares that are possible, so that the matrix has no negative eigenvalue.
The covariance of two estimates is this correlation times their own standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray


class Reported(NamedTuple):
    """The shares of a question on one form.

    Attributes
    ----------
    shares : array
        p, one row a share; none is negative, and together they are at most 1.
    answers, weights : array
        m, at least 1, and the share of the stratum's answers that are on this form.
    floor, slope : array
        q and d.
    noise : array
        v.
    levels : int
        k.
    """

    shares: FloatArray
    answers: FloatArray
    weights: FloatArray
    floor: FloatArray
    slope: FloatArray
    noise: FloatArray
    levels: int

    @classmethod
    def of(
        cls,
        estimates: FloatArray,
        answers: FloatArray,
        weights: FloatArray,
        floor: FloatArray,
        slope: FloatArray,
        noise: FloatArray,
        levels: int | None = None,
    ) -> Reported:
        """Take estimated shares as near as they can be."""
        shares = np.maximum(estimates, 0.0)
        shares = shares / np.maximum(shares.sum(axis=0), 1.0)
        return cls(shares, answers, weights, floor, slope, noise, levels or len(shares))

    def covariances(self, a: int, b: int, sizes: FloatArray | None) -> FloatArray:
        """Return what this form adds to the covariance of two shares in every stratum."""
        m, w, same = self.answers, self.weights, float(a == b)
        p, other = self.shares[a], self.shares[b]
        seen, others = self.floor + self.slope * p, self.floor + self.slope * other
        reported = seen * (same - others) / np.maximum(m - 1.0, 1.0)
        office = self.noise / m**2 * (1.0 if same else -1.0 / (self.levels - 1.0))
        found = (w / self.slope) ** 2 * (reported + office)
        return np.asarray(found if sizes is None else found - w * p * (same - other) / sizes)


class Together(NamedTuple):
    """The shares of a question on all its forms, and the sizes of the strata where these are finite."""

    forms: tuple[Reported, ...]
    sizes: FloatArray | None

    @classmethod
    def of(cls, plan: Design, forms: Sequence[Reported]) -> Together:
        """Take strata as the design does."""
        sizes = plan.strata.sizes.astype(float) if plan.inputs.finite_population else None
        return cls(tuple(forms), sizes)

    def correlations(self, a: int, b: int) -> FloatArray:
        """Return the correlation of two shares in every stratum; none where one does not vary."""
        both, one, other = (self._covariances(*pair) for pair in ((a, b), (a, a), (b, b)))
        scale = np.sqrt(np.maximum(one, 0.0) * np.maximum(other, 0.0))
        found = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
        return np.asarray(np.clip(found, -1.0, 1.0))

    def _covariances(self, a: int, b: int) -> FloatArray:
        return np.asarray(sum(form.covariances(a, b, self.sizes) for form in self.forms))
