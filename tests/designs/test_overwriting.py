"""Files that a later step depends on are not written over."""

import csv
import json

import pytest
from typer.testing import CliRunner

import dpstrata as dps
from commands import run
from dpstrata.cli import app
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.files.writing import write_table


def drawn(folder, sample="sample.csv"):
    """A design of a small frame, drawn."""
    rows = [f"{1000 + i},{'north' if i % 3 else 'south'}" for i in range(90)]
    (folder / "people.csv").write_text("person,region\n" + "\n".join(rows) + "\n")
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=10, questions="yes_no")
    plan.save(folder / "design.json")
    (folder / sample).parent.mkdir(exist_ok=True)
    draw(folder / "design.json", frame, out=folder / sample, key_file=folder / "draw.key")
    return plan


@pytest.mark.parametrize("sample", ["sample.csv", "first/sample.csv"])
def test_a_design_that_was_drawn_is_not_replaced(tmp_path, sample):
    plan = drawn(tmp_path, sample)
    before = (tmp_path / "design.json").read_bytes()
    other = dps.design(plan.strata, epsilon=2, total=10)
    with pytest.raises(
        dps.InputError, match=r"design\.json must stay as it is, because .*draw\.json refers to this design"
    ):
        other.save(tmp_path / "design.json")
    assert (tmp_path / "design.json").read_bytes() == before
    plan.save(tmp_path / "design.json")
    other.save(tmp_path / "other.json")
    dps.design(plan.strata, epsilon=3, total=10).save(tmp_path / "other.json")  # nothing depends on it
    assert dps.load_design(tmp_path / "other.json").inputs.epsilon == 3


@pytest.mark.slow
def test_a_design_that_was_released_is_not_replaced_and_only_its_answers_are_estimated(tmp_path):
    """The records of the draw are gone; the ledger still names the design and every file."""
    plan = drawn(tmp_path)
    with open(tmp_path / "sample.csv", newline="") as file:
        rows = [f"{row['person']},{row['region']},1" for row in csv.DictReader(file)]
    (tmp_path / "answers.csv").write_text("person,region,answer\n" + "\n".join(rows) + "\n")
    batch = ["--sample", "sample.csv", "--id", "person", "--stratum", "region"]
    done = run(tmp_path, "privatize", "design.json", "answers.csv", *batch, "--out", "noised.csv")
    assert done.returncode == 0, done.stderr
    (tmp_path / "draw.json").unlink()
    counted = run(tmp_path, "frame", "people.csv", *batch[2:6], "--out", "strata.csv")
    assert counted.returncode == 0, counted.stderr
    options = ["--epsilon", "3", "--total", "10", "--questions", "yes_no"]
    wrong = run(tmp_path, "design", "strata.csv", *options, "--out", "design.json")
    assert (wrong.returncode, "ledger.json refers to this design" in wrong.stderr) == (2, True), wrong.stderr
    assert dps.load_design(tmp_path / "design.json") == plan
    other = run(tmp_path, "design", "strata.csv", *options, "--out", "other.json")
    assert other.returncode == 0, other.stderr
    wrong = run(tmp_path, "estimate", "other.json", "noised.csv")
    assert (wrong.returncode, "got those of another design, according to the ledger" in wrong.stderr) == (
        2,
        True,
    )
    with pytest.raises(dps.InputError, match="must hold noised answers of this design"):
        dps.estimate(dps.load_design(tmp_path / "other.json"), tmp_path / "noised.csv")
    right = run(tmp_path, "estimate", "design.json", "noised.csv")
    assert (right.returncode, right.stderr) == (0, "")
    text = (tmp_path / "noised.csv").read_text()
    (tmp_path / "copy.csv").write_text(text + "\n")
    with pytest.warns(dps.DpstrataWarning, match=r"records as released for this design \(noised\.csv\)"):
        dps.estimate(tmp_path / "design.json", tmp_path / "copy.csv")
    assert dps.estimate(tmp_path / "other.json", tmp_path / "copy.csv").whole[0].answered == 10


@pytest.mark.slow
def test_an_edited_strata_file_is_not_replaced(tmp_path):
    plan = drawn(tmp_path)
    columns = ["--id", "person", "--stratum", "region"]
    for name in ("strata.csv", "strata.parquet", "strata.xlsx"):
        for _ in range(2):  # the same again is fine
            done = run(tmp_path, "frame", "people.csv", *columns, "--out", name)
            assert done.returncode == 0, done.stderr
    assert len(plan.strata) == 2
    for edited in (
        "stratum,size,sd\nnorth,60,0.3\nsouth,30,0.2\n",
        "stratum,size\nnorth,61\nsouth,30\n",
        "x",
    ):
        (tmp_path / "strata.csv").write_text(edited)
        wrong = run(tmp_path, "frame", "people.csv", *columns, "--out", "strata.csv")
        assert (wrong.returncode, "is not replaced; choose another name" in wrong.stderr) == (2, True)
        assert (tmp_path / "strata.csv").read_text() == edited


@pytest.mark.parametrize("text", ["nonsense", "[1, 2]", json.dumps({"entries": 3})])
def test_records_of_other_making_protect_nothing(tmp_path, text):
    folder = tmp_path / "alone"  # the folders of other tests hold draws of the same design
    folder.mkdir()
    plan = drawn(folder)
    (folder / "draw.json").write_text(text)
    dps.design(plan.strata, epsilon=2, total=10).save(folder / "design.json")


