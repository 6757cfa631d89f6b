"""XLSForms as questionnaires: what becomes what, and one clear sentence for everything that cannot."""

import pytest
from typer.testing import CliRunner

import dpstrata as dps
from questionnaires import COLOURS, FORMS, YES_NO, write_form


def read(tmp_path, survey, choices=(), **sheets):
    return dps.Questionnaire.from_xlsform(write_form(tmp_path / "form.xlsx", survey, choices, **sheets))


def read_form(tmp_path, name):
    return read(tmp_path, **FORMS[name])


def test_every_kind(tmp_path):
    labels = ["Red", "Green", "Blue"]
    together = {"together": "colours", "blank": False}
    assert read_form(tmp_path, "every kind") == dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", blank=False, text="Do you smoke?", labels=["No", "Yes"]),
            dps.Question(
                *("colour", "category"),
                categories=["red", "green", "blue"],
                blank=True,
                text="Which colour?",
                labels=labels,
            ),
            dps.Question("colours/red", "yes_no", text="Which colours? – Red", **together),
            dps.Question("colours/green", "yes_no", text="Which colours? – Green", **together),
            dps.Question("colours/blue", "yes_no", text="Which colours? – Blue", **together),
            dps.Question("trust", "scale", lower=1, upper=5, text="How much trust?"),
            dps.Question("age", "number", lower=0, upper=120, text="How old are you?"),
            dps.Question("height", "number", lower=0.5, upper=2.5, text="How tall are you?"),
        ]
    )


@pytest.mark.parametrize(
    ("required", "blank"),
    [("yes", False), ("TRUE", False), ("true()", False), ("no", True), (None, True), ("today() > 1", True)],
)
def test_a_choice_that_is_not_required_may_be_left_blank(tmp_path, required, blank):
    """Not so what is ticked, where no tick is a no, nor numbers, which are refused as blanks."""
    rows = ("select_one yn", "select_one c", "select_multiple c", "range", "integer")
    survey = [["type", "name", "constraint", "bind::required"]]
    survey += [[kind, f"q{i}", ". > 0 and . < 9", required] for i, kind in enumerate(rows)]
    for row in survey[1:5]:
        row[2] = None
    form = read(tmp_path, survey=survey, choices=[*YES_NO, *COLOURS])
    assert [question.blank for question in form] == [blank, blank, False, False, False, False, False]


def test_languages(tmp_path):
    form = read_form(tmp_path, "languages")
    assert form.languages == ("de", "en", "ar")
    smokes, colour, red, blue, trust = form
    assert (smokes.text, smokes.labels) == ("Rauchen Sie?", ("Nein", "Ja"))
    assert smokes.translations == (
        dps.Translation("en", "Do you smoke?", ["No", "Yes"]),
        dps.Translation("ar", "هل تدخن؟", ["لا", "نعم"]),
    )
    # what is not translated is read in the default language, or by its name
    assert (colour.text, colour.labels) == ("", ("Rot", "blue"))
    assert colour.translations[1] == dps.Translation("ar", "أي لون؟", ["Rot", "أزرق"])
    assert red.text == "Welche Farben? – Rot"
    assert [each.text for each in blue.translations] == ["Which colours? – Blue", "Welche Farben? – أزرق"]
    assert trust.translations == (dps.Translation("en", "Trust?"),)


def test_a_label_without_a_language(tmp_path):
    form = read_form(tmp_path, "a plain label and a translation")
    assert form.languages == ("", "fr")
    assert (form[0].kind, form[0].labels) == ("yes_no", ("No", "Yes"))  # 1 and 0 that are called yes and no
    assert form[0].translations == (dps.Translation("fr", "Ça va ?", ["No", "Oui"]),)
    assert read_form(tmp_path, "a plain label in the default language").languages == ("en", "fr")


def test_ranges_and_numbers(tmp_path):
    ranges = [(each.kind, each.lower, each.upper, each.step) for each in read_form(tmp_path, "ranges")]
    assert ranges == [
        ("scale", 1, 10, 1),
        ("scale", 0, 1, 0.25),
        ("scale", -2, 0, 1),
        ("scale", 0, 100, 1),
    ]
    numbers = [(each.lower, each.upper) for each in read_form(tmp_path, "numbers")]
    assert numbers == [(1, 9), (0, 99), (-1.5, 2), (0, 2.5), (5, 30), (0, 9)]


