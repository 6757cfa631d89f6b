"""What is known of every stratum of a survey, from one wave or from several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.of_design import PartLimits, limits_over_waves
from dpstrata.numerics.arrays import FloatArray, IntArray


class Causes(NamedTuple):
    """A variance by what makes an estimate err.

    Attributes
    ----------
    sampling : float
        That some people were asked and not others.
    device, office : float
        Noise on single answers, and noise that the office adds to what it publishes.
    """

    sampling: float
    device: float
    office: float

    @classmethod
    def of(cls, variance: float, device: float, office: float) -> Causes:
        """Take the rest of a variance for sampling: the noise is known, so only that had to be estimated."""
        return cls(max(variance - device - office, 0.0), device, office)


class StratumParts(NamedTuple):
    """What one wave shows of every stratum.

    Attributes
    ----------
    means, counts : array
        The estimated means, and how many answers each is from.
    sampling : array
        Variance of the answers.
    device, office : array
        Variance of the mean that comes from noise on single answers, and from that of the office.
    freedom : array
        Degrees of freedom of the variance of the answers.
    """

    means: FloatArray
    counts: IntArray
    sampling: FloatArray
    device: FloatArray
    office: FloatArray
    freedom: FloatArray

    @property
    def noise(self) -> FloatArray:
        """Variance of the mean that comes from noise of either kind."""
        return np.asarray(self.device + self.office)


class StratumMeans(NamedTuple):
    """The estimated mean of every stratum, with its precision.

    Attributes
    ----------
    means, variances : array
        The estimates and their variances; of strata without an answer they mean nothing.
    doubts : array
        Sums of the squares of each variance's parts, each over its degrees of freedom (Satterthwaite).
    device, office : array
        The variances of noise among these variances.
    invited, answers : array of int
        How many were to be asked, and how many answered.
    limits : PartLimits
        Finds the intervals.
    """

    means: FloatArray
    variances: FloatArray
    doubts: FloatArray
    device: FloatArray
    office: FloatArray
    invited: IntArray
    answers: IntArray
    limits: PartLimits

    @classmethod
    def of(cls, plan: Design, parts: StratumParts, limits: PartLimits) -> StratumMeans:
        """Put the variances of one wave together.

        Of the variance (s² − v)/m·(1 − m/N) + v/m of a stratum only the part with s² had to be estimated, so
        only that enters the degrees of freedom.
        """
        sizes, answers = plan.strata.sizes, np.maximum(parts.counts, 1)
        fraction = answers / sizes if plan.inputs.finite_population else np.zeros(len(sizes))
        sampling = parts.sampling / answers
        return cls(
            parts.means,
            sampling * (1.0 - fraction) + parts.noise,
            ((sampling + parts.noise) * (1.0 - fraction)) ** 2 / parts.freedom,
            parts.device,
            parts.office,
            plan.sample_sizes,
            parts.counts,
            limits,
        )


def over_waves(each: Sequence[StratumMeans], weights: Sequence[float]) -> StratumMeans:
    """Combine waves whose errors are independent; a stratum that is empty in some takes the others alone.

    Parameters
    ----------
    each : sequence of StratumMeans
        What every wave gave.
    weights : sequence of float
        What each counts where all have answers; they add up to one.
    """
    answers = np.stack([one.answers for one in each])
    weighted = np.where(answers > 0, np.array(weights)[:, None], 0.0)
    total = weighted.sum(axis=0)
    shares = np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0)

    def added(name: str, power: int) -> FloatArray:
        figures = np.stack([getattr(one, name) for one in each])
        return np.asarray((shares**power * np.where(shares > 0, figures, 0.0)).sum(axis=0))

    return StratumMeans(
        added("means", 1),
        added("variances", 2),
        added("doubts", 4),
        added("device", 2),
        added("office", 2),
        np.sum([one.invited for one in each], axis=0),
        answers.sum(axis=0),
        limits_over_waves([one.limits for one in each], list(shares)),
    )
