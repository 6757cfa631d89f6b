"""Files that a later step depends on are not written over."""

import csv
import json

import pytest

import dpstrata as dps
from commands import run
from dpstrata.survey.frames import frame_strata, open_frame
from dpstrata.survey.records import draw


def drawn(folder, sample="sample.csv"):
    """A design of a small frame, drawn."""
    rows = [f"{1000 + i},{'north' if i % 3 else 'south'}" for i in range(90)]
    (folder / "people.csv").write_text("person,region\n" + "\n".join(rows) + "\n")
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=10, answers="binary")
    plan.save(folder / "design.json")
    (folder / sample).parent.mkdir(exist_ok=True)
    draw(folder / "design.json", frame, out=folder / sample, key_file=folder / "draw.key")
    return plan


@pytest.mark.parametrize("sample", ["sample.csv", "first/sample.csv"])
def test_a_design_that_was_drawn_is_not_replaced(tmp_path, sample):
    plan = drawn(tmp_path, sample)
    before = (tmp_path / "design.json").read_bytes()
    other = dps.design(plan.strata, epsilon=2, total=10)
    with pytest.raises(dps.InputError, match=r"design\.json must stay as it is, because .*draw\.json is of"):
        other.save(tmp_path / "design.json")
    assert (tmp_path / "design.json").read_bytes() == before
    plan.save(tmp_path / "design.json")
    other.save(tmp_path / "other.json")
    dps.design(plan.strata, epsilon=3, total=10).save(tmp_path / "other.json")  # nothing depends on it
    assert dps.load_design(tmp_path / "other.json").inputs.epsilon == 3


def test_a_design_that_was_released_is_not_replaced_and_only_its_answers_are_estimated(tmp_path):
    """The records of the draw are gone; the ledger still names the design and every file."""
    plan = drawn(tmp_path)
    with open(tmp_path / "sample.csv", newline="") as file:
        rows = [f"{row['person']},{row['region']},1" for row in csv.DictReader(file)]
    (tmp_path / "answers.csv").write_text("person,region,yes\n" + "\n".join(rows) + "\n")
    batch = ["--sample", "sample.csv", "--id", "person", "--stratum", "region", "--answer", "yes"]
    done = run(tmp_path, "privatize", "design.json", "answers.csv", *batch, "--out", "noised.csv")
    assert done.returncode == 0, done.stderr
    (tmp_path / "draw.json").unlink()
    counted = run(tmp_path, "frame", "people.csv", *batch[2:6], "--out", "strata.csv")
    assert counted.returncode == 0, counted.stderr
    options = ["--epsilon", "3", "--total", "10", "--answers", "binary"]
    wrong = run(tmp_path, "design", "strata.csv", *options, "--out", "design.json")
    assert (wrong.returncode, "ledger.json is of this design" in wrong.stderr) == (2, True), wrong.stderr
    assert dps.load_design(tmp_path / "design.json") == plan
    other = run(tmp_path, "design", "strata.csv", *options, "--out", "other.json")
    assert other.returncode == 0, other.stderr
    wrong = run(tmp_path, "estimate", "other.json", "noised.csv")
    assert (wrong.returncode, "got those of another one by the ledger" in wrong.stderr) == (2, True)
    with pytest.raises(dps.InputError, match="must hold noised answers of this design"):
        dps.estimate(dps.load_design(tmp_path / "other.json"), tmp_path / "noised.csv")
    right = run(tmp_path, "estimate", "design.json", "noised.csv")
    assert (right.returncode, right.stderr) == (0, "")
    text = (tmp_path / "noised.csv").read_text()
    (tmp_path / "copy.csv").write_text(text + "\n")
    with pytest.warns(dps.DpstrataWarning, match=r"records as released for this design \(noised\.csv\)"):
        dps.estimate(tmp_path / "design.json", tmp_path / "copy.csv")
    assert dps.estimate(tmp_path / "other.json", tmp_path / "copy.csv").whole.answers == 10


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
def test_files_of_other_making_protect_nothing(tmp_path, text):
    plan = drawn(tmp_path)
    (tmp_path / "draw.json").write_text(text)
    dps.design(plan.strata, epsilon=2, total=10).save(tmp_path / "design.json")
    (tmp_path / "design.json").write_text(text)
    plan.save(tmp_path / "design.json")
