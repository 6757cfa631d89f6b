"""The secret sample: exactly n of N in every stratum, every subset equally likely, unknown without the key.

Every id gets a keyed pseudo-random number of 128 bits, and the n smallest of a stratum are its sample. Most
ids need not be kept: the n-th smallest of N uniform numbers is Beta(n, N − n + 1), so ids beyond its upper
1e-9 quantile are dropped as they pass; a stratum that comes out short is read again without it. So one pass
over the frame is enough, in memory that grows with the sample alone, and the same key gives the same sample
in any order and on any engine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.errors import InputError, MissingExtraError
from dpstrata.model.design_record import Design
from dpstrata.survey.frames import Frame

Method = Literal["aes-256", "blake2b"]
_FAILURE = 1e-9
_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Who was drawn.

    Attributes
    ----------
    ids : list
        In no telling order: that of their pseudo-random numbers within each stratum.
    strata : list of str
        The stratum of each.
    method : {"aes-256", "blake2b"}
        How ids became numbers: by encrypting whole numbers, or by a keyed hash of text.
    """

    ids: list[Any]
    strata: list[str]
    method: Method


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
    """
    names = plan.strata.names
    sizes, wanted = plan.strata.sizes, plan.sample_sizes
    survivors = _Survivors(frame, key, names, _thresholds(sizes, wanted))
    survivors.read(frame.batches())
    require_sizes(survivors.counts, names, sizes, survivors.unknown)
    short = np.flatnonzero(survivors.kept() < wanted)
    if short.size:  # once in a thousand million times for a stratum
        again = np.zeros(len(names))
        again[short] = 1.0
        survivors.limits = again
        survivors.read(frame.batches(), only=short)
    ids: list[Any] = []
    strata: list[str] = []
    for i, n in enumerate(wanted.tolist()):
        chosen = survivors.smallest(i, n)
        ids += chosen
        strata += [names[i]] * len(chosen)
    if len(set(ids)) < len(ids):
        raise InputError("the frame lists someone more than once, who would lose more than was promised.")
    return Sample(ids, strata, survivors.method or "blake2b")


class _Survivors:
    """People whose numbers are small enough to be in the sample, stratum by stratum."""

    def __init__(self, frame: Frame, key: bytes, names: tuple[str, ...], limits: FloatArray) -> None:
        self.key = key
        self.place = {name: i for i, name in enumerate(names)}
        self.limits = limits
        self.counts = np.zeros(len(names), dtype=np.int64)
        self.unknown: dict[str, int] = {}
        self.method: Method | None = None
        self._high: list[list[npt.NDArray[np.uint64]]] = [[] for _ in names]
        self._low: list[list[npt.NDArray[np.uint64]]] = [[] for _ in names]
        self._ids: list[list[list[Any]]] = [[] for _ in names]

    def read(self, batches: Iterable[Any], only: IntArray | None = None) -> None:
        """Pass over the frame once; a second time only for some strata."""
        if only is not None:
            for i in only.tolist():
                self._high[i], self._low[i], self._ids[i] = [], [], []
        for batch in batches:
            codes = self._codes(batch.column("stratum"), count=only is None)
            high, low = self._numbers(batch.column("id"))
            limit = np.where(codes >= 0, self.limits[codes], 0.0)
            everyone = limit >= 1.0
            bar = (np.where(everyone, 0.0, limit) * 2.0**64).astype(np.uint64)
            rows = np.flatnonzero(everyone | (high < bar))
            if not rows.size:
                continue
            rows = rows[np.argsort(codes[rows], kind="stable")]
            ids = batch.column("id").take(rows).to_pylist()
            starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
            for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
                i = int(codes[rows[start]])
                self._high[i].append(high[rows[start:end]])
                self._low[i].append(low[rows[start:end]])
                self._ids[i].append(ids[start:end])

    def _codes(self, column: Any, *, count: bool) -> IntArray:
        """Turn the stratum column into positions, -1 for a stratum that the design does not have."""
        encoded = column.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        places = np.array([self.place.get(value, -1) for value in values], dtype=np.int64)
        indices = encoded.indices.to_numpy(zero_copy_only=False)
        missing = np.isnan(indices) if indices.dtype.kind == "f" else np.zeros(len(indices), dtype=bool)
        plain = np.where(missing, 0, indices).astype(np.int64)
        codes = np.where(missing, -1, places[plain] if len(places) else -1)
        if count:
            self.counts += np.bincount(codes[codes >= 0], minlength=len(self.counts))
            outside = int((codes < 0).sum())
            if outside:
                for value, number in zip(
                    values, np.bincount(plain[~missing], minlength=len(values)), strict=True
                ):
                    if value not in self.place and number:
                        self.unknown[value] = self.unknown.get(value, 0) + int(number)
                if missing.any():
                    self.unknown["(nothing)"] = self.unknown.get("(nothing)", 0) + int(missing.sum())
        return np.asarray(codes)

    def _numbers(self, column: Any) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Turn ids into pseudo-random numbers of 128 bits, as two of 64."""
        import pyarrow

        if column.null_count:
            raise InputError("the frame must have an id for everyone, got people without one.")
        whole = pyarrow.types.is_integer(column.type)
        method: Method = "aes-256" if whole else "blake2b"
        if self.method not in (None, method):
            raise InputError("the ids of a frame must all be of one kind.")
        self.method = method
        if whole:
            blocks = np.zeros((len(column), 2), dtype="<u8")
            blocks[:, 0] = column.to_numpy(zero_copy_only=False).astype(np.uint64)
            numbers = np.frombuffer(_encrypt(self.key, blocks.tobytes()), dtype=">u8").reshape(-1, 2)
        else:
            try:
                texts = column.cast(pyarrow.string()).to_pylist()
            except pyarrow.ArrowException:  # the cause would show an id
                raise InputError("the ids of a frame must be whole numbers or text, got others.") from None
            digests = b"".join(
                hashlib.blake2b(text.encode(), digest_size=16, key=self.key).digest() for text in texts
            )
            numbers = np.frombuffer(digests, dtype=">u8").reshape(-1, 2)
        return numbers[:, 0].astype(np.uint64), numbers[:, 1].astype(np.uint64)

    def kept(self) -> IntArray:
        """Return how many people of each stratum are left."""
        return np.array([sum(map(len, parts)) for parts in self._ids], dtype=np.int64)

    def smallest(self, i: int, n: int) -> list[Any]:
        """Return the ids of stratum ``i`` with the ``n`` smallest numbers, smallest first."""
        high, low = np.concatenate(self._high[i]), np.concatenate(self._low[i])
        ids = [person for part in self._ids[i] for person in part]
        return [ids[j] for j in np.lexsort((low, high))[:n].tolist()]


