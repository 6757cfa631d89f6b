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
from dpstrata.survey.ledger import Spent, locked, loss_of_repeats
from dpstrata.survey.noised import estimate, read_people
from dpstrata.survey.noising import noise_answers, noise_mean
from dpstrata.survey.records import draw, verify_draw
from dpstrata.survey.releasing import privatize
from problems import CASES, is_additive

COLUMNS = {"id": "person", "stratum": "region", "answer": "income"}


@pytest.fixture
def fielded(tmp_path):
    """A drawn sample of 40 people with answers that nobody may see again."""
    people = [(f"canary-{i:04}", "north" if i % 3 else "south") for i in range(900)]
    (tmp_path / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, answers=(0, 100_000))
    plan.save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    with open(tmp_path / "sample.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(tmp_path / "answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", "income"])
        writer.writerows([row["person"], row["region"], 43210 + i] for i, row in enumerate(rows))
    return tmp_path, plan


def release(folder, *, answers="answers.csv", out="noised.csv", **more):
    return privatize(
        folder / "design.json",
        folder / answers,
        sample=folder / "sample.csv",
        out=folder / out,
        key_file=folder / "draw.key",
        **COLUMNS,
        **more,
    )


def field_instead(folder, frame, plan, answers):
    """Put another design in the place of the first: draw it, and let everyone answer alike."""
    plan.save(folder / "design.json")
    (folder / "sample.csv").unlink()
    (folder / "draw.json").unlink()
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    with open(folder / "sample.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", *answers])
        writer.writerows([row["person"], row["region"], *answers.values()] for row in rows)


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


def test_a_release_is_not_repeated_unless_said_so(fielded):
    folder, _ = fielded
    release(folder)
    first = (folder / "noised.csv").read_text()
    with pytest.raises(dps.InputError, match=r"noised\.csv exists and is not replaced"):
        release(folder, again=True)
    with pytest.raises(dps.InputError, match=r"was released before, as noised\.csv"):
        release(folder, out="second.csv")
    assert (folder / "noised.csv").read_text() == first
    again = release(folder, again=True, out="second.csv")
    # the same sample twice: local budgets add up before the sample hides anyone
    _, plan = fielded
    rate = plan.sample_sizes / plan.strata.sizes
    true = np.log1p(rate * np.expm1(2 * plan.local_epsilons)).max()
    assert (again.known_before, again.spent.epsilon) == (40, pytest.approx(true))
    assert again.spent.epsilon > 4


def test_an_interrupted_release_may_be_run_again(fielded, monkeypatch):
    """Killed after the ledger said pending and before the file was there: the rerun completes."""
    folder, _ = fielded

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(releasing, "write_atomically", killed)
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


def test_nobody_is_noised_twice_without_saying_so(fielded, monkeypatch):
    """Pending files that are in place, files of other names, designs laid out anew: all count."""
    folder, _ = fielded
    with monkeypatch.context() as patched:
        patched.setattr(releasing.Ledger, "finish", lambda self, i: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder, out="a.csv")
    with pytest.raises(dps.InputError, match="was released before"):
        release(folder, out="b.csv")
    first = (folder / "a.csv").read_text()
    release(folder, out="a.csv")  # only what was left to say of it
    assert (folder / "a.csv").read_text() == first
    with pytest.raises(dps.InputError, match="exists and is not replaced"):
        release(folder, out="a.csv")
    (folder / "ledger.json").unlink()
    (folder / "a.csv").unlink()
    release(folder, out="b.csv")
    text = (folder / "design.json").read_text()
    (folder / "design.json").write_text(text + "\n\n")
    for out in ("a.csv", "c.csv"):
        with pytest.raises(dps.InputError, match=r"was released before, as b\.csv"):
            release(folder, out=out)


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


