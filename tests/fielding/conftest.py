"""A survey in the field, for tests of releases and of the ledger."""

import csv

import pytest

import dpstrata as dps
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from surveys import copied


@pytest.fixture
def fielded(tmp_path):
    """A drawn sample of 40 people with answers that nobody may see again."""
    return tmp_path, copied(field, tmp_path)


def field(folder):
    people = [(f"canary-{i:04}", "north" if i % 3 else "south") for i in range(900)]
    (folder / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=40, questions=(0, 100_000))
    plan.save(folder / "design.json")
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    with open(folder / "sample.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", "income"])
        writer.writerows([row["person"], row["region"], 43210 + i] for i, row in enumerate(rows))
    return plan
