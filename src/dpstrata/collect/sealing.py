"""Cells sealed to the office: whoever holds its private key opens them, and the collector cannot."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.fielding.keys import LENGTH, read_key
from dpstrata.fielding.sample import ReportKey

_FIELDS = struct.Struct(">IIIQ")  # stratum, part, form, cell: one length for all of them


def read_office_key(path: Path) -> bytes:
    """Read the office's private key."""
    return read_key(path, risk="can open the answers that are sealed, each as its device sent it")


def public_key(private: bytes) -> bytes:
    """Return the public key that belongs to a private one."""
    key: bytes = _x25519().X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return key


def read_public_key(path: Path) -> bytes:
    """Read the office's public key."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        key = b""
    if len(key) != LENGTH:
        raise InputError(f"{path} must hold the office's public key, got something else.", where=str(path))
    return key


class Sealer:
    """Seals cells of one survey.

    Parameters
    ----------
    public : bytes
        The office's public key.
    design : str
        The digest of the design; what was sealed for one survey cannot be opened as part of another.
    """

    def __init__(self, public: bytes, design: str) -> None:
        self._suite, self._info = _suite(), design.encode()
        self._key = _x25519().X25519PublicKey.from_public_bytes(public)

    def seal(self, key: ReportKey, cell: int) -> bytes:
        """Seal a cell with its key; every result has one length, and no two are alike."""
        sealed: bytes = self._suite.encrypt(_FIELDS.pack(*key, cell), self._key, self._info)
        return sealed


class Opener:
    """Opens what was sealed for one survey."""

    def __init__(self, private: bytes, design: str) -> None:
        self._suite, self._info = _suite(), design.encode()
        self._key = _x25519().X25519PrivateKey.from_private_bytes(private)

    def open(self, sealed: bytes) -> tuple[ReportKey, int]:
        """Return the key and the cell.

        Raises
        ------
        InputError
            If it was sealed to another key, or was changed.
        """
        from cryptography.exceptions import InvalidTag

        try:
            *key, cell = _FIELDS.unpack(self._suite.decrypt(sealed, self._key, self._info))
        except (InvalidTag, ValueError, struct.error):
            raise InputError(
                "every sealed answer must open with the office's key, got one that does not: it was changed, "
                "or sealed to another key."
            ) from None
        return ReportKey(*key), cell


def _suite() -> Any:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise MissingExtraError("sealing answers needs", "collect") from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def _x25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ImportError:
        raise MissingExtraError("sealing answers needs", "collect") from None
    return x25519