def test_columns_that_only_dpstrata_knows(tmp_path):
    a, b, *options, everyone = read_form(tmp_path, "what only dpstrata knows")
    assert (a.importance, a.target_se, a.together) == (2, 0.05, "pair")
    assert (b.importance, b.target_se, b.together) == (0.5, None, "pair")
    assert [(each.everyone, each.together) for each in (*options, everyone)] == [(True, None)] * 4


def test_two_choices_are_yes_and_no_only_if_they_mean_it(tmp_path):
    q, sex = read_form(tmp_path, "numbers as names")
    assert (q.text, q.categories, q.labels) == ("12", ("1", "2", "3"), ("10", "20.5", "3"))
    assert (sex.kind, sex.categories, sex.labels) == ("category", ("1", "0"), ("Man", "Woman"))


@pytest.mark.parametrize("names", [["yes", "no"], ["no", "yes"]])
def test_yes_and_no_are_read_in_the_order_of_the_choices(tmp_path, names):
    path = write_form(
        tmp_path / "form.xlsx",
        survey=[["type", "name", "label"], ["select_one yn", "ill", "Ill?"]],
        choices=[["list_name", "name", "label"], *(["yn", name, name.title()] for name in names)],
    )
    (ill,) = dps.Questionnaire.from_xlsform(path)
    assert (ill.kind, ill.labels, ill.no_first) == ("yes_no", ("No", "Yes"), names[0] == "no")


def test_rows_that_say_nothing(tmp_path):
    assert read_form(tmp_path, "rows and columns that say nothing").names == ("a", "b")
    assert read_form(tmp_path, "groups").names == ("a", "b", "c")
    alone = read_form(tmp_path, "without choices")[1]
    assert (alone.name, alone.together) == ("b/only", None)


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.get("choices")])
def test_from_file_knows_an_xlsform(tmp_path, name):
    path = write_form(tmp_path / "form.xlsx", **FORMS[name])
    form = dps.Questionnaire.from_xlsform(path)
    assert dps.Questionnaire.from_file(path) == form
    form.to_file(tmp_path / "table.xlsx")
    assert set(dps.Questionnaire.from_file(tmp_path / "table.xlsx")) == set(form)


def test_a_table_of_questions_stays_one(tmp_path):
    plain = [["name", "kind"], ["q", "yes_no"]]
    assert dps.Questionnaire.from_file(write_form(tmp_path / "a.xlsx", plain)).names == ("q",)
    path = write_form(tmp_path / "b.xlsx", plain, [["anything"], ["else"]])
    assert dps.Questionnaire.from_file(path, sheet="survey").names == ("q",)


def test_the_design_of_a_form_keeps_its_languages(tmp_path):
    form = read_form(tmp_path, "languages")
    options = {"epsilon": 1, "device_epsilon": 5, "release": "sums", "at_most": 300}
    plan = dps.design(dps.Strata([3000, 5000], names=["a", "b"]), questions=form, **options)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json").inputs.questions == form


def test_the_command_line_takes_a_form(tmp_path):
    from dpstrata.cli import app

    (tmp_path / "strata.csv").write_text("stratum,size\nnorth,3000\nsouth,5000\n")
    form = write_form(tmp_path / "form.xlsx", **FORMS["groups"])
    flags = ["--epsilon", "1", "--release", "sums", "--device-epsilon", "5", "--at-most", "300"]
    command = ["design", str(tmp_path / "strata.csv"), "--questions", str(form), *flags]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "design.json")])
    assert result.exit_code == 0, result.output
    assert dps.load_design(tmp_path / "design.json").inputs.questions.names == ("a", "b", "c")


# --- what is refused ----------------------------------------------------------------------------------

