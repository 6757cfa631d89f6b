"""What a request may hold, and how much. The library checks the values; these models check the shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from dpstrata.designs.document_shape import Number, model_of
from dpstrata.errors import InputError
from dpstrata.files.tables import Table
from dpstrata.survey.options import OPTIONS
from dpstrata.survey.questionnaires.questionnaire import (
    Questionnaire,
    questionnaire_from_table,
    read_shorthand,
)
from dpstrata.survey.strata import Strata, strata_from_table


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server.

    Attributes
    ----------
    body_bytes : int
        Largest body of a request, counted while it is read.
    body_seconds, work_seconds : float
        Longest time to send a body, and to work on a request; a worker that takes longer is replaced.
    rows, columns, text : int
        Most strata, most columns, and longest text in a cell.
    questions : int
        Most questions of a questionnaire.
    previews, preview_bytes : int
        Most previews of the respondents' page that are kept, and most that their kits may take together.
    unpacked_bytes : int
        Most that a spreadsheet may unpack to.
    workers : int
        Processes that work on requests, one request each at a time.
    waiting : int
        Most requests that wait for a worker.
    held_bytes : int
        Most that the bodies of all requests together may take, while they are read and while they wait.
    patience : float
        Seconds of work after which it is stopped if nobody waits for it any more; before, finishing it is
        quicker than starting another worker.
    worker_bytes : int
        Most memory that a worker may allocate, where the system can hold it to that.
    kept_bytes : int
        Most memory that a worker may keep after a request; one with more is replaced, so that every request
        finds nearly all of ``worker_bytes``.
    """

    body_bytes: int = 16 * 2**20
    body_seconds: float = 30.0
    work_seconds: float = 20.0
    rows: int = 100_000
    columns: int = 60
    text: int = 1_000
    questions: int = 200
    previews: int = 20
    preview_bytes: int = 32 * 2**20
    unpacked_bytes: int = 200 * 2**20
    workers: int = 2
    waiting: int = 200
    held_bytes: int = 96 * 2**20
    patience: float = 2.0
    worker_bytes: int = 4 * 2**30
    kept_bytes: int = 512 * 2**20


LIMITS = Limits()
Text = Annotated[StrictStr, Field(max_length=LIMITS.text)]
Cell = Text | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | None
Cells = Annotated[list[Cell], Field(max_length=LIMITS.rows)]
ColumnName = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read a request; a key that appears twice is refused, where JSON would keep the last."""
        request = cls.model_validate_json(body)
        json.loads(body, object_pairs_hook=_require_different, parse_int=str)
        return request


def _require_different(pairs: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"every key of an object must be different, got {twice[:200]!r} twice.")


class GivenOptions(_Request):
    """The arguments of ``dpstrata.design``; those left out have its defaults."""

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of ``dpstrata.design``, those alone that were given."""
        given = self.model_dump(exclude_unset=True, exclude_none=True)
        if "questions" in given:  # never a file: one of the server's own
            given["questions"] = read_shorthand(given["questions"])
        return given


if TYPE_CHECKING:
    Options = GivenOptions
else:
    Options = model_of(
        "Options",
        GivenOptions,
        OPTIONS.values(),
        forms={
            **{name: Text for name, each in OPTIONS.items() if each.choices},
            "questions": Text | Annotated[list[Number], Field(min_length=2, max_length=3)] | None,
            "domains": dict[ColumnName, Number | Text | dict[Text, Number | Text] | None],
            "classes": list[ColumnName],
        },
        required=False,
    )


class DesignRequest(_Request):
    """Strata as columns of cells, as in a strata file, and the options of the design."""

    strata: dict[ColumnName, Cells] = Field(
        min_length=1,
        max_length=LIMITS.columns,
        description="Cells by column: stratum, size, sd and whatever else a strata file may hold. Numbers "
        "may be text, as typed.",
        examples=[{"stratum": ["A", "B"], "size": [7000, 8000], "sd": [0.283, 0.08]}],
    )
    options: Options
    questionnaire: dict[ColumnName, Annotated[list[Cell], Field(max_length=LIMITS.questions)]] | None = Field(
        default=None,
        max_length=LIMITS.columns,
        description="Cells by column, as in a questionnaire file; left out for a single question.",
        examples=[
            {
                "name": ["smokes", "age"],
                "kind": ["yes_no", "number"],
                "lower": [None, 18],
                "upper": [None, 99],
            }
        ],
    )

    def read_questions(self) -> Questionnaire | None:
        """Check the cells and build the questionnaire; every mistake is reported with its row."""
        if self.questionnaire is None:
            return None
        return questionnaire_from_table(_table("the questionnaire", self.questionnaire, "question"))

    def read_arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of ``dpstrata.design``, with questions from wherever they are."""
        given, questionnaire = self.options.arguments(), self.read_questions()
        if questionnaire is None:
            return given
        if "questions" in given:
            raise InputError("the questions must be a table or an option, got both.", argument="questions")
        return {**given, "questions": questionnaire}

    def read_strata(self) -> Strata:
        """Check the cells and build the strata; every mistake is reported with its cell."""
        given = self.read_arguments()
        questions: Questionnaire = OPTIONS["questions"].read(given.get("questions"))
        alone = questions[0] if len(questions) == 1 else None
        follows = "proportion" in given or self.questionnaire is not None
        table = _table("the strata", self.strata, "row")
        return strata_from_table(table, question=alone, spread_follows=follows)


class OptionsRequest(_Request):
    """The options of a design, without strata."""

    options: Options


def _table(what: str, columns: Mapping[str, Sequence[Any]], row_name: str) -> Table:
    """Take columns of cells as a table."""
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise InputError(
            f"{what} must have columns of one length, got lengths from {min(lengths)} to {max(lengths)}."
        )
    cells = {name: list(each) for name, each in columns.items()}
    return Table(what, cells, lambda row: f"{row_name} {row + 1}")


class CompareRequest(_Request):
    """Two plans to set side by side."""

    held: DesignRequest
    current: DesignRequest
