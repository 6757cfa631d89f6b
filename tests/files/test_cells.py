"""Formulas reach nobody who opens a CSV file, and come back as they were when it is read."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.files.cells import marked, unmarked
from dpstrata.files.sent import SentFile
from dpstrata.files.tables import read_table
from dpstrata.files.writing import table_content

SIGNS = "=+-@\t\r＝＋－＠"
FORMULAS = ["=1+1", "=cmd|'/c calc'!A0", "+A1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "- none -", "＝1+1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_in_csv(text):
    content = table_content({"stratum": [text], text: ["x"]}, Path("s.csv")).decode()
    for row in csv.reader(io.StringIO(content, newline="")):
        assert not any(cell.startswith(tuple(SIGNS)) for cell in row)
    assert marked(text) == "'" + text


@pytest.mark.parametrize(
    "cell", ["-5", "+4930123456", "-1.5e-3", "-1,5", "-3%", "-", "+", "'s-Hertogenbosch", 5, -5, None]
)
def test_other_cells_stay(cell):
    assert marked(cell) == cell


@given(st.text(alphabet=SIGNS + "'1x. ") | st.text())
def test_marks_are_taken_off_exactly(text):
    assert unmarked(marked(text)) == text


def test_a_file_that_was_written_reads_as_it_was():
    columns = {"stratum": ["=1+1", "'=1+1", "'-5", "-", "B"], "@home": ["-x", "''+y", "1", "", "+1"]}
    content = table_content(columns, Path("s.csv"))
    assert read_table(SentFile("s.csv", content)).columns == columns


def test_names_like_formulas_survive_a_survey(tmp_path):
    """From a design through its sample to estimates, in CSV files."""
    strata = dps.Strata(names=["=A", "-B"], sizes=[40, 60], sds=[0.3, 0.3])
    plan = dps.design(strata, epsilon=2, total=20, questions="yes_no")
    plan.save(tmp_path / "design.csv")
    plan.save(tmp_path / "design.json")
    people = [(f"+{i}x", "=A" if i < 40 else "-B") for i in range(100)]
    (tmp_path / "people.csv").write_text("id,stratum\n" + "".join(f"{i},{s}\n" for i, s in people))
    frame = dps.open_frame(tmp_path / "people.csv", id="id", stratum="stratum")
    files = {"key_file": tmp_path / "survey.key"}
    dps.draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", **files)
    sample = read_table(tmp_path / "sample.csv").columns
    assert set(sample["id"]) <= {name for name, _ in people}
    rows = zip(sample["id"], sample["stratum"], strict=True)
    answers = "".join(f"'{name},{stratum},1\n" for name, stratum in rows)
    (tmp_path / "answers.csv").write_text("id,stratum,answer\n" + answers)
    dps.privatize(
        tmp_path / "design.json",
        tmp_path / "answers.csv",
        sample=tmp_path / "sample.csv",
        id="id",
        stratum="stratum",
        out=tmp_path / "noised.csv",
        **files,
    )
    estimate = dps.estimate(plan, tmp_path / "noised.csv")
    assert {row.group for row in estimate.by("stratum")} == {"=A", "-B"}
    for file in ("design.csv", "sample.csv", "noised.csv"):
        for row in csv.reader((tmp_path / file).read_text().splitlines()):
            assert not any(cell.startswith(("=", "+", "-B")) for cell in row)