HEADER = ["type", "name", "label", "relevant", "constraint", "parameters", "choice_filter", "calculation"]
GOOD = ["select_one yn", "good", "Good?"]
DATES = "dates and times have too many possible answers; ask for an age or a year as an integer with bounds"
PERSON = "it identifies the person or the device; remove the row"
MEDIA = "recordings, pictures and files cannot be randomised; remove the row"
PLACES = "a location can identify the person; ask for a region with select_one"
ADVICE = "To go on without the rows that cannot be protected, read the form with leave_out=True."
BOUNDS = (
    "a number must have a smallest and a largest answer; use a constraint such as '. >= 0 and . <= 120', or "
    "dp_lower and dp_upper"
)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            ["text", "q"],
            "type': 'text' cannot be protected: free text has no fixed set of answers; use select_one.",
        ),
        *(
            ([kind, "q"], f"type': {kind!r} cannot be protected: {DATES}.")
            for kind in ("date", "time", "dateTime")
        ),
        *(
            ([kind, "q"], f"type': {kind!r} cannot be protected: {PLACES}.")
            for kind in ("geopoint", "geoshape")
        ),
        *(
            ([kind, "q"], f"type': {kind!r} cannot be protected: {MEDIA}.")
            for kind in ("image", "file", "barcode")
        ),
        (["phone number", "q"], f"type': 'phone number' cannot be protected: {PERSON}."),
        (
            ["select_one yn or_other", "q"],
            "type': 'select_one yn or_other' cannot be protected: free text has no fixed set of answers; add 'other' "
            "to the choices.",
        ),
        (
            ["select_one_from_file a.csv", "q"],
            "type': 'select_one_from_file a.csv' cannot be protected: its choices are not in this workbook; use "
            "select_one with a list from sheet 'choices'.",
        ),
        (
            ["rank yn", "q"],
            "type': 'rank yn' cannot be protected: an order of preference is not a single answer; ask about each item "
            "with select_one.",
        ),
        (
            [*GOOD[:1], "q", "Q?", "${good} = 'yes'"],
            "relevant': relevant must be empty, because a skipped question reveals the answer that it depends on; ask "
            "everyone and add a choice such as 'does not apply'.",
        ),
        (
            [*GOOD[:1], "q", "Q?", None, None, None, "x = ${good}"],
            "choice_filter': choice_filter must be empty, because the other question may be on another form.",
        ),
        (
            ["integer", "q", "Q?", None, ". < 9 and . > 0", None, None, "1 + 1"],
            "calculation': calculation must be empty in a row that is answered.",
        ),
        (
            ["integer", "q", "Q?", None, ". < ${good}"],
            "constraint': constraint must not refer to another question, because the other question may be on "
            "another form.",
        ),
        (
            ["select_one yn", "q", "And ${good}?"],
            "label': label must not refer to another question, because the other question may be on another form.",
        ),
        (["integer", "q"], f"constraint': {BOUNDS}, got nothing."),
        (["decimal", "q", None, None, ". >= 0"], f"constraint': {BOUNDS}, got '. >= 0'."),
        (["integer", "q", None, None, ". = 1 or . = 2"], f"constraint': {BOUNDS}, got '. = 1 or . = 2'."),
        (
            ["integer", "q", None, None, ". > 5 and . < 5"],
            "constraint': lower must be below upper, got lower=6, upper=4.",
        ),
        (
            ["range", "q", None, None, None, "start=one"],
            "parameters': parameters must be written as in 'start=1 end=5 step=1', got 'start=one'.",
        ),
        (
            ["range", "q", None, None, None, "1 to 5"],
            "parameters': parameters must be written as in 'start=1 end=5 step=1', got '1 to 5'.",
        ),
        (
            ["range", "q", None, None, None, "start=1 end=5 step=3"],
            "parameters': a scale must have a whole number of steps from lower to upper, got 1.33333.",
        ),
        (
            ["range", "q", None, None, None, "start=5 end=1"],
            "parameters': lower must be below upper, got lower=5, upper=1.",
        ),
        (["select_one", "q"], "type': select_one must name a list, as in 'select_one colours', got none."),
        (
            ["select_multiple colors", "q"],
            "type': select_multiple must name a list of sheet 'choices' ('yn'), got 'colors'.",
        ),
        (["select_one yn", None, "Q?"], "name': the name of a question must not be empty."),
        (["select_multiple yn", None, "Q?"], "name': the name of a question must not be empty."),
        (
            ["select_one yn", "GOOD"],
            "name': names of questions must differ, and not only in case, got 'GOOD' again.",
        ),
        ([None, "q", "Q?"], "type': type must not be empty."),
        (
            ["selct_one yn", "q"],
            "type': type must be select_one, select_multiple, range, integer or decimal, or one without an answer, "
            "got 'selct_one yn'.",
        ),
        *(
            (
                [kind, "q", None, None, ". != 'x'"],
                f"constraint': constraint must be empty for {words}, got \". != 'x'\".",
            )
            for kind, words in (
                ("select_one yn", "select_one; remove the choices that are not allowed"),
                ("select_multiple yn", "select_multiple; every combination of choices can be reported"),
                ("range", "range; use start and end in parameters"),
            )
        ),
        (["begin group", "g"], "type': begin group must be closed by end group."),
        (["end group"], "type': end group must follow begin group."),
    ],
)
def test_one_clear_sentence_at_its_row(tmp_path, row, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, [HEADER, GOOD, [], row], YES_NO)
    assert caught.value.mistakes == (f"sheet 'survey', row 4, column '{sentence}",)
    told, *advice = str(caught.value).splitlines()
    assert told.endswith(f"form.xlsx: sheet 'survey', row 4, column '{sentence}")
    assert advice == ([ADVICE] if "cannot be protected" in sentence else [])