@pytest.mark.parametrize("link", [False, True])
def test_a_design_drawn_into_a_sibling_folder_or_reached_by_a_link_is_not_replaced(tmp_path, link):
    """A search beside the file alone would not find the record."""
    plan = drawn(tmp_path, "field/sample.csv")
    (tmp_path / "plans").mkdir()
    (tmp_path / "design.json").rename(tmp_path / "plans/d.json")
    path = tmp_path / "plans/d.json"
    if link:
        (tmp_path / "far/away").mkdir(parents=True)
        path = tmp_path / "far/away/link.json"
        path.symlink_to(tmp_path / "plans/d.json")
    with pytest.raises(
        dps.InputError, match=r"must stay as it is, because .*field.draw\.json refers to this design"
    ):
        dps.design(plan.strata, epsilon=2, total=10).save(path)
    assert dps.load_design(tmp_path / "plans/d.json") == plan
    assert path.is_symlink() == link


def fielded(folder):
    """Every file of a survey that a later step needs, in one folder."""
    plan = drawn(folder)
    with open(folder / "sample.csv", newline="") as file:
        rows = [(row["person"], row["region"], i % 2) for i, row in enumerate(csv.DictReader(file))]
    lines = [",".join(map(str, row)) for row in rows]
    (folder / "answers.csv").write_text("person,region,answer\n" + "\n".join(lines) + "\n")
    noised = [f"{region},{yes}" for _, region, yes in rows]
    (folder / "noised.csv").write_text("stratum,answer\n" + "\n".join(noised) + "\n")
    (folder / "strata.csv").write_text("stratum,size,sd\nnorth,60,0.3\nsouth,30,0.2\n")
    (folder / "other.csv").write_text("stratum,size,sd\nnorth,60,0.3\nsouth,30,0.1\n")
    (folder / "ledger.json").write_text(
        json.dumps({"format": "dpstrata.ledger", "version": 4, "entries": []})
    )
    return plan


DESIGN = ["design", "other.csv", "--epsilon", "1", "--total", "10"]
COMMANDS = {
    "design": DESIGN,
    "estimate": ["estimate", "design.json", "noised.csv"],
    "sweep": ["sweep", "other.csv", "--epsilon", "1,2", "--total", "10"],
    "evaluate": ["evaluate", "other.csv", "--epsilon", "1", "--sample-sizes", "5,5"],
    "sensitivity": ["sensitivity", "design.json"],
}
WRONG = [
    *[(name, "--out", file) for name in COMMANDS for file in ("ledger.json", "draw.json", "broken.json")],
    *[
        (name, "--out", file)
        for name in COMMANDS
        for file in ("sample.csv", "answers.csv", "noised.csv", "strata.csv", "people.csv", "broken.csv")
        if (name, file) != ("estimate", "noised.csv")  # which it reads
    ],
    *[(name, "--out", file) for name in COMMANDS for file in ("table.parquet", "table.xlsx", "broken.xlsx")],
    *[(name, "--out", "other-design.json") for name in COMMANDS if name != "design"],
    *[(name, "--plot", "other-design.json") for name in COMMANDS if name != "sensitivity"],
    ("design", "--out", "chart.json"),
]


def refused(arguments):
    return str(CliRunner().invoke(app, arguments).exception)


@pytest.mark.slow
def test_files_of_another_kind_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = fielded(tmp_path)
    plan.save("other-design.json")
    for name in ("table.parquet", "table.xlsx"):
        write_table({"person": [1], "region": ["north"]}, tmp_path / name)
    for name in ("broken.json", "broken.csv", "broken.xlsx"):
        (tmp_path / name).write_bytes(b'"\xff\0')
    (tmp_path / "chart.json").write_text('{"$schema": "vega"}')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, option, file in WRONG:
        said = refused([*COMMANDS[name], option, file])
        assert said.startswith(f"{file} exists and holds something else"), (name, option, file, said)
        assert said.endswith("Choose another name."), said
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert "(a table of 4 columns)." in refused([*DESIGN, "--out", "sample.csv"])
    assert "(dpstrata.ledger)." in refused([*DESIGN, "--out", "ledger.json"])
    with pytest.raises(dps.InputError, match="something else"):
        dps.plot(plan).save("ledger.json")
    with pytest.raises(dps.InputError, match="something else"):
        plan.save("sample.csv")
    (tmp_path / "bare.csv").write_text("CANARY,canary\n1002,CANARY\n")
    assert (
        refused([*DESIGN, "--out", "bare.csv"])
        == "bare.csv exists and holds something else (a table of 2 columns). Choose another name."
    )


@pytest.mark.slow
def test_files_of_the_same_kind_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fielded(tmp_path)
    for name, arguments in COMMANDS.items():
        for file in (f"{name}-again.json", f"{name}.csv", f"{name}.parquet", f"{name}.xlsx"):
            for _ in range(2):
                done = CliRunner().invoke(app, [*arguments, "--out", file])
                assert done.exit_code == 0, (name, file, done.exception)
        if name != "sensitivity":
            for _ in range(2):
                assert CliRunner().invoke(app, [*arguments, "--plot", "chart.json"]).exit_code == 0
    (tmp_path / "empty.csv").touch()
    assert CliRunner().invoke(app, [*DESIGN, "--out", "empty.csv"]).exit_code == 0  # nothing is lost
    done = CliRunner().invoke(
        app, [*DESIGN[:2], "--epsilon", "2", "--total", "9", "--out", "design-again.json"]
    )
    assert done.exit_code == 0
    assert dps.load_design("design-again.json").inputs.epsilon == 2


def test_a_design_that_cannot_be_read_is_kept_where_something_was_drawn(tmp_path):
    """It may be the one that was drawn, of a newer version."""
    plan = drawn(tmp_path)
    text = json.dumps(plan.to_dict() | {"version": 99})
    (tmp_path / "design.json").write_text(text)
    with pytest.raises(dps.InputError, match="holds something else"):
        plan.save(tmp_path / "design.json")
    assert (tmp_path / "design.json").read_text() == text
