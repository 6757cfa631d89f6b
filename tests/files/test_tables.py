"""Tables as they come, and what is said of their columns."""

import csv
from pathlib import Path

import openpyxl
import pytest

import dpstrata as dps
from dpstrata.fielding.frames import open_frame
from dpstrata.files.headers import columns_in_words, require_columns
from dpstrata.files.tables import read_table, require_file


def test_missing_columns_are_told_with_those_that_are_there():
    require_columns("t.csv", ["a", "b"], "b", "a")
    with pytest.raises(dps.InputError, match=r"^t.csv has no column 'c'; it has 'a', 'b'\.$"):
        require_columns("t.csv", ["a", "b"], "a", "c")
    assert columns_in_words([f"q{i}" for i in range(1022)]).endswith("'q18', 'q19' and 1,002 more")
    assert columns_in_words([]) == "it has none"


@pytest.mark.parametrize(
    "row", [["canary-1", "north", "1"], ["canary-1", "Yes"], ["7", "canary"], ["c", "0,5"]]
)
def test_a_row_of_answers_without_a_header_is_not_shown(row):
    assert columns_in_words(row) == "its first row looks like data, so it may lack a header"


@pytest.mark.parametrize(
    "address",
    [
        "mysql://ann:hunter2@db.example/people",
        "jdbc:mysql://ann:hunter2@db/people.csv",
        "s3://key:hun@ter2@bucket/p.parquet",
        "host=db user=ann password=hunter2 dbname=d",
        "Driver=x;PWD=hunter2;",
        "md:db?motherduck_token=hunter2",
        "ann:hunter2@host/db",
        "u/hunter2@orcl",
        "u/hunter2@db.example:1521/orcl",
        "azure;AccountKey=hunter2",
    ],
)
def test_an_address_is_refused_without_its_password(address):
    for read in (dps.Strata.from_file, lambda it: open_frame(it, id="p", stratum="s"), Path):
        if read is Path:
            said = str(dps.InputError(f"{Path(address)} does not exist.", where=address, value=address))
        else:
            with pytest.raises(dps.InputError, match="must be a file, got an address") as caught:
                read(address)
            said = str(caught.value)
        assert "ter2" not in said


def test_paths_are_no_addresses():
    for path in ("C:/people.csv", "/a:b/c@d.csv", "file:/x.csv", "a.csv"):
        require_file(path)
        assert str(dps.InputError(f"{path} does not exist.")) == f"{path} does not exist."


def test_a_file_is_a_file_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ann@home.csv").write_text("stratum,size,sd\na,5,1\n")
    assert dps.Strata.from_file("ann@home.csv").names == ("a",)
    with pytest.raises(dps.InputError, match="got an address"):
        require_file("bob@home.csv")


@pytest.mark.parametrize(
    "path",
    ["s3a://bucket/key=3/p.parquet", "abfss://box@store.example/p", "people", "main.people", "x/key=3/part"],
)
def test_addresses_that_spark_reads_are_left_to_it(path):
    require_file(path, spark=True)
    assert str(dps.InputError(f"{path} does not exist.")) == f"{path} does not exist."


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("md:db?motherduck_token=hunter2: not read.", "md:db?motherduck_token=***: not read."),
        ("ann:hunter2@db/p: not read.", "ann:***@db/p: not read."),
        ("ann/hunter2@orcl: not read.", "ann/***@orcl: not read."),
        ("got 'x;pwd=hunter2'.", "got 'x;pwd=***'."),
        ("folder/ann@home.csv: line 2: a@b is no number.", "folder/ann@home.csv: line 2: a@b is no number."),
    ],
)
def test_a_mask_covers_the_password_alone(given, shown):
    assert str(dps.InputError(given)) == shown


def book(path, **sheets):
    written = openpyxl.Workbook()
    written.remove(written.active)
    for name, rows in sheets.items():
        sheet = written.create_sheet(name)
        for row in rows:
            sheet.append(row)
    written.save(path)
    return path


