"""Files of Stata and SPSS, whose codes have labels."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.files.sent import File, source_of

STATISTICS_ENDINGS = (".dta", ".sav", ".zsav", ".por")


def read_labelled(path: File, name: str) -> dict[str, list[Any]]:
    """Read the columns of a Stata or SPSS file.

    A column shows its labels if every value in it has one, and its codes otherwise: a scale whose ends alone
    are labelled stays a scale. Codes with the same label stay apart: their code follows it. Values that the
    file declares as missing are empty.

    Parameters
    ----------
    path : path or SentFile
        The file.
    name : str
        What messages call it.
    """
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Stata and SPSS files need", "files") from None
    if not path.exists():
        raise FileNotFoundError
    ending = path.suffix.lower()
    read: Any = {".dta": pyreadstat.read_dta, ".por": pyreadstat.read_por}.get(ending, pyreadstat.read_sav)
    try:
        columns, about = read(source_of(path), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        kind = "Stata" if ending == ".dta" else "SPSS"
        raise InputError(f"{name} is not a readable {kind} file.", where=name) from None
    labels = about.variable_value_labels
    return {str(each): _shown([*cells], _apart(labels.get(each, {}))) for each, cells in columns.items()}


def _apart(labels: dict[Any, str]) -> dict[Any, str]:
    """Add its code to every label that several codes have, so that none are taken for one.

    Examples
    --------
    >>> _apart({1.0: "north", 2.0: "other", 9.0: "other"})
    {1.0: 'north', 2.0: 'other (2)', 9.0: 'other (9)'}
    """
    number = Counter(labels.values())
    return {code: f"{name} ({_plain(code)})" if number[name] > 1 else name for code, name in labels.items()}


def _plain(code: Any) -> Any:
    """Write whole numbers without a fraction."""
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _shown(cells: list[Any], labels: dict[Any, str]) -> list[Any]:
    """Write labels for codes, if all of them have one."""
    plain = [cell.item() if hasattr(cell, "item") else cell for cell in cells]
    known = [None if cell is None or cell != cell else cell for cell in plain]
    if labels and all(cell in labels for cell in known if cell is not None):
        return [cell if cell is None else labels[cell] for cell in known]
    return known
