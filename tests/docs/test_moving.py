"""What the page on moving from 0.1.0 says, tried with a survey that 0.1.0 saved."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import dpstrata as dps
from dpstrata.planning.best import design_as_asked

SAVED = Path(__file__).parents[1] / "saved" / "0.1.0"
COLUMNS = {"id": "person", "stratum": "site", "answer": "yes"}
STRATA = dps.Strata([700, 900], [0.3, 0.1])


@pytest.fixture
def survey(tmp_path):
    shutil.copytree(SAVED / "survey", tmp_path / "survey")
    (tmp_path / "survey" / "draw.key").chmod(0o600)
    return tmp_path / "survey"


def privatized(survey, answers, **more):
    files = {"sample": survey / "sample.csv", "key_file": survey / "draw.key"}
    return dps.privatize(
        survey / "design.json", survey / answers, out=survey / "new.csv", **files, **COLUMNS, **more
    )


def changed(survey, first):
    """Write the answers with another first one."""
    header, line, *rest = (survey / "answers.csv").read_text().splitlines()
    line = ",".join([*line.split(",")[:-1], first])
    (survey / "changed.csv").write_text("\n".join([header, line, *rest]))
    return "changed.csv"


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        ({"trust": "local"}, "release='microdata'"),
        ({"trust": "curator"}, "release='sums'"),
        ({"questions": 3}, "questionnaire"),
    ],
)
def test_what_is_gone_is_refused_with_what_to_type(options, instead):
    with pytest.raises(dps.InputError, match=instead):
        dps.design(STRATA, epsilon=1, total=40, **options)


def test_a_draw_that_is_repeated_keeps_the_sample_and_replaces_the_record(survey):
    frame = dps.open_frame(survey / "frame.csv", id="person", stratum="site")
    sample = (survey / "sample.csv").read_bytes()
    dps.draw(survey / "design.json", frame, out=survey / "sample.csv", key_file=survey / "draw.key")
    assert (survey / "sample.csv").read_bytes() == sample
    assert json.loads((survey / "draw.json").read_text())["version"] == 2


def test_the_ledger_gets_a_key_and_a_version_that_010_refuses(survey):
    privatized(survey, "answers.csv", again=True)
    assert (survey / "ledger.key").exists()
    assert json.loads((survey / "ledger.json").read_text())["version"] == 2
    dps.design(STRATA, epsilon=1, total=40).save(survey / "new.json")
    assert json.loads((survey / "new.json").read_text())["version"] == 2


def test_answers_outside_the_range_are_refused_and_blanks_left_out(survey):
    with pytest.raises(dps.InputError, match="must lie in"):
        privatized(survey, changed(survey, "7"), again=True)
    blank = changed(survey, "")
    with pytest.raises(dps.InputError, match="Fewer people answered than the design assumes"):
        privatized(survey, blank, again=True)
    released = privatized(survey, blank, again=True, accept_response=True)
    assert (released.answers, released.blank) == (23, 1)


@pytest.mark.parametrize(
    ("name", "at_least", "at_most"), [("response", 1.003, 1.01), ("response-small", 1.08, 1.13)]
)
def test_how_much_larger_standard_errors_under_response_rates_are(name, at_least, at_most):
    before = dps.load_design(SAVED / f"{name}.json")
    now = design_as_asked(before.strata, replace(before.inputs, formulas=2), warn=False)
    assert at_least < now.standard_error / before.standard_error < at_most
