"""Publishes sums, or a mean, again and again, killed a little later each time; ``fielding/test_publish.py`` starts it.

Whatever was kept of the office's noise when a run was killed must be the noise in what is published at last:
the run that follows is killed as well, somewhere else, and the third one runs to its end.
"""

import csv
import json
import os
import shutil
import sys
from pathlib import Path

import killing
from dpstrata.fielding.releases import fielding_of
from dpstrata.planning.load import load_design

killing.WATCHED += tuple(f"{name}.py" for name in ("releasing", "publish", "office_noise"))
NOISE = "office.noise"


def kept(folder):
    """The noise that is kept, if any is."""
    if not (folder / NOISE).exists():
        return None
    assert (folder / NOISE).stat().st_mode & 0o777 == 0o600
    (release,) = json.loads((folder / NOISE).read_text())["releases"].values()
    return release["noise"]


def is_done(folder):
    """Whether everything was done, so that a rerun must refuse."""
    ledger = folder / "ledger.json"
    return ledger.exists() and json.loads(ledger.read_text())["entries"][0]["status"] == "released"


def check(folder, reports, noise, place):
    """Require one release on the ledger, with the noise that was kept, and nothing else left."""
    (entry,) = json.loads((folder / "ledger.json").read_text())["entries"]
    assert (entry["status"], entry["epsilon"]) == ("released", 1.0), place
    assert not (folder / NOISE).exists(), f"the noise is still there, killed at {place}"
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    assert not left, (left, place)
    if noise is not None and reports:  # raw answers are put on the grid at random
        plan = load_design(folder / "design.json")
        header, *rows = csv.reader((folder / "sums.csv").read_text().splitlines())
        made = fielding_of(plan).published(plan, reports, noise, lambda number: None)
        written = made["sum" if "sum" in made else "mean"]
        cells = [row[header.index("sum" if "sum" in made else "mean")] for row in rows]
        assert [float(cell) if cell else None for cell in cells] == written, f"other noise, {place}"


def main():
    start, step, reports = Path(sys.argv[1]), int(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
    arguments, folder, kills, with_noise = sys.argv[4:], start.with_name("killed"), 0, 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        os.chdir(folder)
        first, second = 1 + kills * step, 1 + (kills * 7 * step) % 400
        code = killing.run(arguments, kill_at=first)
        noise = kept(folder)
        if code == 0:
            break
        assert code == 137, code
        again = 0 if is_done(folder) else killing.run(arguments, kill_at=second)
        assert again in (0, 137), (again, first, second)
        later = kept(folder)
        assert noise is None or later in (None, noise), f"other noise is kept, {first}, {second}"
        noise = later if noise is None else noise
        if not is_done(folder):
            assert killing.run(arguments) == 0, f"the rerun failed, killed at {first} and {second}"
        assert killing.run(arguments, kill_at=10**9) == 2  # it is not published twice
        check(folder, reports, noise, (first, second))
        kills += 1
        with_noise += noise is not None
    sys.stdout.write(f"{kills} {with_noise}")


if __name__ == "__main__":
    main()
