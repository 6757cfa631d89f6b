"""A preview of the respondents' page: every form, on this machine, with nothing stored."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from dpstrata.collect.kit import Kit
from dpstrata.collect.store import Invitation, Standing
from dpstrata.servers.running import serve_app, until_stopped

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

PAGE = "preview"
_KEPT = 10_000  # invitations, so that a page that is loaded for ever takes no more memory
_STATES: dict[Standing, str] = {
    "used": "A link that was used",
    "closed": "A link after the survey has closed",
    "unknown": "A link that nobody was sent",
}


class PreviewStore:
    """Invitations in memory, which cells pass by: each is dropped as it comes."""

    def __init__(self) -> None:
        self._invitations: OrderedDict[str, Invitation] = OrderedDict()

    def invite(self, form: int, odds: int = 0, state: Standing = "open") -> str:
        """Make an invitation, and return its token."""
        token = secrets.token_urlsafe(16)
        if state != "unknown":
            self._invitations[token] = Invitation(state, form, odds)
        while len(self._invitations) > _KEPT:
            self._invitations.popitem(last=False)
        return token

    async def look(self, token: str) -> Invitation:
        """Say how it stands with a token."""
        return self._invitations.get(token, Invitation("unknown"))

    async def send(self, token: str, cell: int) -> Literal["counted", "used", "closed", "unknown"]:
        """Use a token up; the cell goes nowhere."""
        found = await self.look(token)
        if found.state != "open":
            return found.state
        self._invitations[token] = replace(found, state="used")
        return "counted"


def make_preview(kit: Kit, *, host: str = "127.0.0.1") -> Starlette:
    """Make the application of the preview: the page, and a list of links to every form and state."""
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    from dpstrata.collect.contract import make_page_app

    store, data = PreviewStore(), kit.to_dict()

    async def show(request: Request) -> Response:
        return HTMLResponse(_listed(data, kit.digest, store), headers={"cache-control": "no-store"})

    return make_page_app(kit, store, host=host, more=[Route(f"/{PAGE}", show)])


def _listed(kit: dict[str, Any], digest: str, store: PreviewStore) -> str:
    """Write the list, with invitations that were made for it."""
    title = escape(kit["title"] or "Preview")
    forms = "".join(
        f'<li><a href="./#{store.invite(number)}">Form {number + 1}</a>: '
        f"{escape(', '.join(question['name'] for question in form['questions']))} "
        f"({form['cells']:,} different rows)</li>"
        for number, form in enumerate(kit["forms"])
    )
    states = "".join(
        f'<li><a href="./#{store.invite(0, state=state)}">{words}</a></li>'
        for state, words in _STATES.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="icon" href="static/icon.svg">'
        '<link rel="stylesheet" href="static/page.css"></head><body><main>'
        f"<h1>{title}</h1><p>What respondents see. Nothing is stored: what you send here is dropped. "
        "Load this page again for new links.</p>"
        f"<h2>Forms</h2><ul>{forms}</ul><h2>Other links</h2><ul>{states}</ul>"
        f'<p>Digest of the kit: <code class="digest">{digest}</code></p></main></body></html>'
    )


def preview(
    kit: Kit,
    *,
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Show the respondents' page of a design, on this machine alone, until it is interrupted.

    Parameters
    ----------
    kit : Kit
        The kit of the design.
    port : int, optional
        By default the first free one from 8000 on.
    browser : bool
        Whether to open the page.
    say : callable
        Takes a line for the user.

    Raises
    ------
    InputError
        If the port cannot be used.
    MissingExtraError
        Without the extra ``web``.
    """

    def make() -> ASGIApp:
        return make_preview(kit)

    name = "the preview"
    with until_stopped(name, say):
        serve_app(make, name=name, host="127.0.0.1", port=port, browser=browser, say=say, path=PAGE)
