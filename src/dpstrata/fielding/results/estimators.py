"""The estimates of a survey of one question, with intervals that cover sampling error and privacy noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from typing import Any, overload

import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.fielding.covariances.covariance import Covariance, Errors, covariance_of_places
from dpstrata.fielding.intervals.parts import Causes, StratumMeans
from dpstrata.fielding.neighbours import StandIn
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.words.estimates import (
    REPORTED,
    estimates_table,
    estimation_sentences,
    estimation_table,
    share_sentences,
    share_table,
)
from dpstrata.words.tables import TextTable, shown_as_html, shown_as_text

FEW = 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean or the total, with its precision.

    Attributes
    ----------
    column, group : str
        What it is the mean of: ``all``, a stratum, or a domain; or ``total``.
    estimate, standard_error : float
        The estimate and its standard error, from sampling and privacy together.
    lower, upper : float
        Interval at the design's confidence, never outside the range of the answers.
    degrees_of_freedom : float
        How well the standard error is known (Satterthwaite); infinite where no variance had to be estimated.
    invited, answers : int
        How many people were to be asked, and how many noised answers there are.
    taken_from : str
        Of a stratum without an answer: the one whose result it takes.
    largest_bias : float
        The largest error that strata without an answer can make in it: the share of its people who are in
        such strata, times the range of the answers. The interval does not contain it.
    safe_lower, safe_upper : float or None
        Of a mean that is published as one number: the interval that holds whatever the spreads of the strata
        are. The other one trusts which strata the design takes to vary.
    """

    column: str
    group: str
    estimate: float
    standard_error: float
    lower: float
    upper: float
    degrees_of_freedom: float
    invited: int
    answers: int
    taken_from: str = ""
    largest_bias: float = 0.0
    safe_lower: float | None = None
    safe_upper: float | None = None

    def _repr_html_(self) -> str:
        return shown_as_html([estimates_table([self])])


@dataclass(frozen=True, slots=True)
class ShareEstimate(Estimate):
    """The share of one category, or the number of its people, with its precision.

    Attributes
    ----------
    category : str
        Which one.
    """

    category: str = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates(Sequence[Estimate]):
    """Estimates as columns, made into records where they are looked at: there may be many strata.

    Attributes
    ----------
    columns, groups : sequence of str
        What each is the mean of.
    estimates, standard_errors, lower, upper, degrees_of_freedom : array
        As in :class:`Estimate`.
    invited, answers : array of int
        As in :class:`Estimate`.
    largest_biases : array
        As in :class:`Estimate`.
    taken_from : mapping of int to str
        By place, for strata without an answer: the stratum whose result each takes.
    safe_lower, safe_upper : array, optional
        As in :class:`Estimate`.
    """

    columns: Sequence[str]
    groups: Sequence[str]
    estimates: FloatArray
    standard_errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    degrees_of_freedom: FloatArray
    invited: IntArray
    answers: IntArray
    largest_biases: FloatArray
    taken_from: Mapping[int, str] = field(default_factory=dict)
    safe_lower: FloatArray | None = None
    safe_upper: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, at: int) -> Estimate: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Estimate, ...]: ...

    def __getitem__(self, at: int | slice) -> Estimate | tuple[Estimate, ...]:
        """Return one of them, or several."""
        if isinstance(at, slice):
            return tuple(self)[at]
        row = Estimate(self.columns[at], self.groups[at], *(figure[at].item() for figure in self._figures))
        return replace(
            row,
            taken_from=self.taken_from.get(at % len(self), ""),
            largest_bias=self.largest_biases[at].item(),
            safe_lower=None if self.safe_lower is None else self.safe_lower[at].item(),
            safe_upper=None if self.safe_upper is None else self.safe_upper[at].item(),
        )

    def _repr_html_(self) -> str:
        return shown_as_html([estimates_table(self)])

    def __iter__(self) -> Iterator[Estimate]:
        taken_from = (self.taken_from.get(place, "") for place in range(len(self)))
        figures = (figure.tolist() for figure in self._figures)
        safe = (
            repeat(None) if each is None else each.tolist() for each in (self.safe_lower, self.safe_upper)
        )
        biases = self.largest_biases.tolist()
        return map(Estimate, self.columns, self.groups, *figures, taken_from, biases, *safe)

    @property
    def _figures(self) -> tuple[npt.NDArray[Any], ...]:
        precision = (self.estimates, self.standard_errors, self.lower, self.upper, self.degrees_of_freedom)
        return (*precision, self.invited, self.answers)


