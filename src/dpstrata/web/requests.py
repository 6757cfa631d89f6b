"""What a request may hold. The library checks the values; these models check the shape."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from dpstrata.errors import InputError
from dpstrata.model.answers import Answers, parse_answers
from dpstrata.model.columns import strata_from_columns
from dpstrata.model.strata import Strata
from dpstrata.model.tables import Table
from dpstrata.web.limits import LIMITS

Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63)]
Text = Annotated[StrictStr, Field(max_length=LIMITS.text)]
Cell = Text | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | None
Cells = Annotated[list[Cell], Field(max_length=LIMITS.rows)]
ColumnName = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Options(_Part):
    """The arguments of ``dpstrata.design``; those left out have its defaults."""

    epsilon: Real | None = Field(None, description="Central privacy budget of every person.", examples=[1.0])
    delta: Real = Field(0.0, description="What probabilities may differ by beyond the factor; for gaussian.")
    zcdp: Real | None = Field(None, description="rho of zCDP instead of epsilon; with gaussian.")
    gdp: Real | None = Field(None, description="mu of Gaussian DP instead of epsilon; with gaussian.")
    total: Whole | None = Field(None, description="People to invite in all strata together.", examples=[200])
    at_most: Whole | None = Field(None, description="Most people to invite; fewer if that is better.")
    budget: Real | None = Field(None, description="Most that all invitations may cost.")
    target_se: Real | None = Field(None, description="Standard error to reach.")
    target_margin: Real | None = Field(None, description="Margin of error at confidence to reach.")
    target_cv: Real | None = Field(None, description="Standard error relative to expected_mean to reach.")
    expected_mean: Real | None = Field(
        None, description="Mean that target_cv is relative to; else the column expected_mean."
    )
    mechanism: Text = Field("best", description="Noise mechanism; best picks the most precise one that fits.")
    objective: Literal["mean", "trace", "unit_free", "custom"] = "mean"
    answers: Text | Annotated[list[Real], Field(min_length=2, max_length=3)] | None = Field(
        None,
        description='Lower and upper end, and the step of a grid; or text such as "0:100:1" or "binary". '
        "Left out, 0 and 1 for planning.",
    )
    questions: Whole = Field(1, description="Questions asked of the same people.")
    trust: Literal["local", "curator"] = "local"
    local_epsilon_cap: Real | None = Field(None, description="Most that one noised answer may spend.")
    min_per_stratum: Whole = Field(1, description="Fewest people to invite in a stratum.")
    min_fraction: Real = 0.0
    max_fraction: Real = 1.0
    domains: dict[ColumnName, Real | dict[Text, Real] | None] | None = Field(
        None, description="Columns whose groups are domains, each with what its groups must reach."
    )
    confidence: Real = 0.95
    finite_population: bool = Field(True, strict=True)
    clip: bool = Field(False, strict=True, description="Count answers outside the range as the nearer end.")
    response_rate: Real | None = Field(None, description="Share who would answer, the same in all strata.")
    proportion: Real | None = Field(
        None, description="Expected share of answers at the upper end, the same in all strata."
    )

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of ``dpstrata.design``, those alone that were given."""
        given = self.model_dump(exclude_unset=True, exclude_none=True)
        return given if self.answers is None else {**given, "answers": self.allowed()}

    def allowed(self) -> Answers:
        """Return what can be answered."""
        return parse_answers("0:1" if self.answers is None else self.answers)


class DesignRequest(_Part):
    """Strata as columns of cells, as in a strata file, and the options of the design."""

    strata: dict[ColumnName, Cells] = Field(
        min_length=1,
        max_length=LIMITS.columns,
        description="Cells by column: stratum, size, sd and whatever else a strata file may hold. Numbers "
        "may be text, as typed.",
        examples=[{"stratum": ["A", "B"], "size": [7000, 8000], "sd": [0.283, 0.08]}],
    )
    options: Options

    def read_strata(self) -> Strata:
        """Check the cells and build the strata; every problem is reported with its cell."""
        lengths = {len(cells) for cells in self.strata.values()}
        if len(lengths) > 1:
            raise InputError(
                f"strata must have columns of one length, got lengths from {min(lengths)} to {max(lengths)}."
            )
        columns = {name: list(cells) for name, cells in self.strata.items()}
        table = Table("the strata", columns, lambda row: f"row {row + 1}")
        follows = self.options.proportion is not None
        return strata_from_columns(table, answers=self.options.allowed(), spread_follows=follows)


class CompareRequest(_Part):
    """Two plans to set side by side."""

    held: DesignRequest
    current: DesignRequest
