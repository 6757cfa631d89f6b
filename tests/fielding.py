"""Steps of a fielded survey that tests share; the survey is the fixture ``fielded``."""

import csv

import numpy as np

import dpstrata as dps
from dpstrata.fielding.draw import draw
from dpstrata.fielding.privatize import privatize

COLUMNS = {"id": "person", "stratum": "region", "answer": "income"}


def release(folder, *, answers="answers.csv", out="noised.csv", step=privatize, **more):
    """Noise the batch of the survey, or with another step publish its sums."""
    return step(
        folder / "design.json",
        folder / answers,
        sample=folder / "sample.csv",
        out=folder / out,
        key_file=folder / "draw.key",
        **{**COLUMNS, **more},
    )


def field_instead(folder, frame, plan, answers):
    """Put another design in the place of the first: draw it, and let everyone answer alike."""
    for name in ("sample.csv", "draw.json", "design.json"):
        (folder / name).unlink()
    plan.save(folder / "design.json")
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    with open(folder / "sample.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", *answers])
        writer.writerows([row["person"], row["region"], *answers.values()] for row in rows)


def field_reports(folder, frame, plan):
    """Save and draw a design, and write what people send: as they answer, or as their devices noise it."""
    plan.save(folder / "design.json")
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    with open(folder / "sample.csv", newline="") as file:
        rows = [[row["person"], row["region"]] for row in csv.DictReader(file)]
    given = [i % 2 if plan.inputs.answers.values == 2 else 43210 + i for i in range(len(rows))]
    if plan.inputs.device_epsilon is not None:
        given = [dps.noise_answer(plan, region, a) for (_, region), a in zip(rows, given, strict=True)]
    write_reports(folder, [[*row, repr(a)] for row, a in zip(rows, given, strict=True)])


def loss_inside(plan, times=1, *, e=None, shares=None):
    """What releases lose where devices add noise: the office's noise adds up, and reports lose at most E."""
    e = times * (plan.local_epsilons if e is None else e)
    shares = plan.sample_sizes / plan.strata.sizes if shares is None else shares
    return np.log1p(shares * np.expm1(np.minimum(e, plan.inputs.device_epsilon or np.inf))).max()


def write_reports(folder, rows):
    """Write what people send."""
    with open(folder / "reports.csv", "w", newline="") as file:
        csv.writer(file).writerows([["person", "region", "income"], *rows])


def read_rows(path):
    """Read a table without its header."""
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]
