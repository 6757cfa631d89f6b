"""What is read from XLSForms, compared with what pyxform reads: names, choices, ranges, labels in every language.

And which questions must be answered, and the bounds of numbers.
"""

import json
import re
from pathlib import Path

import pytest

from dpstrata.survey.questionnaires.xlsform.read import Form
from dpstrata.survey.questionnaires.xlsform.sheets import language_of, read_workbook
from questionnaires import FORMS, write_form

REAL = sorted(Path(__file__).with_name("forms").glob("*.xls*"))
WITHOUT_ANSWER = {"note", "calculate", "hidden"}


@pytest.fixture(scope="module")
def pyxform_reads():
    try:
        from pyxform.xls2xform import convert
    except ImportError:
        pytest.fail("these tests need pyxform: pip install -e '.[dev]' -c constraints.txt")
    return lambda path: json.loads(
        json.dumps(convert(xlsform=str(path), validate=False)._pyxform, default=str)
    )


def leaves(node):
    """List everything that is neither a group nor a repetition."""
    for child in node["children"]:
        if child["type"] in ("group", "repeat"):
            if child["name"] != "meta":
                yield from leaves(child)
        else:
            yield child


class Theirs:
    """What pyxform says of a form, in our words."""

    def __init__(self, form):
        self.default = form["default_language"]
        self.leaves = {leaf["name"]: leaf for leaf in leaves(form)}

    def texts(self, element):
        """Labels by our code of the language; the default one under an empty code."""
        label = element.get("label") or {}
        by_name = label if isinstance(label, dict) else {self.default: label}
        return {"" if name == self.default else language_of(name): text for name, text in by_name.items()}


def same_wording(theirs, leaf, question, default):
    """Compare the question's own text, and that of every translation."""
    texts = theirs.texts(leaf)
    ours = {each.language: each.text for each in question["translations"] if each.text}
    ours |= {"": question["text"]} if question["text"] else {}
    if (
        theirs.default == "default" and "" not in texts
    ):  # pyxform knows no default: ours is the first language
        ours = {language or default: text for language, text in ours.items()}
    return {language: " ".join(text.split()) for language, text in ours.items()} == texts


def same_labels(theirs, leaf, question, default):
    """Compare the labels of all choices in all languages, where pyxform has one."""
    choices = leaf["choices"]
    if question["kind"] == "yes_no":
        choices = sorted(choices, key=lambda choice: choice["name"] in ("yes", "1"))
    names = [choice["name"] for choice in choices]
    ours = {"": question["labels"] or names} | {
        each.language: each.labels for each in question["translations"]
    }
    for place, choice in enumerate(choices):
        for language, text in theirs.texts(choice).items():
            # where the default is not named, ours is the first language
            if list(ours["" if language == default else language])[place] != text:
                return False
    return True


def same_options(theirs, leaf, questions, default):
    """Compare what is read of each choice that can be ticked, in all languages that pyxform has it in."""
    asked = theirs.texts(leaf)
    for question, choice in zip(questions, leaf["choices"], strict=True):
        ours = {"": question["text"]} | {each.language: each.text for each in question["translations"]}
        labels = theirs.texts(choice)
        for language in asked.keys() & labels.keys():
            own = ours["" if language == default else language]
            if " ".join(own.split()) != f"{asked[language]} – {labels[language]}":
                return False
    return True


def must_be_answered(leaf):
    required = (leaf.get("bind") or {}).get("required", "no")
    return required.casefold() in ("yes", "true", "true()")


def allowed(leaf, number):
    """Whether a constraint with a bound on both sides allows a number; nothing for others."""
    constraint = (leaf.get("bind") or {}).get("constraint", "")
    bounds = re.findall(r"(\.|[-\d.]+)\s*([<>]=?)\s*(\.|[-\d.]+)", constraint)
    if len(bounds) != 2:
        return None
    sides = [[number if side == "." else float(side) for side in (left, right)] for left, _, right in bounds]
    return all(
        (left < right if "<" in sign else left > right) or (left == right and "=" in sign)
        for (left, right), (_, sign, _) in zip(sides, bounds, strict=True)
    )


def compare_select(theirs, leaf, questions, default):
    names = [choice["name"] for choice in leaf["choices"]]
    if leaf["type"] == "select all that apply":
        assert [question["name"] for question in questions] == [f"{leaf['name']}/{name}" for name in names]
        assert {question["kind"] for question in questions} == {"yes_no"}
        assert len({question["together"] for question in questions}) == 1
        assert not any(question["blank"] for question in questions)  # what is not ticked is no
        assert same_options(theirs, leaf, questions, default)
        return
    (question,) = questions
    if question["kind"] == "category":
        assert list(question["categories"]) == names
    else:
        assert sorted(names) in (["no", "yes"], ["0", "1"])
    assert question["blank"] != must_be_answered(leaf)
    assert same_wording(theirs, leaf, question, default)
    assert same_labels(theirs, leaf, question, default)


