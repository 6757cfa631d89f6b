import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpstrata as dps
from dpstrata.survey.questionnaires.questionnaire import read_shorthand


def test_arrays_are_copied_and_read_only():
    sizes = np.array([10, 20])
    strata = dps.Strata(sizes, [0.1, 0.2])
    sizes[0] = 99
    assert strata.sizes.tolist() == [10, 20]
    for array in (strata.sizes, strata.sds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_every_problem_is_reported_at_once():
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata(
            sizes=[10.5, 0, 30, 40],
            sds=[0.1, -1, float("nan"), 0.2],
            names=["a", "b", "c", "a"],
            mins=[1, 1, 5, 50],
            maxs=[2, 2, 4, 60],
            response_rates=[1, 0, 1, 1.5],
            costs=[1, 1, 0, 1],
        )
    text = "\n".join(caught.value.mistakes)  # the message has the first five
    for part in (
        "size must be a whole number from 1 to 10^12, got 10.5 in stratum 'a'",
        "size must be a whole number from 1 to 10^12, got 0 in stratum 'b'",
        "sd must be a number >= 0, got -1 in stratum 'b'",
        "sd must be a number >= 0, got nan in stratum 'c'",
        "min must be at most max, got min=5, max=4 in stratum 'c'",
        "max must be at most the stratum's size, got max=60, size=40 in stratum 'a'",
        "response_rate must be at least 1e-12 and at most 1, got 0 in stratum 'b'",
        "cost must be between 1e-30 and 1e30, got 0 in stratum 'c'",
        "stratum names must be unique, got 'a' again in stratum 'a'",
    ):
        assert part in text
    assert len(caught.value.mistakes) >= 9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sizes": []}, "at least one stratum"),
        ({"sizes": [1, 2], "sds": [0.1]}, r"sds must have one entry per stratum \(2\), got 1"),
        ({"sizes": ["x"]}, "sizes must be numbers"),
        ({"sizes": [[1, 2]]}, "sizes must be a list of numbers, got 2 dimensions"),
        ({"sizes": [10**13]}, "got 10000000000000"),
        ({"sizes": [10], "sds": [0.1], "sd_sources": ["guess"]}, "sd_source must be one of public, prior"),
        ({"sizes": [10], "sds": [0.1], "coefficients": [1e40]}, "coefficient must be 0 or between"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(dps.StrataError, match=words):
        dps.Strata(**arguments)


def test_worst_case_of_the_answer_range():
    strata = dps.Strata([1, 2, 3, 4, 1000])
    largest = strata.spreads(read_shorthand((0, 10))[0])
    for size, sd in zip([2, 3, 4], largest[1:4], strict=True):
        ends = [np.r_[np.zeros(m), np.full(size - m, 10)].std(ddof=1) for m in range(size + 1)]
        assert sd == pytest.approx(max(ends))
    assert largest[0] == 0
    assert strata.sd_source(0) == "bound"


def test_spread_beyond_the_answer_range():
    strata = dps.Strata([1000, 1, 50], [0.6, 0.1, 0.2], names=["north", "alone", "south"])
    with pytest.raises(dps.StrataError) as caught:
        dps.design(strata, epsilon=1, total=10)
    assert len(caught.value.mistakes) == 2
    assert "sd must be at most 0.50025" in caught.value.mistakes[0]
    assert "got sd=0.6 in stratum 'north'" in caught.value.mistakes[0]
    assert "sd must be at most 0, " in caught.value.mistakes[1]


@pytest.mark.parametrize("library", ["pandas", "polars", "polars lazy", "pyarrow"])
def test_from_frame(library):
    data = {"stratum": ["007", "b"], "size": [70, 80], "sd": [0.1, 0.2], "min": [2, 3], "region": ["x", "y"]}
    frame = {
        "pandas": lambda: pd.DataFrame(data),
        "polars": lambda: pl.DataFrame(data),
        "polars lazy": lambda: pl.LazyFrame(data),
        "pyarrow": lambda: pa.table(data),
    }[library]()
    strata = dps.Strata.from_frame(frame)
    assert strata.names == ("007", "b")
    assert strata.mins.tolist() == [2, 3]
    assert strata.extra == {"region": ("x", "y")}


def test_from_frame_with_missing_values_and_wrong_types():
    frame = pd.DataFrame({"stratum": ["a", None], "size": [10, None], "sd": ["much", 0.2], "max": [None, 4]})
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_frame(frame)
    assert caught.value.mistakes == (
        "row 1, column 'sd': sd must be a number, got 'much'.",
        "row 2, column 'size': size must be a number, got nothing.",
        "row 2, column 'stratum': stratum must not be empty.",
    )
    with pytest.raises(dps.InputError, match="got dict"):
        dps.Strata.from_frame({"stratum": ["a"]})


def test_pandas_marks_of_missing_values():
    frame = pd.DataFrame(
        {
            "stratum": pd.array(["a", "b"], dtype="string"),
            "size": pd.array([10, 20], dtype="Int64"),
            "sd": [0.1, 0.2],
            "max": pd.array([None, 4], dtype="Int64"),
            "region": pd.array(["n", None], dtype="string"),
        }
    )
    strata = dps.Strata.from_frame(frame)
    assert strata.maxs.tolist() == [10, 4]
    assert strata.extra["region"] == ("n", None)
    frame["size"] = pd.array([10, None], dtype="Int64")
    with pytest.raises(dps.StrataError, match="row 2, column 'size': size must be a number, got nothing"):
        dps.Strata.from_frame(frame)
    double = pd.DataFrame([["a", 1, 2]], columns=["stratum", "size", "size"])
    with pytest.raises(dps.InputError, match="one column of each name"):
        dps.Strata.from_frame(double)


def test_a_parquet_file_with_a_column_twice(tmp_path):
    table = pa.Table.from_arrays(
        [pa.array(["a"]), pa.array([1]), pa.array([2])], names=["stratum", "size", "size"]
    )
    pq.write_table(table, tmp_path / "s.parquet")
    with pytest.raises(dps.InputError, match="column 'size' appears twice"):
        dps.Strata.from_file(tmp_path / "s.parquet")


@pytest.mark.parametrize(
    ("rates", "words"),
    [(None, "1,200 interviews"), ([1, 1], "1,200 interviews"), ([1, 0.6], "1,200 invitations")],
)
def test_where_not_everyone_answers_sizes_count_invitations(rates, words):
    assert dps.Strata(sizes=[5000, 5000], response_rates=rates).counted(1200) == words


def test_one_value_for_all_strata_is_the_column_with_it():
    frame = pd.DataFrame({"stratum": ["a", "b"], "size": [700, 1], "cost": [2, 3], "region": ["x", "y"]})
    with pytest.warns(dps.DpstrataWarning, match="worst case"):
        bare = dps.Strata.from_frame(frame)
    told = dps.Strata.from_frame(frame.assign(response_rate=0.6, proportion=0.08))
    filled = bare.filled(response_rate=0.6, proportion=0.08)
    for answers in ((0, 1), (-5, 5)):
        allowed = read_shorthand(answers)[0]
        assert filled.spreads(allowed).tolist() == told.spreads(allowed).tolist()
    assert filled.response_rates.tolist() == told.response_rates.tolist()
    assert [filled.sd_source(i) for i in range(2)] == [told.sd_source(i) for i in range(2)] == ["prior"] * 2
    assert filled.costs.tolist() == [2, 3]
    assert dict(filled.extra) == {"region": ("x", "y")}
    assert bare.filled() is bare


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"response_rate": 0}, "response_rate must be at least 1e-12, got response_rate=0."),
        (
            {"response_rate": float("nan")},
            "response_rate must be at least 1e-12, got response_rate=nan.",
        ),
        ({"proportion": 1.5}, "proportion must be at most 1, got proportion=1.5."),
        ({"proportion": "8%"}, "proportion must be a number, got proportion='8%'."),
        ({"response_rate": True}, "response_rate must be a number, got response_rate=True."),
    ],
)
def test_one_value_for_all_strata_must_be_a_share(given, words):
    with pytest.raises(dps.InputError) as caught:
        dps.Strata([700, 900]).filled(**given)
    assert str(caught.value) == words


def test_one_value_for_all_strata_does_not_overrule_a_column():
    strata = dps.Strata([700, 900], [0.1, 0.2], response_rates=[1, 1])
    with pytest.raises(dps.InputError, match="the strata already have standard deviations"):
        strata.filled(proportion=0.1)
    with pytest.raises(dps.InputError, match="the strata already have response rates"):
        strata.filled(response_rate=0.6)
