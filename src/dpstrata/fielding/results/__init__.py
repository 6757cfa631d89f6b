"""What was published, read again, and estimated from: a module here for each in ``survey.releases``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpstrata.survey.releases import RELEASES

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.results.reader import Reader


def reader_of(plan: Design) -> Reader:
    """Return the reader of what a design publishes."""
    module, name = RELEASES[plan.inputs.release][0].split(".")
    if plan.inputs.rows:
        module, name = "forms", "Rows" if plan.inputs.release == "microdata" else "Tables"
    elif not plan.inputs.space.numbers:  # which are published one by one, and in no other way
        module, name = "categories", "Categories"
    kind: type[Reader] = getattr(import_module(f"{__name__}.{module}"), f"{name}Reader")
    return kind()
