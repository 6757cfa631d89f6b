"""Noising a batch: only who was drawn, once, on the ledger; and the commands from answers to estimates."""

import csv
import json
import math

import numpy as np
import openpyxl
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding import releasing
from dpstrata.fielding.answer_files import open_answers, read_people
from dpstrata.fielding.draw import draw, verify_draw
from dpstrata.fielding.estimate import estimate
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.ledger import locked
from dpstrata.fielding.publish import privatize, publish
from dpstrata.fielding.randomizers.noise import noised_sum
from dpstrata.fielding.releases import SumsFielding
from dpstrata.survey.questionnaires.questionnaire import read_shorthand
from dpstrata.words.numbers import figure
from extent import few
from problems import CASES, is_additive
from surveys import field_instead, release


def test_a_batch_is_noised_shuffled_and_without_ids(fielded):
    folder, plan = fielded
    result = release(folder)
    assert (result.answers, result.invited, result.known_before, result.spent.epsilon) == (40, 40, 0, 1.0)
    assert result.response.fewer == 0
    text = (folder / "noised.csv").read_text()
    assert text.startswith("stratum,answer\n")
    assert "canary" not in text
    values = {float(line.split(",")[1]) for line in text.splitlines()[1:]}
    assert not values & {43210.0 + i for i in range(40)}
    assert estimate(plan, folder / "noised.csv", stratum="stratum").whole[0].answered == 40
    ledger = json.loads((folder / "ledger.json").read_text())
    assert [entry["status"] for entry in ledger["entries"]] == ["released"]
    assert "canary" not in (folder / "ledger.json").read_text()
    assert len(set(ledger["entries"][0]["people"])) == 40


def test_an_interrupted_release_may_be_run_again(fielded, monkeypatch):
    """Killed after the ledger said pending and before noise was on it: the rerun completes."""
    folder, _ = fielded

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(releasing, "require_room", killed)
        with pytest.raises(KeyboardInterrupt):
            release(folder)
    assert not (folder / "noised.csv").exists()
    assert json.loads((folder / "ledger.json").read_text())["entries"][0]["status"] == "pending"
    release(folder)
    entries = json.loads((folder / "ledger.json").read_text())["entries"]
    assert [entry["status"] for entry in entries] == ["released"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda rows: [*rows, ["stranger", "north", "1"]],
            "got 1 from people who were not and 0 with a stratum other",
        ),
        (lambda rows: [*rows, rows[-1]], "got two answers from the same person"),
        (
            lambda rows: [*rows[:-1], [rows[-1][0], "nowhere", "43210"]],
            "got 0 from people who were not and 1 with a stratum other",
        ),
        (
            lambda rows: [*rows[:-1], [*rows[-1][:2], "secret-43210"]],
            r"column 'answer', line \d+: must be a number from 0 to 100,000, written without thousands separators; correct that, or leave the cell empty if the person did not",
        ),
    ],
)
def test_refusals_name_nobody_and_release_nothing(fielded, change, words):
    folder, _ = fielded
    with open(folder / "answers.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    with open(folder / "wrong.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *change(rows)])
    with pytest.raises(dps.InputError, match=words) as caught:
        release(folder, answers="wrong.csv")
    for canary in ("canary", "stranger", "4321"):
        assert canary not in str(caught.value)
    assert not (folder / "noised.csv").exists()


