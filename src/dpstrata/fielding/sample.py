"""The secret sample: exactly n of N in every stratum, every subset equally likely, unknown without the key.

Every id gets a keyed pseudo-random number of 128 bits, and the n smallest of a stratum are its sample. Most
ids need not be kept: the n-th smallest of N uniform numbers is Beta(n, N − n + 1), so ids beyond its upper
1e-9 quantile are dropped as they pass (``sieve.py``); a stratum that comes out short is read again without
it. So one pass over the frame is enough, in memory that grows with the sample alone, and the same key gives
the same sample in any order and on any engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.frames.base import Frame
from dpstrata.fielding.keys import LENGTH
from dpstrata.fielding.sieve import NO_ID, NO_STRATUM, Sieve, is_whole, numbers_of
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.classes import are_cells, too_late

Ranking = Literal["aes-256", "blake2b"]
_FAILURE = 1e-9
_SHOWN = 5


class ReportKey(NamedTuple):
    """What someone's report is filed under wherever it is randomised, counted or published.

    Attributes
    ----------
    stratum, part, form : int
        Positions in the design, from 0. Every stratum has a single part, 0.
    """

    stratum: int
    part: int
    form: int


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Who was drawn.

    Attributes
    ----------
    ids : list
        In no telling order: that of their pseudo-random numbers within each stratum.
    strata : list of str
        The stratum of each.
    parts : list of int
        The part of the stratum that each one is in, from 0 on.
    forms : list of int
        The number of the form that each one gets, from 1 on; as secret as the sample.
    method : {"aes-256", "blake2b"}
        How ids became numbers: by encrypting whole numbers, or by a keyed hash of text.
    frame_digest : str
        Keyed digest of the id and the stratum of everyone in the frame, in any order and on any engine. It
        tells nothing without the key.
    """

    ids: list[Any]
    strata: list[str]
    parts: list[int]
    forms: list[int]
    method: Ranking
    frame_digest: str


def draw_sample(plan: Design, frame: Frame, key: bytes) -> Sample:
    """Draw the sample of a design.

    Parameters
    ----------
    plan : Design
        How many people of each stratum.
    frame : Frame
        Everyone, each once.
    key : bytes
        32 secret bytes; the same key draws the same sample.

    Raises
    ------
    InputError
        If the frame's strata do not have the design's sizes, naming each, or someone is listed twice.

    Examples
    --------
    >>> import secrets
    >>> import dpstrata as dps
    >>> import pyarrow as pa
    >>> people = pa.table({"id": range(400), "town": ["A", "B", "B", "B"] * 100})
    >>> frame = dps.open_frame(people, id="id", stratum="town")
    >>> plan = dps.design(dps.frame_strata(frame), epsilon=1, total=40)
    >>> sample = dps.draw_sample(plan, frame, secrets.token_bytes(32))
    >>> [sample.strata.count(town) for town in "AB"] == plan.sample_sizes.tolist()
    True
    """
    names, wanted = plan.strata.names, plan.sample_sizes
    sieve = Sieve(key, names, _thresholds(plan.strata.sizes, wanted))
    kept, counted = _gather(frame.sift(sieve))
    _require_counts(counted, plan)
    short = np.bincount(kept.column("place").to_numpy(), minlength=len(names)) < wanted
    if short.any():  # once in a thousand million times
        again, _ = _gather(frame.sift(replace(sieve, limits=short.astype(float))))
        kept = _joined(kept.filter(~short[kept.column("place").to_numpy()]), again)
    rows = _smallest(kept, wanted)
    ids = kept.column("id").take(rows).to_pylist()
    if len(set(ids)) < len(ids):
        raise InputError("the frame lists someone more than once, who would lose more than promised.")
    strata = [names[i] for i in kept.column("place").to_numpy()[rows].tolist()]
    method: Ranking = "aes-256" if is_whole(kept.schema.field("id").type) else "blake2b"
    parts, forms = _deal(kept.column("id").take(rows), plan, key)
    return Sample(ids, strata, parts, forms, method, _digest(counted, names, key))


def _deal(ids: Any, plan: Design, key: bytes) -> tuple[list[int], list[int]]:
    """Deal the parts and forms of every stratum to the people drawn there, by keyed numbers of their own.

    They are ranked by these: the first get form 1, the next form 2, as many as the design says. So every way
    to deal is equally likely, and the same on every engine.
    """
    own_key = hashlib.blake2b(b"dpstrata parts and forms", key=key, digest_size=LENGTH).digest()
    high, low = numbers_of(ids.combine_chunks(), own_key)
    dealt = np.stack([form.sample_sizes for form in plan.forms])
    starts = np.concatenate([[0], np.cumsum(plan.sample_sizes)])
    forms = np.empty(len(ids), dtype=np.int64)
    for i, (start, end) in enumerate(pairwise(starts.tolist())):
        order = start + np.lexsort((low[start:end], high[start:end]))
        forms[order] = np.repeat(np.arange(1, len(dealt) + 1), dealt[:, i])
    return [0] * len(ids), forms.tolist()


