"""What is done at the office, by form of release: a module here for each in ``survey.releases``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpstrata.survey.releases import RELEASES

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.releases.fielding import Fielding


def fielding_of(plan: Design) -> Fielding:
    """Return how what a design releases is made."""
    module, name = RELEASES[plan.inputs.release][0].split(".")
    kind: type[Fielding] = getattr(import_module(f"{__name__}.{module}"), f"{name}Fielding")
    return kind()
