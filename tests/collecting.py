"""Surveys that are collected: folders, servers in processes of their own, and respondents."""

import asyncio
import csv
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psycopg
import uvicorn
from browser import WATCH, find_barriers
from playwright.sync_api import expect

import dpstrata as dps
import engines
from dpstrata.collect.collector import Collector
from dpstrata.collect.contract import make_page_app
from dpstrata.collect.folder import open_folder
from dpstrata.collect.invitations import invite
from dpstrata.collect.sealing import Opener
from dpstrata.collect.store import Invitation
from dpstrata.fielding.keys import read_key
from dpstrata.fielding.sample import ReportKey
from dpstrata.privacy.rows import places_of
from dpstrata.servers.running import address_of, open_socket
from extent import FULL
from surveys import copied

# A survey that is ready to be collected: designed, drawn and invited, in a folder of a test


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
    return dps.design(strata, questions=QUESTIONS, epsilon=1.0, release=release, total=total, **budget)


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
        made.database = engines.server()
        with psycopg.connect(made.database, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS dpstrata_{plan.digest[:16]} CASCADE")
    made.invite(**more)
    return made


def random_cells(made):
    """A cell for everyone's token, drawn at random from all of their form."""
    cells, links = made.folder.kit.cells, made.links
    return {links[person]: secrets.randbelow(cells[form - 1][0]) for person, (_, form) in made.people.items()}


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
    """What should be counted: how often each cell of each key was sent."""
    names, people = made.folder.plan.strata.names, made.people
    who = {token: people[person] for person, token in made.links.items()}
    keys = {token: ReportKey(names.index(stratum), 0, form - 1) for token, (stratum, form) in who.items()}
    return Counter((keys[token], cell) for token, cell in cells)


# Collectors in processes of their own, and respondents who speak to them over the network


LENGTH = 128


class Unreachable(Exception):
    """A server that is gone, or that says it is busy."""


async def post(port, path, body, *, seconds=30):
    """Send a body on a connection of its own, and return status and reply."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode().ljust(LENGTH)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(head.encode() + content)
                reply = await reader.read()
            finally:
                writer.close()
    except OSError:
        raise Unreachable from None
    found = re.match(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n(.*)", reply, re.DOTALL)
    if found is None or len(found[2]) < LENGTH:  # cut short
        raise Unreachable
    return int(found[1]), found[2]


class Server:
    """A collector, and what it said."""

    def __init__(self, made, command, folder=None):
        self.made, self.command, self.folder, self.said = made, command, folder, []
        self.start()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if name != "DPSTRATA_DATABASE"}
        self.process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if found := re.search(r"is at https?://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError(self.said)
        self._reading = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, lines):
        self.said += [line.rstrip() for line in lines]

    def end(self, how=signal.SIGINT):
        """End it with a signal, or wait until one that it was sent ends it."""
        if how is not None:
            self.process.send_signal(how)
        self.process.wait(timeout=30)
        self._reading.join()
        self.process.stdout.close()

    def _ask(self, path, **body):
        status, content = asyncio.run(post(self.port, path, body))
        assert (status, len(content)) == (200, LENGTH)
        return json.loads(content)

    def look(self, token):
        return self._ask("/look", token=token)

    def send(self, token, cell):
        return self._ask("/send", token=token, cell=cell)


@contextmanager
def served(made, *more):
    """Serve a survey in a process of its own."""
    program = [sys.executable, "-m", "dpstrata"]
    database = ["--database", made.database] if made.database else []
    server = Server(made, [*program, "collect", str(made.survey), "--port", "0", *database, *more])
    try:
        yield server
    finally:
        server.end()


async def send_over(server, pairs, *, at_once=32):
    """Let respondents look and send, some of them at the same time; return the tokens that were acknowledged."""
    gate, acknowledged, others = asyncio.Semaphore(at_once), [], []

    async def respond(token, cell):
        async with gate:
            try:
                status, content = await post(server.port, "/send", {"token": token, "cell": cell})
            except Unreachable:
                return
            state = json.loads(content).get("state")
            (acknowledged if (status, state) == (200, "counted") else others).append((token, status, state))

    await asyncio.gather(*(respond(*pair) for pair in pairs))
    return [token for token, *_ in acknowledged], others


# Respondents with a browser, and a server for them that remembers what reached it


class Counting:
    """Invitations and what was sent with them."""

    def __init__(self):
        self.invitations = {}
        self.looks = 0
        self.counted = []  # (form, cell)

    def invite(self, form=0, odds=0, state="open"):
        token = secrets.token_urlsafe(16)
        self.invitations[token] = Invitation(state, form, odds)
        return token

    async def look(self, token):
        self.looks += 1
        return self.invitations.get(token, Invitation("unknown"))

    async def send(self, token, cell):
        found = self.invitations.get(token, Invitation("unknown"))
        if found.state != "open":
            return found.state
        self.invitations[token] = replace(found, state="used")
        self.counted.append((found.form, cell))
        return "counted"

    def close(self, token):
        self.invitations[token] = replace(self.invitations[token], state="closed")


class Survey:
    """A server, its store and its kit."""

    def __init__(self, kit, store, address):
        self.kit, self.store, self.address = kit, store, address

    def link(self, form=0, **more):
        """Invite someone."""
        return f"{self.address}#{self.store.invite(form, **more)}"


@contextmanager
def serving(kit, *, wrap=lambda app: app, more=()):
    """Serve a kit on a port of its own, without an access log."""
    store = Counting()
    opened = open_socket("127.0.0.1", 0)
    app = wrap(make_page_app(kit, store, more=more))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        yield Survey(kit, store, address_of(opened))
    finally:
        server.should_exit = True
        thread.join(10)
        opened.close()


class Respondent:
    """Someone with a browser, and everything it did that it should not have."""

    def __init__(self, page):
        self.page, self.requests, self.faults = page, [], []
        page.add_init_script(WATCH)
        page.on("request", lambda request: self.requests.append(request))
        page.on("console", lambda line: line.type in ("error", "warning") and self.faults.append(line.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, link):
        self.page.goto(link)
        return self

    def sees(self, heading):
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        return self

    def without_barriers(self):
        """Everyone can use what is shown, says axe."""
        assert find_barriers(self.page) == []
        return self

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()
        return self

    def chooses(self, label):
        self.page.get_by_role("radio", name=label, exact=True).check()
        return self

    def writes(self, text):
        self.page.get_by_role("textbox").fill(text)
        return self

    def row(self):
        """What the page says will be sent, question by question."""
        return self.page.locator(".rows dl > div:last-child bdi").all_inner_texts()

    def answers_first_form(self, number="3000.5"):
        self.press("Start").chooses("Yes").press("Next").chooses("own").press("Next").writes(number)
        return self.press("Next").press("Continue")

    def check(self, survey):
        """Nothing went elsewhere, all bodies have one length, the token is in no address, and nothing complained."""
        for request in self.requests:
            assert urlsplit(request.url).netloc == urlsplit(survey.address).netloc
            assert not any(token in request.url.partition("#")[0] for token in survey.store.invitations)
            assert not request.headers.get("referer")
            assert "cookie" not in request.headers
            if request.method == "POST":
                assert len(request.post_data_buffer) == LENGTH
        assert self.page.evaluate("window.violations") == []
        assert self.faults == []


@contextmanager
def responding(browser, survey, **options):
    context = browser.new_context(**{"viewport": {"width": 800, "height": 900}, "locale": "en-GB", **options})
    context.set_default_timeout(15_000)
    respondent = Respondent(context.new_page())
    try:
        yield respondent
        respondent.check(survey)
    finally:
        context.close()


def labels_of(kit, form, cell):
    """What the page calls the answers of a cell, in English."""
    questions = kit.to_dict()["forms"][form]["questions"]
    places = places_of(cell, [len(question["values"]) for question in questions])
    names = {"yes": "Yes", "no": "No", "8000": "8,000"}
    values = [question["values"][place] for question, place in zip(questions, places, strict=True)]
    return [names.get(value, value) for value in values]


# A reader of QR codes that has not been damaged, written from the standard (ISO/IEC 18004)


# Blocks of codewords, and codewords of data in each, by version and at level M (all of one size).
BLOCKS = {2: (1, 28), 3: (1, 44), 4: (2, 32), 5: (2, 43), 6: (4, 27)}
MASKS = (
    lambda y, x: (y + x) % 2,
    lambda y, x: y % 2,
    lambda y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)


def read_code(modules):
    """Return the text of a code, given which of its squares are dark."""
    size = len(modules)
    version = (size - 17) // 4
    level_and_mask = "".join(str(int(dark)) for dark in modules[8, :5])
    number = int(level_and_mask, 2) ^ 0b10101
    assert number >> 3 == 0b00, "a code at level M"
    flipped, taken = MASKS[number & 7], functional(version)
    bits = [modules[y, x] ^ (flipped(y, x) == 0) for y, x in places(size) if not taken[y, x]]
    words = np.packbits(np.array(bits[: len(bits) // 8 * 8], dtype=bool))
    blocks, length = BLOCKS[version]
    data = words[: blocks * length].reshape(length, blocks).T.tobytes()
    stream = "".join(f"{byte:08b}" for byte in data)
    assert stream[:4] == "0100", "bytes"
    count = int(stream[4:12], 2)
    return bytes(int(stream[12 + 8 * i : 20 + 8 * i], 2) for i in range(count)).decode()


def functional(version):
    """Which squares hold no data: finders with the format, timing, alignment, and one that is always dark."""
    size = 17 + 4 * version
    taken = np.zeros((size, size), dtype=bool)
    taken[:9, :9] = taken[:9, -8:] = taken[-8:, :9] = True
    taken[6] = taken[:, 6] = True
    taken[size - 9 : size - 4, size - 9 : size - 4] = True
    return taken


def places(size):
    """The squares in the order of the bits: two columns at a time from the right, up and down in turn."""
    upwards = True
    for right in [*range(size - 1, 6, -2), 5, 3, 1]:
        for y in range(size - 1, -1, -1) if upwards else range(size):
            yield from ((y, right), (y, right - 1))
        upwards = not upwards
