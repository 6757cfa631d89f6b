"""A respondents' page in the test's own process, over a store that remembers what reached it."""

import secrets
import threading
from contextlib import contextmanager
from dataclasses import replace

import uvicorn

from dpstrata.collect.contract import make_page_app
from dpstrata.collect.store import Invitation
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
