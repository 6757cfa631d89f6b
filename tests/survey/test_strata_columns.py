"""Strata files: CSV of every dialect, Parquet, Excel, and everything that can be wrong with them."""

import datetime
import math

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpstrata as dps


def write(tmp_path, text, name="strata.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "stratum,size,sd\n007,7000,0.283\nüst,8000,0.08\n",
        "\ufeffstratum,size,sd\r\n007,7000,0.283\r\nüst,8000,0.08\r\n",
        "stratum;size;sd\n007;7000;0,283\nüst;8000;0,08\n",
        "stratum\tsize\tsd\n007\t7000\t0,283\nüst\t8000\t0,08\n",
        'stratum,size,sd\n007,7000,"0,283"\nüst,8000,"0,08"\n',
        " Stratum , SIZE ,Sd\n007 , 7000 , 0.283 \n\nüst,8000.0,8e-2\n",
    ],
)
def test_dialects(tmp_path, text):
    strata = dps.Strata.from_file(write(tmp_path, text))
    assert strata.names == ("007", "üst")
    assert strata.sizes.tolist() == [7000, 8000]
    assert strata.sds.tolist() == [0.283, 0.08]


def test_parquet_and_excel(tmp_path):
    data = {"stratum": ["007", "b"], "size": [70, 80], "sd": [0.1, 0.2]}
    pq.write_table(pa.table(data), tmp_path / "s.parquet")
    book = openpyxl.Workbook()
    book.active.append([])
    for row in [["stratum", "size", "sd"], ["007", 70, 0.1], [8, 80, 0.2]]:
        book.active.append(row)
    book.save(tmp_path / "s.xlsx")
    assert dps.Strata.from_file(tmp_path / "s.parquet").names == ("007", "b")
    excel = dps.Strata.from_file(tmp_path / "s.xlsx")
    assert excel.names == ("007", "8")  # a number as a name is written without '.0'
    assert excel.sds.tolist() == [0.1, 0.2]


def test_ways_to_say_the_spread(tmp_path):
    def sds(header, *cells):
        rows = "".join(f"s{i},{100 + i},{cell}\n" for i, cell in enumerate(cells))
        return dps.Strata.from_file(write(tmp_path, f"stratum,size,{header}\n{rows}"))

    assert sds("variance", "0.04", "0.09").sds == pytest.approx([0.2, 0.3])
    proportion = sds("proportion", "0.5", "0.1")
    assert proportion.sds == pytest.approx([math.sqrt(0.25 * 100 / 99), math.sqrt(0.09 * 101 / 100)])
    assert proportion.sd_source(0) == "prior"
    interval = sds("sd_low,sd_high", "0.1,0.2", "0.2,0.4")
    assert interval.sds.tolist() == [0.2, 0.4]
    assert interval.sd_source(1) == "bound"
    named = sds("sd,sd_source", "0.1,public", "0.2,")
    assert [named.sd_source(i) for i in range(2)] == ["public", "prior"]
    with pytest.warns(dps.DpstrataWarning, match="there is no spread column"):
        none = dps.Strata.from_file(write(tmp_path, "stratum,size,stdev\na,10,0.1\n"))
    assert none.sds is None


def test_a_proportion_is_of_the_answer_range(tmp_path):
    path = write(tmp_path, "stratum,size,proportion\na,100,0.1\nb,100,0.5\n")
    strata = dps.Strata.from_file(path, questions=(0, 100))
    plan = dps.design(strata, epsilon=1, total=20, questions=(0, 100))
    assert plan.sds == pytest.approx([100 * math.sqrt(0.09 * 100 / 99), 100 * math.sqrt(0.25 * 100 / 99)])
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


def test_decimal_commas_in_text_cells_of_a_spreadsheet(tmp_path):
    book = openpyxl.Workbook()
    for row in [["stratum", "size", "sd"], ["a", 70, "0,1"], ["b", 80, 0.2]]:
        book.active.append(row)
    book.save(tmp_path / "s.xlsx")
    assert dps.Strata.from_file(tmp_path / "s.xlsx").sds.tolist() == [0.1, 0.2]


