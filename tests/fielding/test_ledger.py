"""The ledger: what everyone in a frame has spent, whatever was released, killed or said again."""

import csv
import errno
import json
import math
import os
import stat

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding import ledger as ledgers
from dpstrata.fielding import releasing
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.keys import read_key
from dpstrata.fielding.ledger import Spent, loss_of_repeats
from dpstrata.fielding.publish import privatize
from dpstrata.files import writing as output
from surveys import COLUMNS, field_instead, release


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


def test_nobody_is_noised_twice_without_saying_so(fielded, monkeypatch):
    """Pending files that are in place, files of other names, designs laid out anew: all count."""
    folder, _ = fielded
    with monkeypatch.context() as patched:
        patched.setattr(releasing.Ledger, "finish", lambda self, i: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder, out="a.csv")
    with pytest.raises(dps.InputError, match=r"the noise of a\.csv was drawn, so it counts as released"):
        release(folder, out="b.csv")
    first = (folder / "a.csv").read_text()
    release(folder, out="a.csv")  # only what was left to say of it
    assert (folder / "a.csv").read_text() == first
    with pytest.raises(dps.InputError, match="exists and is not replaced"):
        release(folder, out="a.csv")
    for name in ("ledger.json", "ledger.key", "a.csv"):
        (folder / name).unlink()
    release(folder, out="b.csv")
    text = (folder / "design.json").read_text()
    (folder / "design.json").write_text(text + "\n\n")
    for out in ("a.csv", "c.csv"):
        with pytest.raises(dps.InputError, match=r"was released before, as b\.csv"):
            release(folder, out=out)


def test_a_ledger_that_is_gone_is_not_begun_again(fielded):
    folder, _ = fielded
    release(folder)
    ledger = (folder / "ledger.json").read_bytes()
    (folder / "ledger.json").unlink()
    for again in (False, True):
        with pytest.raises(
            dps.InputError, match=r"ledger\.json is gone, but its key ledger\.key is still there"
        ):
            release(folder, out="second.csv", again=again)
    assert not (folder / "ledger.json").exists()
    assert not (folder / "second.csv").exists()
    (folder / "ledger.json").write_bytes(ledger)
    with pytest.raises(dps.InputError, match="was released before"):
        release(folder, out="second.csv")


def test_a_refused_further_sample_says_all_that_was_spent(fielded):
    """Releases of the same design again count too, not only those of others."""
    folder, plan = fielded
    release(folder)
    release(folder, again=True, out="second.csv")
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    other = dps.design(plan.strata, epsilon=0.5, total=40, questions=(0, 100_000))
    field_instead(folder, frame, other, {"answer": 1})
    release(folder, again=True, out="third.csv")
    field_instead(folder, frame, plan, {"answer": 1})
    spent = ledgers.Ledger(folder / "ledger.json").spent().epsilon
    assert spent == pytest.approx(loss_of_repeats(plan, 2) + 0.5)
    with pytest.raises(dps.InputError, match=rf"already spent epsilon = {math.floor(spent * 100) / 100}"):
        release(folder, out="fourth.csv")


def test_a_ledger_that_is_none_is_refused_and_kept(fielded):
    folder, _ = fielded
    none, other = (
        "is not a ledger of dpstrata",
        r"must be a ledger of version 4, got version 2\. Use the version of dpstrata that wrote it",
    )
    for text, words in (
        ("{}", none),
        ("nonsense", none),
        ('{"format": "dpstrata.ledger", "version": 4, "entries": [{"people": 3}]}', none),
        ('{"format": "dpstrata.ledger", "version": 2, "entries": []}', other),
    ):
        (folder / "ledger.json").write_text(text)
        with pytest.raises(dps.InputError, match=words):
            release(folder)
        assert (folder / "ledger.json").read_text() == text


