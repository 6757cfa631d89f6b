"""The sieve of a draw: everyone's keyed number, and who may be in the sample by it.

Every id gets a pseudo-random number of 128 bits under the key of the survey. The sieve keeps those whose
number is below a limit of their stratum, counts everyone and adds up their numbers: the sums say who is in a
stratum, whatever the order. It passes over Arrow batches, on one machine or inside the workers of a cluster,
and gives out Arrow batches, so that both draw the same sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.fielding.frames.base import WHITESPACE
from dpstrata.numerics.arrays import FloatArray, IntArray

_ALL_BITS = np.uint64(2**64 - 1)
NO_STRATUM, NO_ID = -1, -2  # places of people whom the design does not have, and of those without an id


@dataclass(frozen=True, slots=True, eq=False)
class Sieve:
    """Keeps the people whose numbers are below the limits of their strata.

    Attributes
    ----------
    key : bytes
        32 secret bytes, never shown.
    names : tuple of str
        The strata.
    limits : array
        The share of each stratum to keep; 1 keeps everyone.
    """

    key: bytes = field(repr=False)
    names: tuple[str, ...]
    limits: FloatArray

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Give out those kept: ``place`` of the stratum, number as ``high`` and ``low``, ``id``.

        At the end come counts: rows with ``people``, by place, where the number is the sum of theirs, each
        half modulo 2^64; a stratum that the design does not have comes with its ``name`` and no sum.
        """
        place: dict[str | None, int] = {name: i for i, name in enumerate(self.names)}
        counts = np.zeros(len(self.names), dtype=np.int64)
        sums = np.zeros((2, len(self.names)), dtype=np.uint64)
        unknown: dict[str | None, int] = {}
        kept = self.limits > 0.0
        below = np.clip(self.limits, 0.0, 1.0 - 2.0**-53) * 2.0**64
        largest = np.where(self.limits >= 1.0, _ALL_BITS, below.astype(np.uint64))
        nobody, kind = 0, None
        for batch in batches:
            ids, strata = batch.column("id"), batch.column("stratum")
            kind = ids.type
            nobody += ids.null_count
            codes = _places(strata, place, unknown)
            if (codes < 0).any():
                known = codes >= 0
                codes, ids = codes[known], ids.filter(known)
            counts += np.bincount(codes, minlength=len(counts))
            high, low = numbers_of(ids, self.key)
            for total, half in zip(sums, (high, low), strict=True):
                np.add.at(total, codes, half)
            rows = np.flatnonzero((high <= largest[codes]) & kept[codes])
            if rows.size:
                yield _kept(codes[rows], high[rows], low[rows], ids.take(rows))
        if kind is not None:
            found = np.flatnonzero(counts)
            places = [*found.tolist(), *[NO_STRATUM] * len(unknown), *[NO_ID] * bool(nobody)]
            people = [*counts[found].tolist(), *unknown.values(), *[nobody] * bool(nobody)]
            names = [*[None] * len(found), *unknown, *[None] * bool(nobody)]
            yield _counted(places, people, names, sums[:, found].view(np.int64), kind)


def _places(column: Any, place: dict[str | None, int], unknown: dict[str | None, int]) -> IntArray:
    """Turn the stratum column into places, and count those that the design does not have."""
    encoded = column.dictionary_encode()
    values = [(name or "").strip(WHITESPACE) or None for name in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    places = np.array([place.get(value, NO_STRATUM) for value in [*values, None]], dtype=np.int64)
    codes = places[indices]
    if (codes < 0).any():
        numbers = np.bincount(indices, minlength=len(places))
        for value, number, i in zip([*values, None], numbers.tolist(), places.tolist(), strict=True):
            if i < 0 and number:
                unknown[value] = unknown.get(value, 0) + number
    return np.asarray(codes)


def numbers_of(ids: Any, key: bytes) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Turn ids into pseudo-random numbers of 128 bits, as two of 64.

    Whole numbers are encrypted by AES-256, text goes through keyed BLAKE2b. Missing ids get numbers too; they
    are counted, and refused later.

    Parameters
    ----------
    ids : Arrow array
        Whole numbers or text.
    key : bytes
        32 secret bytes.
    """
    if is_whole(ids.type):
        blocks = np.zeros((len(ids), 2), dtype="<u8")
        blocks[:, 0] = ids.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
        digests = _encrypt(key, blocks.tobytes())
    else:
        digests = _hash(key, ids.to_pylist())
    numbers = np.frombuffer(digests, dtype=">u8").reshape(-1, 2)
    return numbers[:, 0].astype(np.uint64), numbers[:, 1].astype(np.uint64)


def _hash(key: bytes, texts: list[str | None]) -> bytes:
    """Hash texts to 16 bytes each by BLAKE2b under a key, which is taken in once for all of them."""
    begun = hashlib.blake2b(digest_size=16, key=key)
    digests = []
    for text in texts:
        own = begun.copy()
        own.update((text or "").encode())
        digests.append(own.digest())
    return b"".join(digests)


def is_whole(kind: Any) -> bool:
    """Whether ids of an Arrow type are whole numbers; the others must be text."""
    import pyarrow

    if pyarrow.types.is_integer(kind):
        return True
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise InputError("the ids of a frame must be whole numbers or text, got others.")
    return False


def _kept(codes: IntArray, high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64], ids: Any) -> Any:
    import pyarrow

    nothing = {"people": pyarrow.nulls(len(codes), "int64"), "name": pyarrow.nulls(len(codes), "string")}
    numbers = {"high": high.view(np.int64), "low": low.view(np.int64)}  # no engine but Arrow has uint64
    return pyarrow.record_batch({"place": codes, **numbers, "id": ids, **nothing})


def _counted(places: list[int], people: list[int], names: list[str | None], sums: IntArray, kind: Any) -> Any:
    import pyarrow

    high, low = ([*half, *[None] * (len(places) - len(half))] for half in sums.tolist())
    return pyarrow.record_batch(
        {
            "place": pyarrow.array(places, "int64"),
            "high": pyarrow.array(high, "int64"),
            "low": pyarrow.array(low, "int64"),
            "id": pyarrow.nulls(len(places), kind),
            "people": pyarrow.array(people, "int64"),
            "name": pyarrow.array(names, "string"),
        }
    )


def _encrypt(key: bytes, blocks: bytes) -> bytes:
    """Encrypt blocks of 16 bytes each by AES-256: a pseudo-random permutation of the ids."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise MissingExtraError("drawing a sample needs", "survey") from None
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return bytes(encryptor.update(blocks) + encryptor.finalize())
