"""Print what is made from the model for others: ``python -m dpstrata.designs.schema``.

Without a word it is the JSON Schema of the design document; with ``options``, the options as the page reads
them.
"""

import json
from typing import Any

from dpstrata.designs.document import FORMAT, VERSION
from dpstrata.designs.document_shape import DesignDocument
from dpstrata.survey.option_models import range_of
from dpstrata.survey.options import OPTIONS

_TYPES: dict[type, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}


def design_schema() -> str:
    """Return the schema as JSON text."""
    dialect = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
    }
    return json.dumps(dialect | DesignDocument.model_json_schema(), indent=1) + "\n"


def options_json() -> str:
    """Return every option of a design with its type, default and limits, as JSON text."""
    options: dict[str, dict[str, Any]] = {
        name: {
            **({"type": _TYPES[each.kind]} if each.kind in _TYPES else {}),
            "default": each.default,
            **range_of(each),
        }
        for name, each in OPTIONS.items()
    }
    return json.dumps(options, indent=1) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(options_json() if sys.argv[1:] == ["options"] else design_schema())