def test_a_single_person_with_a_proportion_has_no_spread(tmp_path):
    assert dps.Strata.from_file(write(tmp_path, "stratum,size,proportion\na,1,0.5\n")).sds.tolist() == [0.0]


def test_optional_columns_and_blanks(tmp_path):
    text = (
        "stratum,size,sd,min,max,cost,coefficient,response_rate,region\n"
        "a,100,0.1,2,,1.5,2,0.8,north\n"
        "b,200,0.2,,50,2.5,-1,,\n"
    )
    strata = dps.Strata.from_file(write(tmp_path, text))
    assert strata.mins.tolist() == [2, 0]
    assert strata.maxs.tolist() == [100, 50]
    assert strata.costs.tolist() == [1.5, 2.5]
    assert strata.coefficients.tolist() == [2, -1]
    assert strata.response_rates.tolist() == [0.8, 1.0]
    assert strata.extra == {"region": ("north", "")}


def test_every_problem_with_its_line_and_column(tmp_path):
    text = (
        "stratum;size;sd;min;max\n"
        "a;7.000;0,283;1;10\n"  # thousands
        "a;many;0,1;1;10\n"  # double, not a number
        ";0;-0,1;1;10\n"  # empty name, zero, negative
        "d;12,5;0,9;9;8\n"  # not whole, too large, min > max
        "e;20;;1;30\n"  # missing, max > size
    )
    path = write(tmp_path, text)
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_file(path, questions=(0, 1))
    assert sorted(caught.value.mistakes) == sorted(
        [
            "line 2, column 'size': size must be written without thousands separators, got '7.000'.",
            "line 3, column 'size': size must be a number, got 'many'.",
            "line 4, column 'size': size must be a whole number from 1 to 10^12, got 0.",
            "line 5, column 'size': size must be a whole number from 1 to 10^12, got 12.5.",
            "line 6, column 'sd': sd must be a number, got nothing.",
            "line 4, column 'sd': sd must be a number >= 0, got -0.1.",
            "line 5, column 'sd': sd must be at most 0.522233, the largest that answers in [0, 1] can have, "
            "got sd=0.9.",
            "line 5, column 'min': min must be at most max, got min=9, max=8.",
            "line 6, column 'max': max must be at most the stratum's size, got max=30, size=20.",
            "line 3, column 'stratum': stratum names must be unique, got 'a' again.",
            "line 4, column 'stratum': stratum must not be empty.",
        ]
    )
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("made", [datetime.date, datetime.datetime])
def test_dates_are_shown_as_dates(made):
    frame = pa.table({"stratum": ["a"], "size": [made(1950, 1, 2)]})
    with pytest.raises(dps.StrataError, match=r"size must be a number, got the date 1950-01-02\."):
        dps.Strata.from_frame(frame)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "header row and at least one row, got an empty file"),
        ("stratum,size,sd\n", "at least one stratum, got only a header"),
        ("name,size\na,1\n", "column 'stratum' is missing; the file has 'name', 'size'"),
        (
            "a,7000,0.5\nb,8000,0.5\n",
            "column 'size' is missing; its first row looks like data, so it may lack a",
        ),
        (
            "stratum,szie\na,1\n",
            r"column 'size' is missing; the file has 'stratum', 'szie'. Did you mean 'szie'\?",
        ),
        (
            "person,region\n1,north\n",
            r"the file has 'person', 'region'. If each row is a person, count the strata first \(dpstrata frame,",
        ),
        ("stratum,size,sd,sd\na,1,1,1\n", "column 'sd' appears twice"),
        ("stratum,size,sd,SD\na,1,1,1\n", "column 'sd' appears twice"),
        ("stratum,size\na,1,2\n", "line 2: a row must have 2 cells like the header, got 3"),
        ("stratum,size\na\n", "line 2: a row must have 2 cells like the header, got 1"),
        ("stratum,size,sd,variance\na,10,0.1,0.01\n", "got sd and variance"),
        ("stratum,size,sd_low\na,10,0.1\n", "got sd_low"),
        ('stratum,size,sd\na,10,0.1\nb,10,"0,1"\n', "all numbers must use the same decimal sign, got '0,1'"),
        ("stratum,size,proportion\na,10,1.2\n", "proportion must lie between 0 and 1, got 1.2"),
        ("stratum,size,variance\na,10,-1\n", "variance must be a number >= 0, got -1"),
        ("stratum,size,sd_low,sd_high\na,10,0.3,0.2\n", "sd_low must be at least 0 and at most sd_high"),
        (
            "stratum,size,sd,sd_source\na,10,0.3,survey\n",
            "line 2, column 'sd_source': sd_source must be one of",
        ),
        ("stratum,size,sd\na,10,nan\n", "line 2, column 'sd': sd must be a number, got 'nan'"),
        ("stratum,size,sd\na,10,inf\n", "line 2, column 'sd': sd must be a number >= 0, got inf"),
        ('stratum,size\n"a,1\n', "not a readable CSV file"),
    ],
)
def test_one_clear_problem(tmp_path, text, words):
    with pytest.raises(dps.InputError, match=words):
        dps.Strata.from_file(write(tmp_path, text))


