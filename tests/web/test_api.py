"""Every endpoint answers what the library answers."""

import csv
import inspect
import io
import json

import pytest

import dpstrata as dps
from dpstrata.designs.document import to_json
from dpstrata.present.report.words import headline
from dpstrata.web.endpoints import ENDPOINTS
from dpstrata.web.examples import EXAMPLES


@pytest.fixture
def plan(four):
    columns = four["strata"]
    strata = dps.Strata(columns["size"], columns["sd"], names=columns["stratum"])
    return dps.design(strata, **four["options"])


def test_health(client):
    assert client.get("/api/health").json() == {"status": "ok", "version": dps.__version__}


def test_design_gives_the_figures_of_the_library(client, four, plan):
    reply = client.post("/api/design", json=four).json()
    assert reply["strata"]["sample_size"] == [62, 43, 45, 50] == plan.sample_sizes.tolist()
    assert reply["standard_error"] == plan.standard_error
    assert reply["total"] == 200
    assert reply["variance_parts"]["privacy"] == plan.variance_parts.privacy
    assert reply["certificate"]["optimal"] is True
    assert [row["ratio"] for row in reply["comparison"]] == [row.ratio for row in plan.compare()]
    assert set(reply["charts"]) == {"allocation", "parts", "budgets"}
    assert reply["charts"]["allocation"] == dps.plot(plan).spec
    assert reply["warnings"] == []


def test_numbers_may_be_text_as_typed(client, four):
    wanted = client.post("/api/design", json=four).json()
    four["strata"] = {name: [str(cell) for cell in cells] for name, cells in four["strata"].items()}
    assert client.post("/api/design", json=four).json() == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0.1, "at_most": 5000},
        {"epsilon": 1, "target_se": 0.02},
        {"epsilon": 1, "target_margin": 0.05, "confidence": 0.9},
        {"epsilon": 1, "total": 200, "mechanism": "best"},
        {"epsilon": 1, "total": 200, "questions": "yes_no", "mechanism": "randomized_response"},
        {"epsilon": 1, "total": 200, "questions": "rent|own|other", "mechanism": "category_response"},
        {"epsilon": 1, "total": 200, "objective": "trace", "local_epsilon_cap": 4},
        {"epsilon": 1, "total": 200, "release": "sums"},
        {"epsilon": 1, "total": 200, "release": "sums", "device_epsilon": 3},
        {"epsilon": 1, "delta": 1e-6, "total": 200, "mechanism": "gaussian"},
        {"zcdp": 0.5, "total": 200, "mechanism": "gaussian"},
        {"epsilon": 1, "total": 200, "min_per_stratum": 10, "max_fraction": 0.5},
    ],
)
def test_every_question_that_the_library_answers(client, four, options):
    columns = four["strata"]
    strata = dps.Strata(columns["size"], columns["sd"], names=columns["stratum"])
    plan = dps.design(strata, **options)
    four["options"] = options
    reply = client.post("/api/design", json=four).json()
    assert reply["strata"]["sample_size"] == plan.sample_sizes.tolist()
    assert reply["variance"] == plan.variance
    assert reply["mechanism"]["name"] == plan.inputs.mechanism
    for path in ("/api/precision", "/api/epsilon"):
        answered = client.post(path, json=four)
        assert answered.status_code == (422 if "zcdp" in options and path == "/api/epsilon" else 200), (
            answered.text
        )


def test_the_figures_say_what_the_sample_would_give_without_privacy(client, four, strata):
    plan = dps.design(strata, **four["options"])
    reply = client.post("/api/design", json=four).json()
    assert reply["standard_error_without_privacy"] == plan.standard_error_without_privacy
    assert reply["comparison"][1]["standard_error_without_privacy"] < reply["comparison"][1]["standard_error"]
    assert reply["headline"] == headline(plan)


def test_curves_hold_the_plan_and_the_best_number(client, four):
    four["options"]["epsilon"] = 0.1
    reply = client.post("/api/precision", json=four).json()
    assert reply["best"] == 972
    rows = [row for layer in reply["chart"]["layer"] for row in layer["data"]["values"]]
    assert {200, 972} <= {row["total"] for row in rows}
    chart = client.post("/api/epsilon", json=four).json()["chart"]
    assert 0.1 in {row["epsilon"] for layer in chart["layer"] for row in layer["data"]["values"]}


def test_one_value_for_all_strata(client, four):
    del four["strata"]["sd"]
    rows = len(four["strata"]["size"])
    four["options"] |= {"response_rate": 0.6, "proportion": 0.08, "questions": "yes_no"}
    reply = client.post("/api/design", json=four).json()
    assert reply["warnings"] == []
    assert reply["strata"]["response_rate"] == [0.6] * rows
    four["strata"] |= {"response_rate": [0.6] * rows, "proportion": [0.08] * rows}
    assert client.post("/api/design", json=four).status_code == 422
    del four["options"]["response_rate"], four["options"]["proportion"]
    assert client.post("/api/design", json=four).json() == reply


