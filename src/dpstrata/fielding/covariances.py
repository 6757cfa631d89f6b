r"""Covariances of estimates with each other.

Every estimate is a weighted sum over parts that err independently of each other: strata, or single draws of
noise. So with the weights W of the parts h in the groups g, and the covariance C of the figures a and b (the
categories of a question, say) in each part,

.. math:: \mathrm{Cov}(\hat\theta_{ga}, \hat\theta_{g'b}) = \sum_h W_{gh} W_{g'h} C_{h,ab} .

The shares of one question err together in a stratum: whoever gives one answer gives no other. With k levels
of which one is reported with probability :math:`\lambda = q + d p`, a form with m answers and the weight w
among the answers of its stratum, and the variance v of the office's noise of a count after all are put on
their known total, two shares a and b have the covariance

.. math:: w^2 \left(-\frac{\lambda_a \lambda_b}{d^2 (m - 1)} - \frac{v}{d^2 (k - 1) m^2}\right)
    + w\,\frac{p_a p_b}{N} ,

added up over forms; the last part only where strata are finite. Variances of the same kind make it a
correlation. All of it is taken at shares that are possible, so that the matrix has no negative eigenvalue.
The covariance of two estimates is this correlation times their own standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.words.numbers import counted


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
    counted : array or float
        What the wave counts in the estimate, if there are several.
    """

    shares: FloatArray
    answers: FloatArray
    weights: FloatArray
    floor: FloatArray
    slope: FloatArray
    noise: FloatArray
    levels: int
    counted: FloatArray | float = 1.0

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
        if sizes is not None:
            found = found - w * p * (same - other) / sizes
        return np.asarray(self.counted**2 * found)


class Together(NamedTuple):
    """The shares of a question on all its forms, and the sizes of the strata where these are finite."""

    forms: tuple[Reported, ...]
    sizes: FloatArray | None

    @classmethod
    def of(cls, plan: Design, forms: Sequence[Reported]) -> Together:
        """Take strata as the design does."""
        sizes = plan.strata.sizes.astype(float) if plan.inputs.finite_population else None
        return cls(tuple(forms), sizes)

    @classmethod
    def over_waves(cls, each: Sequence[Together], counted: Sequence[FloatArray]) -> Together:
        """Put waves together, whose samples are drawn apart; each counts so much in every stratum."""
        pairs = zip(each, counted, strict=True)
        forms = [form._replace(counted=share) for wave, share in pairs for form in wave.forms]
        return cls(tuple(forms), each[0].sizes)

    def correlations(self, a: int, b: int) -> FloatArray:
        """Return the correlation of two shares in every stratum; none where one does not vary."""
        both, one, other = (self._covariances(*pair) for pair in ((a, b), (a, a), (b, b)))
        scale = np.sqrt(np.maximum(one, 0.0) * np.maximum(other, 0.0))
        found = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
        return np.asarray(np.clip(found, -1.0, 1.0))

    def _covariances(self, a: int, b: int) -> FloatArray:
        return np.asarray(sum(form.covariances(a, b, self.sizes) for form in self.forms))


class OnKnownTotal(NamedTuple):
    """Shares with noise alike that are put on their known total: what one has too much, others lack."""

    shares: int
    parts: int

    def correlations(self, a: int, b: int) -> FloatArray:
        """Return −1/(k − 1) for two of k shares."""
        return np.full(self.parts, 1.0 if a == b else -1.0 / (self.shares - 1.0))


MOST = 2000
"""Estimates that a matrix may have."""

_ALONE = -1  # the question of estimates that belong to none: only their variances are known


class Errors(NamedTuple):
    """What makes the figures of one question err.

    Attributes
    ----------
    groups : tuple of Groups
        What the parts count in every estimate: in the whole, then in the domains, then in the strata.
    variances : array
        The variance of each figure in every part; figures in rows.
    together : Together, optional
        How the figures of one part err together; not needed for one figure.
    """

    groups: tuple[Groups, ...]
    variances: FloatArray
    together: Together | OnKnownTotal | None = None

    def weights(self) -> Any:
        """Return W as a sparse matrix, groups in rows."""
        from scipy import sparse

        parts = self.variances.shape[1]
        all_groups = Groups.joined(self.groups, parts)
        return sparse.csr_array(
            (all_groups.weights, (all_groups.codes, all_groups.at)), shape=(all_groups.number, parts)
        )

    def between(self, a: int, b: int) -> FloatArray:
        """Return the covariance of two figures in every part."""
        if a == b:
            return np.asarray(self.variances[a])
        assert self.together is not None
        scale = np.sqrt(self.variances[a] * self.variances[b])
        return np.asarray(self.together.correlations(a, b) * scale)