def test_repetitions_are_refused(tmp_path):
    rows = [["begin repeat", "r"], GOOD, ["end repeat"]]
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, [HEADER, *rows], YES_NO)
    assert caught.value.mistakes == (
        "sheet 'survey', row 2, column 'type': 'begin repeat' cannot be protected: the number of repetitions would "
        "reveal an answer; ask a fixed number of questions.",
    )


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (["yn", None, "Maybe"], "'name': the name of a choice must not be empty."),
        (["yn", "yes", "Maybe"], "'name': names of choices in list 'yn' must differ, got 'yes' again."),
        (
            ["yn", "a|b", "Maybe"],
            "'name': the name of a choice must be a line of text without '|', got 'a|b'.",
        ),
        (["yn", "c", "a|b"], "'label': the label of a choice must be a line of text without '|', got 'a|b'."),
    ],
)
def test_mistakes_in_choices(tmp_path, choice, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, [HEADER, GOOD, [*GOOD[:1], "again"]], [*YES_NO, choice])
    assert caught.value.mistakes == (f"sheet 'choices', row 4, column {sentence}",)


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        ({"survey": [], "questions": [["type"]]}, "an XLSForm must have a sheet 'survey', got none."),
        (
            {"survey": [["type", "label"], ["note", "Hello"]]},
            "sheet 'survey': column 'name' is missing; the sheet has 'type', 'label'.",
        ),
        ({"survey": [HEADER]}, "sheet 'survey': there must be at least one question, got only a header."),
        (
            {"survey": [HEADER, ["note", "n", "Hello"]]},
            "sheet 'survey': there must be at least one question, got none.",
        ),
        (
            {"survey": [[*HEADER, "relevance"], GOOD], "choices": YES_NO},
            "sheet 'survey': column 'relevant' appears twice in the header.",
        ),
        (
            {"survey": [[*HEADER, "type"], GOOD], "choices": YES_NO},
            "sheet 'survey': column 'type' appears twice in the header.",
        ),
        (
            {"survey": [[*HEADER, "dp_weight"], GOOD], "choices": YES_NO},
            "sheet 'survey': column 'dp_weight' is unknown; known are dp_lower, dp_upper, dp_importance, dp_target, "
            "dp_everyone, dp_together, dp_levels.",
        ),
        (
            {"survey": [HEADER, GOOD], "choices": [["list", "name"], ["yn", "yes"]]},
            "sheet 'choices': column 'list_name' is missing; the sheet has 'list', 'name'; other sheets: 'survey'.",
        ),
        (
            {"survey": [["typ", "name", "caption"], GOOD]},
            "sheet 'survey': column 'type' is missing; the sheet has 'typ', 'name', 'caption'.",
        ),
        (
            {"survey": [["type", "name", "dp_target"], [*GOOD[:2], "1,200"]], "choices": YES_NO},
            "sheet 'survey', row 2, column 'dp_target': dp_target must be written without thousands separators, got "
            "'1,200'.",
        ),
        (
            {"survey": [HEADER, GOOD]},
            "sheet 'survey', row 2, column 'type': choices must be in a sheet 'choices', got no such sheet, or an "
            "empty one.",
        ),
        (
            {"survey": [HEADER, GOOD], "choices": YES_NO[:2]},
            "sheet 'survey', row 2, column 'type': a category question must have from 2 to 1,000 categories, got 1.",
        ),
        (
            {
                "survey": [["type", "name", "label::en"], GOOD],
                "choices": YES_NO,
                "settings": [["default_language"], ["French (fr)"]],
            },
            "sheet 'settings', row 2, column 'default_language': default_language must be a language of the labels "
            "(en), got 'French (fr)'.",
        ),
        (
            {"survey": [["type", "name", "dp_importance"], ["note", "n", 2], GOOD[:2]], "choices": YES_NO},
            "sheet 'survey', row 2, column 'dp_importance': dp_importance must be empty in a row without a question, "
            "got 2.",
        ),
        (
            {"survey": [["type", "name", "dp_target"], [*GOOD[:2], "small"]], "choices": YES_NO},
            "sheet 'survey', row 2, column 'dp_target': dp_target must be a number, got 'small'.",
        ),
        (
            {"survey": [["type", "name", "dp_everyone"], [*GOOD[:2], "some"]], "choices": YES_NO},
            "sheet 'survey', row 2, column 'dp_everyone': dp_everyone must be yes or no, got 'some'.",
        ),
        (
            {"survey": [["type", "name", "dp_together"], [*GOOD[:2], "g"]], "choices": YES_NO},
            "sheet 'survey', row 2, column 'dp_together': together must be shared by at least two questions, got 'g' "
            "once.",
        ),
        (
            {
                "survey": [["type", "name", "dp_importance"], ["select_multiple c", "m", -1]],
                "choices": YES_NO[:1] + COLOURS,
            },
            "sheet 'survey', row 2, column 'dp_importance': importance must lie between 1e-06 and 1e+06, got -1.",
        ),
        *(
            (
                {
                    "survey": [["type", "name", "dp_upper"], [kind, "m", 5]],
                    "choices": YES_NO[:1] + COLOURS,
                },
                f"sheet 'survey', row 2, column 'dp_upper': dp_upper must be empty for {words}, got 5.",
            )
            for kind, words in (
                ("select_one c", "select_one; its answers are choices"),
                ("select_multiple c", "select_multiple; its answers are choices"),
                ("range", "range; use start and end in parameters"),
            )
        ),
        (
            {
                "survey": [
                    ["type", "name", "dp_together"],
                    ["select_multiple c", "m", None],
                    ["select_one c", "a", "m"],
                ],
                "choices": YES_NO[:1] + COLOURS,
            },
            "sheet 'survey', row 3, column 'dp_together': dp_together must not be the name of a select_multiple row; to "
            "keep both together, put another name in dp_together of both rows, got 'm'.",
        ),
    ],
)
def test_mistakes_of_sheets_and_own_columns(tmp_path, sheets, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, **sheets)
    assert caught.value.mistakes == (sentence,)


