"""Print the JSON Schema of the design document: ``python -m dpstrata.model.schema``."""

import json

from dpstrata.model.document import FORMAT, DesignDocument
from dpstrata.model.inputs import FORMULAS


def design_schema() -> str:
    """Return the schema as JSON text."""
    dialect = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{FORMULAS}",
    }
    return json.dumps(dialect | DesignDocument.model_json_schema(), indent=1) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(design_schema())
