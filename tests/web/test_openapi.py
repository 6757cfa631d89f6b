"""Requests made up from the OpenAPI document: no fault of the server, and answers as documented."""

import json
import re
import subprocess
import sysconfig
from pathlib import Path

import jsonschema
import pytest

from dpstrata.web.endpoints import ENDPOINTS, openapi_document
from extent import few

pytestmark = pytest.mark.slow

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


SUMS, MEAN = {"release": "sums"}, {"release": "mean"}
QUESTIONS = {
    "name": ["smokes", "mood"],
    "kind": ["yes_no", "scale"],
    "lower": [None, 1],
    "upper": [None, 5],
}
DESIGNS = {
    "answers": {},
    "answers, best noise": {"mechanism": "best", "total": None, "at_most": 500},
    "sums": SUMS,
    "sums of devices": {**SUMS, "device_epsilon": 3},
    "mean": MEAN,
    "mean of devices": {**MEAN, "device_epsilon": 3},
    "mean by groups": {**MEAN, "domains": {"side": None}},
    "delta": {"mechanism": "gaussian", "delta": 1e-6},
    "zcdp": {"mechanism": "gaussian", "zcdp": 0.5, "epsilon": None},
    "gdp": {"mechanism": "gaussian", "gdp": 1, "epsilon": None},
    "trace": {"objective": "trace"},
    "target": {"total": None, "target_se": 0.05, "domains": {"side": 0.2}},
    "categories": {"questions": "rent|own|other", "mechanism": "best"},
}
ASKED = {
    "rows": {"mechanism": None},
    "tables": {"mechanism": None, **SUMS, "device_epsilon": 3},
}


def require_as_published(endpoint, reply):
    """Require a success of the published kind, JSON as its published schema says."""
    assert reply.status_code == 200, reply.text
    document = openapi_document()
    content = document["paths"][endpoint.path][endpoint.method.lower()]["responses"]["200"]["content"]
    (kind,) = content
    assert reply.headers["content-type"].split(";")[0] == kind
    if kind == "application/json":
        schema = {**content[kind]["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(reply.json())


def request_of(four, options, questions=None):
    """Ask for a design of the four strata."""
    given = {name: value for name, value in {**four["options"], **options}.items() if value is not None}
    four["strata"]["side"] = ["left", "left", "right", "right"]
    return {**four, "options": given} | ({} if questions is None else {"questionnaire": questions})


@pytest.mark.parametrize("name", [*DESIGNS, *ASKED])
def test_designs_of_every_release_are_as_published(name, client, four):
    options = DESIGNS.get(name, ASKED.get(name))
    request = request_of(four, options, QUESTIONS if name in ASKED else None)
    replies = {}
    # What categories could be protected against instead is refused: sums are of numbers.
    jobs = {"design", "offers", "headline"} | ({"protection"} if name != "categories" else set())
    for endpoint in ENDPOINTS:
        if endpoint.job in jobs:
            query = {"language": "en"} if endpoint.query else {}
            replies[endpoint.job] = client.post(endpoint.path, json=request, params=query)
            require_as_published(endpoint, replies[endpoint.job])
    raw = "release" in options and "device_epsilon" not in options and name not in ASKED
    assert replies["design"].json()["office_sees_raw_answers"] is raw


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.job)
def test_every_endpoint_replies_as_published(endpoint, client, four):
    asked = endpoint.job in ("preview", "question_file")
    request = request_of(four, {"mechanism": None} if asked else {}, QUESTIONS if asked else None)
    bodies = {
        "compare": {"json": {"held": request, "current": request_of(four, SUMS)}},
        "misfits": {"json": {"options": request["options"]}},
        "table": {"content": b"stratum,size\nA,10\n", "params": {"name": "s.csv"}},
        "questions": {"content": b"name,kind\nsmokes,yes_no\n", "params": {"name": "q.csv"}},
        "protection": {"json": request, "params": {"language": "en"}},
    }
    sent = {} if endpoint.method == "GET" else bodies.get(endpoint.job, {"json": request})
    if "content" in sent:
        sent["headers"] = {"content-type": endpoint.takes}
    path = endpoint.path.replace("{name}", client.get("/api/examples").json()["examples"][0]["name"])
    require_as_published(endpoint, client.request(endpoint.method, path, **sent))