def test_a_near_miss_is_warned_about(tmp_path):
    path = write(tmp_path, "stratum,size,sd,costs\na,10,0.1,5\n")
    with pytest.warns(
        dps.DpstrataWarning, match="column 'costs' is unknown and ignored; did you mean 'cost'"
    ):
        strata = dps.Strata.from_file(path)
    assert strata.costs is None
    assert strata.extra == {"costs": ("5",)}


def test_files_that_cannot_be_read(tmp_path):
    for name, content, words in [
        ("missing.csv", None, "does not exist"),
        ("s.docx", b"x", "a table must end in .csv, .tsv, .txt, .parquet"),
        ("latin.csv", "stratum,size\nü,1\n".encode("latin-1"), "must be UTF-8 text"),
        ("zip.csv", b"PK\x00\x01", "binary file"),
        ("bad.parquet", b"no parquet", "not a readable Parquet file"),
        ("bad.xlsx", b"no excel", "not a readable Excel file"),
        ("missing.parquet", None, "does not exist"),
        ("missing.xlsx", None, "does not exist"),
    ]:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(dps.InputError, match=words):
            dps.Strata.from_file(tmp_path / name)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(dps.InputError, match="is a folder"):
        dps.Strata.from_file(folder)


def test_the_same_problem_in_many_rows_is_one_line(tmp_path):
    rows = "".join(f"s{i},-1\n" for i in range(60))
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_file(write(tmp_path, f"stratum,size\n{rows}"))
    assert len(caught.value.mistakes) == len(caught.value.cells) == 60
    assert str(caught.value).endswith(
        "strata.csv: column 'size', lines 2 to 61: size must be a whole number from 1 to 10^12, got -1."
    )
    with pytest.raises(dps.StrataError, match="4 mistakes") as caught:
        dps.Strata.from_file(write(tmp_path, "stratum,size\na,-1\nb,5\nc,-2\n,5\n,5\n"))
    assert str(caught.value).splitlines()[1:] == [
        "  - column 'size', lines 2 and 4: size must be a whole number from 1 to 10^12, got -1 and others.",
        "  - column 'stratum', lines 5 and 6: stratum must not be empty.",
    ]


def test_rows_of_another_length_are_one_line(tmp_path):
    rows = "".join(f"s{i},9,9\n" for i in range(7)) + "a,9\n" + "b,9,9\n"
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_file(write(tmp_path, f"stratum,size\n{rows}"))
    assert len(caught.value.mistakes) == 8
    assert str(caught.value).endswith(
        "strata.csv: lines 2, 3, 4, 5, 6 and 3 more: a row must have 2 cells like the header, got 3."
    )


