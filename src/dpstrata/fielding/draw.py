"""What an auditor needs of a draw: digests, counts, method and a commitment to the key, never the key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import open_answers, places, read_people, read_positions
from dpstrata.fielding.frames.base import Frame, stratum_column
from dpstrata.fielding.frames.files import file_digest
from dpstrata.fielding.keys import commitment, new_key, read_key, survey_key, write_key
from dpstrata.fielding.sample import ReportKey, Sample, draw_sample, require_sizes
from dpstrata.files.cells import text_of
from dpstrata.files.tables import read_table
from dpstrata.files.writing import (
    as_path,
    remove_unfinished,
    require_apart,
    require_table_path,
    write_atomically,
    write_table,
)
from dpstrata.version import __version__

FORMAT = "dpstrata.draw"
VERSION = 4
PART, FORM = "part", "form"  # columns of a sample: which part of a stratum, and which form, someone gets


def draw(
    design: str | Path,
    frame: Frame,
    *,
    out: str | Path,
    key_file: str | Path,
    record: str | Path | None = None,
) -> dict[str, Any]:
    """Draw the sample of a design from a frame, and write it with a record for the auditor.

    Parameters
    ----------
    design : path
        The design document.
    frame : Frame
        Everyone, each once.
    out : path
        The sample: ``.csv``, ``.parquet`` or ``.xlsx``, with the columns of the frame that were named, and
        which ``part`` of the stratum and which ``form`` everyone gets.
    key_file : path
        File with the key; created if missing, readable by its owner only. The same key gives the
        same sample, so a draw that was interrupted can be repeated.
    record : path, optional
        The record, by default ``draw.json`` beside the sample.

    Returns
    -------
    dict
        The record.

    Notes
    -----
    Whoever holds the key can tell who is in the sample. Publishing it undoes the amplification of every
    release.
    """
    design, out, key_file = as_path(design, "design"), Path(out), Path(key_file)
    path = out.with_name("draw.json") if record is None else Path(record)
    require_apart(design, *frame.files, key_file, out, path)
    require_table_path(out)
    remove_unfinished(key_file, out, path)  # they would hold a key or a sample
    plan = Design.read(design)
    _require_population(plan, frame)
    made = not key_file.exists()
    key = new_key() if made else read_key(key_file)
    sample = _draw(plan, frame, key)
    if out.exists() and not _is_sample(out, sample, frame):
        raise InputError(f"{out} holds another sample, so it is not replaced.", where=str(out))
    if path.exists() and _digests(path)[:2] != [plan.digest, commitment(key)]:
        raise InputError(
            f"{path} records another draw, so it is not replaced; draw into another folder.", where=str(path)
        )
    if made:  # only now, so that a draw that is refused leaves none behind
        write_key(key_file, key)
    write_table(_columns(sample, frame), out, private=True)
    written = {
        "format": FORMAT,
        "version": VERSION,
        "created_with": __version__,
        "design_digest": plan.digest,
        "frame_digest": sample.frame_digest,
        "sample_digest": _sample_digest(out, key),
        "id": frame.id,
        "stratum": list(frame.stratum),
        "method": sample.method,
        "key_commitment": commitment(key),
        "strata": [
            {"stratum": name, "size": int(size), "sample_size": int(n)}
            for name, size, n in zip(plan.strata.names, plan.strata.sizes, plan.sample_sizes, strict=True)
        ],
    }
    write_atomically(path, (json.dumps(written, indent=1, ensure_ascii=False) + "\n").encode())
    return written


def _require_population(plan: Design, frame: Frame) -> None:
    """Require a sound frame with the strata of the design."""
    summary = frame.summary()
    summary.require_sound(frame.source)
    names = plan.strata.names
    counted = np.array([summary.sizes.get(name, 0) for name in names], dtype=np.int64)
    unknown = {name: number for name, number in summary.sizes.items() if name not in set(names)}
    require_sizes(counted, names, plan.strata.sizes, unknown)


def verify_draw(design: str | Path, frame: Frame, *, sample: str | Path, key_file: str | Path) -> None:
    """Check that a sample is the one that this design, frame and key produce, and that its record agrees.

    Raises
    ------
    InputError
        If it is not; nobody is named.
    """
    plan, sample, key = Design.read(design), Path(sample), read_key(Path(key_file))
    frame.summary().require_sound(frame.source)
    drawn = _draw(plan, frame, key)
    if not _is_sample(sample, drawn, frame):
        raise InputError(
            f"{sample} is not the sample that this design, frame and key produce; name the columns and the "
            "key of the draw, or draw into another folder.",
            where=str(sample),
        )
    record = sample.with_name("draw.json")
    check_record(plan, sample=sample, key=key, record=record)
    if _digests(record)[3] != drawn.frame_digest:
        raise InputError(f"{record} records a different frame, not {frame.source}.", where=str(record))


def check_record(plan: Design, *, sample: Path, key: bytes, record: Path) -> None:
    """Require that a sample is the one of its record, for this design and this key."""
    if _digests(record)[:3] != [plan.digest, commitment(key), _sample_digest(sample, key)]:
        raise InputError(
            f"{sample} is not the sample that {record.name} records for this design and key.",
            where=str(sample),
        )


def drawn_columns(
    sample: Path, id: str | None = None, stratum: str | Sequence[str] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return the columns of the ids and of the strata: those given, or else those of the draw."""
    if id is None or stratum is None:
        recorded = _read_record(sample.with_name("draw.json"), "id", "stratum")
        id, stratum = recorded[0] if id is None else id, recorded[1] if stratum is None else stratum
    return str(id), (stratum,) if isinstance(stratum, str) else tuple(stratum)


