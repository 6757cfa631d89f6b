"""Rows of a questionnaire released, killed at any moment: nothing half-written, replaced or drawn twice."""

import json
import os

import pytest

from commands import run_script
from surveys import command, survey

STRIDE = os.environ.get("DPSTRATA_STRIDE")  # every line in the slow suite
SOURCES = (
    [False, True] if STRIDE else [False]
)  # raw answers are replaced at random, so they can go wrong in more ways


def killed(script, start, stride, *arguments, **environment):
    """Run a script that kills a command again and again, and return what it counted."""
    more = {**os.environ, **environment}
    result = run_script(script, start, STRIDE or stride, *arguments, env=more, seconds=6000)
    assert result.returncode == 0, result.stderr
    assert "canary" not in result.stderr
    assert "4321" not in result.stderr
    return [int(number) for number in result.stdout.split()]


@pytest.mark.slow
@pytest.mark.parametrize("devices", SOURCES)
def test_tables_killed_at_any_moment(tmp_path, devices):
    """The noise that was kept is published, and so is a table: rows are not replaced again."""
    start = tmp_path / "start"
    start.mkdir()
    _, sent = survey(start, "publish", devices=devices)
    reports = tmp_path / "reports.json"
    reports.write_text(json.dumps(sent if devices else {}))
    kills, with_noise = killed("killing_publish", start, "131", reports, *command("publish", "sums.csv"))
    assert kills >= 4
    assert with_noise >= 1


@pytest.mark.slow
@pytest.mark.parametrize("devices", SOURCES)
def test_rows_killed_at_any_moment(tmp_path, devices):
    """A rerun publishes the rows that were finished, or refuses where they are lost."""
    start = tmp_path / "start"
    start.mkdir()
    survey(start, "privatize", devices=devices)
    lines = {"people.csv": 901, "sample.csv": 61, "answers.csv": 61, "noised.csv": 61}
    (kills,) = killed(
        *("killing", start, "61", *command("privatize", "noised.csv")), DPSTRATA_LINES=json.dumps(lines)
    )
    assert kills >= 4
