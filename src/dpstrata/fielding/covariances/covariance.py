r"""Covariances of estimates with each other.

Every estimate is a weighted sum over parts that err independently of each other: strata, or single draws of
noise. So with the weights W of the parts h in the groups g, and the covariance C of the figures a and b (the
categories of a question, say) in each part,

.. math:: \mathrm{Cov}(\hat\theta_{ga}, \hat\theta_{g'b}) = \sum_h W_{gh} W_{g'h} C_{h,ab} .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpstrata.errors import InputError
from dpstrata.fielding.covariances.shares import Together
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.words.numbers import counted

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
    together: Together | None = None

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
