"""Tables as they come, and what is said of their columns."""

import pytest

import dpstrata as dps
from dpstrata.model.tables import columns_in_words, require_columns


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
