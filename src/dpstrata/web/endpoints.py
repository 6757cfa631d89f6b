"""The JSON API as a table, from which routes and the OpenAPI document are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from dpstrata.version import __version__
from dpstrata.web.offers import Against
from dpstrata.web.replies import JSON, ErrorReply, Parts
from dpstrata.web.requests import CompareRequest, DesignRequest, OptionsRequest

BYTES = "application/octet-stream"
CSV = "text/csv"
HTML = "text/html"


class _Reply(BaseModel):
    """What comes back has the fields that are published, and no others."""

    model_config = ConfigDict(extra="forbid")


class Health(_Reply):
    """The server and a worker answer."""

    status: Literal["ok"]
    version: str


class MechanismName(_Reply):
    """What noises an answer."""

    name: str
    title: str


class Figures(_Reply):
    """The figures of a design."""

    total: int = Field(description="People to invite.")
    population: int
    strata_count: int
    objective: str
    variance: float
    standard_error: float | None = Field(description="For the objective mean.")
    margin: float | None = Field(description="Margin of error at the confidence asked for.")
    standard_error_without_privacy: float | None = Field(
        description="If everyone in the sample were asked every question and no noise were added."
    )
    variance_parts: dict[str, float] = Field(
        description="The variance without privacy (sampling) and what privacy adds."
    )
    mechanism: MechanismName
    budget_of: str = Field(description="What the budgets of the strata are called, such as local epsilon.")
    office_epsilon: float | None = Field(
        description="What the office can learn at most; null where it sees raw answers, and for promises "
        "without an epsilon."
    )
    office_sees_raw_answers: bool
    best_total: int | None
    cost: float | None


class DesignReply(Figures):
    """A design in figures, words and charts."""

    headline: str
    notes: list[str] = Field(description="How the number of interviews and the mechanism were chosen.")
    sentences: list[str]
    sentence_parts: list[Parts] = Field(description="The sentences in pieces, like the parts of an error.")
    warnings: list[str]
    warning_parts: list[Parts] = Field(description="The warnings in pieces, like the parts of an error.")
    certificate: dict[str, Any]
    comparison: list[dict[str, Any]]
    privacy: dict[str, Any]
    domains: list[dict[str, Any]] = Field(description="What every group gets, the whole population first.")
    strata: dict[str, list[Any]] = Field(description="Columns of the table of strata.")
    forms: list[dict[str, Any]] = Field(
        description="Who is asked what; a form has no rows where noise is added to answers."
    )
    questions: list[dict[str, Any]] = Field(
        description="How precise every question becomes, and on which form."
    )
    charts: dict[str, dict[str, Any]] = Field(description="Vega-Lite definitions by name.")
    code: dict[str, str] = Field(description="Code for the same design: python and command.")


class Offer(_Reply):
    """Other choices that do better for the same goal, and what they give."""

    options: dict[str, str | float | None] = Field(description="What to ask for instead; the rest stays.")
    mechanism: str
    saves: Literal["total", "cost"] | None = Field(
        description="What the goal asks for little of; null where the offer is more precise."
    )
    total: int
    cost: float | None
    variance: float
    standard_error: float | None
    raw_answers: bool = Field(description="Whether the office would see raw answers.")


class OffersReply(_Reply):
    """What would do better than a design."""

    offers: list[Offer]


class MisfitsReply(_Reply):
    """Mechanisms that do not go with other options."""

    misfits: dict[str, Parts] = Field(description="The reason of each, like the parts of an error.")


class ChartReply(_Reply):
    """One Vega-Lite definition with its data."""

    chart: dict[str, Any]


class PrecisionReply(ChartReply):
    """The precision against the number of interviews."""

    best: int | None = Field(description="Number of interviews beyond which more reduce precision.")


class CompareReply(_Reply):
    """Two plans side by side."""

    figures: list[dict[str, Any]]
    mechanisms: list[str]
    strata: list[dict[str, Any]]
    chart: dict[str, Any] | None = Field(description="Both allocations, where the strata are the same.")


class ProtectionReply(_Reply):
    """Whom a plan protects against, and what the other choices would cost."""

    against: Against = Field(
        description="The public alone; the office too; or everyone, with every noised answer published."
    )
    device_epsilon: float | None = Field(description="Device budget that the choice office is shown with.")
    choices: dict[Against, dict[str, Any]] = Field(description="Figures of each choice that can be made.")
    sentences: list[str] = Field(description="What the promise means for the odds of whoever sees what.")
    consent: dict[str, Any] | None = Field(
        description="What respondents are told, in the language asked for; for promises of pure epsilon."
    )
    languages: dict[str, str] = Field(description="Languages that there are texts in, by code.")


class TableReply(_Reply):
    """A table as it stands, every cell as text."""

    name: str
    is_form: bool = Field(description="Whether it is an XLSForm, to be read as a questionnaire.")
    rows: int
    columns: list[str] = Field(
        description="Names in order, which readers of JSON may lose where one is a number, such as 2024."
    )
    strata: dict[str, list[str]]


class QuestionsReply(_Reply):
    """A questionnaire as a table, every cell as text."""

    name: str
    columns: list[str]
    questionnaire: dict[str, list[str]] = Field(description="Columns as in a questionnaire file.")
    warnings: list[str] = Field(description="Which rows of an XLSForm were left out, and why.")


class PreviewReply(_Reply):
    """Where the respondents' page can be tried out."""

    address: str = Field(description="Path of a page that lists every form; it is dropped for newer ones.")