def second_survey(folder, name, **options):
    """Another design for the same people, drawn and answered, in folders of its own."""
    (folder / name).mkdir()
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(
        frame_strata(frame), **({"epsilon": 1, "total": 4, "questions": (0, 100_000)} | options)
    )
    plan.save(folder / f"{name}.json")
    key = folder / f"{name}.key"
    draw(folder / f"{name}.json", frame, out=folder / name / "sample.csv", key_file=key)
    with open(folder / name / "sample.csv", newline="") as file:
        rows = [f"{row['person']},{row['region']},7" for row in csv.DictReader(file)]
    (folder / name / "answers.csv").write_text("person,region,answer\n" + "\n".join(rows) + "\n")

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
    with pytest.raises(
        dps.InputError, match="everyone in the frame has already spent epsilon = 1, most recently in"
    ):
        second()
    assert second(again=True).spent.epsilon == 2.5
    _, same = second_survey(folder, "three")  # the first design again, drawn with another key
    with pytest.raises(dps.InputError, match="Pass again=True"):
        same()
    assert same(again=True).spent.epsilon == 3.5


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


def test_promises_of_other_kinds_add_up_by_themselves(fielded):
    """zCDP by sums, Gaussian DP by the root of the sum of squares; neither is strengthened by a sample."""
    folder, _ = fielded
    plain = {"epsilon": None, "mechanism": "gaussian"}
    _, concentrated = second_survey(folder, "one", zcdp=0.5, **plain)
    _, gaussian = second_survey(folder, "two", gdp=0.3, **plain)
    _, another = second_survey(folder, "three", gdp=0.4, **plain)
    _, usual = second_survey(folder, "four", epsilon=1, delta=1e-6, mechanism="gaussian")
    assert concentrated().spent == Spent(zcdp=0.5)
    with pytest.raises(
        dps.InputError, match=r"everyone in the frame has already spent zCDP rho = 0\.5, most recently in"
    ):
        gaussian()
    gaussian(again=True)
    assert another(again=True).spent == Spent(zcdp=0.5, gdp=pytest.approx(0.5))
    spent = usual(again=True).spent
    assert spent.in_words == "epsilon = 1, delta = 1e-06, zCDP rho = 0.5, GDP mu = 0.5"


@pytest.mark.slow
@pytest.mark.parametrize(("promise", "adds"), [({"zcdp": 0.5}, 1.0), ({"gdp": 0.5}, math.sqrt(0.5))])
def test_the_same_sample_again_costs_as_much_again_where_it_hides_nobody(fielded, promise, adds):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), total=40, questions=(0, 100_000), mechanism="gaussian", **promise)
    field_instead(folder, frame, plan, {"answer": 43210})
    release(folder)
    with pytest.raises(dps.InputError, match="costs everyone more, and"):
        release(folder, out="again.csv")
    (kind,) = promise
    assert getattr(release(folder, out="again.csv", again=True).spent, kind) == pytest.approx(adds)
    result = run(folder, "estimate", "design.json", "noised.csv")
    assert result.returncode == 0, result.stderr


