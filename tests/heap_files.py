"""Tuples of PostgreSQL tables as they lie in their files, the dead ones too (what pageinspect shows)."""

import struct
from pathlib import Path
from typing import NamedTuple

_PAGE, _HEADER, _NORMAL = 8192, 24, 1


class Tuple(NamedTuple):
    """Who wrote it, who deleted it or wrote its next version, and what is in it."""

    xmin: int
    xmax: int
    content: bytes


def tuples(connection, table):
    """Every tuple of a table that is still in its file."""
    connection.execute("CHECKPOINT")
    folder = connection.execute("SHOW data_directory").fetchone()[0]
    path = connection.execute("SELECT pg_relation_filepath(%s)", (table,)).fetchone()[0]
    content = (Path(folder) / path).read_bytes()
    found = []
    for start in range(0, len(content), _PAGE):
        page = content[start : start + _PAGE]
        (lower,) = struct.unpack_from("<H", page, 12)
        for place in range(_HEADER, lower, 4):
            (pointer,) = struct.unpack_from("<I", page, place)
            offset, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
            if flags == _NORMAL:
                found.append(Tuple(*struct.unpack_from("<II", page, offset), page[offset : offset + length]))
    return found
