"""What was published, read again, and estimated from: a reader for each form of release."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.results.reader import Reader

# form of release: the reader of what is published, where people have one question each, and where they have
# a form of several
READERS = {
    "microdata": ("noised_numbers.NoisedNumbers", "forms.Rows"),
    "sums": ("sums.Sums", "forms.Tables"),
    "mean": ("means.Means",),
}
_NAMES = "noised_names.NoisedNames"


def reader_of(plan: Design) -> Reader:
    """Return the reader of what is published with a design."""
    alone, *rows = READERS[plan.inputs.release]
    if plan.inputs.rows:
        (named,) = rows
    else:
        named = alone if plan.inputs.space.numbers else _NAMES
    module, name = named.split(".")
    kind: type[Reader] = getattr(import_module(f"{__name__}.{module}"), f"{name}Reader")
    return kind()
