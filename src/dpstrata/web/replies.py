"""What the server answers: content with its kind, or an error that a page can show at its place."""

from __future__ import annotations

import json
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


# The kinds of problems that Pydantic finds, or the first words of their names, in our words.
_WANTED = {
    "extra_forbidden": "is not known here",
    "missing": "is missing",
    "int": "must be a whole number",
    "float": "must be a number",
    "finite": "must be a finite number",
    "string": "must be text",
    "bool": "must be true or false",
    "list": "must be a list",
    "dict": "must be an object",
    "model": "must be an object",
}


def _explain_shape(error: ValidationError) -> Reply:
    """Say the first thing that is wrong with the shape of a request, and where."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return reply_error(400, f"the body must be JSON: {first['msg'].removeprefix('Invalid JSON: ')}.")
    loc = first["loc"]
    place = ".".join(str(part) for part in loc if not str(part).startswith(("constrained-", "list[")))
    kind = first["type"].partition("_")[0]
    wrong = _WANTED.get(first["type"], _WANTED.get(kind, f"is not right: {first['msg']}"))
    cells: list[dict[str, Any]] = []
    match loc:
        case ("strata", str(column), int(row), *_):
            place, wrong = f"strata.{column}.{row}", "must be text, a number or empty"
            cells = [{"row": row, "column": column, "message": f"a cell {wrong}."}]
    return reply_error(422, f"{place or 'the body'} {wrong}.", cells)
