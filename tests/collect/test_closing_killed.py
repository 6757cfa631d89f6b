"""Closing, killed at any moment: it goes on from there, and nothing is counted or drawn twice."""

import json
import os

import pytest

from collecting import collecting, invited, random_cells, send_all, sent
from commands import run_script

STRIDE = os.environ.get("DPSTRATA_STRIDE")  # every few lines in the slow suite
CLOSE = ["collect", "close", "survey", "--out", "sums.csv"]


@pytest.mark.slow
def test_closing_killed_at_any_moment(tmp_path):
    """Twice each time; the noise that was kept is published with what was counted, and then all is forgotten."""
    start = tmp_path / "start"
    made = invited(start)
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        assert set(send_all(collector, cells)) == {"counted"}
    names = made.folder.plan.strata.names
    reports = {name: [] for name in names}
    for key, cell in sent(made, cells).elements():
        reports[names[key.stratum]].append((key.form + 1, cell))
    (tmp_path / "reports.json").write_text(json.dumps(reports))
    given = (start, "7" if STRIDE else "293", tmp_path / "reports.json", *CLOSE)
    done = run_script("killing_publish", *given, seconds=3000)
    assert done.returncode == 0, done.stderr
    kills, with_noise = (int(number) for number in done.stdout.split())
    assert kills >= 4
    assert with_noise >= 1