def test_several_questions_share_one_budget(fielded):
    """Two questions, one release each, spend epsilon once; a third, or either again, does not go unsaid."""
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, answers=(0, 100_000), questions=2)
    field_instead(folder, frame, plan, {"income": 4, "rent": 5, "age": 6})

    def noised(answer, **more):
        return privatize(
            folder / "design.json",
            folder / "answers.csv",
            sample=folder / "sample.csv",
            out=folder / f"{answer}.csv",
            key_file=folder / "draw.key",
            **(COLUMNS | {"answer": answer}),
            **more,
        )

    assert noised("income").spent.epsilon == 1.0
    assert noised("rent").spent.epsilon == 1.0
    with pytest.raises(dps.InputError, match="is for 2 questions, and as many were released before"):
        noised("age")
    (folder / "rent.csv").rename(folder / "first-rent.csv")
    with pytest.raises(dps.InputError, match=r"was released before, as rent\.csv"):
        noised("rent")
    twice = loss_of_repeats(plan, 2)
    assert noised("age", again=True).spent.epsilon == pytest.approx(twice)
    assert noised("rent", again=True).spent.epsilon == pytest.approx(twice)
    (folder / "rent.csv").rename(folder / "second-rent.csv")
    assert noised("rent", again=True).spent.epsilon == pytest.approx(loss_of_repeats(plan, 3))


def test_a_ledger_that_is_none_is_refused_and_kept(fielded):
    folder, _ = fielded
    for text in ("{}", "nonsense", '{"format": "dpstrata.ledger", "version": 1, "entries": [{"people": 3}]}'):
        (folder / "ledger.json").write_text(text)
        with pytest.raises(dps.InputError, match="is not a ledger of dpstrata"):
            release(folder)
        assert (folder / "ledger.json").read_text() == text


def second_survey(folder, name, **options):
    """Another design for the same people, drawn and answered, in folders of its own."""
    (folder / name).mkdir()
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), **({"epsilon": 1, "total": 4, "answers": (0, 100_000)} | options))
    plan.save(folder / f"{name}.json")
    key = folder / f"{name}.key"
    draw(folder / f"{name}.json", frame, out=folder / name / "sample.csv", key_file=key)
    with open(folder / name / "sample.csv", newline="") as file:
        rows = [f"{row['person']},{row['region']},7" for row in csv.DictReader(file)]
    (folder / name / "answers.csv").write_text("person,region,income\n" + "\n".join(rows) + "\n")

    def noised(**more):
        return privatize(
            folder / f"{name}.json",
            folder / name / "answers.csv",
            sample=folder / name / "sample.csv",
            out=folder / name / "noised.csv",
            key_file=key,
            **COLUMNS,
            **more,
        )

    return plan, noised


def test_everyone_in_the_frame_spends_whoever_is_drawn(fielded):
    """Surveys of the same frame add up, with other samples and other keys; it is never left unsaid."""
    folder, _ = fielded
    _, first = second_survey(folder, "one")
    _, second = second_survey(folder, "two", epsilon=1.5)
    assert first().spent.epsilon == 1.0
    with pytest.raises(dps.InputError, match="everyone in the frame has spent epsilon = 1 before"):
        second()
    assert second(again=True).spent.epsilon == 2.5
    _, same = second_survey(folder, "three")  # the first design again, drawn with another key
    with pytest.raises(dps.InputError, match="Say so with --again"):
        same()
    assert same(again=True).spent.epsilon == 3.5


def test_a_file_that_is_there_is_neither_replaced_nor_taken_for_the_release(fielded, monkeypatch):
    folder, _ = fielded
    (folder / "noised.csv").write_text("junk")
    with pytest.raises(dps.InputError, match=r"noised\.csv exists and is not replaced"):
        release(folder)
    with monkeypatch.context() as patched:
        (folder / "noised.csv").unlink()
        patched.setattr(releasing, "write_atomically", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder)
    (folder / "noised.csv").write_text("junk")
    for again in (False, True):
        with pytest.raises(dps.InputError, match=r"noised\.csv exists and is not replaced"):
            release(folder, again=again)
    (folder / "noised.csv").unlink()
    assert release(folder).spent.epsilon == 1.0


def test_a_link_to_a_design_has_the_ledger_of_the_design(fielded):
    folder, _ = fielded
    release(folder)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "design.json").symlink_to(folder / "design.json")
    with pytest.raises(dps.InputError, match="was released before"):
        privatize(
            folder / "elsewhere" / "design.json",
            folder / "answers.csv",
            sample=folder / "sample.csv",
            out=folder / "more.csv",
            key_file=folder / "draw.key",
            **COLUMNS,
        )


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


