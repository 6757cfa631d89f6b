"""What the server answers: content with its kind, or an error that a page can show at its place."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpstrata.errors import (
    CellMistake,
    DpstrataError,
    Mention,
    MistakesError,
    QuestionnaireError,
    Sentence,
    option,
)

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


TableName = Literal["strata", "questionnaire"]


class CellError(BaseModel):
    """What is wrong with one cell."""

    table: TableName
    row: int = Field(description="Counted from 0, without the header.")
    column: str
    message: str


class OptionNamed(BaseModel):
    """An option that a sentence mentions."""

    option: str
    value: str | None = Field(description="As Python writes it; null where the option alone is meant.")


Parts = list[str | OptionNamed]


class Nearest(BaseModel):
    """The value of an option nearest to the one asked for that a design can meet."""

    option: str
    value: float


class ErrorBody(BaseModel):
    """A sentence, and what it is about: an option or cells, if any."""

    message: str
    argument: str | None = Field(description="The option that it is about.")
    parts: Parts = Field(
        description="The message in pieces, so that options can be named as their reader knows them."
    )
    cells: list[CellError]
    nearest: Nearest | None = Field(description="What could be asked for instead, where that is known.")


class ErrorReply(BaseModel):
    """Every answer that is not a success."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})
    error: ErrorBody


def reply_json(data: Any, status: int = 200) -> Reply:
    """Answer with JSON; what JSON cannot hold is a fault of the program."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Reply(text.encode(), status)


def reply_error(
    status: int,
    message: str,
    *,
    argument: str | None = None,
    cells: list[dict[str, Any]] | None = None,
    nearest: float | None = None,
) -> Reply:
    """Answer with an error, about an option or cells if there are any."""
    # A stray half of a surrogate pair, quoted in a message, must not break the answer.
    sentence = Sentence(Sentence(message).marked.encode("utf-8", "replace").decode())
    near = None if nearest is None or argument is None else {"option": argument, "value": nearest}
    about = {"argument": argument, "parts": parts_of(sentence), "cells": cells or [], "nearest": near}
    return reply_json({"error": {"message": sentence, **about}}, status)


def parts_of(sentence: str) -> list[Any]:
    """Take a sentence apart: pieces of text, and the options between them."""
    return [
        {"option": part.name, "value": part.value} if isinstance(part, Mention) else part
        for part in Sentence(sentence).parts
    ]


def explain(error: Exception) -> Reply | None:
    """Turn an error that a request can cause into an answer; ``None`` for any other."""
    match error:
        case RefusedError():
            return reply_error(error.status, str(error))
        case ValidationError():
            return _explain_shape(error)
        case MistakesError():
            table: TableName = "questionnaire" if isinstance(error, QuestionnaireError) else "strata"
            cells = _in_table(table, error.cells[:SHOWN_CELLS])
            return reply_error(422, error.sentence, argument=None if cells else error.argument, cells=cells)
        case DpstrataError():
            nearest, cell = getattr(error, "nearest", None), getattr(error, "cell", None)
            cells = _in_table("questionnaire", () if cell is None else (cell,))
            return reply_error(422, error.sentence, argument=error.argument, cells=cells, nearest=nearest)
        case MemoryError():
            return reply_error(413, "the request needs more memory than one request may use.")
    return None


def _in_table(table: TableName, cells: Sequence[CellMistake]) -> list[dict[str, Any]]:
    return [{"table": table, **cell._asdict()} for cell in cells]


# The kinds of mistakes that Pydantic finds, in our words.
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
    refused = first.get("ctx", {}).get("error")
    if isinstance(refused, DpstrataError):  # what the library says about it
        return reply_error(422, refused.sentence, argument=refused.argument)
    loc = first["loc"]
    place, argument = _place(loc)
    said = first["msg"].replace("Input should be", "must be", 1)
    other = said if said.startswith("must be") else f"is not right: {said}"
    wanted = _WANTED.get(first["type"])
    wrong = other if wanted is None else wanted.format(**first.get("ctx", {}))
    cells: list[dict[str, Any]] = []
    if argument == "questions" and not first["type"].endswith("too_long"):
        place, _ = _place(loc[: loc.index("questions") + 1])
        wrong = "must be text, or lower and upper, or lower, upper and step"
    match loc:
        case ("strata" | "questionnaire" as table, str(column), int(row), *_):
            place = f"{table}.{column}.{row}"
            wrong = wrong if first["type"] == "string_too_long" else "must be text, a number or empty"
            cells = _in_table(table, [CellMistake(row, column, f"a cell {wrong}.")])
    return reply_error(422, f"{place} {wrong}.", argument=argument, cells=cells)


# Pydantic also names the branch of a union that it tried.
_BRANCHES = re.compile(r"constrained-.*|(list|dict)\[.*|\[key\]|float|str")


def _place(loc: Sequence[str | int]) -> tuple[str, str | None]:
    """Name a place in a request, and the option that it is or lies in.

    Examples
    --------
    >>> _place(("strata", "size", 0)), _place(())
    (('strata.size.0', None), ('the body', None))
    >>> place, argument = _place(("held", "options", "domains", "region"))
    >>> Sentence(place), argument
    ('held: domains.region', 'domains')
    """
    parts = [str(part) for part in loc if not _BRANCHES.fullmatch(str(part))]
    outside = list(itertools.takewhile(lambda part: part not in ("strata", "options"), parts))
    match parts[len(outside) :]:
        case ["options", name, *inside] if re.fullmatch(r"\w+", name):
            before = "".join(f"{part}: " for part in outside)
            return before + ".".join([option(name), *inside]), name
    return ".".join(parts) or "the body", None
