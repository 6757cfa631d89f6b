"""Answers in Stata and SPSS files: noised and published as those of a CSV file, by their labels."""

import csv

import pandas as pd
import pyreadstat
import pytest

import dpstrata as dps
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from surveys import read_rows, survey

ENDINGS = [".dta", ".sav"]
REGIONS = {1: "north", 2: "söuth"}
TENURES = {1: "rent", 2: "own", 3: "other"}


def write(path, data, labels):
    """Write a file whose codes have labels."""
    kind = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
    kind(pd.DataFrame(data), str(path), variable_value_labels=labels)


def fielded(folder, ending, said, labels=None, *, epsilon=1, **options):
    """Draw from a labelled frame, and let everyone answer in a file of the same kind."""
    people = {"person": list(range(7000, 7300)), "region": [1 + i % 2 for i in range(300)]}
    write(folder / f"people{ending}", people, {"region": REGIONS})
    frame = open_frame(folder / f"people{ending}", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=epsilon, total=40, **options)
    assert plan.strata.names == ("north", "söuth")
    plan.save(folder / "design.json")
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    codes = {name: code for code, name in REGIONS.items()}
    with open(folder / "sample.csv", newline="", encoding="utf-8") as file:
        drawn = [(int(row["person"]), codes[row["region"]]) for row in csv.DictReader(file)]
    given = {"person": [p for p, _ in drawn], "region": [r for _, r in drawn], "answer": said(len(drawn))}
    write(folder / f"answers{ending}", given, {"region": REGIONS} | ({"answer": labels} if labels else {}))
    return plan


def released(step, folder, ending, **more):
    return step(
        folder / "design.json",
        folder / f"answers{ending}",
        sample=folder / "sample.csv",
        out=folder / "out.csv",
        key_file=folder / "draw.key",
        id="person",
        stratum="region",
        **more,
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_categories_are_noised_by_their_labels(tmp_path, ending):
    fielded(
        tmp_path, ending, lambda n: [1 + i % 3 for i in range(n)], TENURES, questions=list(TENURES.values())
    )
    assert released(dps.privatize, tmp_path, ending).answers == 40
    noised = read_rows(tmp_path / "out.csv")
    assert {stratum for stratum, _ in noised} == set(REGIONS.values())
    assert {answer for _, answer in noised} <= set(TENURES.values())
    assert dps.estimate(tmp_path / "design.json", tmp_path / "out.csv")[0].level == "rent"


@pytest.mark.parametrize("labels", [{1: "yes", 2: "no"}, {1: "Yes", 0: "No"}, None])
@pytest.mark.parametrize("ending", ENDINGS)
def test_yes_and_no_are_published_whatever_their_codes(tmp_path, ending, labels):
    """Everyone says yes, and the budget is so large that noise is next to impossible."""
    options = {"questions": "yes_no", "release": "sums", "epsilon": 40}
    plan = fielded(tmp_path, ending, lambda n: [1] * n, labels, **options)
    assert released(dps.publish, tmp_path, ending).answers == 40
    sums = [(float(total), int(count)) for _, total, count in read_rows(tmp_path / "out.csv")]
    assert sums == [(count, count) for count in plan.sample_sizes.tolist()]


@pytest.mark.parametrize("step", [dps.privatize, dps.publish])
@pytest.mark.parametrize("ending", ENDINGS)
def test_numbers_stay_numbers_if_some_have_no_label(tmp_path, ending, step):
    release = {"release": "microdata" if step is dps.privatize else "sums"}
    ends = {1: "very bad", 10: "very good"}
    fielded(tmp_path, ending, lambda n: [1 + i % 10 for i in range(n)], ends, questions=(1, 10), **release)
    assert released(step, tmp_path, ending).answers == 40


@pytest.mark.parametrize("ending", ENDINGS)
def test_numbers_that_all_have_labels_are_refused(tmp_path, ending):
    ends = {1: "canary bad", 10: "canary good"}
    fielded(tmp_path, ending, lambda n: [(1, 10)[i % 2] for i in range(n)], ends, questions=(1, 10))
    with pytest.raises(dps.InputError, match="number") as caught:
        released(dps.privatize, tmp_path, ending)
    assert "canary" not in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("step", ["privatize", "publish"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_questionnaire(tmp_path, ending, step):
    plan, _ = survey(tmp_path, step, devices=False)
    answers = pd.read_csv(tmp_path / "answers.csv")
    labels = {}
    for name in ("region", "home", "smokes", "ill"):
        known = sorted(set(answers[name]))
        labels[name] = dict(enumerate(known, start=1))
        answers[name] = answers[name].map(known.index) + 1
    write(tmp_path / f"answers{ending}", answers, labels)
    assert released(getattr(dps, step), tmp_path, ending).answers == plan.total