def test_promises_of_other_kinds_add_up_by_themselves(fielded):
    """zCDP by sums, Gaussian DP by the root of the sum of squares; neither is strengthened by a sample."""
    folder, _ = fielded
    plain = {"epsilon": None, "mechanism": "gaussian"}
    _, concentrated = second_survey(folder, "one", zcdp=0.5, **plain)
    _, gaussian = second_survey(folder, "two", gdp=0.3, **plain)
    _, another = second_survey(folder, "three", gdp=0.4, **plain)
    _, usual = second_survey(folder, "four", epsilon=1, delta=1e-6, mechanism="gaussian")
    assert concentrated().spent == Spent(zcdp=0.5)
    with pytest.raises(dps.InputError, match=r"everyone in the frame has spent zCDP rho = 0\.5 before"):
        gaussian()
    gaussian(again=True)
    assert another(again=True).spent == Spent(zcdp=0.5, gdp=pytest.approx(0.5))
    spent = usual(again=True).spent
    assert spent.in_words == "epsilon = 1, delta = 1e-06, zCDP rho = 0.5, GDP mu = 0.5"


@pytest.mark.parametrize(("promise", "adds"), [({"zcdp": 0.5}, 1.0), ({"gdp": 0.5}, math.sqrt(0.5))])
def test_the_same_sample_again_costs_as_much_again_where_it_hides_nobody(fielded, promise, adds):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), total=40, answers=(0, 100_000), mechanism="gaussian", **promise)
    field_instead(folder, frame, plan, {"income": 43210})
    release(folder)
    with pytest.raises(dps.InputError, match="costs everyone more, and"):
        release(folder, out="again.csv")
    (kind,) = promise
    assert getattr(release(folder, out="again.csv", again=True).spent, kind) == pytest.approx(adds)
    result = run(folder, "estimate", "design.json", "noised.csv")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("promise", "sd"), [({"zcdp": 2.0}, 0.5), ({"gdp": 2.0}, 0.5)])
def test_noise_of_other_promises_has_the_spread_of_its_definition(promise, sd):
    """Answers in a range of 1: sd = 1/√(2ρ) for zCDP ρ (Bun and Steinke 2016), 1/μ for μ-GDP (Dong and others)."""
    strata = dps.Strata([9000], [0.3], ["a"])
    plan = dps.design(strata, total=6000, mechanism="gaussian", **promise)
    noised = noise_answers(plan, "a", np.full(6000, 0.25))
    # the variance of 6,000 draws has a relative error of √(2/6,000); a scale off by 10% would be 21% off
    assert abs(np.var(noised - 0.25) / sd**2 - 1) < 5.5 * math.sqrt(2 / 6000)
    assert abs(np.mean(noised) - 0.25) < 5.5 * sd / math.sqrt(6000)


def test_where_a_cap_binds_a_second_release_does_not_count_less_than_the_first(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    capped = {"epsilon": 1, "total": 40, "local_epsilon_cap": 0.5}
    plan = dps.design(frame_strata(frame), answers=(0, 100_000), **capped)
    losses = [loss_of_repeats(plan, times) for times in range(40)]
    assert losses == sorted(losses)
    assert losses[0] == 0
    assert losses[1] == 1
    assert losses[-1] > 1
    field_instead(folder, frame, plan, {"income": 43210})
    spent = [release(folder, out=f"{i}.csv", again=i > 0).spent.epsilon for i in range(3)]
    assert spent == [1.0, 1.0, pytest.approx(loss_of_repeats(plan, 3))]


def test_a_release_that_never_came_does_not_count_when_another_takes_its_name(fielded, monkeypatch):
    """Killed before the file was written; then one more answer comes in, and the same name is used."""
    folder, _ = fielded
    lines = (folder / "answers.csv").read_text().splitlines(keepends=True)
    (folder / "answers.csv").write_text("".join(lines[:-1]))
    with monkeypatch.context() as patch:
        patch.setattr(releasing, "write_atomically", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder)
    (folder / "answers.csv").write_text("".join(lines))
    result = release(folder)
    assert (result.spent.epsilon, result.known_before) == (1.0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"delta": math.nan},
        {"zcdp": math.inf},
        {"gdp": 1e200},
        {"gdp": 10**400},
        {"epsilon": True},
        {"round": -3},
        {"round": 1.5},
        {"zcdp": "1"},
    ],
)
def test_a_ledger_that_cannot_be_is_refused(fielded, change):
    folder, _ = fielded
    release(folder)
    data = json.loads((folder / "ledger.json").read_text())
    data["entries"][0] |= change
    (folder / "ledger.json").write_text(json.dumps(data))
    with pytest.raises(dps.InputError, match="is not a ledger of dpstrata"):
        release(folder, out="again.csv", again=True)
    assert not (folder / "again.csv").exists()
