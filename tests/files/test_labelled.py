"""Stata and SPSS files: labels where all values have one, codes elsewhere."""

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.files.tables import read_table

PEOPLE = pd.DataFrame(
    {
        "person": [101.0, 102.0, 103.0, 104.0],
        "region": [1.0, 2.0, 1.0, 2.0],
        "mood": [1.0, 3.0, 5.0, None],
        "note": ["a", "", "é", "d"],
    }
)
LABELS = {"region": {1.0: "north", 2.0: "söuth"}, "mood": {1.0: "bad", 5.0: "good"}}


def written(folder, ending):
    path = folder / f"people{ending}"
    if ending == ".dta":
        whole = {code: dict(zip(map(int, each), each.values(), strict=True)) for code, each in LABELS.items()}
        data = PEOPLE.astype({"region": "int32"})
        pyreadstat.write_dta(data, str(path), variable_value_labels=whole)
    elif ending == ".por":
        pyreadstat.write_por(PEOPLE.drop(columns="note"), str(path))
    else:
        pyreadstat.write_sav(PEOPLE, str(path), variable_value_labels=LABELS, compress=ending == ".zsav")
    return path


@pytest.mark.parametrize("ending", [".dta", ".sav", ".zsav"])
def test_labels_are_shown_where_every_value_has_one(tmp_path, ending):
    table = read_table(written(tmp_path, ending))
    assert table.columns["region"] == ["north", "söuth", "north", "söuth"]
    assert table.columns["mood"] == [1, 3, 5, None]
    assert table.columns["note"] == ["a", "", "é", "d"]
    assert table.place(2) == "row 3"
    frame = open_frame(tmp_path / f"people{ending}", id="person", stratum="region")
    strata = frame_strata(frame)
    assert (strata.names, strata.sizes.tolist()) == (("north", "söuth"), [2, 2])


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_codes_with_the_same_label_are_not_taken_for_one(tmp_path, ending):
    path = tmp_path / f"people{ending}"
    write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
    data = pd.DataFrame({"person": [1, 2, 3], "region": [1, 8, 9]})
    write(data, str(path), variable_value_labels={"region": {1: "north", 8: "other", 9: "other"}})
    strata = frame_strata(open_frame(path, id="person", stratum="region"))
    assert (strata.names, strata.sizes.tolist()) == (("north", "other (8)", "other (9)"), [1, 1, 1])


def test_portable_files_have_codes(tmp_path):
    table = read_table(written(tmp_path, ".por"))
    assert table.columns["REGION"] == [1, 2, 1, 2]


@pytest.mark.parametrize(("ending", "kind"), [(".dta", "Stata"), (".sav", "SPSS"), (".por", "SPSS")])
def test_other_files_are_refused(tmp_path, ending, kind):
    path = Path(tmp_path / f"x{ending}")
    path.write_text("canary " * 50)
    with pytest.raises(dps.InputError, match=f"is not a readable {kind} file") as caught:
        read_table(path)
    assert "canary" not in str(caught.value)
    with pytest.raises(dps.InputError, match="does not exist"):
        read_table(tmp_path / f"none{ending}")
