r"""Covariances of estimates with each other.

Every estimate is a weighted sum over parts that err independently of each other: strata, or single draws of
noise. So with the weights W of the parts h in the groups g, and the covariance C of the figures a and b (the
categories of a question, say) in each part,

.. math:: \mathrm{Cov}(\hat\theta_{ga}, \hat\theta_{g'b}) = \sum_h W_{gh} W_{g'h} C_{h,ab} .
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dpstrata.errors import InputError
from dpstrata.fielding.covariances.shares import Together
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.words.numbers import counted

MOST = 2000
"""Estimates that a matrix may have."""

_ALONE = -1  # the block of estimates that are in none: only their variances are known


class _Row(Protocol):
    """What is asked of an estimate; some have a category, or a question and an answer."""

    @property
    def column(self) -> str: ...

    @property
    def group(self) -> str: ...

    @property
    def standard_error(self) -> float: ...


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


class _Origins(NamedTuple):
    """Where each estimate comes from: its block, and there its figure and group, times a factor."""

    block: IntArray
    figure: IntArray
    group: IntArray
    factor: FloatArray

    def at(self, rows: IntArray) -> _Origins:
        return _Origins(self.block[rows], self.figure[rows], self.group[rows], self.factor[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """The covariances of estimates with each other.

    Figures of one question (or of one cross-table) are covered: the whole, the total, domains and strata, and
    all its categories. Covariances of figures of different questions are not known, and are NaN. Those of
    ratios are not worked out, and are NaN too. The diagonal has the squares of the standard errors.

    Attributes
    ----------
    labels : tuple of str
        What each estimate is: ``all``, ``total``, or ``column=group``; before that, with a comma, the
        category, or ``question=answer``.
    """

    labels: tuple[str, ...]
    _rows: Sequence[_Row]
    _origins: _Origins
    _blocks: tuple[tuple[Errors, ...], ...]

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
            If there are more than 2,000 estimates; :meth:`only` chooses some.
        """
        if len(self) > MOST:
            raise InputError(
                f"a covariance matrix can have at most {MOST:,} estimates, got {len(self):,}. Choose some in "
                "Python: result.covariance.only takes a column or a question."
            )
        found = np.full((len(self), len(self)), np.nan)
        np.fill_diagonal(found, [row.standard_error**2 for row in self._rows])
        for block, errors in enumerate(self._blocks):
            rows = np.flatnonzero(self._origins.block == block)
            if len(rows):
                found[np.ix_(rows, rows)] = sum(_within(each, self._origins.at(rows)) for each in errors)
        return read_only(found)

    def only(self, *, column: str | None = None, question: str | None = None) -> Covariance:
        """Choose estimates.

        Parameters
        ----------
        column : str, optional
            What they are for: ``all``, ``total``, ``stratum``, or a column of domains.
        question : str, optional
            Of a questionnaire: the question, or the cross-table.

        Raises
        ------
        InputError
            If there are none.
        """
        wanted = {"column": column, "question": question}
        asked = {name: value for name, value in wanted.items() if value is not None}
        kept = [
            i
            for i, row in enumerate(self._rows)
            if all(getattr(row, name, None) == value for name, value in asked.items())
        ]
        if not kept:
            given = " and ".join(f"{name} {value!r}" for name, value in asked.items())
            raise InputError(f"the estimates to choose must be among those of this result, got {given}.")
        return Covariance(
            tuple(self.labels[i] for i in kept),
            tuple(self._rows[i] for i in kept),
            self._origins.at(np.array(kept)),
            self._blocks,
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return the matrix as columns of a table: labels, then one for each estimate; blank is unknown."""
        matrix = self.matrix
        cells = matrix.astype(object)
        cells[np.isnan(matrix)] = None
        return {"label": list(self.labels)} | dict(zip(self.labels, cells.tolist(), strict=True))


def covariance_of_places(rows: Sequence[_Row], population: int, errors: tuple[Errors, ...]) -> Covariance:
    """Describe estimates of one question.

    Parameters
    ----------
    rows : sequence of estimates
        The whole, the total, the domains and the strata, in each of them all figures.
    population : int
        What the total is a multiple of.
    errors : tuple of Errors
        What makes them err.
    """
    figures = len(errors[0].variances) if errors else 1
    places = np.arange(len(rows)) // figures
    origins = _Origins(
        np.full(len(rows), 0 if errors else _ALONE),
        np.arange(len(rows)) % figures,
        np.maximum(places - 1, 0),
        np.where(places == 1, float(population), 1.0),
    )
    return Covariance(_labels(rows), rows, origins, (errors,))


def covariance_of_questions(rows: Sequence[_Row], errors: Sequence[Errors]) -> Covariance:
    """Describe estimates of several questions.

    Parameters
    ----------
    rows : sequence of estimates
        By question and figure: the whole, the domains, the strata; then what is in no question.
    errors : sequence of Errors
        What makes the figures of each question err.
    """
    each = [_of_question(place, one) for place, one in enumerate(errors)]
    rest = len(rows) - sum(len(one.block) for one in each)
    nothing = np.zeros(rest, dtype=np.int64)
    each.append(_Origins(nothing + _ALONE, nothing, nothing, np.ones(rest)))
    origins = _Origins(*(np.concatenate(parts) for parts in zip(*each, strict=True)))
    return Covariance(_labels(rows), rows, origins, tuple((one,) for one in errors))


def _of_question(block: int, errors: Errors) -> _Origins:
    """List the estimates of a question: figure by figure, all groups of each."""
    figures, groups = len(errors.variances), sum(each.number for each in errors.groups)
    return _Origins(
        np.full(figures * groups, block),
        np.repeat(np.arange(figures), groups),
        np.tile(np.arange(groups), figures),
        np.ones(figures * groups),
    )


def _within(errors: Errors, origins: _Origins) -> FloatArray:
    """Return the covariances of estimates of one block."""
    found = np.zeros((len(origins.block), len(origins.block)))
    weights = errors.weights()
    rows = {a: np.flatnonzero(origins.figure == a) for a in np.unique(origins.figure).tolist()}
    weighted = {a: weights[origins.group[at]] * origins.factor[at, None] for a, at in rows.items()}
    for a in rows:
        for b in (each for each in rows if each >= a):
            both = ((weighted[a] * errors.between(a, b)[None, :]) @ weighted[b].T).toarray()
            found[np.ix_(rows[a], rows[b])] = both
            found[np.ix_(rows[b], rows[a])] = both.T
    return (found + found.T) / 2  # to the last digit


def _labels(rows: Sequence[_Row]) -> tuple[str, ...]:
    """Name estimates, no two alike: a column of domains may hold the strata again."""
    seen: Counter[str] = Counter()
    labels = []
    for row in rows:
        label = _label(row)
        seen[label] += 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return tuple(labels)


def _label(row: _Row) -> str:
    place = row.column if row.column in ("all", "total") else f"{row.column}={row.group}"
    if hasattr(row, "question"):
        return f"{row.question}={getattr(row, 'answer', '')}, {place}"
    return f"{row.category}, {place}" if hasattr(row, "category") else place
