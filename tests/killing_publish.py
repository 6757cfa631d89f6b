"""Publishes sums, a mean or tables again and again, killed a little later each time.

``fielding/test_publish.py``, ``fielding/test_row_interruptions.py`` and ``collect/test_closing_killed.py``
start it.

Whatever was kept of the office's noise when a run was killed must be the noise in what is published at last:
the run that follows is killed as well, somewhere else, and the third one runs to its end.
"""

import csv
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import cryptography.hazmat.primitives.hpke  # noqa: F401 - loaded once, before the children

import dpstrata.cli.cmd_collect
import dpstrata.collect.closing  # noqa: F401
import killing
from dpstrata.fielding.releases import fielding_of
from dpstrata.planning.load import load_design
from surveys import collected_of

WATCHED = tuple(
    f"{name}.py"
    for name in (
        "releasing",
        "releases",
        "publish",
        "office_noise",
        "closing",
        "collect/tables",
        "sqlite_store",
    )
)
NOISE = "office.noise"
SUFFIXES = {".json", ".lock", ".pub", ".sqlite"}


def kept(folder):
    """The noise that is kept, if any is, and the table that was made with it."""
    if not (folder / NOISE).exists():
        return None, None
    assert (folder / NOISE).stat().st_mode & 0o777 == 0o600
    (release,) = json.loads((folder / NOISE).read_text())["releases"].values()
    return release["noise"], release["table"]


def is_done(folder):
    """Whether everything was done, so that a rerun must refuse."""
    ledger = folder / "ledger.json"
    entries = json.loads(ledger.read_text())["entries"] if ledger.exists() else []
    return [entry["status"] for entry in entries] == ["released"]


def check(folder, reports, noise, table, place):
    """Require one release on the ledger, with the noise and the table that were kept, and nothing else left."""
    (entry,) = json.loads((folder / "ledger.json").read_text())["entries"]
    assert entry["status"] == "released", place
    assert 0.5 < entry["spent"]["epsilon"] <= 1.0, place  # less than promised where devices lose less
    assert not (folder / NOISE).exists(), f"the noise is still there, killed at {place}"
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    assert not left, (left, place)
    written = read_columns(folder / "sums.csv")
    if table is not None:
        assert written == as_written(table), f"another table, {place}"
    if (folder / "survey").exists():
        with closing(sqlite3.connect(folder / "survey" / "collected.sqlite")) as tables:
            assert not tables.execute(
                "SELECT * FROM counters UNION ALL SELECT id, 0, 0, 0, 0 FROM sealed"
            ).fetchall()
        assert {path.suffix for path in (folder / "survey").iterdir()} <= SUFFIXES, place
    if noise is not None and reports:  # raw answers are put on the grid, or replaced, at random
        plan = load_design(folder / "design.json")
        collected = collected_of(plan, reports, from_devices=True)
        made = fielding_of(plan).published(plan, collected, noise, lambda number: None)
        assert written == as_written(made), f"other noise, {place}"


def read_columns(path):
    """Read a table; what can be a number is one."""
    header, *rows = csv.reader(path.read_text().splitlines())
    return as_written(dict(zip(header, zip(*rows, strict=True), strict=True)))


def as_written(columns):
    """Columns as they are compared, wherever they come from."""
    return {name: [_value(cell) for cell in cells] for name, cells in columns.items()}


def _value(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell or None


def read_reports(path):
    """What devices sent, by stratum: numbers, or rows of a form."""
    return {
        name: [tuple(each) if isinstance(each, list) else each for each in given]
        for name, given in json.loads(path.read_text()).items()
    }


def main():
    start, step, reports = Path(sys.argv[1]), int(sys.argv[2]), read_reports(Path(sys.argv[3]))
    arguments, folder, kills, with_noise = sys.argv[4:], start.with_name("killed"), 0, 0
    between = iter((step // 2, step // 4, 3 * step // 4))  # until the moments are met in which noise is kept
    first = 1
    killing.WATCHED += WATCHED
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        os.chdir(folder)
        second = 1 + (kills * 7 * step) % 400
        code = killing.run(arguments, kill_at=first)
        noise, table = kept(folder)
        if code == 0 and not with_noise and (first := next(between, 0)):
            continue
        if code == 0:
            break
        assert code == 137, code
        again = 0 if is_done(folder) else killing.run(arguments, kill_at=second)
        assert again in (0, 137), (again, first, second)
        later, later_table = kept(folder)
        assert noise is None or later in (None, noise), f"other noise is kept, {first}, {second}"
        assert table is None or later_table in (None, table), f"another table is kept, {first}, {second}"
        noise = later if noise is None else noise
        table = later_table if table is None else table
        if not is_done(folder):
            assert killing.run(arguments) == 0, f"the rerun failed, killed at {first} and {second}"
        assert killing.run(arguments, kill_at=10**9) == 2  # it is not published twice
        check(folder, reports, noise, table, (first, second))
        kills += 1
        first += step
        with_noise += noise is not None
    sys.stdout.write(f"{kills} {with_noise}")


if __name__ == "__main__":
    main()
