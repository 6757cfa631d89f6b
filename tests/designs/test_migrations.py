"""Documents of every version are read in one shape and written in their own, and digests stay."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

import dpstrata as dps
from dpstrata.designs.migrations import MEANT, MIGRATIONS, inputs_as_of, upgraded
from dpstrata.survey.inputs import FORMULAS, Inputs
from dpstrata.survey.options import RECORDED
from dpstrata.survey.releases import OPTION

SAVED = Path(__file__).parents[1] / "saved"
DESIGNS = sorted(path for path in SAVED.glob("*/*.json") if path.name != "index.json")


def test_every_version_has_a_step_to_the_next():
    assert list(MIGRATIONS) == list(range(1, FORMULAS))
    assert set(MEANT) == set(range(2, FORMULAS + 1))


def test_options_after_version_1_have_a_meaning_without_them():
    later = {name for name, each in RECORDED.items() if each.since > 1}
    later |= {"default_answers", "questionnaire", "spreads", "forms"}
    assert later == {name for meant in MEANT.values() for name in meant}
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
    plain = Inputs(epsilon=1.0, total=9, answers=(0, 1), min_per_stratum=1)
    assert {**inputs_as_of(plain, 2), "trust": "local"} == inputs_as_of(plain, 1)
    assert not {"clip", "default_answers", "formulas", OPTION} & set(inputs_as_of(plain, 2))
    assert inputs_as_of(replace(plain, clip=True), 1)["clip"] is True


@pytest.mark.parametrize(("trust", "release"), [("local", "microdata"), ("curator", "sums")])
def test_who_was_trusted_says_what_is_released(trust, release):
    """It is read as the option of today, and written and digested as version 1 did."""
    path = next(path for path in DESIGNS if json.loads(path.read_text())["inputs"]["trust"] == trust)
    saved = json.loads(path.read_text())
    plan = dps.load_design(path)
    assert (plan.inputs.release, plan.inputs.device_epsilon) == (release, None)
    assert plan.privacy["release"] == release
    assert plan.to_dict()["inputs"] == inputs_as_of(plan.inputs, 1) == saved["inputs"]
    today = inputs_as_of(replace(plan.inputs, formulas=2), 2)
    assert today.get(OPTION, RECORDED[OPTION].default) == release
    assert "trust" not in today
    assert plan.digest == replace(plan, inputs=replace(plan.inputs, formulas=2)).digest


def test_a_device_budget_is_part_of_the_digest():
    """Version 1 could not say it, so nothing that it could say has the same digest."""
    strata = dps.Strata([700, 900], [0.3, 0.1])
    asked = {"epsilon": 1, "total": 60, "release": "sums"}
    plans = [dps.design(strata, device_epsilon=E, **asked) for E in (None, 3, 4)]
    assert "trust" in inputs_as_of(plans[0].inputs, 1)
    assert inputs_as_of(plans[1].inputs, 1).items() >= {"release": "sums", "device_epsilon": 3.0}.items()
    assert len({plan.digest for plan in plans}) == 3


@pytest.mark.parametrize("trust", ["nobody", 3, None, ["local"]])
def test_a_document_whose_trust_is_none_that_there_was_is_refused(trust, tmp_path):
    saved = json.loads(DESIGNS[0].read_text())
    saved["inputs"]["trust"] = trust
    path = tmp_path / "design.json"
    path.write_text(json.dumps(saved))
    with pytest.raises(dps.InputError, match="is not a valid design document"):
        dps.load_design(path)


@pytest.mark.parametrize("inputs", [None, 3, [], "x"])
def test_a_damaged_document_is_left_to_whoever_validates_it(inputs, tmp_path):
    path = tmp_path / "design.json"
    path.write_text(json.dumps({"format": "dpstrata.design", "version": 1, "inputs": inputs}))
    with pytest.raises(dps.InputError, match="is not a valid design document"):
        dps.load_design(path)
