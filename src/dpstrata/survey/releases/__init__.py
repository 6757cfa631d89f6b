"""The forms of release by the value of the option that asks for each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from dpstrata.errors import InputError, option

if TYPE_CHECKING:
    from dpstrata.survey.releases.base import Release

OPTION = "release"
ReleaseName = Literal["microdata", "sums", "mean"]
# value of the option: module beside this one and the class in it, and what is published
RELEASES = {
    "microdata": ("microdata.Microdata", "every noised answer, shuffled"),
    "sums": ("sums.Sums", "the sum of each stratum's answers, with one draw of the office's noise"),
    "mean": ("mean.Mean", "one number for the population, or one for each domain, with one draw each"),
}


def kind_of(name: str) -> type[Release]:
    """Return the form of release that a value of the option asks for, where an answer is noised by itself."""
    module, kind = RELEASES[name][0].split(".")
    found: type[Release] = getattr(import_module(f"{__name__}.{module}"), kind)
    return found


def release_of(options: Any) -> Release:
    """Return what someone's options, an attribute each, ask to release.

    Raises
    ------
    InputError
        If there is no such form of release.
    """
    name = getattr(options, OPTION)
    if not isinstance(name, str) or name not in RELEASES:
        known = f"{', '.join(map(repr, [*RELEASES][:-1]))} or {[*RELEASES][-1]!r}"
        raise InputError(f"{option(OPTION)} must be {known}, got {name!r}.", value=name)
    from dpstrata.survey.releases.rows import are_rows, kind_of_rows

    several = len(options.questions) > 1
    kind = kind_of_rows(name, several=several) if are_rows(options) else kind_of(name)
    return kind.asked_for(options)
