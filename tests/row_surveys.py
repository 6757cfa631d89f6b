"""A small survey with a questionnaire, in files: drawn, and answered on paper or on devices."""

import csv

import numpy as np

import dpstrata as dps
from copies import copied
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.releases.rows import RowsFielding
from dpstrata.fielding.releases.tables import TablesFielding

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("home", "category", blank=False, categories=["rent", "own", "other"], together="living"),
        dps.Question("smokes", "yes_no", blank=False, together="living"),
        dps.Question("trust", "scale", lower=1, upper=5),
        dps.Question("income", "number", lower=0, upper=90_000),
        dps.Question("ill", "yes_no", blank=False, everyone=True),
    ]
)
FORMS = [["home", "smokes"], ["trust", "income"]]
RELEASES = {"publish": {"release": "sums", "device_epsilon": 4.0}, "privatize": {"release": "microdata"}}


def answered(person):
    """What somebody answers; income has digits of its own."""
    i = int(person.removeprefix("canary-"))
    return {
        "home": QUESTIONS[0].categories[i % 3],
        "smokes": ("no", "yes")[i % 2],
        "trust": str(1 + i % 5),
        "income": f"4321{i % 10}",
        "ill": ("no", "no", "yes")[i % 3],
    }


def survey(folder, step, **options):
    """Draw a sample and write everyone's answers, or what their devices sent; return the design and rows sent."""
    return copied(field, folder, step, **options)


def field(folder, step, *, devices, answers=answered, questions=QUESTIONS, epsilon=1):
    people = [(f"canary-{i:04}", "north" if i % 3 else "south") for i in range(900)]
    (folder / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    plan = dps.design(
        frame_strata(frame), questionnaire=questions, epsilon=epsilon, total=60, forms=FORMS, **RELEASES[step]
    )
    plan.save(folder / "design.json")
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    with open(folder / "sample.csv", newline="") as file:
        drawn = list(csv.DictReader(file))
    rows, sent = [], {name: [] for name in plan.strata.names}
    for row in drawn:
        given, number = answers(row["person"]), int(row["form"])
        if devices:
            asked = {name: given[name] for name in plan.forms[number - 1].questions}
            cell = dps.noise_row(plan, row["region"], number, asked).cell
            sent[row["region"]].append((number, cell))
            given = {"cell": cell}
        rows.append({"person": row["person"], "region": row["region"], **given})
    write(folder / "answers.csv", rows)
    return plan, sent


def write(path, rows):
    """Write a table."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def command(step, out):
    """The command that releases it."""
    return [
        *(step, "design.json", "answers.csv", "--sample", "sample.csv", "--id", "person"),
        *("--stratum", "region", "--out", out),
    ]


def published_by(plan, rows):
    """Randomise and publish as the field does, without files."""
    if plan.inputs.release == "microdata":
        return RowsFielding().noised(plan, rows, lambda number: None)
    fielding = TablesFielding()
    noise = fielding.draw_office_noise(plan, np.zeros(0, dtype=np.int64))
    return fielding.published(plan, rows, noise, lambda number: None)


def estimate_once(plan, rows):
    """The same with estimates."""
    columns = published_by(plan, rows)
    if plan.inputs.release == "sums":
        return TablesFielding().estimate(plan, *columns.values())
    names = ("stratum", "form", "cell")
    return RowsFielding().estimate(plan, *([str(cell) for cell in columns[name]] for name in names))