@dataclass(frozen=True, slots=True, eq=False)
class Estimation:
    """The estimates of a survey.

    Attributes
    ----------
    whole : Estimate
        The population mean; multiplied by the population, it is the total.
    strata, domains : sequence of Estimate
        Every stratum, and the domains of the design.
    floored : tuple of str
        Strata whose noised answers vary less than the noise alone would; their spread is taken as zero.
    single : tuple of str
        Strata with one answer, whose spread is taken from the design.
    few : tuple of str
        Strata with 2 to 9 answers, too few for a reliable standard error.
    population : int
        Number of people in the population.
    of : str
        What is estimated: "mean", or "mean of answers clipped to" the range, if the design clips answers.
    notes : tuple of str
        Sentences about the promise, where fewer people answered than it assumes.
    confidence : float
        Confidence level of the intervals.
    counts_people : bool
        Whether the total is a number of people: those who answer yes.
    stand_ins : tuple of StandIn
        Strata without an answer, each with the one whose result it takes.
    errors : tuple of Errors
        What makes the estimates err, of which :attr:`covariance` is made.
    causes : Causes, optional
        The variance of the whole by what makes it err: sampling, noise on single answers, office noise;
        ``None`` where what is published shows no spread.
    by_stratum : StratumMeans, optional
        What is known of every stratum, to combine waves; nothing where only one mean is published.
    waves : tuple of Wave
        The waves that it is from, if there are two.
    """

    whole: Estimate
    strata: Sequence[Estimate]
    domains: Sequence[Estimate]
    floored: tuple[str, ...]
    single: tuple[str, ...]
    few: tuple[str, ...]
    population: int
    of: str = "mean"
    notes: tuple[str, ...] = ()
    confidence: float = 0.95
    counts_people: bool = False
    stand_ins: tuple[StandIn, ...] = ()
    errors: tuple[Errors, ...] = ()
    causes: Causes | None = None
    by_stratum: StratumMeans | None = None
    waves: tuple[Wave, ...] = ()

    @property
    def largest_bias(self) -> float:
        """The largest error that strata without an answer can make in the mean of the population."""
        return self.whole.largest_bias

    @property
    def rows(self) -> tuple[Estimate, ...]:
        """The means: of the whole, the domains, the strata (not of cells of weighting classes)."""
        return (self.whole, *self.domains, *self.strata_reported)

    @property
    def strata_reported(self) -> Sequence[Estimate]:
        """The strata; none if they are cells of weighting classes, which domains report without these."""
        return () if any(row.column == REPORTED for row in self.domains) else self.strata

    @property
    def listed(self) -> tuple[Estimate, ...]:
        """All estimates as files have them: the whole, the total, the domains, the strata."""
        return (self.whole, self.total, *self.domains, *self.strata_reported)

    @property
    def covariance(self) -> Covariance:
        """The covariances of all estimates, in the order of ``listed``."""
        return covariance_of_places(self.listed, self.population, self.errors)

    @property
    def of_total(self) -> str:
        """What the total is: that of all answers, clipped if the mean is of clipped ones."""
        return f"total{self.of.removeprefix('mean')}"

    @property
    def totals(self) -> tuple[Estimate, ...]:
        """The population total."""
        return (self.total,)

    @property
    def total(self) -> Estimate:
        """The population total."""
        whole, people = self.whole, self.population
        return replace(
            whole,
            column="total",
            estimate=whole.estimate * people,
            standard_error=whole.standard_error * people,
            lower=whole.lower * people,
            upper=whole.upper * people,
            largest_bias=whole.largest_bias * people,
            safe_lower=None if whole.safe_lower is None else whole.safe_lower * people,
            safe_upper=None if whole.safe_upper is None else whole.safe_upper * people,
        )

    @property
    def table(self) -> TextTable:
        """The means for the eye."""
        return estimation_table(self)

    @property
    def sentences(self) -> list[str]:
        """The total, and what to know about the means."""
        return estimation_sentences(self)

    def __repr__(self) -> str:
        return shown_as_text([self.table], self.sentences)

    def _repr_html_(self) -> str:
        return shown_as_html([self.table], self.sentences)


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """One of two waves that an estimate is from.

    Attributes
    ----------
    design : Design
        Its design.
    weight : float
        What it counts where both waves have answers.
    result : Estimation
        What it gave by itself.
    """

    design: Design
    weight: float
    result: Estimation


