"""Files of questions: read, written, and everything that can be wrong with them."""

from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from extent import few

EXAMPLES = Path(dps.__file__).parent / "examples"


def read(tmp_path, text, name="questions.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return dps.Questionnaire.from_file(path)


FULL = (
    "name,kind,lower,upper,step,categories,importance,target_se,target_margin,together,everyone,text\n"
    "smokes,yes/no,,,,,,,0.03,habits,,Do you smoke?\n"
    'home,category,,,,rent | own|other,2,,,,no,"Rent, or own?"\n'
    "trust,scale,1,5,,,1,0.1,,,,\n"
    "income,number,0,10000,,,,,,,yes,\n"
    "drinks,Yes_No,,,,,,,,habits,,\n"
)


def test_blanks_have_a_column_only_where_some_question_may_not_be_left_blank(tmp_path):
    """By default yes/no and category questions may, as in an XLSForm; scales and numbers never."""
    text = "name,kind,lower,upper,blank\na,yes_no,,,yes\nb,yes_no,,,\nc,scale,1,5,\nd,yes_no,,,no\n"
    questions = read(tmp_path, text)
    assert [question.blank for question in questions] == [True, True, False, False]
    assert questions.table()["blank"] == [None, None, None, "no"]
    assert "blank" not in dps.Questionnaire(questions[:3]).table()
    assert [question.blank for question in read(tmp_path, "name,kind\na,yes_no\n")] == [True]
    with pytest.raises(
        dps.QuestionnaireError, match="line 2, column 'blank': blank must be left out of a scale"
    ):
        read(tmp_path, "name,kind,lower,upper,blank\na,scale,1,5,yes\n")


def test_every_column(tmp_path):
    questions = read(tmp_path, FULL)
    assert questions == dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", target_margin=0.03, together="habits", text="Do you smoke?"),
            dps.Question(
                "home", "category", categories=["rent", "own", "other"], importance=2, text="Rent, or own?"
            ),
            dps.Question("trust", "scale", lower=1, upper=5, step=1, target_se=0.1),
            dps.Question("income", "number", lower=0, upper=10000, everyone=True),
            dps.Question("drinks", "yes_no", together="habits"),
        ]
    )


@pytest.mark.parametrize(
    "text",
    [
        "name;kind;lower;upper;step\nq;scale;0;1;0,25\n",
        "My survey\nName , KIND,lower,upper,step\nq,scale,0,1,0.25\n",
        "name\tkind\tupper\tlower\tstep\nq\tscale\t1\t0\t0.25\n",
    ],
)
def test_dialects(tmp_path, text):
    (question,) = read(tmp_path, text)
    assert (question.lower, question.upper, question.step) == (0, 1, 0.25)


def test_a_comma_before_three_digits_is_never_guessed(tmp_path):
    """8,000 is eight in one country and eight thousand in another; 0,125 and 0.125 are one number."""
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, 'name,kind,lower,upper,target_se\nincome,number,"1,000","8,000","1,200"\n')
    assert caught.value.mistakes == tuple(
        f"line 2, column {column!r}: {column} must be written without thousands separators, got {text!r}."
        for column, text in (("lower", "1,000"), ("upper", "8,000"), ("target_se", "1,200"))
    )
    for step in ("0,125", "0.125"):
        (question,) = read(tmp_path, f"name;kind;lower;upper;step\nq;scale;0;1;{step}\n")
        assert question.step == 0.125


def test_excel_and_frames(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Staff survey 2026"])
    rows = [
        ["name", "kind", "lower", "upper", "categories", "everyone"],
        [1, "scale", 1, 5, None, None],
        ["home", "category", None, None, "1|2", True],
    ]
    for row in rows:
        book.active.append(row)
    book.create_sheet("other").append(["nothing", "here"])
    book.save(tmp_path / "q.xlsx")
    questions = dps.Questionnaire.from_file(tmp_path / "q.xlsx")
    assert questions.names == ("1", "home")  # a number as a name is written without '.0'
    assert questions[1].categories == ("1", "2")
    assert questions[1].everyone
    with pytest.raises(dps.QuestionnaireError, match="column 'name' is missing; the file has 'nothing'"):
        dps.Questionnaire.from_file(tmp_path / "q.xlsx", sheet="other")
    assert dps.Questionnaire.from_frame(pd.DataFrame(rows[1:], columns=rows[0])) == questions


def test_every_mistake_with_its_line_and_column(tmp_path):
    text = (
        "name,kind,lower,upper,step,categories,importance,together,everyone\n"
        "a,essay,,,,,,,\n"
        "a,scale,5,1,,,x,,\n"  # double, wrong way round, not a number
        ",yes_no,,,,,-1,,maybe\n"
        "d,category,,,,a|a|,,alone,\n"
        "e,number,,10,1,,,,\n"
    )
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, text)
    assert sorted(caught.value.mistakes) == sorted(
        [
            "line 2, column 'kind': kind must be one of yes_no, category, scale, number, got 'essay'.",
            "line 3, column 'name': names of questions must differ, and not only in case, got 'a' again.",
            "line 3, column 'lower': lower must be below upper, got lower=5, upper=1.",
            "line 3, column 'importance': importance must be a number, got 'x'.",
            "line 4, column 'name': the name of a question must not be empty.",
            "line 4, column 'importance': importance must lie between 1e-06 and 1e+06, got -1.",
            "line 4, column 'everyone': everyone must be yes or no, got 'maybe'.",
            "line 5, column 'categories': names of categories must differ in more than case, got 'a' again.",
            "line 5, column 'categories': names of categories must be a line of text without '|', got ''.",
            "line 5, column 'together': together must be shared by at least two questions, got 'alone' once.",
            "line 6, column 'lower': lower must be a number for a number question, got nothing.",
            "line 6, column 'step': step must be left out of a number question (use a scale for answers on a "
            "grid), got 1.",
        ]
    )
    assert {cell.column for cell in caught.value.cells} >= {"kind", "together", "categories"}
    assert "12 mistakes" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "header row and at least one row, got an empty file"),
        ("name,kind\n", "there must be at least one question, got only a header"),
        ("name,type\nq,yes_no\n", "column 'kind' is missing; the file has 'name', 'type'"),
        (
            "name,kind,weight\nq,yes_no,2\n",
            "column 'weight' is unknown; known are name, kind, lower,",
        ),
        (
            "name,kind,target se\nq,yes_no,2\n",
            r"column 'target se' is unknown; did you mean 'target_se'\?",
        ),
        ("name,kind,Kind\nq,yes_no,yes_no\n", "column 'kind' appears twice"),
        ("name,kind\nq,yes_no,3\n", "line 2: a row must have 2 cells like the header, got 3"),
    ],
)
def test_one_clear_mistake(tmp_path, text, words):
    with pytest.raises(dps.InputError, match=words) as caught:
        read(tmp_path, text)
    assert not isinstance(caught.value, dps.StrataError)