TABLE = [["stratum", "size", "sd"], ["a", 70, 0.1], ["b", 80, 0.2]]


def test_a_sheet_is_chosen_by_its_name(tmp_path):
    path = book(tmp_path / "s.xlsx", Notes=[["nothing", "here"], [1, 2]], Strata=TABLE)
    assert dps.Strata.from_file(path, sheet="Strata").names == ("a", "b")
    assert list(read_table(path).columns) == ["nothing", "here"]
    with pytest.raises(dps.StrataError, match="the file has 'nothing', 'here'; other sheets: 'Strata'"):
        dps.Strata.from_file(path)
    with pytest.raises(dps.InputError, match=r"s.xlsx has no sheet 'strata'; it has 'Notes', 'Strata'\.$"):
        dps.Strata.from_file(path, sheet="strata")
    (tmp_path / "s.csv").write_text("stratum,size\na,1\n")
    with pytest.raises(dps.InputError, match=r"sheet requires an Excel file, got 's.csv'\.$"):
        dps.Strata.from_file(tmp_path / "s.csv", sheet="Strata")


@pytest.mark.parametrize(
    "titles",
    [
        [],
        [["Strata of 2024"]],
        [["Strata of 2024"], [], [None, "as of May"], []],
        [[None, None, "Strata"]],
    ],
)
def test_title_rows_above_the_header_are_left_out(tmp_path, titles):
    table = read_table(book(tmp_path / "s.xlsx", Strata=[*titles, *TABLE]))
    assert table.columns == {"stratum": ["a", "b"], "size": [70, 80], "sd": [0.1, 0.2]}
    assert table.place(0) == f"row {len(titles) + 2}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    "title", ["Survey of 2026", "Survey of 2026{0}{0}", "Survey of 2026\n\nas of May{0}{0}"]
)
def test_title_rows_of_a_csv_are_left_out(tmp_path, title, delimiter):
    path = tmp_path / "s.csv"
    header, first, second = (delimiter.join(map(str, row)) for row in TABLE)
    titles = title.format(delimiter)
    path.write_text(f"{titles}\n{header}\n{first}\n\n{second}\n")
    table = read_table(path)
    assert table.columns == {"stratum": ["a", "b"], "size": ["70", "80"], "sd": ["0.1", "0.2"]}
    lines = path.read_text().splitlines()
    assert [table.place(row) for row in (0, 1)] == [f"line {lines.index(row) + 1}" for row in (first, second)]
    path.write_text(path.read_text() + f"c{delimiter}none{delimiter}0.1\n")
    with pytest.raises(dps.StrataError, match=f"line {len(lines) + 1}, column 'size'"):
        dps.Strata.from_file(path)


def test_decimal_commas_are_no_cells(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("Survey of 2026\nsd;size\n0,5;1,5\n")
    assert read_table(path).columns == {"sd": ["0,5"], "size": ["1,5"]}


def test_what_is_no_title_is_kept(tmp_path):
    """A single column, an index without a name as pandas writes it, and blanks below the header."""
    assert read_table(book(tmp_path / "a.xlsx", S=[["id"], [1], [2]])).columns == {"id": [1, 2]}
    rows = [[None, "stratum", "size"], [0, "a", 70], [1, None, None]]
    assert read_table(book(tmp_path / "b.xlsx", S=rows)).columns == {
        "stratum": ["a", None],
        "size": [70, None],
    }
    wide = [["Report", "by the office"], list("abcdef"), [1] * 6]
    assert list(read_table(book(tmp_path / "c.xlsx", S=wide)).columns) == list("abcdef")


def test_a_first_line_may_be_longer_than_a_cell(tmp_path):
    """Split at a sign that it does not have, it would be one cell, and too long."""
    header = ",".join(f"{i} {'x' * 1000}" for i in range(200))
    (tmp_path / "wide.csv").write_text(f"{header}\n1{',2' * 199}\n")
    assert len(header) > csv.field_size_limit()
    assert len(read_table(tmp_path / "wide.csv").columns) == 200
