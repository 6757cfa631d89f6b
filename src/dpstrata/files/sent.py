"""A file that was sent: its name and its bytes, which need not reach a disk to be read."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path, PurePath


@dataclass(frozen=True, slots=True)
class SentFile:
    """What a reader asks of a path, for bytes in memory.

    Attributes
    ----------
    name : str
        What the sender calls the file; its ending says its kind. It is never used as a path.
    content : bytes
        The file.
    """

    name: str
    content: bytes = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def suffix(self) -> str:
        """The ending of its name."""
        return PurePath(self.name).suffix

    def exists(self) -> bool:
        """Whether it can be read."""
        return True

    def read_text(self, encoding: str) -> str:
        """Return it as text, with plain line ends."""
        return io.TextIOWrapper(io.BytesIO(self.content), encoding=encoding).read()


File = Path | SentFile


def source_of(file: File) -> Path | io.BytesIO:
    """Return what libraries read: a path, or something that behaves like an open file."""
    return io.BytesIO(file.content) if isinstance(file, SentFile) else file
