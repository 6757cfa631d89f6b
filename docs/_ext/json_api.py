"""The reference of the planner's JSON API, from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from md_table import table
from schema_tables import kind_of, object_table

from dpstrata.web.endpoints import openapi_document


def json_api_page() -> str:
    """Describe every request, and every object that requests and answers hold."""
    document = openapi_document()
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    refusals = {
        status: reply
        for _, _, operation in operations
        for status, reply in operation["responses"].items()
        if status >= "400"
    }
    parts = ["## Refusals", document["info"].get("description", ""), _replies(refusals), "## Requests"]
    parts += [_operation(*each) for each in operations]
    parts.append("## Objects")
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        parts.append(f"### {name}\n\n{schema.get('description', '')}\n\n{object_table(schema)}")
    return "\n\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [f"### {method} {path}", operation.get("summary", ""), operation.get("description", "")]
    if operation.get("parameters"):
        rows = [
            [f"`{each['name']}`", each["in"], each.get("description", "")] for each in operation["parameters"]
        ]
        lines.append(table(["parameter", "where", "meaning"], rows))
    if "requestBody" in operation:
        lines.append(f"**Body:** {_contents(operation['requestBody'])}")
    for status, reply in operation["responses"].items():
        if status < "400":
            lines.append(f"**Answer:** {_contents(reply)}")
    return "\n\n".join(lines)


def _replies(replies: dict[str, Any]) -> str:
    rows = [
        [status, _contents(reply), reply.get("description", "")] for status, reply in sorted(replies.items())
    ]
    return table(["status", "body", "meaning"], rows)


def _contents(part: dict[str, Any]) -> str:
    kinds = part.get("content", {}).items()
    return "; ".join(f"`{media}`: {kind_of(each.get('schema', {}))}" for media, each in kinds)
