"""Columns of numbers, read without showing any."""

import pytest

import dpstrata as dps
from dpstrata.survey.noised import read_numbers


@pytest.mark.parametrize("cell", ["canary", "", "1_0", "nan", "inf", "1,5"])
def test_the_first_cell_that_is_no_number_is_found_and_not_shown(tmp_path, cell):
    path = tmp_path / "answers.csv"
    path.write_text(f"person;yes\n1;1\n\n2;{cell}\n3;also-canary\n")
    with pytest.raises(dps.InputError) as caught:
        read_numbers(path, "yes")
    said = "column 'yes', line 4: not a number; code yes as 1 and no as 0."
    assert str(caught.value) == f"{path}: {said}"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    path.write_text("person;yes\n1;1\n\n2; 0.5 \n")
    assert read_numbers(path, "yes") == [1.0, 0.5]