def test_many_kinds_of_mistakes_are_cut_short(tmp_path):
    text = "stratum,size,sd,min,max,cost\na,-1,-1,-1,-1,-1\na,-1,-1,-1,-1,-1\n"
    with pytest.raises(dps.StrataError, match="11 mistakes") as caught:
        dps.Strata.from_file(write(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 7
    assert str(caught.value).endswith("and 1 more")


# --- expected shares of categories ------------------------------------------------------------


def test_shares_of_categories_give_half_the_sum_of_their_variances(tmp_path):
    path = write(
        tmp_path,
        "stratum;size;Proportion: rent;proportion:own;proportion:other;sd_source\n"
        "n;100;0,5;0,3;0,2;\ns;1;1;0;0;public\n",
    )
    for answers in (None, "rent|own|other"):
        strata = dps.Strata.from_file(path, questions=answers)  # and no warning
        assert strata.sds == pytest.approx([math.sqrt((0.25 + 0.21 + 0.16) / 2 * 100 / 99), 0.0])
        assert strata.categories == ("rent", "own", "other")
        assert [strata.sd_source(row) for row in (0, 1)] == ["prior", "public"]
    assert dps.Strata.from_file(
        write(tmp_path, "stratum,size,proportion:a,proportion:b,proportion:c\nn,100,0.33,0.33,0.33\n")
    ).sds == pytest.approx([math.sqrt(100 / 99 / 3)])


def test_shares_of_categories_that_are_none(tmp_path):
    text = "stratum,size,proportion:a,proportion:b\nn,9,0.6,0.6\ns,9,1.2,-0.2\nt,9,much,0.5\n"
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_file(write(tmp_path, text))
    assert list(caught.value.mistakes) == [
        "line 2, column 'proportion:a': the proportions of all categories must add up to 1, got 1.2.",
        "line 3, column 'proportion:a': proportion:a must lie between 0 and 1, got 1.2.",
        "line 3, column 'proportion:b': proportion:b must lie between 0 and 1, got -0.2.",
        "line 4, column 'proportion:a': proportion:a must be a number, got 'much'.",
    ]


def test_without_shares_the_worst_case_is_that_of_equal_shares(tmp_path):
    path = write(tmp_path, "stratum,size\nn,9000\n")
    with pytest.warns(
        dps.DpstrataWarning, match="no spread column .proportion:a and so on, or sd.*equal shares"
    ):
        strata = dps.Strata.from_file(path, questions=["a", "b", "c"])
    plan = dps.design(strata, questions=["a", "b", "c"], epsilon=1, total=50)
    assert plan.sds**2 == pytest.approx([1 / 3 * 9000 / 8999])


def test_shares_must_be_those_of_the_answers(tmp_path):
    strata = dps.Strata.from_file(
        write(tmp_path, "stratum,size,proportion:rent,proportion:own\nn,900,0.5,0.5\n")
    )
    options = {"epsilon": 1, "total": 50}
    assert dps.design(strata, questions=["own", "rent"], **options).total == 50
    for answers, got in (
        (["rent", "own", "other"], "rent, own, other"),
        ("yes_no", "yes or no"),
    ):
        with pytest.raises(
            dps.InputError, match=f"categories rent, own, which must be those of questions, got {got}"
        ):
            dps.design(strata, questions=answers, **options)
    shares = {"questions": ["rent", "own", "other"], **options}
    words = (
        "proportion is the share of one of two answers, and there are 3 categories.*proportion:rent and so on"
    )
    with pytest.raises(dps.InputError, match=words):
        dps.design(dps.Strata([900]), proportion=0.3, **shares)
    one = dps.Strata.from_file(write(tmp_path, "stratum,size,proportion\nn,900,0.5\n"))
    with pytest.raises(dps.InputError, match=words):
        dps.design(one, **shares)


def test_a_design_with_shares_survives_its_document_and_its_own_strata_file(tmp_path):
    strata = dps.Strata.from_file(
        write(tmp_path, "stratum,size,proportion:rent,proportion:own\nn,900,0.5,0.5\ns,800,0.9,0.1\n")
    )
    plan = dps.design(strata, questions=["rent", "own"], epsilon=1, total=50)
    plan.save(tmp_path / "design.json")
    loaded = dps.load_design(tmp_path / "design.json")
    assert loaded == plan
    assert loaded.digest == plan.digest
    plan.save(tmp_path / "table.csv")
    again = dps.Strata.from_file(tmp_path / "table.csv")  # sd and shares: sd it is
    assert again.sds.tolist() == plan.sds.tolist()
    assert again.categories == ("rent", "own")
