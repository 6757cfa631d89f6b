"""Excel files whose cells lie far apart."""

import io
import struct
import zipfile

import openpyxl
import pytest

import dpstrata as dps
from dpstrata.files.sent import SentFile
from dpstrata.files.tables import read_table
from dpstrata.files.workbooks import Workbook, extents


def workbook(*places, filled=3):
    """Make a workbook with a small table and one more cell at each place."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["stratum", "size", "sd"])
    for i in range(filled):
        sheet.append([f"s{i}", 10 + i, 0.1])
    for row, column in places:
        sheet.cell(row, column, 1)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize("place", [(1_048_576, 16_384), (1_048_576, 100), (5_000, 16_384)])
def test_a_far_cell_is_refused_in_a_sentence(place, tmp_path):
    content = workbook(place)
    assert len(content) < 6000
    (tmp_path / "s.xlsx").write_bytes(content)
    for file in (SentFile("s.xlsx", content), tmp_path / "s.xlsx"):
        with pytest.raises(dps.InputError, match=r"s\.xlsx must have its cells close together") as caught:
            read_table(file)
        assert f"{place[0]:,} rows and {place[1]:,} columns" in str(caught.value)


@pytest.mark.parametrize("place", [(1_048_576, 1), (1, 16_384), (20_000, 900)])
def test_a_cell_that_memory_can_hold_is_read(place):
    rows, columns, filled = next(extents(SentFile("s.xlsx", workbook(place))))
    assert (rows, columns) == (max(place[0], 4), max(place[1], 3))
    assert filled >= 13
    assert openpyxl.load_workbook(io.BytesIO(workbook(place))).active.dimensions


def test_sheets_in_binary_records_are_measured_too():
    def record(kind, content):
        return bytes([kind, len(content)]) + content

    sheet = b"\x81\x01\x00" + record(0, struct.pack("<I", 0) + bytes(13)) + record(5, bytes(16))
    sheet += record(0, struct.pack("<I", 1_048_575) + bytes(13))
    sheet += record(5, struct.pack("<I", 16_383) + bytes(12))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("xl/worksheets/sheet1.bin", sheet)
        parts.writestr("xl/workbook.bin", b"")
    assert list(extents(SentFile("s.xlsb", content.getvalue()))) == [(1_048_576, 16_384, 2)]


@pytest.mark.parametrize("sheet", [b"\x05", b"\x05\x80\x80\x80\x80\x80", b"\x00\x04\x01", b"\xff" * 50])
def test_damaged_records_are_measured_without_failing(sheet):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("xl/worksheets/sheet1.bin", sheet)
    assert len(list(extents(SentFile("s.xlsb", content.getvalue())))) == 1


def test_failed_formulas_are_read_as_their_error_values():
    book = openpyxl.Workbook()
    book.active.append(["another sheet"])
    sheet = book.create_sheet("Daten 2")
    rows = [["stratum", "size", "sd"], ["A", 10, "#DIV/0!"], ["#NAME?", 20, 0.1], ["C", "#REF!", 0.2]]
    for row in (["", "", ""], *rows):  # the table begins below the first row and right of the first column
        sheet.append([None, *row])
    sheet.append([None, None, None, None, "#N/A"])
    for cell in (cell for row in sheet for cell in row if str(cell.value).startswith("#")):
        cell.data_type = "e"
    content = io.BytesIO()
    book.save(content)
    file = SentFile("s.xlsx", content.getvalue())
    rows_read, numbers = Workbook(file, "s.xlsx").rows("Daten 2")
    assert [row[:3] for row in rows_read[:4]] == rows
    assert rows_read[4] == [None, None, None, "#N/A"]
    assert numbers == [2, 3, 4, 5, 6]


def test_failed_formulas_of_opendocument_are_read_as_their_error_values():
    """As LibreOffice writes them: equal cells and rows once, and what failed as an empty text."""
    error = (
        '<table:table-cell office:value-type="string" office:string-value="" calcext:value-type="error">'
        "<text:p>#DIV/0!</text:p></table:table-cell>"
    )
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    texts = [
        f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
        for text in ("stratum", "A")
    ]
    rows = [
        f'<table:table-row table:number-rows-repeated="3">{empty}</table:table-row>',
        *(f"<table:table-row>{empty}{text}{error}</table:table-row>" for text in texts),
    ]
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    spaces += ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    sheets = f'<table:table table:name="Other"/><table:table table:name="It\'s">{"".join(rows)}</table:table>'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        parts.writestr("META-INF/manifest.xml", "<manifest/>")
        parts.writestr(
            "content.xml",
            f"<office:document-content{spaces}><office:body><office:spreadsheet>{sheets}"
            "</office:spreadsheet></office:body></office:document-content>",
        )
    file = SentFile("s.ods", content.getvalue())
    assert Workbook(file, "s.ods").rows("It's") == ([["stratum", "#DIV/0!"], ["A", "#DIV/0!"]], [4, 5])
