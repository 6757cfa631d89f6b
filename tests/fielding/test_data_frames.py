"""Answers in data frames: read as the same table in a file would be, or refused in a sentence."""

import csv

import pandas as pd
import polars as pl
import pyarrow.csv
import pytest

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata, open_frame
from surveys import COLUMNS, field_instead, field_reports

FRAMES = {
    "pandas": pd.read_csv,
    "polars": pl.read_csv,
    "lazy": pl.scan_csv,
    "arrow": pyarrow.csv.read_csv,
}
STEPS = {"microdata": dps.privatize, "sums": dps.publish, "mean": dps.publish}


def release(folder, answers, out, **more):
    plan = dps.load_design(folder / "design.json")
    files = {"sample": folder / "sample.csv", "key_file": folder / "draw.key", "out": folder / out}
    return STEPS[plan.inputs.release](folder / "design.json", answers, **files, **COLUMNS, **more)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", ["microdata", "sums", "sums of devices", "mean"])
def test_answers_are_released_and_estimated_from_data_frames(kind, library, fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    options = {"release": kind.split()[0], "device_epsilon": 3 if "devices" in kind else None}
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions=(0, 100_000), **options)
    for name in ("sample.csv", "draw.json", "design.json"):
        (folder / name).unlink()
    field_reports(folder, frame, plan)
    read = FRAMES[library]
    released = release(folder, read(folder / "reports.csv"), "out.csv")
    assert released.answers == 40
    assert repr(dps.estimate(plan, read(folder / "out.csv"))) == repr(dps.estimate(plan, folder / "out.csv"))


def test_blanks_and_commas_in_data_frames_are_those_of_files(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions="yes_no", release="sums")
    field_instead(folder, frame, plan, {"answer": "yes"})
    answers = pd.read_csv(folder / "answers.csv")
    answers.loc[0, "answer"] = None
    released = release(folder, answers, "out.csv", accept_response=True)
    assert (released.answers, released.blank) == (39, 1)


def test_questionnaires_are_read_from_data_frames(tmp_path):
    people = pd.DataFrame({"person": range(300), "region": ["n", "s", "s"] * 100})
    questions = dps.Questionnaire([dps.Question("smokes", "yes_no"), dps.Question("drinks", "yes_no")])
    frame = open_frame(people, id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=100, questions=questions)
    plan.save(tmp_path / "design.json")
    files = {"sample": tmp_path / "sample.csv", "key_file": tmp_path / "draw.key"}
    dps.draw(tmp_path / "design.json", frame, out=files["sample"], key_file=files["key_file"])
    with open(files["sample"], newline="") as file:
        rows = [{**row, "smokes": "yes", "drinks": "no"} for row in csv.DictReader(file)]
    released = dps.privatize(tmp_path / "design.json", pd.DataFrame(rows), **files, out=tmp_path / "rows.csv")
    assert released.answers == 100
    of_frame = dps.estimate(plan, pd.read_csv(tmp_path / "rows.csv"))
    assert repr(of_frame) == repr(dps.estimate(plan, tmp_path / "rows.csv"))


@pytest.mark.parametrize("given", [[1, 2, 3], {"stratum": ["north"]}, None, 7])
def test_what_is_no_table_is_refused_in_a_sentence(given, fielded):
    folder, plan = fielded
    for step in (lambda: dps.estimate(plan, given), lambda: release(folder, given, "out.csv")):
        with pytest.raises(dps.InputError, match="a data frame must be of pandas, Polars, Arrow"):
            step()
    assert not (folder / "ledger.json").exists()


def test_what_is_no_path_is_refused_in_a_sentence(fielded):
    """A design or a data frame where the path of a file belongs."""
    folder, plan = fielded
    answers = pd.read_csv(folder / "answers.csv")
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    files = {name: folder / name for name in ("sample", "out", "key_file")}
    steps = {
        "design must be the path of a file, got Design": [
            lambda: dps.publish(plan, answers, **files),
            lambda: dps.privatize(plan, answers, **files),
            lambda: dps.draw(plan, frame, out=folder / "other.csv", key_file=folder / "draw.key"),
        ],
        "design must be the path of a file, got DataFrame": [
            lambda: dps.publish(answers, folder / "design.json", **files),
            lambda: dps.estimate(answers, plan),
            lambda: dps.load_design(answers),
        ],
        "sample must be the path of a file, got DataFrame": [
            lambda: dps.privatize(folder / "design.json", answers, **(files | {"sample": answers})),
        ],
    }
    for words, calls in steps.items():
        for call in calls:
            with pytest.raises(dps.InputError, match=words):
                call()


def test_missing_columns_and_sheets_are_refused_without_showing_a_cell(fielded):
    folder, plan = fielded
    answers = pd.read_csv(folder / "answers.csv")
    with pytest.raises(dps.InputError, match="sheet requires an Excel file, got a data frame"):
        release(folder, answers, "out.csv", sheet="answers")
    with pytest.raises(dps.InputError, match="the data frame has no column 'answer'"):
        release(folder, answers.drop(columns="answer"), "out.csv")
    answers["answer"] = [*answers["answer"][:-1].astype(object), "canary"]
    with pytest.raises(
        dps.InputError,
        match="column 'answer', row 40: must be a number from 0 to 100,000, written without thousands separators; correct",
    ) as caught:
        release(folder, answers, "out.csv")
    assert "canary" not in str(caught.value)
    with pytest.raises(dps.InputError, match="the data frame has no column 'stratum'"):
        dps.estimate(plan, answers)


def test_weights_are_refused_with_the_reason(fielded):
    _, plan = fielded
    for estimate in (dps.estimate, dps.estimate_means):
        with pytest.raises(dps.InputError, match="weights cannot be used: the promise does not cover"):
            estimate(plan, ["north"], *([[1.0]] if estimate is dps.estimate_means else []), weights=[1.0])


def test_a_report_needs_the_file_that_was_published(fielded):
    _, plan = fielded
    with pytest.raises(dps.InputError, match="Give the path of that file"):
        dps.find_published(plan, pd.DataFrame())


def test_frames_without_names_or_that_cannot_be_computed_are_refused_and_no_cell_is_shown(fielded):
    folder, _ = fielded
    answers = pd.read_csv(folder / "answers.csv")
    both = pd.concat([answers], axis=1, keys=["answers"])
    for given in (pd.DataFrame(answers.to_numpy()), both):
        with pytest.raises(
            dps.InputError, match="the columns of the data frame must have names that are text"
        ):
            release(folder, given, "out.csv")
    lazy = pl.scan_csv(folder / "answers.csv")
    for given in (lazy.select("nothing"), lazy.with_columns(pl.col("person").cast(pl.Int64))):
        with pytest.raises(dps.InputError, match=r"^the data frame could not be computed\.$"):
            release(folder, given, "out.csv")
    with pytest.raises(dps.InputError, match="got something else") as refused:
        release(folder, answers.to_csv(index=False), "out.csv")
    assert "canary" not in str(refused.value)