class ExamplesReply(_Reply):
    """The shipped examples."""

    examples: list[dict[str, str]]


class ExampleReply(_Reply):
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
    query, optional_query : tuple of (str, str)
        Query parameters that are required, and others, with a sentence each.
    """

    method: Literal["GET", "POST"]
    path: str
    job: str
    summary: str
    request: type[BaseModel] | str | None
    reply: type[BaseModel] | str
    query: tuple[tuple[str, str], ...] = ()
    optional_query: tuple[tuple[str, str], ...] = ()

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
        "/api/precision",
        "precision",
        "Chart the precision against the number of interviews.",
        DesignRequest,
        PrecisionReply,
    ),
    Endpoint(
        "POST", "/api/epsilon", "epsilon", "Chart the precision against epsilon.", DesignRequest, ChartReply
    ),
    Endpoint(
        "POST",
        "/api/offers",
        "offers",
        "Mechanisms and releases that would do better for the same goal.",
        DesignRequest,
        OffersReply,
    ),
    Endpoint(
        "POST",
        "/api/misfits",
        "misfits",
        "Mechanisms that do not go with the other options, each with its reason.",
        OptionsRequest,
        MisfitsReply,
    ),
    Endpoint("POST", "/api/compare", "compare", "Compare two plans.", CompareRequest, CompareReply),
    Endpoint(
        "POST",
        "/api/protection",
        "protection",
        "Whom the plan protects against, what the other choices cost, and what respondents are told.",
        DesignRequest,
        ProtectionReply,
        (("language", "Code of the language of the text for respondents, such as en."),),
    ),
    Endpoint(
        "POST",
        "/api/table",
        "table",
        "Read a CSV, Parquet or Excel file into columns of cells.",
        BYTES,
        TableReply,
        (("name", "Name of the file; its ending determines its kind."),),
    ),
    Endpoint(
        "POST",
        "/api/questions",
        "questions",
        "Read an XLSForm or a table of questions into columns of cells.",
        BYTES,
        QuestionsReply,
        (("name", "Name of the file; its ending determines its kind."),),
        (("leave_out", "yes to leave out the rows of an XLSForm that cannot be protected."),),
    ),
    Endpoint("POST", "/api/design.json", "document", "The design document.", DesignRequest, JSON),
    Endpoint("POST", "/api/strata.csv", "strata", "The strata as a strata file.", DesignRequest, CSV),
    Endpoint(
        "POST",
        "/api/questions.csv",
        "question_file",
        "The questions as a questionnaire file.",
        DesignRequest,
        CSV,
    ),
    Endpoint(
        "POST",
        "/api/preview",
        "preview",
        "Preview the respondents' page of a questionnaire.",
        DesignRequest,
        PreviewReply,
    ),
    Endpoint("POST", "/api/report.html", "report", "The report to sign.", DesignRequest, HTML),
    Endpoint("POST", "/api/design.csv", "csv", "The table of strata as CSV.", DesignRequest, CSV),
    Endpoint("GET", "/api/examples", "examples", "List the shipped examples.", None, ExamplesReply),
    Endpoint("GET", "/api/examples/{name}", "example", "The strata of an example.", None, ExampleReply),
)


# --- the OpenAPI document ----------------------------------------------------------------------------

_REFERENCE = "#/components/schemas/{model}"
_ERRORS = {
    "400": "The request is not well formed.",
    "403": "The request comes from another page.",
    "404": "Nothing has that name.",
    "405": "The address does not accept this method.",
    "408": "The body took too long to arrive.",
    "413": "The request is too large, or took too long.",
    "415": "The body has the wrong content type.",
    "422": "The request is understood but cannot be met; the sentence says why, the cells say where.",
    "500": "The server failed; the same request may fail again.",
    "503": "The server is busy; the same request may succeed in a moment.",
}


def openapi_document() -> dict[str, Any]:
    """Describe every endpoint.

    Examples
    --------
    >>> openapi_document()["paths"]["/api/design"]["post"]["operationId"]
    'design'
    """
    models: list[type[BaseModel]] = [ErrorReply]
    for endpoint in ENDPOINTS:
        models += [each for each in (endpoint.request, endpoint.reply) if not _is_text(each)]  # type: ignore[misc]
    _, schemas = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)], ref_template=_REFERENCE
    )
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dpstrata",
            "version": __version__,
            "summary": "The JSON API of the local planner: questions in, designs out.",
            "description": "Refusals have a status of 400 or above and an error as body. With the request "
            "header `Prefer: refusals=in-body` they have status 200 and the answer header "
            "`Preference-Applied`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": required,
            "description": words,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }
        for required, query in ((True, endpoint.query), (False, endpoint.optional_query))
        for name, words in query
    ]
    if "{name}" in endpoint.path:
        parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    operation: dict[str, Any] = {
        "operationId": endpoint.job,
        "summary": endpoint.summary,
        "responses": {
            "200": {"description": endpoint.summary, "content": _content(endpoint.reply)},
            **{
                status: {"description": words, "content": _content(ErrorReply)}
                for status, words in _ERRORS.items()
            },
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.request is not None:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.request)}
    return operation


def _content(what: type[BaseModel] | str) -> dict[str, Any]:
    if isinstance(what, str):
        return {what: {"schema": {"type": "object"} if what == JSON else {"type": "string"}}}
    return {JSON: {"schema": {"$ref": _REFERENCE.format(model=what.__name__)}}}


def _is_text(what: object) -> bool:
    return what is None or isinstance(what, str)
