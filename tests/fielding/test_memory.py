"""Data frames as frames: the same counts, sample and record as a file of the same people, and no cell shown."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpstrata as dps
from dpstrata.fielding.draw import draw, verify_draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.sample import draw_sample
from extent import crossed

KEY = bytes(range(32))
PEOPLE = {
    "whole": [7 * i - 50 for i in range(300)],
    "text": [f"person é-{i}" for i in range(300)],
    "region": ["north", " south", "wést"] * 100,
    "old": [i % 4 == 0 for i in range(300)],
    "income": [float(i % 17) for i in range(300)],
}
MADE = {
    "pandas": pd.DataFrame,
    "categories": lambda columns: pd.DataFrame(columns).astype({"region": "category"}),
    "polars": pl.DataFrame,
    "lazy": lambda columns: pl.LazyFrame(columns),
    "arrow": pa.table,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "columns"), crossed([*MADE], [("whole", "region"), ("text", ["region", "old"])])
)
def test_the_sample_is_that_of_a_file(tmp_path, library, columns):
    id, stratum = columns
    pq.write_table(pa.table(PEOPLE), tmp_path / "people.parquet")
    file = open_frame(tmp_path / "people.parquet", id=id, stratum=stratum)
    frame = open_frame(MADE[library](PEOPLE), id=id, stratum=stratum)
    spread = {"sd_column": "income", "sd_source": "public"}
    strata, same = frame_strata(file, **spread), frame_strata(frame, **spread)
    assert (same.names, same.sizes.tolist()) == (strata.names, strata.sizes.tolist())
    assert same.sds == pytest.approx(strata.sds, rel=1e-12)
    plan = dps.design(strata, epsilon=1, total=60, questions=(0, 20))
    sample, other = draw_sample(plan, file, KEY), draw_sample(plan, frame, KEY)
    for part in ("ids", "strata", "method", "frame_digest"):
        assert getattr(sample, part) == getattr(other, part)
    plan.save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "k")
    for each in (file, frame):
        verify_draw(tmp_path / "design.json", each, sample=tmp_path / "sample.csv", key_file=tmp_path / "k")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["canary", None, " "], "s": list("aab")}, "got 2 without an id"),
        (
            {"id": ["canary", "canary", "c"], "s": ["a", "a", None]},
            "got 1 without a stratum and 1 listed more",
        ),
        (
            {"id": ["canary", 7, b"x"], "s": list("aab")},
            "column 'id' of the data frame must hold one kind of",
        ),
        ({"id": [1.5, 2.5, 3.5], "s": list("aab")}, "got double in column 'id' of the data frame"),
        ({"person": [1, 2, 3], "s": list("aab")}, "the data frame has no column 'id'; it has 'person', 's'"),
        (
            {"id": pd.Series([], dtype="int64"), "s": pd.Series([], dtype="str")},
            "the data frame lists nobody",
        ),
    ],
)
def test_refusals_show_no_cell(columns, words):
    frame = open_frame(pd.DataFrame(columns), id="id", stratum="s")
    with pytest.raises(dps.InputError, match=words) as caught:
        frame_strata(frame)
    assert "canary" not in str(caught.value) + str(caught.value.__cause__) + str(caught.value.__context__)
    assert "canary" not in repr(frame)


def test_what_is_no_frame_is_refused():
    with pytest.raises(dps.InputError, match=r"a data frame must be of pandas, Polars, Arrow .*, got list"):
        open_frame([1, 2], id="id", stratum="s")
    twice = pd.DataFrame([[1, 2, "a"]], columns=["id", "id", "s"])
    with pytest.raises(dps.InputError, match="the data frame must have one column of each name"):
        open_frame(twice, id="id", stratum="s")
    for more, words in (({"sheet": "x"}, "sheet requires an Excel file"), ({"table": "x"}, "table is for")):
        with pytest.raises(dps.InputError, match=words):
            open_frame(pd.DataFrame(PEOPLE), id="whole", stratum="region", **more)


def test_strata_that_look_alike_are_named_in_a_warning():
    names = ["Pflege", "Pflege", "pflege", "Plege", "\u0420flege", "Labor"] * 20
    people = pa.table({"id": range(120), "unit": names, "sex": ["f", "m"] * 60})
    with pytest.warns(dps.DpstrataWarning, match="look alike") as caught:
        strata = dps.frame_strata(dps.open_frame(people, id="id", stratum=["unit", "sex"]))
    (warning,) = caught
    for words in ("'Pflege' and 'pflege'", "'Pflege' and 'Plege'", "'\u0420flege' (with Cyrillic letters)"):
        assert words in str(warning.message)
    assert "Labor" not in str(warning.message)
    assert strata.population == 120


def test_an_error_value_is_no_stratum():
    people = pa.table({"id": range(4), "unit": ["a", "#REF!", "a", "#REF!"]})
    with pytest.raises(dps.InputError, match="got 2 in stratum '#REF!', a spreadsheet's error value"):
        dps.frame_strata(dps.open_frame(people, id="id", stratum="unit"))
