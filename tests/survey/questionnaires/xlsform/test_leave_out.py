"""Rows of an XLSForm that are left out: what devices record always, and on request all that cannot be protected."""

import sys
import warnings

import pytest

import dpstrata as dps
from questionnaires import YES_NO, write_form

HEADER = ["type", "name", "label", "relevant", "constraint", "choice_filter", "dp_importance"]
GOOD = ["select_one yn", "good", "Good?"]
TIME = "the time of an answer can identify the person"
DEVICE = "it identifies the person or the device"
TEXT = "free text has no fixed set of answers"
DATE = "dates and times have too many possible answers"
PLACE = "a location can identify the person"
MEDIA = "recordings, pictures and files cannot be randomised"
REPEATED = "the number of repetitions would reveal an answer"


def form_of(tmp_path, *rows):
    return write_form(tmp_path / "form.xlsx", [HEADER, *rows], YES_NO)


def read(tmp_path, *rows, **options):
    """Read rows as a form; return the names of its questions, and the lines of what was warned about."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        form = dps.Questionnaire.from_file(form_of(tmp_path, *rows), **options)
    assert all(each.category is dps.DpstrataWarning for each in raised)
    assert all(each.filename == __file__ for each in raised)
    return form.names, [line for each in raised for line in str(each.message).splitlines()]


@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        *((kind, TIME) for kind in ("start", "end", "today", "audit", "start time", "get today")),
        *((kind, DEVICE) for kind in ("deviceid", "username", "phonenumber", "subscriberid", "simserial")),
        *((kind, DEVICE) for kind in ("email", "uri:deviceid", "imei", "get phone number")),
        *((kind, PLACE) for kind in ("start-geopoint", "background-geopoint")),
        ("background-audio", MEDIA),
    ],
)
def test_what_devices_record_is_left_out_with_a_line(tmp_path, kind, reason, leave_out):
    names, lines = read(tmp_path, [kind, "m"], GOOD, leave_out=leave_out)
    assert names == ("good",)
    assert lines == [f"{tmp_path / 'form.xlsx'}: 1 row is left out:", f"  - row 2, 'm': {reason}"]


def test_nothing_is_said_where_nothing_is_left_out(tmp_path):
    assert read(tmp_path, GOOD) == (("good",), [])
    assert read(tmp_path, ["note", "n", "Hello"], ["calculate", "c"], GOOD) == (("good",), [])
    assert read(tmp_path, GOOD, leave_out=True) == (("good",), [])


def test_a_phone_number_that_people_are_asked_for_is_not_metadata(tmp_path):
    with pytest.raises(dps.QuestionnaireError, match="'phone number' cannot be protected"):
        read(tmp_path, ["phone number", "q", "Call you?"], GOOD)


def test_a_misspelt_end_of_a_group_is_not_taken_for_metadata(tmp_path):
    with pytest.raises(dps.QuestionnaireError, match=r"type must be .*, got 'end grup'"):
        read(tmp_path, ["begin group", "g"], GOOD, ["end grup"], leave_out=True)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("text", TEXT),
        ("select_one yn or_other", TEXT),
        *((kind, DATE) for kind in ("date", "time", "dateTime")),
        *((kind, PLACE) for kind in ("geopoint", "geotrace", "geoshape")),
        *((kind, MEDIA) for kind in ("image", "audio", "video", "file", "barcode")),
        ("phone number", DEVICE),
        ("rank yn", "an order of preference is not a single answer"),
        ("acknowledge", "it has only one possible answer"),
        ("select_one_from_file a.csv", "its choices are not in this workbook"),
        ("note", "respondents are shown questions only"),
        ("calculate", "it is calculated, not answered"),
        ("hidden", "nobody answers it"),
    ],
)
def test_what_cannot_be_protected_is_left_out_on_request(tmp_path, kind, reason):
    names, lines = read(tmp_path, GOOD, [kind, "q", "?"], leave_out=True)
    assert names == ("good",)
    assert lines[1:] == [f"  - row 3, 'q': {reason}"]


def test_a_repetition_is_left_out_with_all_that_is_in_it(tmp_path):
    rows = [
        ["begin repeat", "child", "A child", "${good} = 'yes'"],
        ["select_one yn", "school", "At school?", "${age} > 5"],
        ["begin group", "inner"],
        ["integer", "age", "How old?"],
        ["text", "why", "Why?"],
        ["end group"],
        ["begin repeat", "toy"],
        ["no type that there is", "x"],
        ["end repeat"],
        ["end repeat"],
        ["select_one yn", "last", "Last?"],
    ]
    names, lines = read(tmp_path, GOOD, *rows, leave_out=True)
    assert names == ("good", "last")
    assert lines[1:] == [
        f"  - row 3, 'child': {REPEATED}",
        "  - row 4, 'school': it is repeated in 'child'",
        "  - row 6, 'age': it is repeated in 'child'",
        f"  - row 7, 'why': {TEXT}",
        f"  - row 9, 'toy': {REPEATED}",
        "  - row 10, 'x': it is repeated in 'toy'",
    ]


def test_groups_for_layout_are_opened(tmp_path):
    rows = [["begin group", "g", "G"], ["text", "t"], GOOD, ["end group"]]
    assert read(tmp_path, *rows, leave_out=True)[0] == ("good",)


def test_the_condition_of_a_group_counts_if_a_question_in_it_is_kept(tmp_path):
    begin, end = ["begin group", "g", "G", "${good} = 'yes'"], ["end group"]
    assert read(tmp_path, GOOD, begin, ["text", "t"], end, leave_out=True)[0] == ("good",)
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, GOOD, begin, ["text", "t"], ["select_one yn", "q"], end, leave_out=True)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith(
        "sheet 'survey', row 3, column 'relevant': relevant must be empty, because a skipped"
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            ["select_one yn", "q", "Q?", "${good} = 'yes' and ${ why } != ''"],
            f"'relevant': relevant must be empty, because it refers to 'why', which is left out: {TEXT}.",
        ),
        (
            ["integer", "q", "Q?", None, ". > ${begun} and . < 9"],
            f"'constraint': constraint must not refer to 'begun', which is left out: {TIME}.",
        ),
        (
            ["select_one yn", "q", "Is ${why} so?"],
            f"'label': label must not refer to 'why', which is left out: {TEXT}.",
        ),
        (
            ["select_one yn", "q", "Q?", None, None, "x = ${sum}"],
            "'choice_filter': choice_filter must be empty, because it refers to 'sum', which is left out: it is "
            "calculated, not answered.",
        ),
        (
            ["select_one yn", "q", "Q?", "count(${child}) > 1"],
            f"'relevant': relevant must be empty, because it refers to 'child', which is left out: {REPEATED}.",
        ),
    ],
)
def test_what_a_kept_question_needs_is_not_left_out_in_silence(tmp_path, row, sentence):
    rest = [["start", "begun"], ["calculate", "sum"], ["begin repeat", "child"], ["end repeat"]]
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, GOOD, row, ["text", "why"], *rest, leave_out=True)
    assert caught.value.mistakes == (f"sheet 'survey', row 3, column {sentence}",)


def test_a_form_of_which_nothing_is_left_is_refused(tmp_path):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, ["start", "begun"], ["text", "why"], leave_out=True)
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'form.xlsx'}: sheet 'survey': no question is left.",
        "2 rows are left out:",
        f"  - row 2, 'begun': {TIME}",
        f"  - row 3, 'why': {TEXT}",
    ]


def test_mistakes_remain_mistakes(tmp_path):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, ["text", "why"], ["integer", "n"], ["essay", "e"], GOOD, leave_out=True)
    assert [mistake.split(":")[0] for mistake in caught.value.mistakes] == [
        "sheet 'survey', row 3, column 'constraint'",
        "sheet 'survey', row 4, column 'type'",
    ]
    assert caught.value.argument is None  # leaving out would not help


def test_leaving_out_is_for_forms_alone(tmp_path):
    (tmp_path / "q.csv").write_text("name,kind\nq,yes_no\n")
    with pytest.raises(dps.InputError, match=r"leave_out requires an XLSForm, got .*q\.csv"):
        dps.Questionnaire.from_file(tmp_path / "q.csv", leave_out=True)
    form = form_of(tmp_path, GOOD)
    with pytest.raises(dps.InputError, match="leave_out requires an XLSForm"):
        dps.Questionnaire.from_file(form, sheet="survey", leave_out=True)


def on_the_command_line(monkeypatch, capsys, tmp_path, *more):
    from dpstrata.cli import main

    strata = tmp_path / "strata.csv"
    strata.write_text("stratum,size\nnorth,3000\nsouth,5000\n")
    flags = ("--epsilon", "1", "--release", "sums", "--device-epsilon", "5", "--at-most", "300")
    monkeypatch.setattr(sys, "argv", ["dpstrata", "design", str(strata), *flags, *map(str, more)])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code, capsys.readouterr().err


def test_the_command_line_leaves_out_and_lists(monkeypatch, capsys, tmp_path):
    form, out = form_of(tmp_path, ["start", "begun"], GOOD, ["text", "why"]), tmp_path / "design.json"
    arguments = ("--questions", form, "--out", out)
    code, told = on_the_command_line(monkeypatch, capsys, tmp_path, *arguments)
    assert code == 2
    assert told.splitlines()[1:] == [
        "To go on without the rows that cannot be protected, read the form with --leave-out."
    ]
    code, told = on_the_command_line(monkeypatch, capsys, tmp_path, *arguments, "--leave-out")
    assert code in (0, None), told
    assert told.splitlines()[:3] == [
        f"Warning: {form}: 2 rows are left out:",
        f"  - row 2, 'begun': {TIME}",
        f"  - row 4, 'why': {TEXT}",
    ]
    assert dps.load_design(out).inputs.questions.names == ("good",)


@pytest.mark.parametrize("questions", [(), ("--questions", "yes_no")])
def test_the_command_line_leaves_out_of_forms_alone(monkeypatch, capsys, tmp_path, questions):
    code, told = on_the_command_line(monkeypatch, capsys, tmp_path, "--leave-out", *questions)
    assert (code, told) == (2, "Error: --leave-out requires an XLSForm in --questions.\n")
