"""Commands in processes of their own that have imported nothing before, as users start them."""

import csv
import os

import pytest

from commands import run
from extent import FULL

COLUMNS = ["--id", "person", "--stratum", "region"]
DRAWN = ["--sample", "sample.csv", *COLUMNS]


def from_scratch(folder, *words, seen=False):
    """Run a command; one that another test starts from scratch, too, only in `make slow`."""
    done = run(folder, *words, env=None if seen and not FULL else dict(os.environ))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Two designs of the same people, each with its sample and everyone's answers."""
    folder = tmp_path_factory.mktemp("scratch")
    rows = [f"p{i:03},{'north' if i % 3 else 'south'}\n" for i in range(90)]
    (folder / "people.csv").write_text("person,region\n" + "".join(rows))
    assert "90 people in 2 strata" in from_scratch(
        folder, "frame", "people.csv", *COLUMNS, "--out", "strata.csv"
    )
    for release in ("microdata", "sums"):
        (folder / release).mkdir()
        design = ["--release", release, "--answers", "binary", "--out", f"{release}/design.json"]
        promise, draw = ["--epsilon", "1", "--total", "30"], ["draw", "design.json", "../people.csv"]
        from_scratch(folder, "design", "strata.csv", *promise, *design, seen=release == "sums")
        from_scratch(folder / release, *draw, *COLUMNS, "--out", "sample.csv", seen=release == "sums")
        with open(folder / release / "sample.csv", newline="") as file:
            answers = [
                f"{row['person']},{row['region']},{i % 2}\n" for i, row in enumerate(csv.DictReader(file))
            ]
        (folder / release / "answers.csv").write_text("person,region,smokes\n" + "".join(answers))
    return folder


@pytest.mark.parametrize(("release", "step"), [("microdata", "privatize"), ("sums", "publish")])
def test_a_survey(drawn, release, step):
    folder = drawn / release
    released = ["--answer", "smokes", "--out", "out.csv"]
    from_scratch(folder, step, "design.json", "answers.csv", *DRAWN, *released)
    assert "smokes" not in from_scratch(folder, "estimate", "design.json", "out.csv", "--report", "r.html")
    assert (folder / "r.html").stat().st_size > 10_000


def test_what_else_is_made_of_a_design(drawn):
    folder = drawn / "microdata"
    from_scratch(folder, "report", "design.json", "--out", "design.html")
    assert "What happens to your answers" in from_scratch(folder, "consent", "design.json")