def test_where_a_cap_binds_a_second_release_does_not_count_less_than_the_first(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    capped = {"epsilon": 1, "total": 40, "local_epsilon_cap": 0.5}
    plan = dps.design(frame_strata(frame), questions=(0, 100_000), **capped)
    losses = [loss_of_repeats(plan, times) for times in range(40)]
    assert losses == sorted(losses)
    assert losses[0] == 0
    assert losses[1] == pytest.approx(plan.central_epsilons.max(), rel=1e-9)
    assert losses[1] < 0.2 < 1 < losses[-1]
    field_instead(folder, frame, plan, {"answer": 43210})
    spent = [release(folder, out=f"{i}.csv", again=i > 0).spent.epsilon for i in range(3)]
    assert spent == pytest.approx(losses[1:4], rel=1e-9)


def test_a_release_that_never_came_does_not_count_when_another_takes_its_name(fielded, monkeypatch):
    """Killed before its noise was on the ledger; then one more answer comes in, and the same name is used."""
    folder, _ = fielded
    lines = (folder / "answers.csv").read_text().splitlines(keepends=True)
    (folder / "answers.csv").write_text("".join(lines[:-1]))
    with monkeypatch.context() as patch:
        patch.setattr(releasing, "require_room", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(folder, accept_response=True)
    (folder / "answers.csv").write_text("".join(lines))
    result = release(folder)
    assert (result.spent.epsilon, result.known_before) == (1.0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"spent": {"delta": math.nan}},
        {"spent": {"zcdp": math.inf}},
        {"spent": {"gdp": 1e200}},
        {"spent": {"gdp": 10**400}},
        {"spent": {"epsilon": True}},
        {"round": -3},
        {"round": 1.5},
        {"spent": {"zcdp": "1"}},
        {"recognition": None},
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


def drawn(folder):
    with open(folder / "sample.csv", newline="") as file:
        return {row["person"] for row in csv.DictReader(file)}


def killed_release(folder, monkeypatch, owner, name, **more):
    """Release, and be cut short where something of this name is called."""

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            release(folder, **more)


@pytest.mark.parametrize(
    ("owner", "name"), [(releasing, "write_atomically"), (ledgers.Ledger, "finish")], ids=["before", "after"]
)
def test_noise_that_was_drawn_is_spent_wherever_its_file_is(fielded, monkeypatch, owner, name):
    """Cut short before or after the file came into place, and the file moved away: no release is free."""
    folder, plan = fielded
    for times in range(1, 4):
        killed_release(folder, monkeypatch, owner, name, again=times > 1)
        if (folder / "noised.csv").exists():
            (folder / "noised.csv").rename(folder / f"kept-{times}.csv")
        with pytest.raises(dps.InputError, match=r"the noise of noised\.csv was drawn, so it counts as"):
            release(folder)
        assert ledgers.Ledger(folder / "ledger.json").spent().epsilon == pytest.approx(
            loss_of_repeats(plan, times)
        )
    last = release(folder, again=True)
    assert last.spent.epsilon == pytest.approx(loss_of_repeats(plan, 4))
    assert last.known_before == 40


def test_a_file_that_is_put_back_is_only_marked_as_released(fielded, monkeypatch):
    folder, _ = fielded
    killed_release(folder, monkeypatch, ledgers.Ledger, "finish")
    (folder / "noised.csv").rename(folder / "moved.csv")
    with pytest.raises(dps.InputError, match="put it back and run the same command again"):
        release(folder)
    (folder / "moved.csv").rename(folder / "noised.csv")
    content = (folder / "noised.csv").read_bytes()
    done = release(folder)
    assert (done.spent.epsilon, done.known_before, (folder / "noised.csv").read_bytes()) == (1.0, 0, content)


def test_a_disk_without_room_for_the_file_spends_nothing(fielded, monkeypatch):
    """There is room for the ledger and none for the noised answers: it is found before anything is spent."""
    folder, _ = fielded
    real = os.fsync

    def full(handle):
        if ".noised.csv." in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(output.os, "fsync", full)
        for _ in range(3):
            with pytest.raises(dps.InputError, match=r"noised\.csv cannot be written: No space left"):
                release(folder)
    assert ledgers.Ledger(folder / "ledger.json").spent() == Spent()
    assert release(folder).spent.epsilon == 1.0


def test_a_disk_without_room_for_the_ledger_gives_no_free_releases(fielded, monkeypatch):
    """The noised answers are written, the ledger is not; the file is moved away to make room, again and again."""
    folder, plan = fielded
    real = os.fsync

    def full(handle):
        if ".ledger.json." in os.readlink(f"/proc/self/fd/{handle}") and (folder / "noised.csv").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(output.os, "fsync", full)
        with pytest.raises(dps.InputError, match=r"ledger\.json cannot be written: No space left"):
            release(folder)
        for _ in range(3):
            (folder / "noised.csv").rename(folder / "kept.csv")
            with pytest.raises(dps.InputError, match=r"the noise of noised\.csv was drawn, so it counts as"):
                release(folder)
            (folder / "kept.csv").rename(folder / "noised.csv")
    assert ledgers.Ledger(folder / "ledger.json").spent().epsilon == 1.0
    (folder / "noised.csv").rename(folder / "kept.csv")
    assert release(folder, again=True).spent.epsilon == pytest.approx(loss_of_repeats(plan, 2))


def test_people_are_recognised_whichever_key_drew_them(fielded):
    """One population, one ledger: many are drawn twice, with two key files, and known the second time."""
    folder, _ = fielded
    _, first = second_survey(folder, "one", total=600)
    _, second = second_survey(folder, "two", epsilon=1.5, total=600)
    both = len(drawn(folder / "one") & drawn(folder / "two"))
    assert both > 300
    assert (first().known_before, second(again=True).known_before) == (0, both)
    assert stat.S_IMODE((folder / "ledger.key").stat().st_mode) == 0o600
    text = (folder / "ledger.json").read_text()
    assert read_key(folder / "ledger.key").hex() not in text
    assert "canary" not in text


def test_where_people_cannot_be_recognised_it_is_said(fielded):
    """Without the ledger's key its digests tell nothing."""
    folder, _ = fielded
    _, first = second_survey(folder, "one", total=600)
    first()
    (folder / "ledger.key").unlink()
    (folder / "one" / "noised.csv").unlink()
    lost = first(again=True)
    assert (lost.known_before, lost.untold_releases) == (0, 1)


def test_tables_published_again_are_counted_in_full(tmp_path):
    """Six yes/no questions kept together: 1.144 used to be counted for the second time, 1.881 for the third."""
    asked = [dps.Question(f"q{j}", "yes_no", blank=False, together="all") for j in range(6)]
    (tmp_path / "people.csv").write_text("person,region\n" + "".join(f"p{i},all\n" for i in range(1000)))
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    plan = dps.design(
        frame_strata(frame),
        questions=dps.Questionnaire(asked),
        forms=[[question.name for question in asked]],
        epsilon=0.5,
        device_epsilon=3,
        release="sums",
        total=500,
    )
    plan.save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    with open(tmp_path / "sample.csv", newline="") as file:
        drawn = list(csv.DictReader(file))

    def send():
        answers = {question.name: "yes" for question in asked}
        rows = [[row["person"], "all", dps.randomize(plan, "all", answers, 1).value] for row in drawn]
        with open(tmp_path / "answers.csv", "w", newline="") as file:
            csv.writer(file).writerows([["person", "region", "cell"], *rows])

    def published(out, **more):
        return release(tmp_path, out=out, step=dps.publish, **more).spent.epsilon

    send()
    assert published("1.csv") == 0.5
    assert published("2.csv", again=True) == pytest.approx(1.511, abs=5e-4)
    assert published("3.csv", again=True) == pytest.approx(2.165, abs=5e-4)
    send()  # devices asked again: their randomness is new, and nothing bounds the sum
    other = loss_of_repeats(plan, 4, report_sets=2)
    assert published("4.csv", again=True) == pytest.approx(other)
    assert other > loss_of_repeats(plan, 4) * 1.1
    entries = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert [each["reports"] == entries[0]["reports"] for each in entries] == [True, True, True, False]


def test_reports_that_count_the_same_are_not_the_same_reports(tmp_path):
    """Devices asked again can send as many of each; what the ledger counts must not depend on that."""
    (tmp_path / "people.csv").write_text("person,region\n" + "".join(f"p{i},all\n" for i in range(100)))
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    options = {"epsilon": 0.5, "device_epsilon": 1, "release": "sums", "questions": "yes_no", "total": 10}
    plan = dps.design(frame_strata(frame), **options, mechanism="randomized_response")
    plan.save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    with open(tmp_path / "sample.csv", newline="") as file:
        drawn = [row["person"] for row in csv.DictReader(file)]
    zero, one = sorted({dps.randomize(plan, "all", 1).value for _ in range(60)})

    def published(reports, out, **more):
        rows = [[person, "all", repr(report)] for person, report in zip(drawn, reports, strict=True)]
        with open(tmp_path / "answers.csv", "w", newline="") as file:
            csv.writer(file).writerows([["person", "region", "answer"], *rows])
        return release(tmp_path, out=out, step=dps.publish, **more).spent.epsilon

    reports = [zero, one] * 5
    once = math.log1p(0.1 * math.expm1(1))
    assert published(reports, "1.csv") == pytest.approx(once)
    assert published(reports, "2.csv", again=True) == pytest.approx(once)
    twice = math.log1p(0.1 * math.expm1(2))
    assert published(reports[::-1], "3.csv", again=True) == pytest.approx(twice)
