"""Requests made up from the OpenAPI document: no fault of the server, and answers as documented."""

import json
import re
import subprocess
import sysconfig
from pathlib import Path

from dpstrata.web.openapi import openapi_document
from extent import few

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
METHODS = {"get", "post", "put", "patch", "delete"}


def test_made_up_requests_are_answered_as_documented(server, tmp_path):
    """Schemathesis as a program of its own: inside pytest every worker would make up thousands of requests anew."""
    document = openapi_document()
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    command = [Path(sysconfig.get_path("scripts")) / "schemathesis", "run", "openapi.json", "--no-color"]
    command += ["--url", server.rstrip("/"), "--checks", ",".join(CHECKS)]
    command += [
        "--phases",
        few("examples,fuzzing", of="examples,coverage,fuzzing"),
        "--max-examples",
        str(few(6, of=8)),
        "--generation-deterministic",
    ]
    command += ["--suppress-health-check", "all"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0, ended.stdout
    operations = sum(len(METHODS & set(methods)) for methods in document["paths"].values())
    assert re.search(r"Tested: (\d+)", ended.stdout)[1] == str(operations)
    generated, passed = map(int, re.search(r"(\d+) generated, (\d+) passed", ended.stdout).groups())
    assert generated == passed > few(100, of=1000)
