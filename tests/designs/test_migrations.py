"""Documents of every version are read in one shape and written in their own, and digests stay."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

import dpstrata as dps
from dpstrata.designs import migrations
from dpstrata.designs.migrations import MEANT, MIGRATIONS, Migration, inputs_as_of, upgraded
from dpstrata.survey.inputs import FORMULAS, Inputs
from dpstrata.survey.options import RECORDED

SAVED = Path(__file__).parents[1] / "saved"
DESIGNS = sorted(path for path in SAVED.glob("*/*.json") if path.name != "index.json")


def test_every_version_has_a_step_to_the_next():
    assert list(MIGRATIONS) == list(range(1, FORMULAS))
    assert set(MEANT) == set(range(2, FORMULAS + 1))


def test_options_after_version_1_have_a_meaning_without_them():
    later = {name for name, each in RECORDED.items() if each.since > 1}
    assert later | {"default_answers"} == {name for meant in MEANT.values() for name in meant}
    assert MEANT[2].items() >= {"clip": False, "default_answers": False}.items()


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_a_saved_document_reads_in_the_newest_shape(path):
    saved = json.loads(path.read_text())
    newest = upgraded(saved)
    assert newest["version"] == saved["version"]
    assert set(newest["inputs"]) == {part.name for part in fields(Inputs)} - {"formulas"}
    plan = dps.load_design(path)
    assert inputs_as_of(plan.inputs, saved["version"]) == saved["inputs"]


def test_what_is_as_version_1_meant_it_is_not_written():
    plain = Inputs(epsilon=1.0, total=9, answers=(0, 1))
    assert inputs_as_of(plain, 2) == inputs_as_of(plain, 1)
    assert not {"clip", "default_answers", "formulas"} & set(inputs_as_of(plain, 2))
    assert inputs_as_of(replace(plain, clip=True), 1)["clip"] is True


def test_an_option_may_change_its_name_and_its_values(monkeypatch, tmp_path):
    """As if version 1 had called ``trust`` otherwise: it is read, written and digested as it was."""
    old = {"local": "nobody", "curator": "office"}
    new = {name: value for value, name in old.items()}

    def up(document):
        inputs = dict(migrations._from_1(document)["inputs"])
        return {**document, "inputs": {"trust": new[inputs.pop("who")], **inputs}}

    def down(inputs):
        return {
            **{name: value for name, value in inputs.items() if name != "trust"},
            "who": old[inputs["trust"]],
        }

    monkeypatch.setitem(MIGRATIONS, 1, Migration(up, down))
    path = next(path for path in DESIGNS if json.loads(path.read_text())["inputs"]["trust"] == "curator")
    saved = json.loads(path.read_text())
    saved["inputs"]["who"] = old[saved["inputs"].pop("trust")]
    changed = tmp_path / "design.json"
    changed.write_text(json.dumps(saved))
    plan = dps.load_design(changed)
    assert plan.inputs.trust == "curator"
    assert plan.to_dict()["inputs"] == inputs_as_of(plan.inputs, 1) == saved["inputs"]
    assert inputs_as_of(replace(plan.inputs, formulas=2), 2)["trust"] == "curator"
    assert plan.digest == replace(plan, inputs=replace(plan.inputs, formulas=2)).digest


@pytest.mark.parametrize("inputs", [None, 3, [], "x"])
def test_a_damaged_document_is_left_to_whoever_validates_it(inputs, tmp_path):
    path = tmp_path / "design.json"
    path.write_text(json.dumps({"format": "dpstrata.design", "version": 1, "inputs": inputs}))
    with pytest.raises(dps.InputError, match="is not a valid design document"):
        dps.load_design(path)
