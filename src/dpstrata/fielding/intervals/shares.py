r"""The tilted score interval of a share, from counts alone.

Of m answers in a part h (a stratum, or a stratum and form) A report a category, each with probability
:math:`\lambda = q + d p`; A may have noise of the office. The estimate :math:`T = \sum_h W_h (A/m - q)/d` is
compared with what it would be if the shares were :math:`p_h`. With :math:`c_h = W_h/(m d)`

.. math::
    \mathrm{Var} A &= m \left[d^2 p (1 - p) \tfrac{N - m}{N - 1} + p (q + d)(1 - q - d)
    + (1 - p) q (1 - q)\right] + v \\
    V &= \sum_h c_h^2\,\mathrm{Var} A, \qquad
    \gamma = V^{-3/2} \sum_h c_h^3\,m \left[p\,s(q + d) + (1 - p)\,s(q)
    + d^2 p (1 - p) \tfrac{N - m}{N - 1} \left(3 (1 - 2 q - d) + t d (1 - 2 p)\right)\right] .

with s(x) = x(1 − x)(1 − 2x), the third cumulant of a report, and t = (N − 2m)/(N − 2), by which who is in a
sample without replacement is less skewed than with replacement; once more than half are asked, it is skewed
the other way round. With t = 1 everywhere, intervals of one stratum covered as little as 84% where nearly
everyone was asked and there was almost no noise.

T has nearly a Pearson III distribution with these moments. It moves in steps, so half a step,
:math:`\kappa = \sum_h c_h^3\,\mathrm{Var} A / (2 V)`, is added on the safe side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.fielding.intervals.tilt import (
    Groups,
    Limits,
    both_limits,
    first_guess,
    pilot_values,
    tilted_limits,
)
from dpstrata.numerics.arrays import FloatArray
from dpstrata.numerics.tails import pearson_below


class Reports(NamedTuple):
    """How often a category was reported, part by part.

    Attributes
    ----------
    counts : array
        A, which may have noise of the office.
    answers : array
        m, at least 1.
    sampled : array
        Answers of the whole stratum, on all forms: their people are one sample drawn without replacement.
    population : array
        N of the stratum; infinite for endless strata.
    floor, slope : array
        q, with which it is reported whatever is true, and d, by how much more often where it is true.
    noise : array
        v, the variance of the noise in A that is not in q and d.
    """

    counts: FloatArray
    answers: FloatArray
    sampled: FloatArray
    population: FloatArray
    floor: FloatArray
    slope: FloatArray
    noise: FloatArray

    @property
    def shares(self) -> FloatArray:
        """The estimated share of each part, which may lie outside 0 to 1."""
        return np.asarray((self.counts / self.answers - self.floor) / self.slope)

    @property
    def unsampled(self) -> FloatArray:
        """(N − m)/(N − 1): the variance of a sample without replacement, compared with replacement."""
        with np.errstate(invalid="ignore"):
            kept = (self.population - self.sampled) / np.maximum(self.population - 1.0, 1.0)
        return np.where(np.isinf(self.population), 1.0, kept)

    @property
    def skewness_kept(self) -> FloatArray:
        """(N − 2m)/(N − 2): the same of its skewness."""
        with np.errstate(invalid="ignore"):
            kept = (self.population - 2.0 * self.sampled) / np.maximum(self.population - 2.0, 1.0)
        return np.where(np.isinf(self.population), 1.0, kept)

    def drawn_from(self, sampled: FloatArray, population: FloatArray) -> Reports:
        """Say how many people of each stratum answered, on all forms, and of how many."""
        return self._replace(sampled=sampled, population=population)

    def variances(self, p: FloatArray) -> FloatArray:
        """Variance of the counts, given the shares."""
        q, d = self.floor, self.slope
        sampling = d**2 * p * (1.0 - p) * self.unsampled
        return np.asarray(
            self.answers * (sampling + p * (q + d) * (1.0 - q - d) + (1.0 - p) * q * (1.0 - q)) + self.noise
        )

    def thirds(self, p: FloatArray) -> FloatArray:
        """Third cumulants of the counts, given the shares: that of the reports, and of who is asked."""
        q, d = self.floor, self.slope
        reporting = p * _third(q + d) + (1.0 - p) * _third(q)
        asked = d**2 * p * (1.0 - p) * self.unsampled
        asked = asked * (3.0 * (1.0 - 2.0 * q - d) + d * (1.0 - 2.0 * p) * self.skewness_kept)
        return np.asarray(self.answers * (reporting + asked))

    def limits(self, groups: Groups, alpha: float) -> Limits:
        """Find the intervals of the shares of groups of strata.

        Parameters
        ----------
        groups : Groups
            What is estimated from which parts.
        alpha : float
            One less the confidence; for one of k categories that are to hold together, over k.

        Examples
        --------
        Three of 50 people, from a stratum of 5,000, report yes by randomized response at a budget of 5:

        >>> flip = 1 / (1 + np.exp(5.0))
        >>> figures = 3.0, 50.0, 50.0, 5000.0, flip, 1 - 2 * flip, 0.0
        >>> reports = Reports(*(np.array([figure]) for figure in figures))
        >>> one = Groups(np.array([0]), 1, np.ones(1))
        >>> [round(float(end[0]), 4) for end in reports.limits(one, 0.05)]
        [0.0054, 0.1619]
        """
        reports = Reports(*(values[groups.at] for values in self))
        found = reports.shares
        unit = groups.weights / (reports.answers * reports.slope)
        total = groups.add(groups.weights * found)
        guess = first_guess(found, reports.answers, groups)
        scale = (reports.answers * reports.slope) ** 2
        pilot = pilot_values(found, reports.variances(guess[groups.codes]) / scale, guess, groups)

        both, estimates, side = both_limits(groups, total)
        reports, unit = Reports(*(np.tile(values, 2) for values in reports)), np.tile(unit, 2)
        squares, cubes = unit**2, unit**3

        def chance(p: FloatArray) -> FloatArray:
            """Chance of an estimate as low, and as high."""
            each = reports.variances(p)
            variance = both.add(each * squares)
            some = np.where(variance > 0, variance, 1.0)
            half = 0.5 * both.add(each * cubes) / some
            third = both.add(reports.thirds(p) * cubes)
            away = side * (estimates - both.add(both.weights * p))
            below = pearson_below((away + half) / np.sqrt(some), side * third / some**1.5)
            return np.where(variance > 0, below, (away >= 0).astype(float))

        return tilted_limits(np.tile(pilot, 2), both, chance, alpha / 2.0)


def _third(chance: FloatArray) -> FloatArray:
    """Return the third cumulant of something that happens with this chance."""
    return chance * (1.0 - chance) * (1.0 - 2.0 * chance)
