"""Weighting classes: crossed with the strata before the draw, and reported by the coarser strata."""

import csv
import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from typer.testing import CliRunner

import dpstrata as dps
from dpstrata.cli import app
from dpstrata.fielding.neighbours import find_stand_ins
from dpstrata.fielding.results.form_figures import count_rows
from dpstrata.fielding.results.forms import estimate_questions
from dpstrata.present.charts.plot import intervals_chart
from dpstrata.words.design_tables import domain_table

SIZES = {("north", "f"): 300, ("north", "m"): 100, ("south", "f"): 150, ("south", "m"): 250}
COLUMNS = {"id": "person", "stratum": ["region", "sex"]}


@pytest.fixture
def people(tmp_path):
    rows = [(f"{r}{s}{i}", r, s) for (r, s), size in SIZES.items() for i in range(size)]
    path = tmp_path / "people.csv"
    path.write_text("person,region,sex\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


def design_of(people, folder, **options):
    """Design from a frame whose strata are crossed with a class."""
    frame = dps.open_frame(people, **COLUMNS)
    asked = {"epsilon": 1, "total": 80, "questions": "yes_no", "classes": "sex"} | options
    plan = dps.design(dps.frame_strata(frame), **asked)
    plan.save(folder / "design.json")
    return frame, plan


def carry_out(people, folder, **options):
    """Draw, noise made-up answers and return what can be estimated from."""
    frame, plan = design_of(people, folder, **options)
    files = {"key_file": folder / "draw.key"}
    dps.draw(folder / "design.json", frame, out=folder / "sample.csv", **files)
    with open(folder / "sample.csv", newline="") as file:
        drawn = [(row["person"], row["stratum"]) for row in csv.DictReader(file)]
    cells = [cell for _, cell in drawn]
    assert [cells.count(name) for name in plan.strata.names] == plan.sample_sizes.tolist()
    rows = [f"{person},{cell},{i % 2}\n" for i, (person, cell) in enumerate(drawn)]
    (folder / "answers.csv").write_text("person,stratum,answer\n" + "".join(rows))
    batch = {"sample": folder / "sample.csv", "id": "person", "stratum": "stratum"}
    dps.privatize(folder / "design.json", folder / "answers.csv", **batch, **files, out=folder / "noised.csv")
    return plan, folder / "design.json", folder / "noised.csv"


def test_from_the_frame_to_estimates_by_coarser_strata(people, tmp_path):
    plan, *files = carry_out(people, tmp_path)
    assert dict(zip(plan.strata.names, plan.strata.sizes.tolist(), strict=True)) == {
        f"{r} | {s}": size for (r, s), size in SIZES.items()
    }
    assert plan.strata.extra["reported_stratum"] == ("north", "north", "south", "south")
    result = dps.estimate(*files)
    means = result.questions["answer"].known.figures[0].estimates
    north = next(row for row in result if row.group == "north")
    assert north.estimate == pytest.approx(0.75 * means[0] + 0.25 * means[1])  # by sizes, not by answers
    assert [row[0] for row in result.table.rows] == ["all", "north", "south"]
    assert [(row.column, row.group) for row in result] == [
        ("all", "all"),
        ("total", "all"),
        ("reported_stratum", "north"),
        ("reported_stratum", "south"),
    ]
    covariance = result.covariance
    assert covariance.labels == ("all", "total", "reported_stratum=north", "reported_stratum=south")
    assert np.diag(covariance.matrix) == pytest.approx([row.standard_error**2 for row in result])


def test_every_file_of_results_is_by_coarser_strata(people, tmp_path):
    _, design, noised = carry_out(people, tmp_path)
    out = {name: tmp_path / name for name in ("estimates.csv", "report.html", "chart.json")}
    flags = ["--out", "estimates.csv", "--report", "report.html", "--plot", "chart.json"]
    done = CliRunner().invoke(
        app, ["estimate", str(design), str(noised), *(str(out.get(name, name)) for name in flags)]
    )
    assert done.exit_code == 0, done.output
    for path in out.values():
        text = path.read_text()
        assert "north" in text
        assert "north | f" not in text
        assert "north | m" not in text
    assert re.search(r">north</bdi></th><td[^>]*>400<", out["report.html"].read_text())


def test_cells_are_reported_on_request(people, tmp_path):
    _, *files = carry_out(people, tmp_path, domains=["stratum"])
    result = dps.estimate(*files)
    shown = [row[0] for row in result.table.rows]
    assert shown == ["all", "north", "south", "north | f", "north | m", "south | f", "south | m"]
    assert len(result.covariance) == len(result) == 8


def test_a_cell_without_an_answer_takes_from_its_own_stratum(people, tmp_path):
    _, plan = design_of(people, tmp_path, domains=["stratum"])
    found = find_stand_ins(plan, np.array([5, 5, 0, 5]))
    assert found.tolist() == [0, 1, 3, 3]  # south | m, and not north | m, which is as near and before it


def test_questionnaires_are_by_coarser_strata(people, tmp_path):
    questions = dps.Questionnaire(
        [dps.Question("a", "yes_no", blank=False), dps.Question("b", "yes_no", blank=False)]
    )
    frame = dps.frame_strata(dps.open_frame(people, **COLUMNS))
    plan = dps.design(frame, questions=questions, epsilon=2, total=100, classes="sex")
    rows = [
        (name, str(t), str(j % form.cells))
        for i, name in enumerate(frame.names)
        for t, form in enumerate(plan.forms, start=1)
        for j in range(int(form.sample_sizes[i]))
    ]
    result = estimate_questions(plan, count_rows(plan, *zip(*rows, strict=True)))
    assert {row.group for row in result} == {"all", "north", "south"}
    assert len(result.covariance) == len(result)
    assert {row.group for row in result.ratio(("a", "yes"), ("b", "yes"))} <= {"all", "north", "south"}
    chart = intervals_chart([asdict(row) for row in result], confidence=0.95, of="a").spec
    assert "north | f" not in str(chart)


def test_a_mean_is_reported_as_its_domains_say(people, tmp_path):
    _, plan = design_of(people, tmp_path, release="mean")
    assert plan.inputs.domains is None


@pytest.mark.parametrize("classes", ["age", ["sex", "age"], "size"])
def test_strata_must_be_crossed_with_their_classes(people, tmp_path, classes):
    with pytest.raises(dps.InputError, match=r"classes must name columns that the strata are crossed with"):
        design_of(people, tmp_path, classes=classes)


def test_classes_leave_something_to_report_by(people, tmp_path):
    with pytest.raises(dps.InputError, match=r"classes must leave a column to report by, got all that"):
        design_of(people, tmp_path, classes=["region", "sex"])


def test_any_of_the_columns_can_be_a_class(people):
    strata = dps.frame_strata(dps.open_frame(people, **COLUMNS), classes="region")
    assert strata.extra["reported_stratum"] == ("f", "m", "f", "m")
    with pytest.raises(dps.InputError, match="the strata already have a column 'reported_stratum'"):
        dps.design(strata, epsilon=1, total=80, classes="sex")


@pytest.mark.parametrize("name", ["classes", "weights"])
def test_results_take_neither_classes_nor_weights(people, tmp_path, name):
    """Both would have to be known before the draw."""
    _, _ = design_of(people, tmp_path)
    reason = {
        "classes": "classes must be given to the design, before the draw: otherwise, how many people of a "
        "class are drawn is random, and a small class loses more privacy than promised.",
        "weights": "weights cannot be used: the promise does not cover weights that depend on answers or on "
        "who answered. Groups that answer differently are classes of the design.",
    }[name]
    with pytest.raises(dps.InputError, match=re.escape(reason)):
        dps.estimate(tmp_path / "design.json", "noised.csv", **{name: "sex"})
    done = CliRunner().invoke(
        app, ["estimate", str(tmp_path / "design.json"), "noised.csv", f"--{name}", "sex"]
    )
    assert isinstance(done.exception, dps.InputError)
    with pytest.raises(TypeError, match="unexpected keyword argument 'clases'"):
        dps.estimate(tmp_path / "design.json", "noised.csv", clases="sex")


def test_classes_cannot_be_brought_in_after_the_design(people, tmp_path):
    """Numbers drawn from a class would be random, and a small class would lose more than was promised."""
    coarse = dps.frame_strata(dps.open_frame(people, id="person", stratum="region"))
    dps.design(coarse, epsilon=1, total=80, questions="yes_no").save(tmp_path / "design.json")
    with pytest.raises(
        dps.InputError, match=r"the frame must have the strata of the design.* classes must be given"
    ):
        dps.draw(
            tmp_path / "design.json",
            dps.open_frame(people, **COLUMNS),
            out=tmp_path / "sample.csv",
            key_file=tmp_path / "draw.key",
        )


def test_the_commands_keep_crossed_columns_and_report_without_classes(people, tmp_path):
    out, run = tmp_path / "strata.csv", CliRunner().invoke
    arguments = ["frame", str(people), "--id", "person", "--stratum", "region", "--stratum", "sex"]
    done = run(app, [*arguments, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[:2] == ["stratum,size,region,sex", "north | f,300,north,f"]
    asked = ["design", str(out), "--epsilon", "1", "--total", "80", "--proportion", "0.2"]
    for flags, columns in (
        (["--domains", "region"], {"region"}),
        (["--classes", "sex", "--domains", "sex"], {"reported_stratum", "sex"}),
    ):
        done = run(app, [*asked, *flags, "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.output)["domains"]
        assert {row["column"] for row in found} - {"all"} == columns
    done = run(app, [*arguments, "--classes", "sex", "--out", str(tmp_path / "classes.csv")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "classes.csv").read_text().splitlines()[:2] == [
        "stratum,size,region,sex,reported_stratum",
        "north | f,300,north,f,north",
    ]


def test_estimates_by_a_crossed_column(people, tmp_path):
    _, *files = carry_out(people, tmp_path, classes=None, domains=["region"])
    result = dps.estimate(*files)
    assert [(row.column, row.group) for row in result.by("region")] == [
        ("region", "north"),
        ("region", "south"),
    ]
    assert len(result) == 2 + 2 + 4


def test_columns_that_mean_something_to_strata_files_are_not_kept(tmp_path):
    rows = "".join(f"p{i},{'ab'[i % 2]},{'xy'[i % 3 % 2]}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("person,Stratum,size\n" + rows)
    frame = dps.open_frame(tmp_path / "people.csv", id="person", stratum=["Stratum", "size"])
    assert not dps.frame_strata(frame).extra


def test_the_design_names_coarser_strata_by_themselves(people, tmp_path):
    _, plan = design_of(people, tmp_path)
    assert [row[0] for row in domain_table(plan).rows] == ["all", "north", "south"]
