"""Publishing sums: from reports or raw answers to a file; what is refused; killed at any moment."""

import csv
import dataclasses
import json
import os
import re
import stat
import time

import numpy as np
import openpyxl
import pyarrow.parquet as parquet
import pytest

import dpstrata as dps
from commands import run, run_script
from dpstrata.fielding import releasing
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.publish import publish
from dpstrata.fielding.randomizers.noise import noise_at, noised_sum, office_noise_at, steps_of_reports
from dpstrata.fielding.releases import SumsFielding
from dpstrata.words.results import FEW, ONLY_ONE
from laws import drawn_variance
from surveys import (
    COLUMNS,
    collected_of,
    copied,
    field_reports,
    loss_inside,
    read_rows,
    release,
    reports_of,
    write_reports,
)

STRIDE = os.environ.get("DPSTRATA_STRIDE")  # every line in the slow suite
LAYERS = {  # of noise, with what can be answered
    "raw": {"device_epsilon": None, "questions": (0, 100_000), "mechanism": "staircase"},
    "staircase": {"device_epsilon": 3, "questions": (0, 100_000), "mechanism": "staircase"},
    "tulap": {"device_epsilon": 3, "questions": (0, 100_000), "mechanism": "tulap"},
    "grid": {"device_epsilon": 2, "questions": (0, 100_000, 1), "mechanism": "discrete_laplace"},
    "yes/no": {"device_epsilon": 5, "questions": "yes_no", "mechanism": "randomized_response"},
}
COMMAND = [
    *("publish", "design.json", "reports.csv", "--sample", "sample.csv", "--id", "person"),
    *("--stratum", "region", "--out"),
]


def survey(folder, **options):
    """Draw a sample, let everyone answer, and their devices noise if they do."""
    return copied(field, folder, **options)


def field(folder, *, epsilon=1, total=40, release="sums", **options):
    people = [(f"canary-{i:04}", "north" if i % 3 else "south") for i in range(900)]
    (folder / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=epsilon, total=total, release=release, **options)
    field_reports(folder, frame, plan)
    return plan


def read(folder):
    return read_rows(folder / "reports.csv")


def by_stratum(folder):
    reports = {"north": [], "south": []}
    for _, region, answer in read(folder):
        reports[region].append(float(answer))
    return reports


def released(folder, *, out="sums.csv", **more):
    return release(folder, answers="reports.csv", out=out, step=publish, **more)


