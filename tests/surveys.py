"""Surveys in the field, made for tests: people, samples, answers and reports."""

import csv
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import dpstrata as dps
from dpstrata.fielding.collected import Collected
from dpstrata.fielding.draw import draw
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.publish import privatize
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.releases import fielding_of
from dpstrata.fielding.sample import ReportKey
from extent import FULL
from questionnaires import form, question

# Folders that take longer to make than what tests do with them: made once, then copied


_made = {}


def copied(make, folder, *given, anew=FULL, **options):
    """Return ``make(folder, ...)``; in `make slow` it is made for every test, in `make test` once in a process."""
    if anew:
        return make(folder, *given, **options)
    named = [getattr(each, "digest", each) for each in given]  # designs
    key = (make.__module__, make.__qualname__, repr(named), repr(sorted(options.items())))
    if key not in _made:
        place = tempfile.TemporaryDirectory(prefix="dpstrata-made-")  # until the tests end
        _made[key] = place, make(Path(place.name), *given, **options)
    place, made = _made[key]
    shutil.copytree(place.name, folder, dirs_exist_ok=True)
    return made


def microdata(strata, answers):
    """What a survey of one question published: the stratum of every answer, and the answer."""
    return pa.table({"stratum": list(strata), "answer": pa.array(answers)})


# A frame in memory, for many draws


class Listed:
    """People with their strata, handed out in batches as a file would be."""

    def __init__(self, ids, strata):
        self.batch = pa.record_batch({"id": pa.array(ids), "stratum": pa.array(strata)})

    def sift(self, sift):
        return sift([self.batch.slice(0, 3), self.batch.slice(3)])


# Steps of a fielded survey that tests share; the survey is the fixture ``fielded``


COLUMNS = {"id": "person", "stratum": "region"}


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
    given = [i % 2 if plan.inputs.space.values == 2 else 43210 + i for i in range(len(rows))]
    if plan.inputs.device_epsilon is not None:
        given = [dps.randomize(plan, region, a).value for (_, region), a in zip(rows, given, strict=True)]
    write_reports(folder, [[*row, repr(a)] for row, a in zip(rows, given, strict=True)])


def loss_inside(plan, times=1, *, e=None, shares=None):
    """What releases lose: the office's noise adds up, and reports lose at most E.

    Where devices flip bits and the office takes no credit for that, it is less: two binary channels in a row.
    """
    e = times * (plan.local_epsilons if e is None else e)
    E = plan.inputs.device_epsilon or np.inf
    inside = np.minimum(e, E)
    if (plan.inputs.release, plan.mechanism.name) == ("mean", "randomized_response"):
        inside = 2 * np.arctanh(np.tanh(E / 2) * np.tanh(e / 2))
    shares = plan.sample_sizes / plan.strata.sizes if shares is None else shares
    return np.log1p(shares * np.expm1(inside)).max()


def write_reports(folder, rows):
    """Write what people send."""
    with open(folder / "reports.csv", "w", newline="") as file:
        csv.writer(file).writerows([["person", "region", "answer"], *rows])


def read_rows(path):
    """Read a table without its header."""
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


# Random questionnaires on forms of their own, with strata


KINDS = ("yes_no", "category", "scale", "number")


def random_survey(seed, *, sizes=(4, 16), strata=(2, 3), rates=False):
    """A questionnaire on forms of its own with random tables, shares and spreads, and its strata."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(1, 6))
    names = [f"q{j}" for j in range(number)]
    asked = [
        question(
            name,
            str(rng.choice(KINDS)),
            importance=float(10 ** rng.uniform(-1, 1)),
            everyone=bool(rng.random() < 0.15 and name != "q0"),
        )
        for name in names
    ]
    questionnaire = dps.Questionnaire(asked)
    everyone = [each.name for each in questionnaire if each.everyone]
    own = [name for name in names if name not in everyone]
    parts = int(rng.integers(1, min(len(own), 2) + 1))
    groups = [own[i::parts] for i in range(parts)]
    shares = rng.dirichlet(np.full(parts, 5.0))
    levels = {each.name: each.answer_count or int(rng.integers(2, 6)) for each in questionnaire}
    people = rng.integers(*sizes, int(rng.integers(strata[0], strata[1] + 1))) + 2 * parts
    answering = rng.uniform(0.6, 1.0, len(people)) if rates else None
    if rates:
        people = people * 3
    return (
        questionnaire,
        _forms(groups, everyone, levels, shares, rng),
        dps.Strata(people, response_rates=answering),
        rng,
    )


def _forms(groups, everyone, levels, shares, rng):
    forms = []
    for group, share in zip(groups, shares, strict=True):
        asked = sorted(group + everyone)
        if rng.random() < 0.4:
            tables = [(asked, 1.0)]
        else:
            budgets = rng.dirichlet(np.full(len(asked), 3.0))
            tables = [([name], float(budget)) for name, budget in zip(asked, budgets, strict=True)]
        forms.append(form(asked, [levels[name] for name in asked], float(share), tables))
    return forms


# A small survey with a questionnaire, in files: drawn, and answered on paper or on devices


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
        frame_strata(frame), questions=questions, epsilon=epsilon, total=60, forms=FORMS, **RELEASES[step]
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
            cell = dps.randomize(plan, row["region"], asked, number).value
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


def reports_of(plan, stratum, answers):
    """What the devices of people of one stratum send who have one question."""
    (randomizer,) = randomizers_of(plan)
    return np.array(randomizer.randomized(plan.strata.names.index(stratum), answers))


def collected_of(plan, by_stratum, *, from_devices=False):
    """Answers to one question, or to a form with its number, as the office has them."""
    answers = {}
    for name, given in by_stratum.items():
        for each in given:
            form, answer = each if isinstance(each, tuple) else (1, each)
            key = ReportKey(plan.strata.names.index(name), 0, form - 1)
            answers.setdefault(key, []).append(answer)
    return Collected(answers, from_devices)


def published_by(plan, rows, *, from_devices=False):
    """Randomise and publish as the field does, without files."""
    fielding, collected = fielding_of(plan), collected_of(plan, rows, from_devices=from_devices)
    if plan.inputs.release == "microdata":
        return fielding.published(plan, collected, lambda number: None)
    noise = fielding.draw_office_noise(plan, collected.counts(plan))
    return fielding.published(plan, collected, noise, lambda number: None)


def estimate_once(plan, rows, **more):
    """The same with estimates."""
    columns = published_by(plan, rows, **more)
    if plan.inputs.release == "sums":
        return reader_of(plan).estimate(*columns.values())
    names = ("stratum", "form", "cell")
    return reader_of(plan).estimate(*([str(cell) for cell in columns[name]] for name in names))