def _thresholds(sizes: IntArray, wanted: IntArray) -> FloatArray:
    """Return the share of ids to keep, so that a stratum comes out short once in 10^9 draws of all strata."""
    from scipy.special import betainccinv

    failure = _FAILURE / len(sizes)
    limits = betainccinv(wanted.astype(float), (sizes - wanted + 1).astype(float), failure)
    return np.where(wanted == sizes, 1.0, np.minimum(np.nan_to_num(limits, nan=1.0), 1.0))


def require_sizes(counts: IntArray, names: tuple[str, ...], sizes: IntArray, unknown: dict[str, int]) -> None:
    """Require that a frame has the design's strata with their sizes, naming those that differ."""
    wrong = [
        f"{names[i]!r} has {counts[i]:,} in the frame and {sizes[i]:,} in the design"
        for i in np.flatnonzero(counts != sizes).tolist()
    ]
    wrong += [
        f"{name!r} has {number:,} in the frame and is not in the design" for name, number in unknown.items()
    ]
    if wrong:
        more = f", and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise InputError(f"the frame must have the design's strata: {'; '.join(wrong[:_SHOWN])}{more}.")


def _encrypt(key: bytes, blocks: bytes) -> bytes:
    """Encrypt blocks of 16 bytes each by AES-256: a pseudo-random permutation of the ids."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise MissingExtraError("drawing a sample needs", "survey") from None
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return bytes(encryptor.update(blocks) + encryptor.finalize())
