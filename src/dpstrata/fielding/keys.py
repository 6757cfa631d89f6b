"""Key files: of a draw, whose holder knows the sample, and of a ledger."""

from __future__ import annotations

import hashlib
import secrets
import stat
import warnings
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataWarning, InputError, MissingExtraError
from dpstrata.files.writing import write_new

LENGTH = 32


def new_key() -> bytes:
    """Make up a key."""
    return secrets.token_bytes(LENGTH)


def write_key(path: Path, key: bytes) -> None:
    """Write a key to a file that only its owner may read, and that must not exist yet."""
    write_new(path, (key.hex() + "\n").encode())


def read_key(path: Path, *, risk: str | None = None) -> bytes:
    """Read a key file; ``risk`` says what whoever holds it can do, in a warning if others may read it."""
    try:
        text = path.read_text(encoding="utf-8").strip()
        key = bytes.fromhex(text)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.", where=str(path)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", where=str(path)) from None
    except (ValueError, UnicodeDecodeError):
        key = b""
    if len(key) != LENGTH:
        raise InputError(
            f"{path} is not a key file: it must hold {LENGTH} bytes in hexadecimal digits.", where=str(path)
        )
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        ledger = path.name == "ledger.key"
        risk = risk or ("can find respondents in the ledger" if ledger else "knows the sample")
        warnings.warn(
            DpstrataWarning(
                f"others may read {path}; whoever holds the key {risk}. Restrict it to your account: "
                "chmod 600."
            ),
            stacklevel=2,
        )
    return key


def read_or_make_key(path: Path) -> bytes:
    """Read a key file, or write a new one if there is none."""
    if path.exists():
        return read_key(path)
    key = new_key()
    write_key(path, key)
    return key


def survey_key(key: bytes, design_digest: str) -> bytes:
    """Derive the key of one survey, so that one key file never gives two surveys related samples."""
    hashes, kdf = _cryptography()
    derived: bytes = kdf(
        algorithm=hashes.SHA256(), length=LENGTH, salt=None, info=f"dpstrata draw {design_digest}".encode()
    ).derive(key)
    return derived


def commitment(key: bytes) -> str:
    """Return what may be published: it fixes the key without showing it."""
    return hashlib.sha256(b"dpstrata key commitment" + key).hexdigest()


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise MissingExtraError("drawing a sample needs", "survey") from None
    return hashes, HKDF
