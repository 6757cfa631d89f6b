"""Tables whose rows are not all strata: totals, lists of people, failed formulas."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.survey.strata_columns import find_totals


def read(tmp_path, text):
    path = tmp_path / "strata.csv"
    path.write_text(text)
    return dps.Strata.from_file(path)


@pytest.mark.parametrize(
    "name",
    [
        "Total",
        "TOTAL:",
        "Grand total",
        "Gesamt",
        "Insgesamt (2024)",
        "Summe",
        "all",
        "Total Bayern",
        "Gesamtergebnis",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_row_that_adds_up_the_others_is_refused_by_name(name, first, tmp_path):
    rows = ["North,1000,0.1", "South,2000,0.2"]
    rows.insert(0 if first else 2, f"{name},3000,0.1")
    with pytest.raises(dps.StrataError) as caught:
        read(tmp_path, "\n".join(["stratum,size,sd", *rows]))
    (mistake,) = caught.value.mistakes
    assert repr(name) in mistake
    assert f"line {2 if first else 4}" in mistake


def test_every_total_of_a_part_is_refused():
    names = ["a", "b", "Total north", "c", "d", "Total south", "Grand total"]
    sizes = np.array([10.0, 20, 30, 40, 50, 90, 120])
    assert [each.row for each in find_totals(names, sizes)[0]] == [2, 5, 6]


@pytest.mark.parametrize(
    "name", ["Allach", "all others", "Gesamtschule", "Summerville", "Ensembleviertel", "South"]
)
def test_a_stratum_as_large_as_the_others_together_is_one(name, tmp_path):
    assert read(tmp_path, f"stratum,size,sd\nNorth,500,0.1\n{name},500,0.1\n").population == 1000


def test_subtotals_of_excel_are_refused():
    names = ["A", "A", "A Total", "B", "B", "B Total", "Grand Total"]
    sizes = np.array([10.0, 20, 30, 40, 50, 90, 120])
    assert [each.row for each in find_totals(names, sizes)[0]] == [2, 5, 6]


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (["Engie", "Total"], [500, 500]),
        (["Shell", "BP", "TotalEnergies"], [300, 200, 500]),
        (["Orchestra", "Ensemble", "Technik"], [80, 80, 40]),
    ],
)
def test_strata_that_happen_to_be_as_large_are_not_refused(names, sizes):
    assert find_totals(names, np.array(sizes, dtype=float))[0] == []


def test_a_total_that_does_not_add_up_is_warned_of(tmp_path):
    with pytest.warns(dps.DpstrataWarning, match="stratum 'Total' may be a total"):
        strata = read(tmp_path, "stratum,size,sd\nNorth,1000,0.1\nSouth,2000,0.1\nTotal,2999,0.1\n")
    assert len(strata) == 3


@pytest.mark.parametrize("name", ["Population", "Alle Mitarbeitenden", "Deutschland", "-"])
@pytest.mark.parametrize("first", [True, False])
def test_a_first_or_last_row_that_adds_up_all_others_is_warned_of_whatever_its_name(name, first, tmp_path):
    rows = ["North,1000,0.1", "South,2000,0.2"]
    rows.insert(0 if first else 2, f"{name},3000,0.1")
    with pytest.warns(dps.DpstrataWarning, match=f"stratum '{name}' may be a total"):
        assert len(read(tmp_path, "\n".join(["stratum,size,sd", *rows]))) == 3


def test_a_list_of_people_is_refused_without_showing_anyone(tmp_path):
    people = "\n".join(f"p{number}@example.org,{10000 + number}" for number in range(1, 901))
    with pytest.raises(dps.StrataError, match="each row seems to be one person") as caught:
        read(tmp_path, f"stratum,size\n{people}\n")
    assert len(caught.value.mistakes) == 1
    assert "p1@" not in str(caught.value)


def test_error_values_of_spreadsheets_are_named(tmp_path):
    with pytest.raises(dps.StrataError) as caught:
        read(tmp_path, "stratum,size,sd\nA,#REF!,0.1\n#NAME?,20,0.1\nC,30,#DIV/0!\n")
    for words in (
        "line 2, column 'size': size must be a number, got the error value #REF!",
        "line 3, column 'stratum': stratum must be a name, got the error value #NAME?",
        "line 4, column 'sd': sd must be a number, got the error value #DIV/0!",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize("error", ["#BEZUG!", "#¡REF!", "#¿NOMBRE?", "#¡DIV/0!", "#N/D", "#I/T", "Err:502"])
def test_error_values_in_other_languages_are_no_names(error, tmp_path):
    with pytest.raises(dps.StrataError, match="stratum must be a name, got the error value"):
        read(tmp_path, f"stratum,size,sd\nA,10,0.1\n{error},20,0.1\n")
