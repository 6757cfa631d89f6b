"""What is done in the field, by form of release: a module here for each in ``survey.releases``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpstrata.fielding.grid_noise import require_one_question
from dpstrata.survey.releases import RELEASES

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.releases.base import Fielding


def fielding_of(plan: Design) -> Fielding:
    """Return what is done in the field for the release of a design."""
    require_one_question(plan)
    module, name = RELEASES[plan.inputs.release_form.name][0].split(".")
    kind: type[Fielding] = getattr(import_module(f"{__name__}.{module}"), f"{name}Fielding")
    return kind()