@pytest.mark.slow
def test_the_commands_from_answers_to_estimates(fielded):
    folder, _ = fielded
    batch = ["--sample", "sample.csv", "--id", "person", "--stratum", "region"]
    noised = run(folder, "privatize", "design.json", "answers.csv", *batch, "--out", "noised.csv")
    assert noised.returncode == 0, noised.stderr
    assert "only the central promise holds" in noised.stdout
    files = ["--out", "estimates.csv", "--plot", "estimates.svg"]
    shown = run(folder, "estimate", "design.json", "noised.csv", *files)
    assert shown.returncode == 0, shown.stderr
    assert (folder / "estimates.svg").read_text().startswith("<svg")
    assert "The population total is" in shown.stdout
    plain = json.loads(run(folder, "estimate", "design.json", "noised.csv", "--json").stdout)
    assert plain["estimates"][0]["group"] == "all"
    one = run(folder, "privatize", "design.json", "--stratum-value", "north", input="43210\n12\n")
    assert len(one.stdout.split()) == 2
    for arguments, words in (
        (["privatize", "design.json"], "needs a table of answers, or --stratum-value"),
        (["privatize", "design.json", "answers.csv"], "needs --sample, --out"),
        (["privatize", "design.json", "answers.csv", *batch, "--out", "noised.csv"], "is not replaced"),
        (
            ["privatize", "design.json", "answers.csv", *batch, "--out", "n.json"],
            "must end in .csv, .parquet or",
        ),
        (["privatize", "design.json", "answers.csv", *batch, "--out", "more.csv"], "was released before"),
        (["estimate", "design.json", "answers.csv", "--stratum", "x"], "has no column 'x'"),
    ):
        wrong = run(folder, *arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr
    wrong = run(folder, "privatize", "design.json", "--stratum-value", "north", input="secret-43210\n")
    assert (wrong.returncode, "43210" in wrong.stderr) == (2, False)


def test_sums_of_raw_answers_are_published_in_one_step(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions=(0, 100_000), release="sums")
    field_instead(folder, frame, plan, {"answer": 43210})
    with pytest.raises(
        dps.InputError, match=r"got a design with release='sums', which publishes none\. Use publish"
    ):
        release(folder)
    assert not (folder / "ledger.json").exists()
    result = release(folder, step=publish)
    assert (result.answers, result.invited, result.spent.epsilon) == (40, 40, 1.0)
    lines = (folder / "noised.csv").read_text().splitlines()
    assert lines[0] == "stratum,sum,answers"
    assert len(lines) == 3
    result = estimate(plan, folder / "noised.csv")
    assert result.whole[0].standard_error == pytest.approx(plan.standard_error, rel=1e-3)
    assert abs(result.whole[0].estimate - 43210) < 7 * plan.standard_error
    with pytest.raises(
        dps.InputError, match="sees raw answers and noises what it publishes, not single answers"
    ):
        dps.randomize(plan, "north", 1.0)


def test_published_answers_are_not_added_up(fielded):
    folder, _ = fielded
    with pytest.raises(dps.InputError, match=r"publish adds answers up, .* one by one\. Use privatize"):
        release(folder, step=publish)
    assert not (folder / "ledger.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "answers", "delta"),
    [case for case in CASES if is_additive(case[0], read_shorthand(case[1])[0].space.steps)],
)
def test_sums_are_unbiased_with_the_stated_variance(mechanism, answers, delta):
    repeats = few(800, of=3000)
    plan = dps.design(
        dps.Strata([5000], [0.2], names=["a"]),
        epsilon=0.5,
        total=30,
        mechanism=mechanism,
        questions=answers,
        delta=delta,
        release="sums",
    )
    draws = np.array(
        [
            noised_sum(
                plan, 0, [0.25] * 30, *SumsFielding().draw_office_noise(plan, plan.sample_sizes).values()
            )
            / 30
            for _ in range(repeats)
        ]
    )
    sd = float(plan.noise_sds[0])
    assert abs(draws.mean() - 0.25) < 6.2 * sd / math.sqrt(repeats)
    # the fourth moment of this noise is at most 6 times the variance squared
    assert draws.std() == pytest.approx(sd, rel=6.2 * math.sqrt(5 / 4 / repeats))


def test_a_sample_needs_its_record_key_and_design(fielded):
    folder, _ = fielded
    (folder / "sample.csv").write_text((folder / "sample.csv").read_text() + "mallory,north\n")
    with pytest.raises(dps.InputError, match=r"is not the sample that draw\.json records"):
        release(folder)
    (folder / "draw.json").unlink()
    with pytest.raises(dps.InputError, match="needs the record of its draw"):
        release(folder)


def test_nothing_is_written_over_and_releases_do_not_pass_each_other(fielded):
    folder, _ = fielded
    for out in ("answers.csv", "sample.csv", "design.json", "ledger.json", "draw.key"):
        with pytest.raises(dps.InputError, match="is given for two different files"):
            release(folder, out=out)
    with (
        locked(folder / "ledger.json"),
        pytest.raises(dps.InputError, match="another release with the ledger"),
    ):
        release(folder)
    release(folder)


def test_a_file_that_is_there_is_neither_replaced_nor_taken_for_the_release(fielded, monkeypatch):
    folder, _ = fielded
    (folder / "noised.csv").write_text("junk")
    with pytest.raises(dps.InputError, match=r"noised\.csv exists and is not replaced"):
        release(folder)
    with monkeypatch.context() as patched:
        (folder / "noised.csv").unlink()
        patched.setattr(releasing, "require_room", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder)
    (folder / "noised.csv").write_text("junk")
    for again in (False, True):
        with pytest.raises(dps.InputError, match=r"noised\.csv exists and is not replaced"):
            release(folder, again=again)
    (folder / "noised.csv").unlink()
    assert release(folder).spent.epsilon == 1.0


@pytest.mark.slow
def test_frames_and_answers_in_a_sheet_under_a_title(fielded):
    folder, _ = fielded
    for name in ("people", "answers"):
        book = openpyxl.Workbook()
        sheet = book.create_sheet("May")
        sheet.append(["The survey of May"])
        with open(folder / f"{name}.csv", newline="") as file:
            for row in csv.reader(file):
                sheet.append(row)
        book.save(folder / f"{name}.xlsx")
    columns = ["--id", "person", "--stratum", "region", "--sheet", "May"]
    steps = [
        ["frame", "people.xlsx", *columns, "--out", "strata.xlsx"],
        ["design", "strata.xlsx", "--sheet", "design", "--epsilon", "1", "--total", "9"],
        ["draw", "design.json", "people.xlsx", *columns, "--out", "sample.csv", "--verify"],
        [
            "privatize",
            "design.json",
            "answers.xlsx",
            *columns,
            "--sample",
            "sample.csv",
        ],
    ]
    steps[-1] += ["--out", "noised.csv"]
    with_sheets = [run(folder, *step) for step in steps]
    assert [done.returncode for done in with_sheets] == [0] * 4, [done.stderr for done in with_sheets]
    wrong = run(folder, *[part if part != "May" else "June" for part in steps[0]])
    assert wrong.stderr == "Error: people.xlsx has no sheet 'June'; it has 'Sheet', 'May'.\n"
    wrong = run(folder, *[part.replace("people.xlsx", "people.csv") for part in steps[0]])
    assert wrong.stderr == "Error: --sheet requires an Excel file, got 'people.csv'.\n"


@pytest.mark.slow
def test_the_commands_read_yes_and_no(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions="yes_no")
    field_instead(folder, frame, plan, {"answer": "Yes"})
    text = (folder / "answers.csv").read_text().splitlines()
    text[-1] = text[-1].rpartition(",")[0] + ","
    (folder / "answers.csv").write_text("\n".join(text) + "\n")
    batch = ["--sample", "sample.csv", "--id", "person", "--stratum", "region"]
    accept = ["--accept-response", "--out", "noised.csv"]
    noised = run(folder, "privatize", "design.json", "answers.csv", *batch, *accept)
    assert noised.returncode == 0, noised.stderr
    assert "39 of 40 answers noised" in noised.stdout
    assert "1 answer was blank and is left out; that person counts as someone who did not" in noised.stdout
    one = run(folder, "privatize", "design.json", "--stratum-value", "north", input="yes\nFALSE\n")
    assert (one.returncode, len(one.stdout.split())) == (0, 2)
    wrong = run(folder, "privatize", "design.json", "--stratum-value", "north", input="canary\n")
    assert wrong.stderr == "Error: question 'answer': the answer must be yes or no.\n"


def test_answers_outside_the_range_are_refused_before_anything_is_spent(fielded):
    """Incomes under a range of 0 to 1 gave a mean of 1.02; now they are counted and refused."""
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    for options, words in (
        ({"questions": (0, 1)}, r"answers must lie in \[0, 1\], got 40 of 40 outside"),
        ({"questions": "yes_no"}, r"lines 2 to 41: must be yes or no; correct that"),
        ({}, "must state the possible answers before answers from a file are noised, got the default"),
    ):
        field_instead(
            folder, frame, dps.design(frame_strata(frame), epsilon=1, total=40, **options), {"answer": 43210}
        )
        with pytest.raises(dps.InputError, match=words) as caught:
            release(folder)
        assert "43210" not in str(caught.value)
        assert not (folder / "ledger.json").exists()


@pytest.mark.slow
def test_clipped_answers_are_said_in_every_result(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions=(0, 8000), clip=True)
    field_instead(folder, frame, plan, {"answer": 43210})
    release(folder)
    words = "ean of answers clipped to 0–8,000"
    shown = run(folder, "estimate", "design.json", "noised.csv", "--out", "e.csv", "--plot", "chart.json")
    assert shown.returncode == 0, shown.stderr
    assert words in shown.stdout
    assert words in (folder / "e.csv").read_text()
    assert words in json.loads((folder / "chart.json").read_text())["title"]["text"]
    found = json.loads(run(folder, "estimate", "design.json", "noised.csv", "--json").stdout)
    assert all(words in row["notes"] for row in found["estimates"])
    assert words in str(plan)
    report = dps.report_html(plan)
    assert words in report
    assert "answers are clipped to 0–8,000" in report
    assert dps.load_design(folder / "design.json").inputs.clip


def test_an_office_with_raw_answers_is_told_what_sums_would_give(fielded):
    folder, plan = fielded
    sums = dps.design(plan.strata, epsilon=1, total=40, questions=(0, 100_000), release="sums")
    options = {"epsilon": 1, "questions": (0, 100_000), "release": "sums"}
    same_sizes = dps.evaluate(plan.strata, plan.sample_sizes, **options)
    said = f"standard error of {figure(same_sizes.standard_error)} instead of {figure(plan.standard_error)}"
    assert "Will the office see raw answers?" in str(plan)
    assert said in str(plan)
    assert said in release(folder).notes[-1]
    assert "Will the office" not in str(sums)


def test_crossed_and_boolean_strata_go_all_the_way(tmp_path):
    """Sample and answers name the same strata, whatever kind of file they are in."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    people = {
        "p": list(range(200)),
        "old": [i % 2 == 0 for i in range(200)],
        "band": [i % 3 for i in range(200)],
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    for columns, out in ((["old"], "a.xlsx"), (["old", "band"], "b.csv"), (["old", "band"], "c.parquet")):
        folder = tmp_path / out.partition(".")[0]
        folder.mkdir()
        frame = open_frame(tmp_path / "people.parquet", id="p", stratum=columns)
        plan = dps.design(frame_strata(frame), epsilon=1, total=30, questions="yes_no")
        plan.save(folder / "design.json")
        draw(folder / "design.json", frame, out=folder / out, key_file=folder / "key")
        verify_draw(folder / "design.json", frame, sample=folder / out, key_file=folder / "key")
        drawn = {int(person) for person in read_people(open_answers(folder / out), "p", ())[0]}
        answers = {
            name: [cell for i, cell in enumerate(cells) if i in drawn] for name, cells in people.items()
        }
        pq.write_table(pa.table(answers | {"answer": [1] * len(drawn)}), folder / "answers.parquet")
        privatize(
            folder / "design.json",
            folder / "answers.parquet",
            sample=folder / out,
            id="p",
            stratum=columns,
            out=folder / "noised.csv",
            key_file=folder / "key",
        )
        assert estimate(folder / "design.json", folder / "noised.csv").whole[0].answered == 30