def test_a_useless_survey_says_so_in_the_headline(client, four):
    del four["strata"]["sd"]
    four["options"] |= {"epsilon": 0.01, "proportion": 0.08, "questions": "yes_no"}
    reply = client.post("/api/design", json=four).json()
    assert "a share of 8% could not be told from 0% or " in reply["headline"]


def test_a_total_beyond_the_best_is_warned_about(client, four):
    four["options"] = {"epsilon": 0.1, "total": 34000}
    (warning,) = client.post("/api/design", json=four).json()["warnings"]
    assert warning.startswith("total=34,000 exceeds the best total")


def test_what_was_left_to_the_planner_is_explained(client, four):
    four["options"] = {"epsilon": 0.1, "at_most": 5000, "mechanism": "best"}
    notes = client.post("/api/design", json=four).json()["notes"]
    assert len(notes) == 2
    assert "allowed; with all of them" in notes[0]
    assert "was chosen" in notes[1]


def test_two_plans_are_compared(client, four):
    other = {"strata": four["strata"], "options": {"epsilon": 2.0, "total": 300}}
    reply = client.post("/api/compare", json={"held": four, "current": other}).json()
    figures = {row["name"]: row for row in reply["figures"]}
    assert figures["total"] == {
        "name": "total",
        "title": "People invited",
        "held": 200,
        "current": 300,
        "difference": 100,
    }
    assert figures["standard_error"]["difference"] < 0
    assert [row["held"] for row in reply["strata"]] == [62, 43, 45, 50]
    assert sum(row["current"] for row in reply["strata"]) == 300
    assert reply["chart"]["data"]["values"][0]["allocation"] == "held plan"


def test_plans_with_other_strata_are_compared_without_a_chart(client, four):
    fewer = {name: cells[:2] for name, cells in four["strata"].items()}
    reply = client.post("/api/compare", json={"held": four, "current": {**four, "strata": fewer}}).json()
    assert reply["chart"] is None
    assert reply["strata"][3] == {"stratum": "D", "held": 50, "current": None}


def test_the_document_is_that_of_the_library(client, four, plan, tmp_path):
    reply = client.post("/api/design.json", json=four)
    assert reply.headers["content-disposition"] == 'attachment; filename="design.json"'
    assert reply.text == to_json(plan) + "\n"
    (tmp_path / "design.json").write_bytes(reply.content)
    assert dps.load_design(tmp_path / "design.json") == plan


def test_the_table_is_that_of_the_library(client, four, plan, tmp_path):
    reply = client.post("/api/design.csv", json=four)
    plan.save(tmp_path / "design.csv")
    assert reply.content == (tmp_path / "design.csv").read_bytes()
    assert reply.headers["content-type"].startswith("text/csv")


def test_examples_can_be_opened_and_designed(client):
    listed = client.get("/api/examples").json()["examples"]
    assert [row["name"] for row in listed] == list(EXAMPLES)
    for row in listed:
        example = client.get(f"/api/examples/{row['name']}").json()
        reply = client.post("/api/design", json={"strata": example["strata"], "options": example["options"]})
        assert reply.status_code == 200, reply.text
    assert sum(map(int, client.get("/api/examples/schools").json()["strata"]["size"])) == 6194


def test_the_first_example_is_the_papers(client):
    example = client.get("/api/examples/four-strata").json()

    def sizes(**named):
        asked = {"strata": example["strata"], "options": example["options"] | named}
        return client.post("/api/design", json=asked).json()["strata"]["sample_size"]

    assert sizes(mechanism="laplace") == [62, 43, 45, 50]
    assert sizes() == [117, 42, 22, 19]  # with the noise that does best


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_table_files_are_read_as_they_stand(client, tmp_path, ending):
    import pandas as pd

    frame = pd.DataFrame({"stratum": ["01", "é"], "size": [10, 20], "sd": [0.25, 0.5]})
    path = tmp_path / f"strata.{ending}"
    match ending:
        case "csv":
            frame.to_csv(path, index=False)
        case "tsv":
            frame.to_csv(path, index=False, sep="\t")
        case "parquet":
            frame.to_parquet(path)
        case "xlsx":
            frame.to_excel(path, index=False)
    reply = client.post(
        "/api/table",
        params={"name": path.name},
        content=path.read_bytes(),
        headers={"content-type": "application/octet-stream"},
    )
    assert reply.json() == {
        "name": path.name,
        "is_form": False,
        "rows": 2,
        "columns": ["stratum", "size", "sd"],
        "strata": {"stratum": ["01", "é"], "size": ["10", "20"], "sd": ["0.25", "0.5"]},
    }


def test_the_openapi_document_lists_every_route_and_nothing_else(client):
    document = client.get("/api/openapi.json").json()
    listed = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    routed = {
        (method, route.path)
        for route in client.app.routes
        if getattr(route, "methods", None) and route.path.startswith("/api/")
        for method in route.methods - {"HEAD"}
    }
    assert listed == routed - {("GET", "/api/openapi.json")}
    assert listed == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert document["openapi"] == "3.1.0"
    for name in _references(document):
        assert name in document["components"]["schemas"]


