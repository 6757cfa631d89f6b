"""What is done in the field, by form of release: a module here for each in ``survey.releases``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpstrata.survey.releases import RELEASES

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.releases.base import Fielding


def fielding_of(plan: Design) -> Fielding:
    """Return what is done in the field for the release of a design, and for its answers."""
    module, name = RELEASES[plan.inputs.release_form.name][0].split(".")
    if plan.inputs.rows:
        module, name = ("rows", "Rows") if plan.inputs.release == "microdata" else ("tables", "Tables")
    elif not plan.inputs.space.numbers:  # which are published one by one, and in no other way
        module, name = "categories", "Categories"
    kind: type[Fielding] = getattr(import_module(f"{__name__}.{module}"), f"{name}Fielding")
    return kind()
