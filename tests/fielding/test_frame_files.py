"""Frames in files as people keep them: titles above the header, several sheets."""

from __future__ import annotations

from pathlib import Path

import pytest
from openpyxl import Workbook

import dpstrata as dps

PEOPLE = "person,region\n1,north\n2,north\n3,south\n"


def _book(path: Path, **sheets: list[list[object]]) -> Path:
    book = Workbook()
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.remove(book.worksheets[0])
    book.save(path)
    return path


@pytest.mark.parametrize(
    "titles",
    ["", "Staff list\n", "Staff list\n\nas of June\n", '"List, of staff"\n', "\n\n", "Staff list,\n"],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_title_lines_above_the_header_are_left_out(tmp_path, titles, delimiter):
    path = tmp_path / "people.csv"
    path.write_text(titles + PEOPLE.replace(",", delimiter), encoding="utf-8")
    strata = dps.frame_strata(dps.open_frame(path, id="person", stratum="region"))
    assert list(zip(strata.names, strata.sizes.tolist(), strict=True)) == [("north", 2), ("south", 1)]


def test_a_column_that_appears_twice_under_a_title_is_refused(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("Staff list\nperson,person,region\n1,2,north\n", encoding="utf-8")
    with pytest.raises(dps.InputError, match="has several columns named 'person'"):
        dps.frame_strata(dps.open_frame(path, id="person", stratum="region"))


def test_a_missing_column_names_the_other_sheets(tmp_path):
    rows: list[list[object]] = [["person", "region"], [1, "north"], [2, "south"]]
    path = _book(tmp_path / "people.xlsx", Notes=[["about", "this"], ["x", "y"]], People=rows)
    with pytest.raises(
        dps.InputError, match=r"has no column 'person'; it has 'about', 'this'; other sheets: 'People'"
    ):
        dps.frame_strata(dps.open_frame(path, id="person", stratum="region"))
    assert dps.frame_strata(dps.open_frame(path, id="person", stratum="region", sheet="People")).names == (
        "north",
        "south",
    )
