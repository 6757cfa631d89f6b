"""Noising a batch: only who was drawn, once, on the ledger; and the commands from answers to estimates."""

import csv
import json
import math

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.model.answers import parse_answers
from dpstrata.survey import releasing
from dpstrata.survey.frames import frame_strata, open_frame
from dpstrata.survey.ledger import locked
from dpstrata.survey.noised import estimate, read_people
from dpstrata.survey.noising import noise_mean
from dpstrata.survey.records import draw, verify_draw
from dpstrata.survey.releasing import privatize
from fielding import field_instead, release
from problems import CASES, is_additive


def test_a_batch_is_noised_shuffled_and_without_ids(fielded):
    folder, plan = fielded
    result = release(folder)
    assert (result.answers, result.invited, result.known_before, result.spent.epsilon) == (40, 40, 0, 1.0)
    assert not result.everyone_needed
    text = (folder / "noised.csv").read_text()
    assert text.startswith("stratum,answer\n")
    assert "canary" not in text
    values = {float(line.split(",")[1]) for line in text.splitlines()[1:]}
    assert not values & {43210.0 + i for i in range(40)}
    assert estimate(plan, folder / "noised.csv", stratum="stratum").whole.answers == 40
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
        (lambda rows: [*rows, ["stranger", "north", "1"]], "got 1 who were not and 0 with another stratum"),
        (lambda rows: [*rows, rows[-1]], "got someone's answer twice"),
        (
            lambda rows: [*rows[:-1], [rows[-1][0], "nowhere", "43210"]],
            "got 0 who were not and 1 with another",
        ),
        (lambda rows: [*rows[:-1], [*rows[-1][:2], "secret-43210"]], "answers must be numbers"),
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


def test_the_commands_from_answers_to_estimates(fielded):
    folder, _ = fielded
    batch = ["--sample", "sample.csv", "--id", "person", "--stratum", "region", "--answer", "income"]
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
        (["privatize", "design.json", "answers.csv"], "needs --sample, --id"),
        (["privatize", "design.json", "answers.csv", *batch, "--out", "noised.csv"], "is not replaced"),
        (
            ["privatize", "design.json", "answers.csv", *batch, "--out", "n.json"],
            "is written to .csv, .parquet or",
        ),
        (["privatize", "design.json", "answers.csv", *batch, "--out", "more.csv"], "was released before"),
        (["estimate", "design.json", "answers.csv", "--stratum", "x"], "has no column 'x'"),
    ):
        wrong = run(folder, *arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr
    wrong = run(folder, "privatize", "design.json", "--stratum-value", "north", input="secret-43210\n")
    assert (wrong.returncode, "43210" in wrong.stderr) == (2, False)


def test_a_curator_releases_one_noised_mean_a_stratum(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, answers=(0, 100_000), trust="curator")
    field_instead(folder, frame, plan, {"income": 43210})
    release(folder)
    lines = (folder / "noised.csv").read_text().splitlines()
    assert lines[0] == "stratum,answer,answers"
    assert len(lines) == 3
    result = estimate(plan, folder / "noised.csv")
    assert result.whole.standard_error == pytest.approx(plan.standard_error, rel=1e-3)
    assert abs(result.whole.estimate - 43210) < 7 * plan.standard_error
    with pytest.raises(dps.InputError, match="the mean of a stratum is noised, not single answers"):
        dps.noise_answer(plan, "north", 1.0)


@pytest.mark.parametrize(
    ("mechanism", "answers", "delta"),
    [case for case in CASES if is_additive(case[0], parse_answers(case[1]).steps)],
)
def test_noised_means_are_unbiased_with_the_stated_variance(mechanism, answers, delta):
    plan = dps.design(
        dps.Strata([5000], [0.2], names=["a"]),
        epsilon=0.5,
        total=30,
        mechanism=mechanism,
        answers=answers,
        delta=delta,
        trust="curator",
    )
    draws = np.array([noise_mean(plan, "a", np.full(30, 0.25)) for _ in range(3000)])
    sd = float(plan.noise_sds[0])
    assert abs(draws.mean() - 0.25) < 6.2 * sd / math.sqrt(3000)
    assert draws.std() == pytest.approx(sd, rel=0.15)


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


def test_who_did_not_answer_is_remarked(fielded):
    folder, _ = fielded
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:31]) + "\n")
    assert release(folder, answers="few.csv").everyone_needed


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
        plan = dps.design(frame_strata(frame), epsilon=1, total=30, answers="binary")
        plan.save(folder / "design.json")
        draw(folder / "design.json", frame, out=folder / out, key_file=folder / "key")
        verify_draw(folder / "design.json", frame, sample=folder / out, key_file=folder / "key")
        drawn = {int(person) for person in read_people(folder / out, "p", ())[0]}
        answers = {
            name: [cell for i, cell in enumerate(cells) if i in drawn] for name, cells in people.items()
        }
        pq.write_table(pa.table(answers | {"yes": [1] * len(drawn)}), folder / "answers.parquet")
        privatize(
            folder / "design.json",
            folder / "answers.parquet",
            sample=folder / out,
            id="p",
            stratum=columns,
            answer="yes",
            out=folder / "noised.csv",
            key_file=folder / "key",
        )
        assert estimate(folder / "design.json", folder / "noised.csv").whole.answers == 30