def read_sample(sample: Path, plan: Design, *, id: str, stratum: Sequence[str]) -> dict[str, ReportKey]:
    """Read everyone in a sample, with what their report is filed under."""
    table = open_answers(sample)
    people, names = read_people(table, id, (stratum_column(stratum),))
    parts = read_positions(table, PART, 0, 0, "the number of a part")
    forms = read_positions(table, FORM, 1, len(plan.forms), "the number of a form")
    keys = zip(places(plan, names).tolist(), parts, forms, strict=True)
    return {
        person: ReportKey(place, part, form - 1)
        for person, (place, part, form) in zip(people, keys, strict=True)
    }


def _digests(record: Path) -> list[Any]:
    """Read what a record says of design, key, sample and frame."""
    return _read_record(record, "design_digest", "key_commitment", "sample_digest", "frame_digest")


def _read_record(record: Path, *names: str) -> list[Any]:
    """Read what a record says of these."""
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError
        if data["version"] != VERSION:
            raise InputError(
                f"{record} must be the record of a draw of version {VERSION}, got version "
                f"{data['version']!r}. Use the version of dpstrata that drew the sample, or draw again into "
                "another folder.",
                where=str(record),
            )
        return [data[name] for name in names]
    except InputError:  # which is a ValueError too
        raise
    except FileNotFoundError:
        raise InputError(
            f"{record} does not exist: a sample needs the record of its draw beside it.",
            where=str(record),
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{record} is not the record of a draw.", where=str(record)) from None


def _sample_digest(path: Path, key: bytes) -> str:
    """Digest of a sample that tells nothing without the key; who could be in a small one can be tried out."""
    return hashlib.blake2b(
        bytes.fromhex(file_digest(path)), key=survey_key(key, "sample"), digest_size=32
    ).hexdigest()


def _is_sample(path: Path, sample: Sample, frame: Frame) -> bool:
    """Whether a file holds these people in these strata, in any order."""
    given, right = read_table(path).columns, _columns(sample, frame)
    if not set(right) <= set(given):
        return False
    pairs = (
        sorted(zip(*(map(text_of, columns[name]) for name in right), strict=True))
        for columns in (given, right)
    )
    return next(pairs) == next(pairs)


def _draw(plan: Design, frame: Frame, key: bytes) -> Sample:
    return draw_sample(plan, frame, survey_key(key, plan.digest))


def _columns(sample: Sample, frame: Frame) -> dict[str, list[Any]]:
    """Return the sample as columns: the ids, the stratum as one column, and what was dealt."""
    stratum = stratum_column(frame.stratum)
    for name in (PART, FORM):
        if name in (frame.id, stratum):
            raise InputError(
                f"the sample gets a column {name!r}, so no column of the frame may have that name."
            )
    return {frame.id: sample.ids, stratum: sample.strata, PART: sample.parts, FORM: sample.forms}
