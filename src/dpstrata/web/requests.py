"""What a request may hold. The library checks the values; these models check the shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from dpstrata.web.limits import LIMITS

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
        questions: Questionnaire = OPTIONS["questions"].taken(given.get("questions"))
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