def test_the_same_mistake_in_many_rows_is_one_line(tmp_path):
    rows = "".join(f"q{i},number,1,0\n" for i in range(9))
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, f"name,kind,lower,upper\n{rows}")
    assert str(caught.value).endswith(
        "questions.csv: column 'lower', lines 2 to 10: lower must be below upper, got lower=1, upper=0."
    )


# --- written --------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=8)
names = words.filter(str.strip)


def numbers(least, most):
    """Numbers with as many digits as Excel keeps."""
    return st.floats(least, most).map(lambda number: float(f"{number:.12g}"))


@st.composite
def questions(draw):
    kind = draw(st.sampled_from(["yes_no", "category", "scale", "number"]))
    fields = {}
    if kind == "category":
        fields["categories"] = draw(
            st.lists(names.filter(lambda name: "|" not in name), min_size=2, max_size=5, unique_by=str.strip)
        )
    elif kind != "yes_no":
        fields["lower"] = round(draw(numbers(-1e6, 1e6)), 6)
        fields["step"] = draw(st.sampled_from([0.25, 1.0, 7.0])) if kind == "scale" else None
        fields["upper"] = fields["lower"] + (fields["step"] or 0.5) * draw(st.integers(1, 99))
    target = draw(st.sampled_from([None, "target_se", "target_margin"]))
    if target:
        fields[target] = draw(numbers(1e-9, 1e9))
    fields["importance"] = draw(numbers(1e-6, 1e6))
    fields["text"] = draw(words) + draw(st.sampled_from(["", "\n", ' "', ";,\t|"])) + draw(words)
    fields["everyone"] = draw(st.booleans())
    fields["blank"] = kind in ("yes_no", "category") and draw(st.booleans())
    fields["no_first"] = kind == "yes_no" and draw(st.booleans())
    together = None if fields["everyone"] else draw(st.sampled_from([None, "a", "b"]))
    return kind, {**fields, "together": together}


@settings(max_examples=few(30, of=60), deadline=None)
@given(st.lists(questions(), min_size=1, max_size=6), st.sampled_from(["csv", "xlsx", "parquet"]))
def test_what_is_written_is_read_again(tmp_path_factory, drawn, ending):
    counts = [fields["together"] for _, fields in drawn]
    listed = [
        dps.Question(
            f"q {place}",
            kind,
            **{**fields, "together": fields["together"] if counts.count(fields["together"]) > 1 else None},
        )
        for place, (kind, fields) in enumerate(drawn)
    ]
    path = tmp_path_factory.mktemp("written") / f"questions.{ending}"
    dps.Questionnaire(listed).to_file(path)
    assert dps.Questionnaire.from_file(path) == dps.Questionnaire(listed)


def test_a_file_of_another_kind_is_not_written_over(tmp_path):
    questionnaire = read(tmp_path, FULL)
    questionnaire.to_file(tmp_path / "questions.csv")  # the same columns
    other = tmp_path / "strata.csv"
    other.write_text("stratum,size\na,10\n")
    with pytest.raises(dps.InputError, match="holds something else"):
        questionnaire.to_file(other)
    with pytest.raises(dps.InputError, match=r"must end in \.csv, \.parquet or \.xlsx, got 'q\.json'"):
        questionnaire.to_file(tmp_path / "q.json")


@pytest.mark.parametrize(("name", "length"), [("health10", 10), ("income5", 5), ("opinion20", 20)])
def test_the_shipped_examples(name, length):
    assert len(dps.Questionnaire.from_file(EXAMPLES / f"{name}.csv")) == length
