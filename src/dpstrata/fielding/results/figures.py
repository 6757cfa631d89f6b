"""What is known of the figures of a question in every stratum, from one wave or from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.covariances import Together
from dpstrata.fielding.intervals.of_design import (
    PartLimits,
    limits_of_means,
    limits_of_shares,
    limits_over_waves,
)
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.results import FEW, FLOORED, ONLY_ONE

FEWEST = 10
"""Answers from a stratum with which a standard error is reliable."""


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
    """

    means: FloatArray
    counts: IntArray
    sampling: FloatArray
    device: FloatArray
    office: FloatArray

    @property
    def noise(self) -> FloatArray:
        """Variance of the mean that comes from noise of either kind."""
        return np.asarray(self.device + self.office)

    def limits(self, plan: Design, slope: FloatArray | float) -> PartLimits:
        """Find intervals: of numbers, or of the share of one of two answers.

        Parameters
        ----------
        plan : Design
            The design.
        slope : array or float
            By how much more often one of two answers is reported where it is true; 1 where none is flipped.
        """
        if plan.inputs.space.values != 2:
            return limits_of_means(plan, self.means, self.counts, spreads=self.sampling, noise=self.noise)
        return limits_of_shares(
            plan,
            plan.inputs.space.shares(self.means),
            self.counts,
            floor=0.5 * (1.0 - slope),
            slope=slope,
            noise=np.where(slope < 1.0, self.office, self.noise) / plan.inputs.space.range**2,
        )


class Figure(NamedTuple):
    """One figure of a question, its mean or the share of a level, in every stratum.

    Attributes
    ----------
    level : str
        Of a share; empty for a mean.
    estimates, variances : array
        The estimates and their variances; of strata without an answer they mean nothing.
    device, office : array
        The variances of noise among these variances.
    invited, answered : array of int
        How many were to be asked, and how many answered.
    limits : PartLimits
        Finds the intervals.
    """

    level: str
    estimates: FloatArray
    variances: FloatArray
    device: FloatArray
    office: FloatArray
    invited: IntArray
    answered: IntArray
    limits: PartLimits

    @classmethod
    def of(cls, plan: Design, parts: StratumParts, limits: PartLimits, level: str = "") -> Figure:
        """Put the variances of one wave together: (s² − v)/m·(1 − m/N) + v/m."""
        sizes, answers = plan.strata.sizes, np.maximum(parts.counts, 1)
        fraction = answers / sizes if plan.inputs.finite_population else np.zeros(len(sizes))
        return cls(
            level=level,
            estimates=parts.means,
            variances=parts.sampling / answers * (1.0 - fraction) + parts.noise,
            device=parts.device,
            office=parts.office,
            invited=plan.sample_sizes,
            answered=parts.counts,
            limits=limits,
        )


class QuestionFigures(NamedTuple):
    """All figures of a question, or of a cross-table.

    Attributes
    ----------
    question : str
        Its name.
    figures : sequence of Figure
        Its mean, or the share of every level.
    doubts : mapping of str to array of bool
        What to be careful with, and in which strata.
    together : Together, optional
        How several figures of one stratum err together.
    crossed : bool
        Whether these are combinations of answers to several questions.
    planned : bool
        Whether standard errors use the spread that the design assumed, because what was published shows none.
    splits : bool
        Whether the variance can be split by cause.
    """

    question: str
    figures: Sequence[Figure]
    doubts: Mapping[str, BoolArray]
    together: Together | None = None
    crossed: bool = False
    planned: bool = False
    splits: bool = True


def levels_of(question: Question) -> Sequence[str]:
    """Name the levels whose shares are estimated; of a mean, one without a name."""
    if question.of_kind.averaged:
        return ("",)
    return question.names or ("yes",)


def doubts_about(answered: IntArray, floored: BoolArray | None = None) -> dict[str, BoolArray]:
    """Say which strata to be careful with: few answers, and (``floored``) no more spread than noise has."""
    found = {ONLY_ONE: answered == 1, FEW: (answered > 1) & (answered < FEWEST)}
    return found if floored is None else {FLOORED: floored, **found}


def join_waves(each: Sequence[QuestionFigures], weights: Sequence[float]) -> QuestionFigures:
    """Combine the figures of a question in waves whose errors are independent.

    Parameters
    ----------
    each : sequence of QuestionFigures
        What every wave gave.
    weights : sequence of float
        What each counts where all have answers; they add up to one.
    """
    figures = [over_waves(some, weights) for some in zip(*(one.figures for one in each), strict=True)]
    floored = np.any([one.doubts[FLOORED] for one in each], axis=0)
    return each[0]._replace(figures=figures, doubts=doubts_about(figures[0].answered, floored))


def over_waves(each: Sequence[Figure], weights: Sequence[float]) -> Figure:
    """Combine a figure of several waves; a stratum that is empty in some takes the others alone."""
    answers = np.stack([one.answered for one in each])
    weighted = np.where(answers > 0, np.array(weights)[:, None], 0.0)
    total = weighted.sum(axis=0)
    shares = np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0)

    def added(name: str, power: int) -> FloatArray:
        figures = np.stack([getattr(one, name) for one in each])
        return np.asarray((shares**power * np.where(shares > 0, figures, 0.0)).sum(axis=0))

    return Figure(
        level=each[0].level,
        estimates=added("estimates", 1),
        variances=added("variances", 2),
        device=added("device", 2),
        office=added("office", 2),
        invited=np.sum([one.invited for one in each], axis=0),
        answered=answers.sum(axis=0),
        limits=limits_over_waves([one.limits for one in each], list(shares)),
    )
