"""Columns of numbers and of answers, read without showing any."""

import math
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpstrata as dps
from dpstrata.fielding.answer_files import open_answers, read_numbers
from dpstrata.fielding.collected import read_collected
from dpstrata.fielding.sample import ReportKey
from dpstrata.survey.questionnaires.questionnaire import read_shorthand

UNCLEAR = (
    "a comma before three digits can mean thousands or decimals; write no thousands separators, and decimals "
    "with a point."
)
BINARY, REAL = read_shorthand("yes_no")[0], read_shorthand("0:5000")[0]


def written(folder, *cells, name="answers.csv"):
    path = folder / name
    path.write_text("person;yes\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells)))
    return path


def read_answers(table, name, question, *, clip=False):
    """The answers to the only question, one for each row; nothing where someone did not answer."""
    asked = replace(question, name=name)
    plan = dps.design(dps.Strata([900]), epsilon=1, total=40, questions=asked, clip=clip)
    rows, collected = read_collected(table, plan, [ReportKey(0, 0, 0)] * len(table.columns[name]))
    given = dict(zip(rows, collected.of(ReportKey(0, 0, 0)), strict=True))
    return [given.get(row) for row in range(len(table.columns[name]))]


def refused(read, *arguments):
    with pytest.raises(dps.InputError) as caught:
        read(*arguments)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("cell", ["canary", "", "1_0", "nan", "inf", "1.234,5", "1,2,3", "yes"])
def test_cells_that_are_no_number_are_found_and_not_shown(tmp_path, cell):
    path = tmp_path / "answers.csv"
    path.write_text(f"person;yes\n1;1\n\n2;{cell}\n3;also-canary\n")
    assert (
        refused(read_numbers, open_answers(path), "yes")
        == f"{path}: column 'yes', lines 4 and 5: not a number."
    )
    path.write_text("person;yes\n1;1\n\n2; 0.5 \n")
    assert read_numbers(open_answers(path), "yes") == [1.0, 0.5]


def test_yes_and_no_are_answers_of_a_yes_no_question_alone(tmp_path):
    path = written(tmp_path, "Yes", " no ", "TRUE", "false", "y", "N", "1", "0", "1.0", "")
    assert read_answers(open_answers(path), "yes", BINARY) == [1, 0, 1, 0, 1, 0, 1, 0, 1, None]
    assert refused(read_answers, open_answers(path), "yes", REAL) == (
        f"{path}: column 'yes', lines 2 to 7: must be a number from 0 to 5,000, written without thousands separators; correct "
        "that, or leave the cell empty if the person did not answer."
    )
    said = refused(read_answers, open_answers(written(tmp_path, "yes", "maybe-canary")), "yes", BINARY)
    assert "column 'yes', line 3: must be yes or no; correct that, or leave" in said
    assert "canary" not in said
    pq.write_table(pa.table({"yes": [True, False, None]}), tmp_path / "a.parquet")
    assert read_answers(open_answers(tmp_path / "a.parquet"), "yes", BINARY) == [1, 0, None]


def test_decimal_commas_are_read_where_they_can_mean_nothing_else(tmp_path):
    path = written(tmp_path, "2,5", "0,125", "-1,5", "1234,125", "7", " ")
    assert read_answers(open_answers(path), "yes", REAL, clip=True) == [2.5, 0.125, -1.5, 1234.125, 7, None]
    assert read_numbers(open_answers(written(tmp_path, "2,5", "3")), "yes") == [2.5, 3]
    for cells in (("2,5", "1,234"), ("1,234,567", "canary"), ("-12,345", "1.5")):
        path = written(tmp_path, *cells)
        line = 3 if cells[0] == "2,5" else 2
        assert (
            refused(read_answers, open_answers(path), "yes", REAL)
            == f"{path}: column 'yes', line {line}: {UNCLEAR}"
        )
    path = written(tmp_path, "3.5", "2,5", "1")
    assert refused(read_answers, open_answers(path), "yes", REAL) == (
        f"{path}: column 'yes', line 3: decimal commas, and decimal points in other rows; write all numbers with "
        "the same sign."
    )


def test_blanks_are_no_answers_in_every_kind_of_file(tmp_path):
    pq.write_table(pa.table({"yes": [1.5, None, math.nan]}), tmp_path / "a.parquet")
    assert read_answers(open_answers(tmp_path / "a.parquet"), "yes", REAL) == [1.5, None, None]
    for cell in ("NA", "-", "."):  # nobody said that these mean nothing
        assert "line 2: must be a number from 0 to 5,000" in refused(
            read_answers, open_answers(written(tmp_path, cell)), "yes", REAL
        )


def test_answers_that_are_not_allowed_are_placed_but_never_shown(tmp_path):
    path = written(tmp_path, "0.5", "7777.4321", "", "1", "-7.4321")
    said = refused(read_answers, open_answers(path), "yes", REAL)
    assert said.startswith("answers must lie in [0, 5000], got 2 of 4 outside in ")
    assert f"{path}, column 'yes', lines 3 and 6. Correct them" in said
    assert "4321" not in said
    values = read_answers(open_answers(path), "yes", REAL, clip=True)
    assert values == [0.5, 7777.4321, None, 1, -7.4321]