class Origins(NamedTuple):
    """Where each estimate comes from: its question, and there its figure and group, times a factor."""

    question: IntArray
    figure: IntArray
    group: IntArray
    factor: FloatArray

    @classmethod
    def of_question(cls, question: int, figures: int, rows: int, population: int) -> Origins:
        """List the estimates of a question: the whole, the total, then groups, with all figures of each."""
        groups = np.maximum(np.arange(rows // figures) - 1, 0)
        return cls(
            question=np.full(rows, question),
            figure=np.tile(np.arange(figures), len(groups)),
            group=np.repeat(groups, figures),
            factor=np.repeat(np.where(np.arange(len(groups)) == 1, float(population), 1.0), figures),
        )

    @classmethod
    def unknown(cls, rows: int) -> Origins:
        """List estimates whose covariances are not known."""
        nothing = np.zeros(rows, dtype=np.int64)
        return cls(nothing + _ALONE, nothing, nothing, np.ones(rows))

    @classmethod
    def joined(cls, each: Sequence[Origins]) -> Origins:
        """Put lists below each other."""
        return cls(*map(np.concatenate, zip(*each, strict=True)))

    def at(self, rows: Any) -> Origins:
        """Choose rows, by their places or a mask."""
        return Origins(*(values[rows] for values in self))


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """The covariances of estimates with each other.

    Figures of one question (or of one cross-table) are covered: the whole, the total, domains and strata, and
    all its levels. Covariances of figures of different questions are not known, and are NaN. Those of ratios
    are not worked out, and are NaN too. The diagonal has the squares of the standard errors.

    Attributes
    ----------
    labels : tuple of str
        What each estimate is: ``all``, ``total``, or ``column=group``; before that, with a comma, the level
        or, of several questions, ``question=level``.
    """

    labels: tuple[str, ...]
    _variances: FloatArray
    _origins: Origins
    _errors: Sequence[tuple[Errors, ...]]

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Covariances of {counted(len(self), 'estimate')}"

    @property
    def matrix(self) -> FloatArray:
        """The covariances, in the order of the labels.

        Raises
        ------
        InputError
            If there are more than 2,000 estimates.
        """
        if len(self) > MOST:
            raise InputError(
                f"a covariance matrix can have at most {MOST:,} estimates, got {len(self):,}. Choose some in "
                'Python, such as results.by("all") or results.question(name).'
            )
        found = np.full((len(self), len(self)), np.nan)
        np.fill_diagonal(found, self._variances)
        for question, errors in enumerate(self._errors):
            rows = np.flatnonzero(self._origins.question == question)
            if len(rows):
                found[np.ix_(rows, rows)] = sum(_within(each, self._origins.at(rows)) for each in errors)
        return read_only(found)

    def columns(self) -> dict[str, list[Any]]:
        """Return the matrix as columns of a table: labels, then one for each estimate; blank is unknown."""
        matrix = self.matrix
        cells = matrix.astype(object)
        cells[np.isnan(matrix)] = None
        return {"label": list(self.labels)} | dict(zip(self.labels, cells.tolist(), strict=True))


def _within(errors: Errors, origins: Origins) -> FloatArray:
    """Return the covariances of estimates of one question."""
    found = np.zeros((len(origins.figure), len(origins.figure)))
    weights = errors.weights()
    rows = {a: np.flatnonzero(origins.figure == a) for a in np.unique(origins.figure).tolist()}
    weighted = {a: weights[origins.group[at]] * origins.factor[at, None] for a, at in rows.items()}
    for a in rows:
        for b in (each for each in rows if each >= a):
            both = ((weighted[a] * errors.between(a, b)[None, :]) @ weighted[b].T).toarray()
            found[np.ix_(rows[a], rows[b])] = both
            found[np.ix_(rows[b], rows[a])] = both.T
    return (found + found.T) / 2  # to the last digit
