"""A survey that is ready to be collected: designed, drawn and invited, in a folder of a test."""

import asyncio
import csv
import secrets
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg

import dpstrata as dps
import postgresql
from copies import copied
from dpstrata.collect.collector import Collector
from dpstrata.collect.folder import open_folder
from dpstrata.collect.invitations import invite
from dpstrata.collect.sealing import Opener
from dpstrata.fielding.keys import read_key
from extent import FULL

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False, text="Do you smoke?"),
        dps.Question(
            "home", "category", blank=False, categories=["rent", "own", "other"], text="Where do you live?"
        ),
        dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust your doctor?"),
    ]
)
DATABASES = ["sqlite", "postgresql"]
SIZES = (("north", 300), ("south", 700))


@cache
def plan_for(total=200, release="sums", sizes=SIZES):
    """A design with three questions on two forms, for everyone who is invited to answer."""
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


def drawn(base, plan, *, anew=FULL):
    """Draw a sample from made-up people, or copy one with its key; say where everything is."""
    base.mkdir(parents=True, exist_ok=True)
    copied(_draw, base, plan, anew=anew)
    return Invited(base)


def _draw(base, plan):
    plan.save(base / "design.json")
    with open(base / "frame.csv", "w") as file:
        file.write("id,stratum\n")
        for name, size in zip(plan.strata.names, plan.strata.sizes.tolist(), strict=True):
            file.writelines(f"{name}-{number},{name}\n" for number in range(size))
    frame = dps.open_frame(base / "frame.csv", id="id", stratum="stratum")
    dps.draw(base / "design.json", frame, out=base / "sample.csv", key_file=base / "draw.key")


def invited(base, plan=None, *, database=None, anew=FULL, **more):
    """Invite everyone; ``database`` is "sqlite", or "postgresql" for the one of the tests."""
    plan = plan or plan_for()
    made = drawn(base, plan, anew=anew)
    if database == "postgresql":
        made.database = postgresql.server()
        with psycopg.connect(made.database, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS dpstrata_{plan.digest[:16]} CASCADE")
    made.invite(**more)
    return made


def random_cells(made):
    """A cell for everyone's token, drawn at random from all of their form."""
    cells, links = made.folder.kit.cells, made.links
    return {links[person]: secrets.randbelow(cells[form - 1]) for person, (_, form) in made.people.items()}


@contextmanager
def collecting(made, **more):
    """A collector at work."""
    collector = Collector(made.folder, **more)
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


async def _send(collector, cells, at_once):
    gate = asyncio.Semaphore(at_once)

    async def send(token, cell):
        async with gate:
            return await collector.send(token, cell)

    return await asyncio.gather(*(send(*each) for each in cells), return_exceptions=True)


def send_all(collector, cells, at_once=32):
    """Send (token, cell) pairs, some of them at the same time, and return what became of each."""
    return asyncio.run(_send(collector, list(cells), at_once))


def collected(made, cells):
    """Let a collector count (token, cell) pairs, and stop."""
    with collecting(made) as collector:
        assert set(send_all(collector, cells)) == {"counted"}


def take_away(made):
    """Let nobody find the tables."""
    if made.database:
        _rename_schema(made, "", "_away")
    else:
        (made.survey / "collected.sqlite").rename(made.survey / "away")


def give_back(made):
    if made.database:
        _rename_schema(made, "_away", "")
    else:
        (made.survey / "away").rename(made.survey / "collected.sqlite")


def _rename_schema(made, old, new):
    schema = f"dpstrata_{made.folder.plan.digest[:16]}"
    with psycopg.connect(made.database, autocommit=True) as connection:
        connection.execute(f"ALTER SCHEMA {schema}{old} RENAME TO {schema}{new}")


def opened(made, tables):
    """What is counted and what is sealed, together."""
    opener = Opener(read_key(made.base / "office.key"), made.folder.plan.digest)
    return tables.counted() + Counter(map(opener.open, tables.sealed().values()))


def sent(made, cells):
    """What should be counted: how often each cell of each stratum and form was sent."""
    names, people = made.folder.plan.strata.names, made.people
    who = {token: people[person] for person, token in made.links.items()}
    return Counter((names.index(who[token][0]), who[token][1] - 1, cell) for token, cell in cells)
