"""The OpenAPI document of the JSON API, made from the table of endpoints."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dpstrata.version import __version__
from dpstrata.web.endpoints import ENDPOINTS, Endpoint
from dpstrata.web.replies import JSON, ErrorReply

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
            "required": True,
            "description": words,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }
        for name, words in endpoint.query
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
