"""What the server answers: content with its kind, or an error that a page can show at its place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpstrata.errors import DpstrataError, StrataError

JSON = "application/json"
SHOWN_CELLS = 1000


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes
    ----------
    content : bytes
        The body.
    status : int
        The HTTP status.
    kind : str
        The media type.
    name : str or None
        The file name of a download.
    """

    content: bytes
    status: int = 200
    kind: str = JSON
    name: str | None = None


class RefusedError(Exception):
    """A request that is refused, with its status and a sentence for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CellError(BaseModel):
    """What is wrong with one cell."""

    row: int = Field(description="Counted from 0, without the header.")
    column: str
    message: str


class ErrorBody(BaseModel):
    """A sentence, and the cells it is about, if any."""

    message: str
    cells: list[CellError]


class ErrorReply(BaseModel):
    """Every answer that is not a success."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})
    error: ErrorBody


def reply_json(data: Any, status: int = 200) -> Reply:
    """Answer with JSON; what JSON cannot hold is a fault of the program."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Reply(text.encode(), status)


def reply_error(status: int, message: str, cells: list[dict[str, Any]] | None = None) -> Reply:
    """Answer with an error."""
    # A stray half of a surrogate pair, quoted in a message, must not break the answer.
    plain = message.encode("utf-8", "replace").decode()
    return reply_json({"error": {"message": plain, "cells": cells or []}}, status)


def explain(error: Exception) -> Reply | None:
    """Turn an error that a request can cause into an answer; ``None`` for any other."""
    match error:
        case RefusedError():
            return reply_error(error.status, str(error))
        case ValidationError():
            return _explain_shape(error)
        case StrataError():
            cells = [cell._asdict() for cell in error.cells[:SHOWN_CELLS]]
            return reply_error(422, str(error), cells)
        case DpstrataError():
            return reply_error(422, str(error))
        case MemoryError():
            return reply_error(413, "the request needs more memory than one request may use.")
    return None


# The kinds of problems that Pydantic finds, in our words.
_WANTED = {
    "extra_forbidden": "is not known here",
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def _explain_shape(error: ValidationError) -> Reply:
    """Say the first thing that is wrong with the shape of a request, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return reply_error(400, f"the body must be JSON: {first['msg'].removeprefix('Invalid JSON: ')}.")
    loc = first["loc"]
    # Pydantic also names the branch of a union that it tried.
    branches = re.compile(r"constrained-.*|(list|dict)\[.*|\[key\]|float|str")
    place = ".".join(str(part) for part in loc if not branches.fullmatch(str(part)))
    said = first["msg"].replace("Input should be", "must be", 1)
    other = said if said.startswith("must be") else f"is not right: {said}"
    wanted = _WANTED.get(first["type"])
    wrong = other if wanted is None else wanted.format(**first.get("ctx", {}))
    cells: list[dict[str, Any]] = []
    match loc:
        case ("options", "answers", *_) if not first["type"].endswith("too_long"):
            place, wrong = "options.answers", "must be text, or lower and upper, or lower, upper and step"
        case ("strata", str(column), int(row), *_):
            place = f"strata.{column}.{row}"
            wrong = wrong if first["type"] == "string_too_long" else "must be text, a number or empty"
            cells = [{"row": row, "column": column, "message": f"a cell {wrong}."}]
    return reply_error(422, f"{place or 'the body'} {wrong}.", cells)
