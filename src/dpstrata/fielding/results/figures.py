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


class NumberReports(NamedTuple):
    r"""How far apart reported numbers are in every stratum, which tells how far apart the answers are.

    In units of the range. Where the answers, on their levels, have the variance :math:`S^2` and their mean
    is x from the middle, the expectation of ``variances`` is

    .. math:: S^2 + r (S^2 + x^2) + \mathrm{constant} .

    Attributes
    ----------
    freedom : array
        Degrees of freedom: answers, less one for each form.
    variances : array
        Variance of the reports, debiased, within forms.
    fourths, squares : array
        The sum of the fourth powers of their distances from the mean, and what it would be if all were
        equally far from it: the ratio is the kurtosis.
    stretch, constant : array
        r, which is 0 where noise is added, and the noise that does not depend on the answers.
    rounding : array
        The most of :math:`S^2` that may be rounding to levels.
    office : array
        Variance that the office's noise adds to ``variances``.
    two_levels : bool
        Whether answers were put on two levels, so that their mean tells all that can be seen.
    """

    freedom: FloatArray
    variances: FloatArray
    fourths: FloatArray
    squares: FloatArray
    stretch: FloatArray
    constant: FloatArray
    rounding: FloatArray
    office: FloatArray
    two_levels: bool = False

    def at(self, strata: slice) -> NumberReports:
        """Choose strata."""
        arrays = {name: values for name, values in self._asdict().items() if name != "two_levels"}
        return self._replace(**{name: values[strata] for name, values in arrays.items()})

    @classmethod
    def pooled(cls, each: Sequence[NumberReports], answers: Sequence[IntArray]) -> NumberReports:
        """Put several forms together, each with so many answers."""
        if len(each) == 1:
            return each[0]
        freedom = np.sum([one.freedom for one in each], axis=0)
        within = [np.where(freedom > 0, one.freedom, m) for one, m in zip(each, answers, strict=True)]
        total = np.maximum(np.sum(within, axis=0), 1.0)

        def average(name: str, power: int = 1) -> FloatArray:
            weighed = ((w / total) ** power * getattr(one, name) for w, one in zip(within, each, strict=True))
            return np.asarray(sum(weighed))

        def add(name: str) -> FloatArray:
            return np.asarray(np.sum([getattr(one, name) for one in each], axis=0))

        return cls(
            freedom=freedom,
            variances=average("variances"),
            fourths=add("fourths"),
            squares=add("squares"),
            stretch=average("stretch"),
            constant=average("constant"),
            rounding=average("rounding"),
            office=average("office", 2),
            two_levels=all(one.two_levels for one in each),
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
    reports : NumberReports, optional
        Of numbers whose mean does not tell their spread: how far apart the reports are, where that is shown.
    """

    question: str
    figures: Sequence[Figure]
    doubts: Mapping[str, BoolArray]
    together: Together | None = None
    crossed: bool = False
    planned: bool = False
    splits: bool = True
    reports: NumberReports | None = None


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
    pairs = list(zip(*(one.figures for one in each), strict=True))
    shares = _shares_of_waves(pairs[0], weights)
    figures = [over_waves(some, weights) for some in pairs]
    together = [one.together for one in each if one.together is not None]
    return each[0]._replace(
        figures=figures,
        doubts=_doubts_over_waves([one.doubts for one in each], figures[0].answered),
        together=Together.over_waves(together, list(shares)) if together else None,
        splits=all(one.splits for one in each),
        reports=None,
    )


def _doubts_over_waves(each: Sequence[Mapping[str, BoolArray]], answered: IntArray) -> dict[str, BoolArray]:
    """Say what to be careful with in both waves; a form counts if it has few answers in each of them."""
    if ONLY_ONE in each[0]:
        floored = [doubts[FLOORED] for doubts in each if FLOORED in doubts]
        return doubts_about(answered, np.any(floored, axis=0) if floored else None)
    return {words: np.all([doubts[words] for doubts in each], axis=0) for words in each[0]}


def over_waves(each: Sequence[Figure], weights: Sequence[float]) -> Figure:
    """Combine a figure of several waves; a stratum that is empty in some takes the others alone."""
    shares = _shares_of_waves(each, weights)

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
        answered=np.sum([one.answered for one in each], axis=0),
        limits=limits_over_waves([one.limits for one in each], list(shares)),
    )


def _shares_of_waves(each: Sequence[Figure], weights: Sequence[float]) -> FloatArray:
    """Return what every wave counts in each stratum: nothing where nobody answered."""
    answers = np.stack([one.answered for one in each])
    weighted = np.where(answers > 0, np.array(weights)[:, None], 0.0)
    total = weighted.sum(axis=0)
    return np.asarray(np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0))