def _references(part):
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def test_options_are_those_of_the_library():
    from dpstrata.cli.options import OPTIONS
    from dpstrata.web.requests import Options

    others = {"strata", "questionnaire", "spreads", "forms"}
    arguments = set(inspect.signature(dps.design).parameters) - others
    assert set(Options.model_fields) == set(OPTIONS) == arguments


def test_answers_of_csv_cells_survive_a_spreadsheet_round(client, four):
    reader = csv.DictReader(io.StringIO(client.post("/api/design.csv", json=four).text))
    rows = list(reader)
    four["strata"] = {name: [row[name] for row in rows] for name in ("stratum", "size", "sd")}
    again = client.post("/api/design", json=four).json()
    assert again["strata"]["sample_size"] == [int(row["sample_size"]) for row in rows]
    assert json.dumps(again)


def test_the_documentations_requests_and_answers(client):
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "reference" / "json-api.md").read_text(encoding="utf-8")
    blocks = (json.loads(part.partition("```")[0]) for part in page.split("```json\n")[1:])
    request, figures, of_a_cell, of_an_option = blocks
    reply = client.post("/api/design", json=request).json()
    assert {name: reply[name] for name in figures} == figures
    few = {**request, "options": {**request["options"], "total": 2}}
    assert client.post("/api/design", json=few).json() == of_an_option
    request["strata"]["size"][0] = "many"
    assert client.post("/api/design", json=request).json() == of_a_cell


@pytest.mark.parametrize(
    ("options", "argument", "parts"),
    [
        ({"total": 2}, "total", [{"option": "total", "value": None}, {"option": "total", "value": "2"}]),
        ({"total": 1.5}, "total", [{"option": "total", "value": None}]),
        ({"questions": [0, "1"]}, "questions", [{"option": "questions", "value": None}]),
        ({"nonsense": 1}, "nonsense", [{"option": "nonsense", "value": None}]),
        ({"domains": {"region": "x"}}, "domains", [{"option": "domains", "value": None}]),
        ({"non sense": 1}, None, []),
        (
            {"mechanism": "best", "delta": 0.5},
            "delta",
            [{"option": "delta", "value": None}, {"option": "delta", "value": "0.5"}],
        ),
        ({"gdp": 1.0}, "epsilon", [{"option": name, "value": None} for name in ("epsilon", "zcdp", "gdp")]),
        ({"objective": "custom"}, "objective", [{"option": "objective", "value": "'custom'"}]),
        ({"proportion": 0.1}, "proportion", [{"option": "proportion", "value": None}]),
    ],
)
def test_a_refusal_says_which_option_it_is_about(client, four, options, argument, parts):
    error = client.post("/api/design", json={**four, "options": {**four["options"], **options}}).json()[
        "error"
    ]
    assert error["argument"] == argument, error
    assert [part for part in error["parts"] if isinstance(part, dict)][: len(parts)] == parts
    texts = (part if isinstance(part, str) else _named(part) for part in error["parts"])
    assert "".join(texts) == error["message"]


def _named(part):
    return part["option"] if part["value"] is None else f"{part['option']}={part['value']}"


def test_a_refusal_of_two_plans_says_which(client, four):
    held = {**four, "options": {**four["options"], "total": 1.5}}
    error = client.post("/api/compare", json={"held": held, "current": four}).json()["error"]
    assert error["message"] == "held: total must be a whole number."
    assert error["argument"] == "total"


def test_sentences_come_in_parts_too(client, four):
    reply = client.post("/api/design", json=four).json()

    def as_python(part):
        if isinstance(part, str):
            return part
        return part["option"] if part["value"] is None else f"{part['option']}={part['value']}"

    assert ["".join(map(as_python, parts)) for parts in reply["sentence_parts"]] == reply["sentences"]
    assert {"option": "release", "value": "'sums'"} in [
        part for parts in reply["sentence_parts"] for part in parts
    ]


def test_warnings_come_in_parts_too(client, four):
    four["strata"].pop("sd")
    reply = client.post("/api/design", json=four).json()
    assert ["".join(parts) for parts in reply["warning_parts"]] == reply["warnings"]
    assert len(reply["warnings"]) == 1


@pytest.mark.parametrize("options", [{"budget": 3000}, {"target_se": 0.02}])
def test_the_dot_of_a_curve_is_the_plan_also_where_it_lies_above_the_curve(client, four, options):
    """A plan made for its cost is less precise than the best one for as many interviews."""
    four["strata"]["cost"] = [100, 1, 1, 1]
    four["options"] = {"epsilon": 1, **options}
    error = client.post("/api/design", json=four).json()["standard_error"]
    for path in ("/api/precision", "/api/epsilon"):
        spec = client.post(path, json=four).json()["chart"]
        assert f"{error!r}" in json.dumps(spec)
