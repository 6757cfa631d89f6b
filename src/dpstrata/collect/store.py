"""What a respondents' page asks of whoever keeps invitations and counts cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol

TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
"""128 bits, in the letters that addresses can hold."""
Standing = Literal["open", "used", "closed", "unknown"]
"""How it stands with an invitation: can be answered, was answered, is too late, or was never made."""
Outcome = Literal["counted", "used", "closed", "unknown", "out_of_range"]
"""What became of a cell that was sent."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """How it stands with a token.

    Attributes
    ----------
    state : str
        Whether it can be used.
    form, odds : int
        Positions in the kit; of no meaning unless the state is ``open``.
    """

    state: Standing
    form: int = 0
    odds: int = 0


class BusyError(Exception):
    """A store that cannot do what it was asked at the moment; ask again later."""


class Store(Protocol):
    """Where invitations are kept and cells counted; whatever is asked may raise ``BusyError``."""

    async def look(self, token: str) -> Invitation:
        """Say how it stands with a token; nothing changes."""

    async def send(self, token: str, cell: int) -> Literal["counted", "used", "closed", "unknown"]:
        """Count a cell, which is in the range of the token's form, and use the token up; both or neither."""
