"""What people saved with earlier versions loads for ever, with the same sizes and the same sample."""

import json
import shutil
from pathlib import Path

import pytest

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata
from dpstrata.planning.best import design_as_asked
from dpstrata.survey.inputs import Inputs
from report_reader import report_of

SAVED = Path(__file__).parent / "saved"
DESIGNS = sorted(path for path in SAVED.glob("*/*.json") if path.name != "index.json")
SURVEYS = sorted(path.parent for path in SAVED.glob("*/*/draw.json"))


def named(path):
    return f"{path.parent.name}-{path.stem}"


@pytest.fixture
def survey(request, tmp_path):
    """A copy of a saved survey, with its key readable by its owner alone, as it was."""
    folder = tmp_path / "survey"
    shutil.copytree(request.param, folder)
    (folder / "draw.key").chmod(0o600)
    return folder


def test_there_is_something_to_load():
    assert len(DESIGNS) >= 34
    assert len(SURVEYS) >= 3


@pytest.mark.parametrize("path", DESIGNS, ids=named)
def test_a_saved_design_is_what_it_was(path, tmp_path):
    was = json.loads((path.parent / "index.json").read_text())[path.stem]
    plan = dps.load_design(path)  # checks its proof and answers its question again
    assert plan.digest == was["digest"]
    assert plan.sample_sizes.tolist() == was["sample_sizes"]
    assert plan.variance == pytest.approx(was["variance"], rel=1e-12)
    plan.save(tmp_path / "again.json")
    assert dps.load_design(tmp_path / "again.json") == plan
    again, written = (json.loads(file.read_text()) for file in (tmp_path / "again.json", path))
    assert (again["version"], again["inputs"]) == (written["version"], written["inputs"])


@pytest.mark.parametrize("survey", SURVEYS, ids=named, indirect=True)
def test_a_saved_survey_goes_on(survey):
    frame = dps.open_frame(survey / "frame.csv", id="person", stratum="site")
    files = {"sample": survey / "sample.csv", "key_file": survey / "draw.key"}
    dps.verify_draw(survey / "design.json", frame, **files)
    before = (survey / "sample.csv").read_bytes()
    dps.draw(survey / "design.json", frame, out=survey / "sample.csv", key_file=survey / "draw.key")
    assert sorted((survey / "sample.csv").read_bytes().split()) == sorted(before.split())
    assert dps.estimate(survey / "design.json", survey / "noised.csv").whole.answers == 24
    columns = {"id": "person", "stratum": "site", "answer": "yes"}
    answers, out = survey / "answers.csv", survey / "again.csv"
    publishes_sums = dps.load_design(survey / "design.json").inputs.release == "sums"
    step = dps.publish if publishes_sums else dps.privatize
    with pytest.raises(dps.InputError, match="released before"):
        step(survey / "design.json", answers, **files, **columns, out=out)
    release = step(survey / "design.json", answers, **files, **columns, out=out, again=True)
    assert release.known_before == 24
    assert release.spent.epsilon > 2
    assert dps.estimate(survey / "design.json", out).whole.answers == 24


@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_a_design_for_several_questions_is_carried_out_as_before(release, tmp_path):
    """``dps.design`` refuses it now; a document of 0.1.0 that has it is drawn, released and reported."""
    shutil.copy(SAVED / "0.1.0" / "survey" / "frame.csv", tmp_path)
    frame = dps.open_frame(tmp_path / "frame.csv", id="person", stratum="site")
    asked = {"epsilon": 1.0, "total": 24, "mechanism": "discrete_laplace", "answers": "binary"}
    inputs = Inputs(**asked, release=release, questions=3, formulas=1)
    design_as_asked(frame_strata(frame), inputs).save(tmp_path / "design.json")
    written = json.loads((tmp_path / "design.json").read_text())
    assert (written["version"], written["inputs"]["questions"]) == (1, 3)
    plan = dps.load_design(tmp_path / "design.json")
    assert plan.table()["answer_epsilon"] == pytest.approx(plan.local_epsilons / 3)
    assert "the same people answer every question" in plan.privacy["assumptions"]

    files = {"sample": tmp_path / "sample.csv", "key_file": tmp_path / "draw.key"}
    dps.draw(tmp_path / "design.json", frame, out=files["sample"], key_file=files["key_file"])
    header, *drawn = files["sample"].read_text().split()
    answered = [f"{header},one,two,three", *(f"{row},{i % 2},0,1" for i, row in enumerate(drawn))]
    (tmp_path / "answers.csv").write_text("\n".join(answered) + "\n")
    step = dps.publish if release == "sums" else dps.privatize
    for question in ("one", "two", "three"):
        columns = {"id": "person", "stratum": "site", "answer": question}
        out = tmp_path / f"{question}.csv"
        released = step(tmp_path / "design.json", tmp_path / "answers.csv", **files, **columns, out=out)
        assert released.spent.epsilon == 1.0  # in all
        assert dps.estimate(tmp_path / "design.json", out).whole.answers == 24

    report = report_of(plan, drawn=False)
    assert "questions per person" in report
    assert "with an option that is gone (questions)" in report
    assert "questions=3" not in report
    assert dps.simulate(plan, dps.synthetic_population(plan), replications=2000, seed=1).agrees()
    assert dps.sensitivity(plan).plan == plan
    assert dps.compare_releases(plan).table()["standard_error"][0] > 0
