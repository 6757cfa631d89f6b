"""What an auditor needs of a draw: digests, counts, method and a commitment to the key, never the key."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.document import read_design
from dpstrata.model.output import write_atomically, write_table
from dpstrata.model.tables import read_table
from dpstrata.survey.drawing import Sample, draw_sample
from dpstrata.survey.frames import Frame
from dpstrata.survey.keys import commitment, new_key, read_key, survey_key
from dpstrata.version import __version__

FORMAT = "dpstrata.draw"


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
        The sample: ``.csv``, ``.parquet`` or ``.xlsx``, with the columns of the frame that were named.
    key_file : path
        Where the key is; it is made if it does not exist, readable by its owner alone. The same key gives the
        same sample, so a draw that was interrupted can be repeated.
    record : path, optional
        The record, by default ``draw.json`` beside the sample.

    Returns
    -------
    dict
        The record.

    Notes
    -----
    Who holds the key knows the sample. Publishing it undoes the amplification of whatever was released.
    """
    design, out, key_file = Path(design), Path(out), Path(key_file)
    plan = read_design(design)
    frame.summary().require_sound(frame.path)
    key = read_key(key_file) if key_file.exists() else new_key(key_file)
    sample = _draw(plan, design, frame, key)
    write_table(_columns(sample, frame), out)
    written = {
        "format": FORMAT,
        "version": 1,
        "created_with": __version__,
        "design_digest": file_digest(design),
        "frame_digest": file_digest(frame.path),
        "sample_digest": file_digest(out),
        "id": frame.id,
        "stratum": list(frame.stratum),
        "method": sample.method,
        "key_commitment": commitment(key),
        "strata": [
            {"stratum": name, "size": int(size), "sample_size": int(n)}
            for name, size, n in zip(plan.strata.names, plan.strata.sizes, plan.sample_sizes, strict=True)
        ],
    }
    path = out.with_name("draw.json") if record is None else Path(record)
    write_atomically(path, (json.dumps(written, indent=1, ensure_ascii=False) + "\n").encode())
    return written


def verify_draw(design: str | Path, frame: Frame, *, sample: str | Path, key_file: str | Path) -> None:
    """Check that a sample is the one that design, frame and key give.

    Raises
    ------
    InputError
        If it is not; nobody is named.
    """
    plan = read_design(design)
    right = _columns(_draw(plan, Path(design), frame, read_key(Path(key_file))), frame)
    given = read_table(Path(sample)).columns
    for name, cells in right.items():
        if name not in given:
            raise InputError(f"{sample} must have the column {name!r}.")
        if sorted(map(str, given[name])) != sorted(map(str, cells)):
            raise InputError(f"{sample} is not the sample that design, frame and key give.")


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _draw(plan: Design, design: Path, frame: Frame, key: bytes) -> Sample:
    return draw_sample(plan, frame, survey_key(key, file_digest(design)))


def _columns(sample: Sample, frame: Frame) -> dict[str, list[Any]]:
    """Return the sample as columns: the ids, and the stratum as one column."""
    name = frame.stratum[0] if len(frame.stratum) == 1 else "stratum"
    return {frame.id: sample.ids, name: sample.strata}
