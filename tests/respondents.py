"""Respondents with a browser, and a server for them that remembers what reached it."""

import secrets
import threading
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import uvicorn
from browser import WATCH, find_barriers
from playwright.sync_api import expect

from dpstrata.collect.contract import LENGTH, make_page_app
from dpstrata.collect.store import Invitation
from dpstrata.privacy.device import places_of
from dpstrata.servers.running import address_of, open_socket


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
