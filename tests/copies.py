"""Folders that take longer to make than what tests do with them: made once, then copied."""

import shutil
import tempfile
from pathlib import Path

from extent import FULL

_made = {}


def copied(make, folder, *given, anew=FULL, **options):
    """Return ``make(folder, ...)``; in `make slow` it is made for every test, in `make test` once in a process."""
    if anew:
        return make(folder, *given, **options)
    named = [getattr(each, "digest", each) for each in given]  # designs
    key = (make.__module__, make.__qualname__, repr(named), repr(sorted(options.items())))
    if key not in _made:
        place = tempfile.TemporaryDirectory(prefix="dpstrata-made-")  # until the tests end
        _made[key] = place, make(Path(place.name), *given, **options)
    place, made = _made[key]
    shutil.copytree(place.name, folder, dirs_exist_ok=True)
    return made