def compare_range(theirs, leaf, questions, default):
    (question,) = questions
    assert question["lower"] == float(leaf["parameters"]["start"])
    assert question["upper"] == float(leaf["parameters"]["end"])
    assert question["step"] in (None, float(leaf["parameters"]["step"]))
    assert same_wording(theirs, leaf, question, default)


def compare_number(theirs, leaf, questions, default):
    (question,) = questions
    assert question["kind"] == "number"
    lower, upper = question["lower"], question["upper"]
    assert allowed(leaf, (lower + upper) / 2) in (True, None)
    step = 0.001 if leaf["type"] == "decimal" else 1.0
    for outside in (lower - step, upper + step):
        assert allowed(leaf, outside) in (False, None)
    for inside in (lower + 0.001, upper - 0.001) if step < 1 else (lower, upper):
        assert allowed(leaf, inside) in (True, None)
    assert same_wording(theirs, leaf, question, default)


COMPARED = {
    "select one": compare_select,
    "select all that apply": compare_select,
    "range": compare_range,
    "integer": compare_number,
    "int": compare_number,
    "decimal": compare_number,
}


def compare(path, theirs):
    """Compare every row: both read the same question, or we refuse one that pyxform reads."""
    ours = Form(read_workbook(path))
    names = ours.book.survey.known.optional_texts("name")
    refused = {names[finding.row] for finding in ours.findings}
    left_out = {each.name for each in ours.left_out.values()}  # which pyxform lists beside what is answered
    read = {}
    for row, question in zip(ours.rows, ours.questions, strict=True):
        read.setdefault(names[row], []).append(question)
    answered = {
        name
        for name, leaf in theirs.leaves.items()
        if leaf["type"] not in WITHOUT_ANSWER and name in names and name not in left_out
    }
    assert answered <= set(read) | refused
    assert set(read) <= answered
    compared = 0
    for name in set(read) - refused:
        leaf = theirs.leaves[name]
        COMPARED[leaf["type"]](theirs, leaf, read[name], ours.book.languages[0])
        compared += 1
    return compared, len(refused & answered)


@pytest.mark.parametrize("name", FORMS)
def test_forms_made_here(tmp_path, pyxform_reads, name):
    path = write_form(tmp_path / "form.xlsx", **FORMS[name])
    compared, refused = compare(path, Theirs(pyxform_reads(path)))
    assert compared > 0
    assert refused == 0


@pytest.mark.parametrize(
    ("name", "compared", "refused"),
    [
        ("choice_filter_test.xlsx", 1, 2),
        ("group.xls", 0, 3),
        ("or_other.xlsx", 0, 2),
        ("spaces_in_choices_header.xls", 1, 1),
        ("table-list.xls", 4, 0),
        ("tutorial.xls", 5, 5),
        ("widgets.xls", 17, 15),
        ("xlsform_spec_test.xlsx", 8, 18),  # and a row whose name is a truth value
        ("yes_or_no_question.xls", 1, 0),
    ],
)
def test_forms_of_others(pyxform_reads, name, compared, refused):
    (path,) = [each for each in REAL if each.name == name]
    assert compare(path, Theirs(pyxform_reads(path))) == (compared, refused)


@pytest.mark.parametrize(
    ("name", "row", "cell", "given"),
    [("every kind", 2, "yes", "no"), ("every kind", 6, ". >= 0 and . <= 120", ". >= 0 and . <= 110")],
)
def test_what_must_be_answered_and_bounds_are_compared(tmp_path, pyxform_reads, name, row, cell, given):
    theirs = pyxform_reads(write_form(tmp_path / "form.xlsx", **FORMS[name]))
    survey = [list(cells) for cells in FORMS[name]["survey"]]
    survey[row][survey[row].index(cell)] = given
    changed = write_form(tmp_path / "changed.xlsx", **{**FORMS[name], "survey": survey})
    with pytest.raises(AssertionError):
        compare(changed, Theirs(theirs))


def test_a_difference_is_noticed(tmp_path, pyxform_reads):
    theirs = pyxform_reads(write_form(tmp_path / "form.xlsx", **FORMS["languages"]))
    changed = {
        **FORMS["languages"],
        "choices": [row[:2] + row[:1:-1] for row in FORMS["languages"]["choices"]],
    }
    changed["choices"][0] = FORMS["languages"]["choices"][0]  # the languages of the choices change places
    with pytest.raises(AssertionError):
        compare(write_form(tmp_path / "changed.xlsx", **changed), Theirs(theirs))
