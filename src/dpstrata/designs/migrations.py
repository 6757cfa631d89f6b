"""What changes from one version of the design document to the next, a step each.

Documents are read in the shape of the newest version, whatever theirs is, and written in their own. The
digest of a design, on which the sample of a key depends, is that of what version 1 would have written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from dpstrata.survey.inputs import FORMULAS, Inputs
from dpstrata.survey.releases import OPTION

Data = dict[str, Any]

# What a document means that does not have an option: those after version 1, by the version that brought them.
MEANT: dict[int, Data] = {}
for _part in fields(Inputs):
    if _part.metadata.get("since", 1) > 1:
        MEANT.setdefault(_part.metadata["since"], {})[_part.name] = _part.default


class Migration(NamedTuple):
    """The step from one version to the next.

    Attributes
    ----------
    up : function
        Takes a document to the shape of the next version; its number, which says what formulas hold, stays.
    down : function
        Takes the inputs of a document of the next version back, as far as this one could say them.
    """

    up: Callable[[Data], Data]
    down: Callable[[Data], Data]


_RELEASES_OF_1 = {"local": "microdata", "curator": "sums"}  # by the value of its option ``trust``


def _from_1(document: Data) -> Data:
    """State what version 1 left unsaid, and say what is released instead of who is trusted."""
    for part, unsaid in (("inputs", MEANT[2]), ("privacy", {})):
        said = document.get(part)
        if isinstance(said, dict):
            document = {**document, part: {**unsaid, **_with_release(said)}}
    return document


def _with_release(said: Data) -> Data:
    trust = said.get("trust")
    if not isinstance(trust, str) or trust not in _RELEASES_OF_1:
        return said
    others = {name: value for name, value in said.items() if name != "trust"}
    return {**others, OPTION: _RELEASES_OF_1[trust]}


def _to_1(inputs: Data) -> Data:
    """Say who is trusted, where version 1 could say it; what is as it meant it is left out anyway."""
    inputs = {**inputs, "min_per_stratum": inputs["min_per_stratum"] or 1}
    trust = {release: trust for trust, release in _RELEASES_OF_1.items()}.get(inputs[OPTION])
    if trust is None or inputs["device_epsilon"] is not None:
        return inputs
    return {**{name: value for name, value in inputs.items() if name != OPTION}, "trust": trust}


MIGRATIONS = {1: Migration(_from_1, _to_1)}


def upgraded(document: Data) -> Data:
    """Take a document of any version to the shape of the newest."""
    for version in range(document["version"], FORMULAS):
        document = MIGRATIONS[version].up(document)
    return document


def inputs_as_of(inputs: Inputs, version: int) -> Data:
    """Write what was asked for as a version does, options after version 1 only if they are not the default.

    Parameters
    ----------
    inputs : Inputs
        What was asked for.
    version : int
        1 for the digest.
    """
    data = asdict(inputs)
    del data["formulas"]
    for question in (data["questionnaire"] or {"questions": ()})["questions"]:
        for name in ("blank", "no_first"):
            if not question[name]:
                del question[name]  # as documents have it from before there were such questions
    if data["questionnaire"] and not data["questionnaire"]["title"]:
        del data["questionnaire"]["title"]  # nor were there titles
    for earlier in reversed(range(version, FORMULAS)):
        data = MIGRATIONS[earlier].down(data)
    meant = {name: value for options in MEANT.values() for name, value in options.items()}
    return {name: value for name, value in data.items() if name not in meant or value != meant[name]}
