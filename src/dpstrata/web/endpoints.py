"""The JSON API as a table: routes and the OpenAPI document both come from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from dpstrata.web.replies import JSON, Parts
from dpstrata.web.requests import CompareRequest, DesignRequest

BYTES = "application/octet-stream"
CSV = "text/csv"
HTML = "text/html"


class Health(BaseModel):
    """The server and a worker answer."""

    status: Literal["ok"]
    version: str


class MechanismName(BaseModel):
    """What noises an answer."""

    name: str
    title: str


class Figures(BaseModel):
    """The figures of a design."""

    total: int = Field(description="People to invite.")
    population: int
    strata_count: int
    objective: str
    variance: float
    standard_error: float | None = Field(description="For the objective mean.")
    margin: float | None = Field(description="Margin of error at the confidence asked for.")
    variance_parts: dict[str, float] = Field(description="The variance from sampling and from privacy.")
    mechanism: MechanismName
    largest_local_epsilon: float | None
    best_total: int | None
    cost: float | None


class DesignReply(Figures):
    """A design in figures, words and charts."""

    headline: str = Field(description="Does not say how many interviews Neyman's allocation would need.")
    notes: list[str] = Field(description="How the number of interviews and the mechanism were chosen.")
    sentences: list[str]
    warnings: list[str]
    warning_parts: list[Parts] = Field(description="The warnings in pieces, like the parts of an error.")
    certificate: dict[str, Any]
    comparison: list[dict[str, Any]]
    privacy: dict[str, Any]
    strata: dict[str, list[Any]] = Field(description="Columns of the table of strata.")
    charts: dict[str, dict[str, Any]] = Field(description="Vega-Lite definitions by name.")
    code: dict[str, str] = Field(description="Code for the same design: python and command.")


class HeadlineReply(BaseModel):
    """The headline in full."""

    headline: str


class ChartReply(BaseModel):
    """One Vega-Lite definition with its data."""

    chart: dict[str, Any]


class PrecisionReply(ChartReply):
    """The precision against the number of interviews."""

    best: int | None = Field(description="Number of interviews beyond which more reduce precision.")


class CompareReply(BaseModel):
    """Two plans side by side."""

    figures: list[dict[str, Any]]
    mechanisms: list[str]
    strata: list[dict[str, Any]]
    chart: dict[str, Any] | None = Field(description="Both allocations, where the strata are the same.")


class TableReply(BaseModel):
    """A table as it stands, every cell as text."""

    name: str
    rows: int
    strata: dict[str, list[str]]


class ExamplesReply(BaseModel):
    """The shipped examples."""

    examples: list[dict[str, str]]


class ExampleReply(BaseModel):
    """One of them."""

    name: str
    title: str
    about: str
    strata: dict[str, list[str]]
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of the API.

    Attributes
    ----------
    method, path : str
        How it is reached.
    job : str
        What is done, by its name in ``jobs``.
    summary : str
        One sentence.
    request : model, media type or None
        What is sent: JSON of that model, or bytes.
    reply : model or media type
        What comes back.
    query : mapping
        Query parameters, all required, with a sentence each.
    """

    method: Literal["GET", "POST"]
    path: str
    job: str
    summary: str
    request: type[BaseModel] | str | None
    reply: type[BaseModel] | str
    query: tuple[tuple[str, str], ...] = ()

    @property
    def takes(self) -> str | None:
        """Media type of what is sent."""
        return self.request if self.request is None or isinstance(self.request, str) else JSON


ENDPOINTS = (
    Endpoint("GET", "/api/health", "health", "Report that the server and a worker respond.", None, Health),
    Endpoint(
        "POST", "/api/design", "design", "Design: figures, words, charts, code.", DesignRequest, DesignReply
    ),
    Endpoint(
        "POST",
        "/api/headline",
        "headline",
        "The headline, with how many interviews Neyman's allocation would need.",
        DesignRequest,
        HeadlineReply,
    ),
    Endpoint(
        "POST",
        "/api/precision",
        "precision",
        "Chart the precision against the number of interviews.",
        DesignRequest,
        PrecisionReply,
    ),
    Endpoint(
        "POST", "/api/epsilon", "epsilon", "Chart the precision against epsilon.", DesignRequest, ChartReply
    ),
    Endpoint("POST", "/api/compare", "compare", "Compare two plans.", CompareRequest, CompareReply),
    Endpoint(
        "POST",
        "/api/table",
        "table",
        "Read a CSV, Parquet or Excel file into columns of cells.",
        BYTES,
        TableReply,
        (("name", "Name of the file; its ending determines its kind."),),
    ),
    Endpoint("POST", "/api/design.json", "document", "The design document.", DesignRequest, JSON),
    Endpoint("POST", "/api/strata.csv", "strata", "The strata as a strata file.", DesignRequest, CSV),
    Endpoint("POST", "/api/report.html", "report", "The report to sign.", DesignRequest, HTML),
    Endpoint("POST", "/api/design.csv", "csv", "The table of strata as CSV.", DesignRequest, CSV),
    Endpoint("GET", "/api/examples", "examples", "List the shipped examples.", None, ExamplesReply),
    Endpoint("GET", "/api/examples/{name}", "example", "The strata of an example.", None, ExampleReply),
)
