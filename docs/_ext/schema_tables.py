"""Tables of a JSON Schema: what each object of a document or of the API holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from md_table import table


def schema_page(path: Path) -> str:
    """Describe the schema in a file: the document first, its parts after."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    parts = {"The document": schema, **schema["$defs"]}
    return "\n\n".join(_part(name, part) for name, part in parts.items())


def _part(name: str, schema: Mapping[str, Any]) -> str:
    return f"### {name}\n\n{schema.get('description', '')}\n\n{object_table(schema)}"


def object_table(schema: Mapping[str, Any]) -> str:
    """List the fields of an object."""
    required = set(schema.get("required", []))
    described = any("description" in each for each in schema.get("properties", {}).values())
    header = ["field", "kind", "always there"] + ["meaning"] * described
    rows = [
        [f"`{name}`", kind_of(each), "yes" if name in required else "no"]
        + [each.get("description", "")] * described
        for name, each in schema.get("properties", {}).items()
    ]
    return table(header, rows)


def kind_of(schema: Mapping[str, Any]) -> str:
    """Say in words what a value may be.

    Examples
    --------
    >>> kind_of({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'integer, at least 1, or null'
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return ", or ".join(kind_of(each) for each in schema["anyOf"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        places = schema.get("prefixItems")
        inside = ", ".join(map(kind_of, places)) if places else kind_of(schema.get("items", {}))
        return f"list of {inside}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind_of(schema['additionalProperties'])}"
    return str(kind) + "".join(_limits(schema))


def _limits(schema: Mapping[str, Any]) -> list[str]:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    return [f", {text} {schema[key]:g}" for key, text in words.items() if key in schema]
