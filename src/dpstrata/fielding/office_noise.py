"""The office's noise, kept from the moment it is drawn until what it is in has been published.

Whoever knows it can take it off what was published, so only its owner may read the file, and a release goes
out of it as soon as it is in place. Noise is drawn once for a release: a run that follows one that was killed
takes up what is kept, the table too if it was made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError
from dpstrata.fielding.ledger import Entry
from dpstrata.files.writing import remove_unfinished, write_atomically

FORMAT = "dpstrata.office_noise"
VERSION = 1


class NoiseKept:
    """The file that keeps noise, and what was made with it.

    Parameters
    ----------
    path : path
        The file; it need not exist.
    drawn_for : str
        What the noise depends on beside the design, if anything: what was drawn for something else is not
        taken up.
    """

    def __init__(self, path: Path, drawn_for: str = "") -> None:
        self.path = path
        self._drawn_for = drawn_for

    def table(self, entry: Entry) -> dict[str, list[Any]] | None:
        """Return the table of a release, if it was made and is kept."""
        return self._read().get(self._name(entry), {}).get("table")

    def make(
        self,
        entry: Entry,
        added_up: str,
        draw: Callable[[], Mapping[str, int]],
        make: Callable[[Mapping[str, int]], dict[str, list[Any]]],
    ) -> dict[str, list[Any]]:
        """Make the table of a release with its noise, which is drawn now if it never was; keep both.

        Noise that is in a table already goes into no other one: their difference would show what changed. So
        a table is taken up only if it was made of the same, as the digest of what is ``added_up`` says.
        """
        remove_unfinished(self.path)
        kept, name = self._read(), self._name(entry)
        known = kept.get(name, {})
        table: dict[str, list[Any]] | None = known.get("table")
        if table is not None and known.get("added_up") == added_up:
            return table
        if table is not None or not known:
            known = {"noise": dict(draw()), "table": None}
            self._write({**kept, name: known})
        table = make(known["noise"])
        self._write({**kept, name: {**known, "table": table, "added_up": added_up}})
        return table

    def forget(self, entry: Entry) -> None:
        """Keep nothing of a release any longer, nor of one that it takes the place of."""
        remove_unfinished(self.path)
        kept = self._read()
        gone = {_name(replace(entry, round=earlier)) for earlier in range(entry.round + 1)}
        left = {name: kept[name] for name in kept if not {name, name.partition(":")[2]} & gone}
        if len(left) < len(kept):
            self._write(left)

    def _name(self, entry: Entry) -> str:
        return f"{self._drawn_for}:{_name(entry)}" if self._drawn_for else _name(entry)

    def _read(self) -> dict[str, dict[str, Any]]:
        if not self.path.exists():
            return {}
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            kept: dict[str, dict[str, Any]] = data["releases"]
            sound = (data["format"], data["version"]) == (FORMAT, VERSION) and all(
                type(number) is int for each in kept.values() for number in each["noise"].values()
            )
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            sound = False
        if not sound:
            raise InputError(f"{self.path} must be what publish keeps of a release, got something else.")
        return kept

    def _write(self, kept: Mapping[str, Mapping[str, Any]]) -> None:
        if not kept:
            self.path.unlink(missing_ok=True)
            return
        content = json.dumps({"format": FORMAT, "version": VERSION, "releases": kept}, indent=1) + "\n"
        write_atomically(self.path, content.encode(), private=True)


def _name(entry: Entry) -> str:
    """Name a release: of a design, of a sample, the first time or again."""
    return "/".join((entry.design_digest, entry.key_commitment, str(entry.round)))
