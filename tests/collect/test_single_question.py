"""One question without a questionnaire: its cells are the reports that ``publish`` reads."""

import csv
import json
from collections import Counter

import pytest

import dpstrata as dps
from collecting import DATABASES, collecting, drawn, invited, send_all
from dpstrata.collect.closing import close_survey
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.releases import fielding_of

YES_NO = {"questions": "yes_no", "mechanism": "randomized_response"}
INCOME = {"questions": (0, 8000), "mechanism": "sine"}
GRADE = {"questions": (1, 5, 1), "mechanism": "cells"}
ANSWERS = {"randomized_response": (0, 1), "sine": (0, 5432.1), "cells": (2, 5)}


def plan_of(release="sums", asked=YES_NO, **more):
    strata = dps.Strata([300, 700], names=["north", "south"])
    return dps.design(strata, epsilon=1, release=release, total=100, **asked, **more)


def cell_of(plan, stratum, report):
    """The cell of a report, found by making the reports of all cells."""
    (randomizer,), row = randomizers_of(plan), plan.strata.names.index(stratum)
    kit = dps.respondent_kit(plan, text="How?")
    cells = range(kit.cells_at(0, kit.odds[row]))
    return randomizer.reports_of_cells(row, cells).index(report)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("release", ["sums", "mean"])
@pytest.mark.parametrize("asked", [YES_NO, INCOME, GRADE], ids=lambda asked: asked["mechanism"])
def test_what_is_closed_is_what_publish_makes_of_the_same_reports(
    tmp_path, monkeypatch, release, database, asked
):
    """With the same noise of the office, from a file in which devices wrote their reports themselves."""
    plan = plan_of(release, asked, device_epsilon=2)
    fielding = type(fielding_of(plan))
    drawing = fielding.draw_office_noise
    monkeypatch.setattr(fielding, "draw_office_noise", lambda *given: dict.fromkeys(drawing(*given), 3))
    made = invited(tmp_path, plan, database=database, text="Do you smoke?")
    people = {row["id"]: row["stratum"] for row in read(tmp_path / "sample.csv")}
    reports = {
        person: dps.randomize(plan, stratum, ANSWERS[asked["mechanism"]][i % 2]).value
        for i, (person, stratum) in enumerate(people.items())
    }
    with collecting(made) as collector:
        cells = [
            (made.links[person], cell_of(plan, people[person], report)) for person, report in reports.items()
        ]
        assert set(send_all(collector, cells)) == {"counted"}
    released = close_survey(
        made.survey, design=made.design, **made.office, office_key=tmp_path / "office.key",
        out=tmp_path / "closed.csv", database=made.database,
    )  # fmt: skip
    assert released.answers == 100
    with open(tmp_path / "reports.csv", "w") as file:
        file.write("id,stratum,answer\n")
        file.writelines(f"{person},{people[person]},{report!r}\n" for person, report in reports.items())
    dps.publish(
        made.design, tmp_path / "reports.csv", **made.office, out=tmp_path / "published.csv", again=True,
    )  # fmt: skip
    assert read(tmp_path / "closed.csv") == read(tmp_path / "published.csv")
    questions = [each["questions"] for each in json.loads((tmp_path / "ledger.json").read_text())["entries"]]
    assert questions == [["answer"]] * 2
    assert len(dps.estimate(made.design, tmp_path / "closed.csv"))


@pytest.mark.parametrize("asked", [YES_NO, INCOME, GRADE], ids=lambda asked: asked["mechanism"])
def test_noised_answers_are_published_as_they_were_sent(tmp_path, asked):
    plan = plan_of("microdata", asked)
    made = invited(tmp_path, plan, text="How?")
    people = {row["id"]: row["stratum"] for row in read(tmp_path / "sample.csv")}
    answers = ANSWERS[asked["mechanism"]]
    reports = {
        person: dps.randomize(plan, stratum, answers[i % 2]).value
        for i, (person, stratum) in enumerate(people.items())
    }
    with collecting(made) as collector:
        cells = [
            (made.links[person], cell_of(plan, people[person], report)) for person, report in reports.items()
        ]
        assert set(send_all(collector, cells)) == {"counted"}
    close_survey(
        made.survey, design=made.design, **made.office, office_key=tmp_path / "office.key",
        out=tmp_path / "closed.csv",
    )  # fmt: skip
    published = Counter((row["stratum"], float(row["answer"])) for row in read(tmp_path / "closed.csv"))
    assert published == Counter((people[person], report) for person, report in reports.items())
    assert len(dps.estimate(made.design, tmp_path / "closed.csv"))


def test_the_question_needs_its_words(tmp_path):
    made = drawn(tmp_path, plan_of(device_epsilon=2))
    with pytest.raises(dps.InputError, match="text must be the question as respondents read it"):
        made.invite()
    assert not made.survey.exists()
