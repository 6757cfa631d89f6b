"""A survey that is ready to be collected: designed, drawn and invited, in a folder of a test."""

import csv
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dpstrata as dps
from dpstrata.collect.folder import open_folder
from dpstrata.collect.invitations import invite

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", text="Do you smoke?"),
        dps.Question("home", "category", categories=["rent", "own", "other"], text="Where do you live?"),
    ]
)
SIZES = (("north", 300), ("south", 700))


@cache
def plan_for(total=200, release="sums", sizes=SIZES):
    """A design with two questions, for everyone who is invited to answer."""
    strata = dps.Strata([size for _, size in sizes], names=[name for name, _ in sizes])
    budget = {"device_epsilon": 4.0} if release == "sums" else {}
    return dps.design(strata, questionnaire=QUESTIONS, epsilon=1.0, release=release, total=total, **budget)


@dataclass
class Invited:
    """A survey in a folder, and what the office alone has."""

    base: Path
    database: str | None = None

    @property
    def survey(self):
        return self.base / "survey"

    @property
    def design(self):
        return self.base / "design.json"

    @property
    def office(self):
        """The arguments of whatever the office does."""
        return {
            "sample": self.base / "sample.csv", "key_file": self.base / "draw.key", "id": "id", "stratum": "stratum",
        }  # fmt: skip

    @property
    def folder(self):
        return open_folder(self.survey, self.database)

    @property
    def links(self):
        """Everyone's token, by id."""
        with open(self.base / "invitations.csv", newline="") as file:
            return {row["id"]: row["link"].partition("#")[2] for row in csv.DictReader(file)}

    @property
    def people(self):
        """Everyone in the sample: stratum and form by id."""
        with open(self.base / "sample.csv", newline="") as file:
            return {row["id"]: (row["stratum"], int(row["form"])) for row in csv.DictReader(file)}

    def invite(self, **more):
        given = {
            "survey": self.survey, **self.office, "office_key": self.base / "office.key",
            "address": "https://survey.example.org", "out": self.base / "invitations.csv", "title": "Health",
            "database": self.database,
        }  # fmt: skip
        return invite(self.design, **(given | more))


def drawn(base, plan):
    """Draw a sample from made-up people, and say where everything is."""
    base.mkdir(parents=True, exist_ok=True)
    plan.save(base / "design.json")
    with open(base / "frame.csv", "w") as file:
        file.write("id,stratum\n")
        for name, size in zip(plan.strata.names, plan.strata.sizes.tolist(), strict=True):
            file.writelines(f"{name}-{number},{name}\n" for number in range(size))
    frame = dps.open_frame(base / "frame.csv", id="id", stratum="stratum")
    dps.draw(base / "design.json", frame, out=base / "sample.csv", key_file=base / "draw.key")
    return Invited(base)


def invited(base, plan=None, *, database=None, **more):
    """Invite everyone."""
    made = drawn(base, plan or plan_for())
    made.database = database
    made.invite(**more)
    return made


def random_cells(made):
    """A cell for everyone's token, drawn at random from all of their form."""
    cells, links = made.folder.kit.cells, made.links
    return {links[person]: secrets.randbelow(cells[form - 1]) for person, (_, form) in made.people.items()}