@dataclass(frozen=True, slots=True, eq=False)
class ShareEstimation:
    """The estimated shares of a survey whose answers are categories.

    Shares are not clipped to 0 to 1, so that those of all categories add up to 1 and none is biased.

    Attributes
    ----------
    by_category : mapping of str to Estimation
        The estimates of each category's share, as of any mean.
    errors : tuple of Errors
        What makes the shares err, of which :attr:`covariance` is made.
    """

    by_category: Mapping[str, Estimation]
    errors: tuple[Errors, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self.by_category)

    @property
    def rows(self) -> tuple[ShareEstimate, ...]:
        """The shares of every category: in the whole, then in each domain, then in each stratum."""
        return self._of_all(lambda each: each.rows)

    @property
    def listed(self) -> tuple[ShareEstimate, ...]:
        """All estimates as files have them: the whole, the numbers of people, the domains, the strata."""
        return self._of_all(lambda each: each.listed)

    @property
    def covariance(self) -> Covariance:
        """The covariances of all estimates, in the order of ``listed``."""
        return covariance_of_places(self.listed, self.population, self.errors)

    @property
    def totals(self) -> tuple[ShareEstimate, ...]:
        """How many people every category has."""
        return self._of_all(lambda each: each.totals)

    def _of_all(self, rows: Callable[[Estimation], Sequence[Estimate]]) -> tuple[ShareEstimate, ...]:
        by_place = zip(*(rows(each) for each in self.by_category.values()), strict=True)
        return tuple(
            ShareEstimate(**_fields_of(row), category=name)
            for place in by_place
            for name, row in zip(self.by_category, place, strict=True)
        )

    @property
    def _first(self) -> Estimation:
        return next(iter(self.by_category.values()))

    def _named(self, names: Callable[[Estimation], tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.by_category.values() for name in names(each)))

    @property
    def floored(self) -> tuple[str, ...]:
        """Strata in which the reports of some category vary less than the noise alone would."""
        return self._named(lambda each: each.floored)

    @property
    def single(self) -> tuple[str, ...]:
        """Strata with one answer."""
        return self._first.single

    @property
    def few(self) -> tuple[str, ...]:
        """Strata with 2 to 9 answers."""
        return self._first.few

    @property
    def stand_ins(self) -> tuple[StandIn, ...]:
        """Strata without an answer, each with the one whose result it takes."""
        return self._first.stand_ins

    @property
    def largest_bias(self) -> float:
        """The largest error that strata without an answer can make in a share of the population."""
        return self._first.largest_bias

    @property
    def causes(self) -> Causes | None:
        """Half the sum of the variances of all shares in the whole, by what makes them err."""
        each = [one.causes for one in self.by_category.values() if one.causes is not None]
        return Causes(*(0.5 * sum(values) for values in zip(*each, strict=True))) if each else None

    @property
    def of(self) -> str:
        """What is estimated."""
        return "share"

    @property
    def of_total(self) -> str:
        """What the totals are."""
        return "number of people"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the promise, where fewer people answered than it assumes."""
        return self._first.notes

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals of all categories together."""
        return self._first.confidence

    @property
    def population(self) -> int:
        """Number of people in the population."""
        return self._first.population

    @property
    def table(self) -> TextTable:
        """The shares for the eye."""
        return share_table(self)

    @property
    def sentences(self) -> list[str]:
        """What to know about them."""
        return share_sentences(self)

    def __repr__(self) -> str:
        return shown_as_text([self.table], self.sentences)

    def _repr_html_(self) -> str:
        return shown_as_html([self.table], self.sentences)


def _fields_of(row: Estimate) -> dict[str, Any]:
    return {part.name: getattr(row, part.name) for part in fields(row)}
