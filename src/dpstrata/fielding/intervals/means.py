r"""The tilted score interval of the mean of bounded numbers, scaled to 0 to 1.

Answers with the mean :math:`\mu` have at most the variance :math:`\mu (1 - \mu)`; those of part h have the
fraction :math:`\varphi_h` of it. If the means were :math:`\mu_h`, the estimate would be nearly normal with
the variance

.. math:: \sum_h W_h^2 \left[\frac{\varphi_h \mu_h (1 - \mu_h)}{m} \left(1 - \frac{m}{N}\right) + v_h\right] ,

where v is that of the noise in a part's mean. A fraction that few answers show is uncertain, so it is pulled
towards that of the group, as if five more answers had shown that one, and the group's towards 1, as if ten
more had. Of answers that are mostly near one end, few show it: those that are not. A sample that happens to
lack them would have both a small mean and a small fraction. So of m answers whose mean is at a distance
:math:`d` from the nearer end, and whose variance is V, :math:`m\,d^2/(d^2 + V)` count. Without that,
intervals of very skewed answers without noise covered as little as 78%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.fielding.intervals.tilt import (
    Groups,
    Limits,
    both_limits,
    first_guess,
    normal_tail,
    pilot_values,
    tilted_limits,
)
from dpstrata.numerics.arrays import FloatArray

_FROM_GROUP, _LARGEST = 5.0, 10.0  # answers that count towards the fraction of the group, and towards 1


class Means(NamedTuple):
    """Means of bounded numbers, part by part, scaled to 0 to 1.

    Attributes
    ----------
    means : array
        The estimates, which may lie outside 0 to 1.
    answers : array
        m, at least 1.
    unsampled : array
        1 − m/N, or 1 for endless strata.
    spreads : array
        Variance of the answers, from the answers or from the design.
    noise : array
        Variance of the noise in each mean.
    """

    means: FloatArray
    answers: FloatArray
    unsampled: FloatArray
    spreads: FloatArray
    noise: FloatArray

    def drawn_from(self, sampled: FloatArray, population: FloatArray) -> Means:
        """Say how many people of each stratum answered, on all forms, and of how many."""
        return self._replace(unsampled=1.0 - sampled / population)

    def limits(self, groups: Groups, alpha: float) -> Limits:
        """Find the intervals of the means of groups of strata.

        Parameters
        ----------
        groups : Groups
            What is estimated from which parts.
        alpha : float
            One less the confidence.

        Examples
        --------
        >>> parts = Means(*(np.array([figure]) for figure in (0.02, 40.0, 1.0, 0.01, 0.0)))
        >>> one = Groups(np.array([0]), 1, np.ones(1))
        >>> [round(float(end[0]), 3) for end in parts.limits(one, 0.05)]
        [0.003, 0.108]
        """
        parts = Means(*(values[groups.at] for values in self))
        total = groups.add(groups.weights * parts.means)
        guess = first_guess(parts.means, parts.answers, groups)
        fractions = _fractions(parts, groups, guess)

        def variances(p: FloatArray) -> FloatArray:
            return np.asarray(fractions * p * (1.0 - p) * parts.unsampled / parts.answers + parts.noise)

        pilot = pilot_values(parts.means, variances(guess[groups.codes]), guess, groups)
        both, estimates, side = both_limits(groups, total)
        fractions, parts = np.tile(fractions, 2), Means(*(np.tile(values, 2) for values in parts))
        squares = both.weights**2

        def chance(p: FloatArray) -> FloatArray:
            """Chance of an estimate as low, and as high."""
            variance = both.add(variances(p) * squares)
            away = side * (estimates - both.add(both.weights * p))
            return normal_tail(away, variance)

        return tilted_limits(np.tile(pilot, 2), both, chance, alpha / 2.0)


def _fractions(parts: Means, groups: Groups, guess: FloatArray) -> FloatArray:
    """Return the spread of each part as a fraction of the largest one that its mean allows."""
    inside = np.clip(parts.means, 0.0, 1.0)
    largest = inside * (1.0 - inside)
    seen = np.ones(len(inside))
    np.divide(np.minimum(parts.spreads, largest), largest, out=seen, where=largest > 0)
    middle = (guess * (1.0 - guess))[groups.codes]
    known = parts.answers * middle / (middle + parts.noise * parts.answers)  # how many answers show it
    known *= _evenness(inside, parts.spreads, groups)[groups.codes]
    of_group = (groups.add(known * seen) + _LARGEST) / (groups.add(known) + _LARGEST)
    return np.asarray((known * seen + _FROM_GROUP * of_group[groups.codes]) / (known + _FROM_GROUP))


def _evenness(means: FloatArray, spreads: FloatArray, groups: Groups) -> FloatArray:
    """Return the share of answers that make up the sum of each group, or what it lacks to its largest."""
    mean = groups.add(groups.weights * means)
    spread = groups.add(groups.weights * (spreads + means**2)) - mean**2
    square = np.minimum(mean, 1.0 - mean) ** 2
    share = np.zeros(groups.number)
    np.divide(square, square + np.maximum(spread, 0.0), out=share, where=square > 0)
    return share