def test_all_mistakes_at_once_and_alike_ones_as_one(tmp_path):
    rows = [["text", "a"], ["text", "b"], ["text", "c"], ["integer", "d"], GOOD]
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, [HEADER, *rows], [*YES_NO, ["yn", None, "?"]])
    assert len(caught.value.mistakes) == 5
    assert str(caught.value).splitlines()[1:] == [
        "  - sheet 'survey', column 'type', rows 2 to 4: 'text' cannot be protected: free text has no fixed set of "
        "answers; use select_one.",
        f"  - sheet 'survey', row 5, column 'constraint': {BOUNDS}, got nothing.",
        "  - sheet 'choices', row 4, column 'name': the name of a choice must not be empty.",
        ADVICE,
    ]


def test_files_that_are_no_workbooks(tmp_path):
    (tmp_path / "form.csv").write_text("type,name\n")
    with pytest.raises(dps.InputError, match=r"must end in \.xlsx, \.xls, \.xlsb, \.ods, got 'form\.csv'"):
        dps.Questionnaire.from_xlsform(tmp_path / "form.csv")
    (tmp_path / "form.xlsx").write_text("no workbook")
    for reader in (dps.Questionnaire.from_xlsform, dps.Questionnaire.from_file):
        with pytest.raises(dps.InputError, match=r"form\.xlsx is not a readable Excel file"):
            reader(tmp_path / "form.xlsx")
        with pytest.raises(dps.InputError, match=r"none\.xlsx does not exist"):
            reader(tmp_path / "none.xlsx")
        with pytest.raises(dps.InputError, match="must be a file, got an address") as caught:
            reader("postgresql://anna:geheim@host/forms.xlsx")
        assert "geheim" not in str(caught.value)
