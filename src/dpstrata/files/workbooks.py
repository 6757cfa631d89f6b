"""Excel files: their sheets, as rows of cells with the numbers that a spreadsheet shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError


class Workbook:
    """An Excel file.

    Parameters
    ----------
    path : path
        The file.
    name : str
        What messages call it.

    Attributes
    ----------
    sheets : tuple of str
        Names of its sheets.
    """

    def __init__(self, path: Path, name: str) -> None:
        try:
            import python_calamine
        except ImportError:
            raise MissingExtraError("Excel files need", "files") from None
        if not path.exists():
            raise FileNotFoundError
        self._name = name
        self._problems = (python_calamine.CalamineError, ValueError)
        try:
            self._book = python_calamine.CalamineWorkbook.from_path(path)
        except self._problems:
            raise self._unreadable() from None
        self.sheets: tuple[str, ...] = tuple(self._book.sheet_names)
        if not self.sheets:
            raise self._unreadable()

    def rows(self, sheet: str) -> tuple[list[list[Any]], list[int]]:
        """Read the rows of a sheet that are not empty, and their numbers; an empty cell is ``None``."""
        try:
            cells = self._book.get_sheet_by_name(sheet)
        except self._problems:
            raise self._unreadable() from None
        first = (cells.start or (0, 0))[0] + 1
        rows, numbers = [], []
        for number, row in enumerate(cells.to_python(skip_empty_area=True), start=first):
            if any(cell != "" for cell in row):
                rows.append([None if cell == "" else cell for cell in row])
                numbers.append(number)
        return rows, numbers

    def _unreadable(self) -> InputError:
        return InputError(f"{self._name} is not a readable Excel file.", where=self._name)
