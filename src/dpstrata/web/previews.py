"""Previews of the respondents' page for plans: each at an address of its own, in memory, the newest alone."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from dpstrata.collect.kit import kit_from_content
from dpstrata.collect.preview import PAGE, make_preview
from dpstrata.web.replies import Reply, reply_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from dpstrata.web.limits import Limits

PLACE = "/respondents"


class Previews:
    """Applications of previews, by a token that only whoever asked for one learns.

    Nothing typed on their pages is sent, and randomised rows that are sent are dropped.

    Parameters
    ----------
    host : str
        The address that the planner is served on.
    limits : Limits
        How many previews are kept, and how much their kits may take together.
    """

    def __init__(self, host: str, limits: Limits) -> None:
        self._host = host
        self._limits = limits
        self._kept: OrderedDict[str, tuple[int, ASGIApp]] = OrderedDict()

    def keep(self, kit: Reply) -> Reply:
        """Make a preview from a kit, drop the oldest ones beyond the limits, and reply with its address."""
        token = secrets.token_urlsafe(16)
        app = make_preview(kit_from_content(kit.content), host=self._host)
        self._kept[token] = len(kit.content), app
        while len(self._kept) > 1 and self._is_too_much():
            self._kept.popitem(last=False)
        return reply_json({"address": f"{PLACE}/{token}/{PAGE}"})

    def _is_too_much(self) -> bool:
        size = sum(length for length, _ in self._kept.values())
        return len(self._kept) > self._limits.previews or size > self._limits.preview_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to the preview that its path names."""
        _, app = self._kept.get(scope["path_params"]["token"], (0, None))
        if app is None:
            raise HTTPException(404)
        await app(scope, receive, send)
