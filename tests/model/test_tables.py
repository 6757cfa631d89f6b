"""Tables as they come, and what is said of their columns."""

from pathlib import Path

import pytest

import dpstrata as dps
from dpstrata.model.tables import columns_in_words, require_columns, require_file
from dpstrata.survey.frames import open_frame


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
        "postgresql://ann:hunter2@db.example/people",
        "jdbc:mysql://ann:hunter2@db/people.csv",
        "s3://key:hun@ter2@bucket/p.parquet",
        "host=db user=ann password=hunter2 dbname=d",
        "Driver=x;PWD=hunter2;",
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
