"""Weighting classes: crossed with the strata before the draw, and reported by the coarser strata."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import dpstrata as dps
from dpstrata.cli import app
from dpstrata.words.estimates import estimation_table

SIZES = {("north", "f"): 300, ("north", "m"): 100, ("south", "f"): 150, ("south", "m"): 250}
COLUMNS = {"id": "person", "stratum": ["region", "sex"]}


@pytest.fixture
def people(tmp_path):
    rows = [(f"{r}{s}{i}", r, s) for (r, s), size in SIZES.items() for i in range(size)]
    path = tmp_path / "people.csv"
    path.write_text("person,region,sex\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


def test_from_the_frame_to_estimates_by_coarser_strata(people, tmp_path):
    frame = dps.open_frame(people, **COLUMNS)
    strata = dps.frame_strata(frame, classes="sex")
    assert dict(zip(strata.names, strata.sizes.tolist(), strict=True)) == {
        f"{r} | {s}": size for (r, s), size in SIZES.items()
    }
    assert strata.extra["reported_stratum"] == ("north", "north", "south", "south")
    plan = dps.design(strata, epsilon=1, total=80, answers="binary", domains=["reported_stratum"])
    plan.save(tmp_path / "design.json")
    files = {"key_file": tmp_path / "draw.key"}
    dps.draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", **files)
    with open(tmp_path / "sample.csv", newline="") as file:
        drawn = [(row["person"], row["stratum"]) for row in csv.DictReader(file)]
    cells = [cell for _, cell in drawn]
    assert [cells.count(name) for name in strata.names] == plan.sample_sizes.tolist()
    rows = [f"{person},{cell},{i % 2}\n" for i, (person, cell) in enumerate(drawn)]
    (tmp_path / "answers.csv").write_text("person,stratum,yes\n" + "".join(rows))
    batch = {"sample": tmp_path / "sample.csv", "id": "person", "stratum": "stratum", "answer": "yes"}
    dps.privatize(
        tmp_path / "design.json", tmp_path / "answers.csv", **batch, **files, out=tmp_path / "noised.csv"
    )
    result = dps.estimate(tmp_path / "design.json", tmp_path / "noised.csv")
    means = np.array([row.estimate for row in result.strata])
    north = next(row for row in result.domains if row.group == "north")
    assert north.estimate == pytest.approx(0.75 * means[0] + 0.25 * means[1])  # by sizes, not by answers
    shown = [row[0] for row in estimation_table(result).rows]
    assert shown == ["all", "north", "south"]


@pytest.mark.parametrize("classes", ["region", ["region", "sex"], "age", ["sex", "region"]])
def test_classes_are_the_last_of_the_stratum_columns(people, classes):
    with pytest.raises(dps.InputError, match=r"classes must be the last of the columns of stratum, after at"):
        dps.frame_strata(dps.open_frame(people, **COLUMNS), classes=classes)


def test_classes_cannot_be_brought_in_after_the_design(people, tmp_path):
    """Numbers drawn from a class would be random, and a small class would lose more than was promised."""
    coarse = dps.frame_strata(dps.open_frame(people, id="person", stratum="region"))
    dps.design(coarse, epsilon=1, total=80, answers="binary").save(tmp_path / "design.json")
    with pytest.raises(dps.InputError, match="the frame must have the strata of the design"):
        dps.draw(
            tmp_path / "design.json",
            dps.open_frame(people, **COLUMNS),
            out=tmp_path / "sample.csv",
            key_file=tmp_path / "draw.key",
        )


def test_the_command_writes_the_coarser_strata(people, tmp_path):
    out, run = tmp_path / "strata.csv", CliRunner().invoke
    arguments = ["frame", str(people), "--id", "person", "--stratum", "region", "--stratum", "sex"]
    done = run(app, [*arguments, "--classes", "sex", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[:2] == ["stratum,size,reported_stratum", "north | f,300,north"]
    refused = run(app, [*arguments, "--classes", "region", "--out", str(out)])
    assert refused.exit_code != 0
    assert isinstance(refused.exception, dps.InputError | SystemExit)
