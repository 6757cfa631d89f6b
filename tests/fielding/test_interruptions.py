"""Every step killed at any moment, on full disks, without permission: whole files, one clear sentence."""

import codecs
import csv
import errno
import importlib
import json
import os
import subprocess
from pathlib import Path

import pytest

import dpstrata as dps
from commands import run, run_script
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.files import writing as output

pytestmark = pytest.mark.slow

STRIDE = os.environ.get("DPSTRATA_STRIDE")  # every line in the slow suite
COLUMNS = ["--id", "person", "--stratum", "region"]
BATCH = ["--sample", "sample.csv", *COLUMNS, "--out", "noised.csv"]
STEPS = {
    "frame": ["frame", "people.csv", *COLUMNS, "--out", "strata.csv"],
    "draw": ["draw", "design.json", "people.csv", *COLUMNS, "--out", "sample.csv"],
    "privatize": ["privatize", "design.json", "answers.csv", *BATCH],
    "estimate": ["estimate", "design.json", "noised.csv", "--out", "estimates.csv"],
}
LINES = {
    "people.csv": 61,
    "strata.csv": 3,
    "sample.csv": 11,
    "answers.csv": 11,
    "noised.csv": 11,
    "estimates.csv": 5,
}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """What lies in the folder before each step."""
    folder = tmp_path_factory.mktemp("survey")
    now = folder / "now"
    now.mkdir()
    rows = [f"canary-{i:03},{'north' if i % 3 else 'south'}" for i in range(60)]
    (now / "people.csv").write_text("person,region\n" + "\n".join(rows) + "\n")
    frame = open_frame(now / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=10, min_per_stratum=2, questions=(0, 90_000))
    plan.save(now / "design.json")
    for step, arguments in STEPS.items():
        if step == "privatize":
            with open(now / "sample.csv", newline="") as file:
                drawn = [
                    f"{row['person']},{row['region']},4321{i}" for i, row in enumerate(csv.DictReader(file))
                ]
            (now / "answers.csv").write_text("person,region,answer\n" + "\n".join(drawn) + "\n")
        subprocess.run(["cp", "-a", now, folder / step], check=True)
        done = run(now, *arguments)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("step", list(STEPS))
def test_killed_at_any_moment(stages, tmp_path, step):
    """At some lines of what writes files; no half-written file, and the rerun completes."""
    stride = STRIDE or {"frame": "11", "privatize": "53"}.get(step, "37")
    subprocess.run(["cp", "-a", stages / step, tmp_path / "start"], check=True)
    lines = {**os.environ, "DPSTRATA_LINES": json.dumps(LINES)}
    start = tmp_path / "start"
    result = run_script("killing", start, stride, *STEPS[step], env=lines, seconds=3000)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= 4  # it was killed, and more than once
    assert "canary" not in result.stderr
    assert "4321" not in result.stderr


@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize("moment", ["fsync", "fchmod", "listdir"])
def test_full_disks_give_one_sentence(stages, tmp_path, step, moment, monkeypatch, capsys):
    """The disk is full at the moment of writing: one sentence, no file, nothing of the answers."""
    from dpstrata import cli

    subprocess.run(["cp", "-a", stages / step, tmp_path / "start"], check=True)
    monkeypatch.chdir(tmp_path / "start")
    monkeypatch.setattr("sys.argv", ["dpstrata", *STEPS[step]])
    before = sorted(os.listdir())

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output.os, moment, full)
    if moment == "listdir" and step in ("frame", "estimate"):
        return  # these leave nothing behind, and look for nothing
    with pytest.raises(SystemExit) as caught:
        cli.main()
    monkeypatch.undo()
    shown = capsys.readouterr().err.strip()
    assert caught.value.code == 2
    assert shown.startswith("Error: ")
    assert "No space left on device" in shown
    assert len(shown.splitlines()) == 1
    assert "canary" not in shown
    assert "4321" not in shown
    left = set(os.listdir(tmp_path / "start")) - set(before)
    assert left <= {"draw.key", "ledger.json.lock", "ledger.key"}


def test_a_disk_that_takes_no_more(stages, tmp_path):
    """A real limit on file sizes, kept by the kernel."""
    import resource

    subprocess.run(["cp", "-a", stages / "privatize", tmp_path / "start"], check=True)

    def limited():
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = run(tmp_path / "start", *STEPS["privatize"], preexec_fn=limited)
    assert (done.returncode, "File too large" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "start" / "noised.csv").exists()
    done = run(tmp_path / "start", *STEPS["privatize"])
    assert done.returncode == 0, done.stderr


INPUTS = {
    "frame": ["people.csv"],
    "draw": ["design.json", "people.csv"],
    "privatize": ["design.json", "answers.csv", "sample.csv", "draw.json", "draw.key"],
    "estimate": ["design.json", "noised.csv"],
}


@pytest.mark.parametrize(("step", "name"), [(step, name) for step, names in INPUTS.items() for name in names])
@pytest.mark.parametrize("harm", ["locked", "folder", "noise", "cut", "gone"])
def test_unreadable_files_give_one_sentence(stages, tmp_path, step, name, harm, monkeypatch, capsys):
    """Without permission, a folder, random bytes, cut short, or not there."""
    from dpstrata import cli

    subprocess.run(["cp", "-a", stages / step, tmp_path / "start"], check=True)
    path = tmp_path / "start" / name
    content = path.read_bytes()
    match harm:
        case "folder":
            path.unlink()
            path.mkdir()
        case "noise":
            path.write_bytes(bytes(range(128, 256)) * 4)
        case "cut":
            path.write_bytes(content[: len(content) // 2] + b'"')
        case "gone":
            path.unlink()
        case "locked":
            if os.geteuid() == 0:  # nothing is locked for root, so be somebody else meanwhile
                for each in (tmp_path, *Path(tmp_path).parents):
                    if each.stat().st_uid == 0 and str(each).startswith("/tmp/"):
                        each.chmod(0o755)
                subprocess.run(["chown", "-R", "65534", tmp_path / "start"], check=True)
            path.chmod(0)
    monkeypatch.chdir(tmp_path / "start")
    monkeypatch.setattr("sys.argv", ["dpstrata", *STEPS[step]])
    root = os.geteuid() == 0 and harm == "locked"
    try:
        if root:
            codecs.lookup("ascii")  # once it cannot be loaded, Python never tries again
            for module in ("dpstrata.cli.screen", "rich.progress"):  # Python may not be readable after that
                importlib.import_module(module)
            os.seteuid(65534)
        with pytest.raises(SystemExit) as caught:
            cli.main()
    finally:
        if root:
            os.seteuid(0)
    shown = capsys.readouterr().err.strip()
    assert caught.value.code == 2, shown
    assert shown.startswith("Error: ")
    assert len(shown.splitlines()) == 1
    for canary in ("canary", "4321", (stages / "now" / "draw.key").read_text().strip()):
        assert canary not in shown
    assert not (tmp_path / "start" / STEPS[step][-1]).exists()