@pytest.mark.parametrize("layers", LAYERS)
def test_from_reports_to_an_estimate(tmp_path, layers):
    plan = survey(tmp_path, **LAYERS[layers])
    done = []
    result = released(tmp_path, progress=done.append)
    assert (result.answers, result.invited, sum(done)) == (40, 40, 40)
    assert result.spent.epsilon == pytest.approx(loss_inside(plan), rel=1e-9)
    with open(tmp_path / "sums.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [["stratum", "sum", "answers"]] * 2
    assert [row["stratum"] for row in rows] == list(plan.strata.names)
    assert [int(row["answers"]) for row in rows] == plan.sample_sizes.tolist()
    reports = by_stratum(tmp_path)
    for place, row in enumerate(rows):
        name, noise = row["stratum"], office_noise_at(plan, place)
        drawn, most = float(row["sum"]) - sum(reports[name]), 40 * np.sqrt(drawn_variance(noise, 0))
        assert abs(drawn) < most * 100_000
        if layers != "raw":  # whole steps of the grid of the reports
            without, with_one = (noised_sum(plan, place, reports[name], number) for number in (0, 1))
            steps = (float(row["sum"]) - without) / (with_one - without)
            assert steps == pytest.approx(round(steps), abs=1e-3)
            assert without == pytest.approx(sum(reports[name]), rel=1e-9)
    estimated = dps.estimate(plan, tmp_path / "sums.csv")
    assert estimated.whole[0].answered == 40
    assert estimated.whole[0].standard_error > 0
    # no answer is written, nor kept
    assert not (tmp_path / "office.noise").exists()
    known = {"people.csv", "sample.csv", "reports.csv"}
    for path in tmp_path.iterdir():
        if path.name not in known:
            assert "canary" not in path.read_text()
            words = set(re.split(r"[^\w.+-]", path.read_text()))  # whole words: digests hold any few digits
            assert not words & {answer for _, _, answer in read(tmp_path) if len(answer) > 4}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_the_command_and_every_kind_of_file(tmp_path, ending):
    survey(tmp_path, **LAYERS["yes/no"])
    out = tmp_path / f"sums.{ending}"
    done = run(tmp_path, *COMMAND, out.name)
    assert done.returncode == 0, done.stderr
    assert "40 of 40 answers added up" in done.stdout
    assert "canary" not in done.stdout + done.stderr
    columns = {
        "csv": lambda: len(out.read_text().splitlines()) - 1,
        "parquet": lambda: parquet.read_table(out).num_rows,
        "xlsx": lambda: openpyxl.load_workbook(out).active.max_row - 1,
    }
    assert columns[ending]() == 2
    done = run(tmp_path, "estimate", "design.json", out.name, "--out", "estimates.csv")
    assert done.returncode == 0, done.stderr
    done = run(tmp_path, *COMMAND, out.name)
    assert done.returncode == 2
    assert "exists and is not replaced" in done.stderr


def edited(answer):
    """The number with its last digit changed."""
    return answer[:-1] + str((int(answer[-1]) + 1) % 10)


REFUSED = {
    "edited digits": (lambda rows: change(rows, edited(rows[0][2])), "got 1 others in stratum"),
    "fewer digits": (lambda rows: shortened(rows), "keep all digits"),
    "raw answers": (lambda rows: [[*row[:2], f"43210.{i:03}1"] for i, row in enumerate(rows)], "noised"),
    "not finite": (lambda rows: change(rows, "1e308"), "got 1 others in stratum"),
    "text": (lambda rows: change(rows, "secret-43210"), "column 'answer', line 2: not a number"),
    "no number": (lambda rows: change(rows, "x"), "column 'answer', line 2: not a number"),
    "a stranger": (
        lambda rows: [*rows, ["canary-x", "north", rows[0][2]]],
        "got 1 from people who were not and 0",
    ),
    "twice": (lambda rows: [*rows, rows[0]], "got two answers from the same person"),
    "elsewhere": (
        lambda rows: [[rows[0][0], "nowhere", rows[0][2]], *rows[1:]],
        "got 0 from people who were not and 1 with a stratum other",
    ),
    "no answer": (lambda rows: [], "there must be at least one answer, got none"),
    "few answers": (
        lambda rows: [row for i, row in enumerate(rows) if i % 4 == 0],
        "Fewer people answered",
    ),
}


def change(rows, answer):
    return [[*rows[0][:2], answer], *rows[1:]]


def shortened(rows):
    """Round a number to six digits that has more; about one in sixty has not."""
    rows = sorted(rows, key=lambda row: -len(row[2]))
    return change(rows, f"{float(rows[0][2]):.6g}")


@pytest.mark.parametrize("fault", REFUSED)
def test_refusals_name_nobody_and_spend_nothing(tmp_path, fault):
    survey(tmp_path, **LAYERS["staircase"])
    harm, words = REFUSED[fault]
    write_reports(tmp_path, harm(read(tmp_path)))
    before = set(os.listdir(tmp_path))
    with pytest.raises(dps.InputError) as caught:
        released(tmp_path)
    assert words in str(caught.value)
    assert_silent(tmp_path, str(caught.value))
    assert set(os.listdir(tmp_path)) - before <= {"ledger.json.lock", "ledger.key"}


def assert_silent(folder, shown):
    """One sentence, or two, that show nobody, no answer and no noise."""
    assert len(shown.splitlines()) == 1
    assert "canary" not in shown
    assert "43210" not in shown
    assert not any(answer in shown for _, _, answer in read(folder) if len(answer) > 4)


def test_reports_of_another_design_are_refused(tmp_path):
    """The grids of two device budgets have few points in common, and those of yes/no reports none."""
    survey(tmp_path, **LAYERS["yes/no"])
    rows = read(tmp_path)
    other = dps.design(
        dps.Strata([900], [0.4]),
        epsilon=1,
        total=40,
        release="sums",
        **{**LAYERS["yes/no"], "device_epsilon": 4.9},
    )
    (name,) = other.strata.names
    write_reports(tmp_path, [[*row[:2], repr(dps.randomize(other, name, 1).value)] for row in rows])
    with pytest.raises(
        dps.InputError, match=r"reports must be answers noised for this design, got \d+ others"
    ):
        released(tmp_path)
    assert not (tmp_path / "ledger.json").exists()


def test_a_yes_no_report_is_one_of_two_numbers(tmp_path):
    plan = survey(tmp_path, **LAYERS["yes/no"])
    low, high = noise_at(plan, 0).shares(np.array([0, 1])).tolist()
    assert steps_of_reports(plan, 0, [low, high, low]).tolist() == [0, 1, 0]
    for wrong in (
        2 * high - low,
        2 * low - high,
        0.0,
        1.0,
        float("nan"),
        float("inf"),
        np.nextafter(high, 2),
    ):
        with pytest.raises(dps.InputError, match="got 1 others"):
            steps_of_reports(plan, 0, [low, wrong])


@pytest.mark.parametrize("layers", [name for name in LAYERS if name != "raw"])
@pytest.mark.parametrize("E", [0.01, 1, 30])
def test_every_report_is_read_back(layers, E):
    """Honest reports are never refused, however fine or wide their noise; even with a huge office budget."""
    options = {**LAYERS[layers], "device_epsilon": E}
    plan = dps.design(dps.Strata([10**9, 50], [0.3, 0.3]), epsilon=100, total=400, release="sums", **options)
    for place, (name, n) in enumerate(zip(plan.strata.names, plan.sample_sizes.tolist(), strict=True)):
        answers = np.resize([plan.inputs.space.lower, plan.inputs.space.upper], n)
        reports = reports_of(plan, name, answers)
        noise, shares = noise_at(plan, place), plan.inputs.space.shares(reports)
        expected = (shares - noise.shares(np.array([0]))) / np.diff(noise.shares(np.array([0, 1])))
        assert steps_of_reports(plan, place, reports) == pytest.approx(expected, abs=0.4)
        written = [float(repr(float(value))) for value in reports]
        assert (steps_of_reports(plan, place, written) == steps_of_reports(plan, place, reports)).all()


def test_more_answers_than_invitations_are_refused(tmp_path):
    plan = survey(tmp_path, **LAYERS["staircase"])
    n = int(plan.sample_sizes[0])
    reports = reports_of(plan, "north", [1.0] * n).tolist()
    with pytest.raises(dps.InputError, match=f"invites {n} people in stratum 'north', got {n + 1} answers"):
        noised_sum(plan, 0, [*reports, reports[0]], 0)


def test_few_answers_can_be_accepted(tmp_path):
    """Then the ledger counts what is lost, and the noise stays what it was."""
    plan = survey(tmp_path, **LAYERS["staircase"])
    write_reports(tmp_path, [row for i, row in enumerate(read(tmp_path)) if i % 4 == 0])
    result = released(tmp_path, accept_response=True)
    assert result.spent.epsilon > 1
    assert "Fewer people answered" in " ".join(result.notes)
    assert dps.estimate(plan, tmp_path / "sums.csv").whole[0].answered == result.answers == 10


@pytest.mark.parametrize("layers", ["raw", "staircase"])
def test_blanks_are_people_who_did_not_answer(tmp_path, layers):
    survey(tmp_path, **LAYERS[layers])
    write_reports(tmp_path, change(read(tmp_path), ""))
    result = released(tmp_path, accept_response=True)
    assert (result.answers, result.blank) == (39, 1)


def test_microdata_are_not_published_and_sums_not_privatized(tmp_path):
    plan = survey(tmp_path, **LAYERS["staircase"])
    options = {
        "sample": tmp_path / "sample.csv",
        "out": tmp_path / "x.csv",
        "key_file": tmp_path / "draw.key",
    }
    with pytest.raises(dps.InputError, match="publish"):
        dps.privatize(tmp_path / "design.json", tmp_path / "reports.csv", **options, **COLUMNS)
    other = tmp_path / "other"
    other.mkdir()
    dps.design(plan.strata, epsilon=1, total=40, questions=(0, 100_000)).save(other / "design.json")
    with pytest.raises(
        dps.InputError, match=r"whose noised answers are published one by one\. Use privatize"
    ):
        dps.publish(other / "design.json", tmp_path / "reports.csv", **options, **COLUMNS)
    assert not (tmp_path / "ledger.json").exists()


def cut_short(folder, monkeypatch, moment, **more):
    """Run until a moment, and see what is kept of the noise then."""

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(releasing, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            released(folder, **more)
    file = folder / "office.noise"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "canary" not in file.read_text()
    words = set(re.findall(r"[\w.-]+", file.read_text()))  # a digest may hold an answer's digits by chance
    assert not words & {answer for _, _, answer in read(folder) if len(answer) > 4}
    (kept,) = json.loads(file.read_text())["releases"].values()
    return dict(zip(["north", "south"], kept["noise"].values(), strict=True))


@pytest.mark.parametrize("moment", ["require_room", "write_atomically"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_release_that_was_cut_short_keeps_its_noise(tmp_path, monkeypatch, moment, ending):
    """Before the ledger knew the file, and after: also for Excel files, which hold the time."""
    plan = survey(tmp_path, **LAYERS["staircase"])
    noise = cut_short(tmp_path, monkeypatch, moment, out=f"sums.{ending}")
    assert not (tmp_path / f"sums.{ending}").exists()
    entry = json.loads((tmp_path / "ledger.json").read_text())["entries"][0]
    assert (entry["status"], entry["output_digest"] is None) == ("pending", moment == "require_room")
    if ending == "xlsx" and moment == "write_atomically":
        time.sleep(2.1)  # so that the same table becomes other bytes
    result = released(tmp_path, out=f"sums.{ending}")
    assert result.spent.epsilon == pytest.approx(loss_inside(plan), rel=1e-9)
    reports = by_stratum(tmp_path)
    means = {row.group: row.estimate for row in dps.estimate(plan, tmp_path / f"sums.{ending}").by("stratum")}
    for name, given in reports.items():
        assert means[name] == pytest.approx(
            noised_sum(plan, plan.strata.names.index(name), given, noise[name]) / len(given), rel=1e-12
        )
    assert not (tmp_path / "office.noise").exists()
    entries = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert [entry["status"] for entry in entries] == ["released"]


def test_a_release_that_was_cut_short_may_go_to_another_file(tmp_path, monkeypatch):
    plan = survey(tmp_path, **LAYERS["staircase"])
    noise = cut_short(tmp_path, monkeypatch, "write_atomically")
    spent = released(tmp_path, out="other.xlsx").spent
    assert spent.epsilon == pytest.approx(loss_inside(plan), rel=1e-9)
    assert not (tmp_path / "sums.csv").exists()
    (row, _) = dps.estimate(plan, tmp_path / "other.xlsx").by("stratum")
    given = by_stratum(tmp_path)[row.group]
    assert row.estimate == pytest.approx(
        noised_sum(plan, plan.strata.names.index(row.group), given, noise[row.group]) / len(given)
    )
    (entry,) = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert entry["output"].endswith("other.xlsx")


def test_answers_that_came_meanwhile_are_another_release(tmp_path, monkeypatch):
    """Once the ledger counts a release, other answers with the same noise would show the difference."""
    survey(tmp_path, **LAYERS["staircase"])
    rows = read(tmp_path)
    write_reports(tmp_path, rows[:-1])
    noise = cut_short(tmp_path, monkeypatch, "write_atomically", accept_response=True)
    write_reports(tmp_path, rows)
    with pytest.raises(dps.InputError, match=r"cut short after the noise of sums\.csv was drawn"):
        released(tmp_path)
    assert released(tmp_path, again=True).spent.epsilon > 1
    assert noise
    assert not (
        tmp_path / "office.noise"
    ).exists()  # nor is that of the first kept, which was never published


def test_again_draws_afresh(tmp_path):
    """The same reports with other noise: losses add up inside the sample, to no more than devices lose."""
    plan = survey(tmp_path, **LAYERS["staircase"])
    released(tmp_path)
    with pytest.raises(dps.InputError, match=r"released before, as sums\.csv"):
        released(tmp_path, out="more.csv")
    result = released(tmp_path, out="more.csv", again=True)
    assert (tmp_path / "sums.csv").read_text() != (tmp_path / "more.csv").read_text()
    assert result.spent.epsilon == pytest.approx(loss_inside(plan, 2), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["staircase", "yes/no", "raw"] if STRIDE else ["staircase"])
@pytest.mark.parametrize("release", ["sums", "mean"])
def test_killed_at_any_moment(tmp_path, layers, release):
    """At some lines of what writes files, and then once more: the noise that was kept is published."""
    start = tmp_path / "start"
    start.mkdir()
    options = {"mechanism": "laplace"} if (layers, release) == ("raw", "mean") else {}
    survey(start, **{**LAYERS[layers], "release": release, **options})
    reports = tmp_path / "reports.json"
    kept = {} if layers == "raw" else by_stratum(start)
    reports.write_text(json.dumps(kept))
    given = (start, STRIDE or "131", reports, *COMMAND, "sums.csv")
    result = run_script("killing_publish", *given, seconds=3000)
    assert result.returncode == 0, result.stderr
    kills, with_noise = map(int, result.stdout.split())
    assert kills >= 4
    assert with_noise >= 1
    assert "canary" not in result.stderr


def test_reports_that_doubles_cannot_tell_apart_are_refused():
    strata = dps.Strata([50, 60], [0.2, 0.2])
    far = dps.design(
        strata, epsilon=1, total=40, questions=(1e15, 1e15 + 1), release="sums", device_epsilon=3
    )
    with pytest.raises(dps.InputError, match="cannot be told apart in double precision"):
        dps.randomize(far, "1", 1e15)
    near = dps.design(strata, epsilon=1, total=40, questions=(1e6, 1e6 + 1), release="sums", device_epsilon=3)
    assert dps.randomize(near, "1", 1e6).value != 0


def test_noise_that_is_in_a_table_goes_into_no_other_one(tmp_path):
    """Not even if the ledger is lost after a run was killed: the difference would be what one person sent."""
    from dpstrata.fielding.ledger import Entry
    from dpstrata.fielding.office_noise import NoiseKept
    from dpstrata.privacy.promises import Spent

    entry = Entry("design", "key", "out", None, "pending", Spent(epsilon=1.0), (), "recognition", ("answer",))
    draws = iter([{"north": 5}, {"north": 7}])

    def made(noise):
        return {"sum": [noise["north"]]}

    path = tmp_path / "office.noise"
    for reports, expected in (("a", 5), ("a", 5), ("b", 7)):
        assert NoiseKept(path).make(entry, reports, lambda: next(draws), made) == {"sum": [expected]}
    NoiseKept(path).forget(dataclasses.replace(entry, round=1))
    assert not path.exists()


def test_noise_that_does_not_fit_on_the_grid_is_refused():
    strata = dps.Strata([50, 50], [0.2, 0.2])
    options = {"total": 100, "questions": (0, 1), "release": "sums", "mechanism": "staircase"}
    plan = dps.design(strata, epsilon=1e-6, device_epsilon=80, **options)
    with pytest.raises(dps.InputError, match="does not fit on the grid of reports"):
        office_noise_at(plan, 0)
    assert office_noise_at(dps.design(strata, epsilon=1e-6, device_epsilon=20, **options), 0) is not None


def test_a_share_of_yes_from_few_answers_is_named():
    plan = dps.design(
        dps.Strata([60, 60], [0.4, 0.4]), epsilon=1, total=30, questions="yes_no", release="sums"
    )
    published = SumsFielding().published(
        plan,
        collected_of(plan, {"1": [1.0], "2": [0.0, 1.0, 0.0]}),
        {"0/0/0/0": 0, "1/0/0/0": 0},
        lambda number: None,
    )
    estimated = reader_of(plan).estimate(published["stratum"], [1.0, 1 / 3], published["answers"])
    assert estimated.questions["answer"].doubts == {ONLY_ONE: ("1",), FEW: ("2",)}
