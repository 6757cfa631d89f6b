"""Documents of questionnaires: they read back to the last bit, and changes to them are refused in a sentence."""

import copy
import json

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.designs.document_shape import DesignDocument
from questionnaires import QUESTIONS, small_plan

GONE = object()


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(small_plan().to_dict()))


@pytest.mark.parametrize("options", [{}, {"release": "microdata", "device_epsilon": None}, {"forms": "one"}])
def test_round_trip_is_exact(tmp_path, options):
    plan = small_plan(**options)
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert again == plan
    assert again.digest == plan.digest
    assert again.questions == plan.questions
    assert again.forms_bound == plan.forms_bound
    for one, other in zip(again.forms, plan.forms, strict=True):
        assert np.array_equal(one.sample_sizes, other.sample_sizes)
        assert (one.questions, one.levels, one.tables) == (other.questions, other.levels, other.tables)
    assert again.inputs.questions == QUESTIONS
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "design.json").read_bytes()


def test_the_parts_have_their_published_form(document):
    DesignDocument.model_validate(document)
    assert list(document)[-3:] == ["forms", "questions", "forms_bound"]
    assert sum(sum(form["sample_sizes"]) for form in document["forms"]) == document["total"]


def changed(document, place, value):
    found = document = copy.deepcopy(document)
    *way, last = place
    for key in way:
        found = found[key]
    if value is GONE:
        del found[last]
    else:
        found[last] = value
    return document


FORM = ("inputs", "forms", 0)
ASKED = ("inputs", "questions", "questions", 0)
POSSIBLE = "does not describe a possible design"
CERTIFICATE = "the certificate does not hold for the sample sizes; the file was changed"
PRICES = "the prices of the forms do not fit the questions; the file was changed"


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ((*FORM, "levels", 0), 3, POSSIBLE),
        ((*FORM, "levels", 2), 3, CERTIFICATE),
        ((*FORM, "share"), 0.64, None),
        (("inputs", "forms", 1, "questions"), ["drinks", "smokes"], POSSIBLE),
        (("inputs", "forms", 1, "questions"), ["drinks", "votes"], "unknown question 'votes'"),
        (("inputs", "forms"), "auto", "a document must list the forms of its questions, got 'auto'"),
        (("inputs", "questions"), None, None),
        (("inputs", "questions", "questions"), [], "is not a valid design document"),
        ((*ASKED, "kind"), "essay", "is not a valid design document"),
        ((*ASKED, "importance"), -1.0, "importance must lie between"),
        ((*ASKED, "importance"), 5.0, CERTIFICATE),
        ((*ASKED, "name"), "drinks", "names of questions must differ"),
        (("inputs", "spreads", "smokes", "proportion"), [2.0, 0.2, 0.2], "must lie between 0 and 1, got 2"),
        (("inputs", "spreads", "votes"), {"proportion": [0.2, 0.2, 0.2]}, "there is no such question"),
        (("inputs", "device_epsilon"), 4.5, "the file was changed"),
        (("inputs", "mechanism"), "laplace", POSSIBLE),
        (("forms_bound", "prices", 0), -1.0, PRICES),
        (("forms_bound", "prices"), [1.0], PRICES),
        (("forms_bound", "lower_bound"), 1.5, "contradicts itself at forms_bound.lower_bound"),
        (("forms_bound",), GONE, PRICES),
        (("questions",), GONE, "contradicts itself at questions; the file was changed"),
        (("forms",), GONE, "contradicts itself at forms; the file was changed"),
        (("questions", 0, "standard_error"), 0.001, "contradicts itself at questions.0.standard_error"),
        (("questions", 3, "expected"), None, "contradicts itself at questions.3.expected"),
        (("forms", 0, "sample_sizes", 0), 100, "contradicts itself at forms.0.sample_sizes.0"),
        (("forms", 1, "replaced"), 0.5, "contradicts itself at forms.1.replaced"),
    ],
)
def test_a_document_that_was_changed_is_refused_in_a_sentence(tmp_path, document, place, value, words):
    path = tmp_path / "design.json"
    path.write_text(json.dumps(changed(document, place, value)))
    with pytest.raises(dps.InputError) as refused:
        dps.load_design(path)
    said = str(refused.value)
    assert words is None or words in said
    assert "\n" not in said
    assert said.count(str(path)) == 1
    assert said.endswith(".")


def test_a_part_that_only_other_designs_have_is_refused(tmp_path):
    plan = dps.design(dps.Strata([10, 20, 1]), epsilon=1, total=9)
    document = {**plan.to_dict(), "figures": [{"column": "all", "group": "all", "scale": 1.0}]}
    (tmp_path / "design.json").write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match="contradicts itself at figures"):
        dps.load_design(tmp_path / "design.json")