def _gather(batches: Iterable[Any]) -> tuple[Any, Any]:
    """Put together what a sieve gave out: the people kept, and the counts."""
    import pyarrow

    parts = list(batches)
    if not parts:
        raise InputError("the frame lists nobody.")
    table = pyarrow.Table.from_batches(parts)
    counts = table.column("people")
    return table.filter(counts.is_null()).drop_columns(["people", "name"]), table.filter(counts.is_valid())


def _digest(counted: Any, names: tuple[str, ...], key: bytes) -> str:
    """Hash the sums of everyone's numbers by stratum under the key.

    A number is pseudo-random, so that two lists of people in a stratum have the same sum by a chance of
    2^-128; sums modulo 2^64, unlike exclusive ors, also tell how often someone is listed.
    """
    place = counted.column("place").to_numpy()
    sums = np.zeros((3, len(names)), dtype=np.uint64)
    for total, name in zip(sums, ("people", "high", "low"), strict=True):
        np.add.at(total, place, counted.column(name).to_numpy().view(np.uint64))
    everyone = json.dumps(sorted(zip(names, *sums.tolist(), strict=True)))
    return hashlib.blake2b(everyone.encode(), digest_size=32, key=key, person=b"dpstrata frame").hexdigest()


def _joined(*tables: Any) -> Any:
    import pyarrow

    return pyarrow.concat_tables(tables)


def _smallest(kept: Any, wanted: IntArray) -> IntArray:
    """Rows with the smallest numbers of every stratum, smallest first."""
    place = kept.column("place").to_numpy()
    high, low = (kept.column(name).to_numpy().view(np.uint64) for name in ("high", "low"))
    order: IntArray = np.lexsort((low, high, place))
    starts = np.searchsorted(place[order], np.arange(len(wanted)))
    first = [np.arange(at, at + n) for at, n in zip(starts, wanted, strict=True)]
    return np.asarray(order[np.concatenate(first)], dtype=np.int64)


def _require_counts(counted: Any, plan: Design) -> None:
    place, people = counted.column("place").to_numpy(), counted.column("people").to_numpy()
    if (place == NO_ID).any():
        raise InputError("the frame must have an id for everyone, got people without one.")
    known = place >= 0
    counts = np.bincount(place[known], weights=people[known], minlength=len(plan.strata)).astype(np.int64)
    unknown: dict[str, int] = {}
    for name, number, at in zip(counted.column("name").to_pylist(), people.tolist(), place, strict=True):
        if at == NO_STRATUM:
            unknown[name or "(nothing)"] = unknown.get(name or "(nothing)", 0) + number
    require_sizes(counts, plan.strata.names, plan.strata.sizes, unknown)


def _thresholds(sizes: IntArray, wanted: IntArray) -> FloatArray:
    """Return the share of ids to keep, so that a stratum comes out short once in 10^9 draws of all strata."""
    from scipy.special import betainccinv

    failure = _FAILURE / len(sizes)
    limits = betainccinv(wanted.astype(float), (sizes - wanted + 1).astype(float), failure)
    return np.where(wanted == sizes, 1.0, np.minimum(np.nan_to_num(limits, nan=1.0), 1.0))


def require_sizes(counts: IntArray, names: tuple[str, ...], sizes: IntArray, unknown: dict[str, int]) -> None:
    """Require that a frame has the design's strata with their sizes, naming those that differ.

    Where none is there, the column is another one, and what it holds may be known of one person alone.
    """
    if not counts.any() and not are_cells(unknown, names):
        raise InputError(
            "the frame has nobody in any stratum of the design; name the column of the strata with "
            f"{option('stratum')}."
        )
    wrong = [
        f"{names[i]!r} has a size of {counts[i]:,} in the frame and {sizes[i]:,} in the design"
        for i in np.flatnonzero(counts != sizes).tolist()
    ]
    wrong += [
        f"{name!r} has a size of {number:,} in the frame and is not in the design"
        for name, number in unknown.items()
    ]
    if wrong:
        more = f", and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"the frame must have the strata of the design, but {'; '.join(wrong[:_SHOWN])}{more}."
            + (f" {too_late()}" if are_cells(unknown, names) else "")
        )
