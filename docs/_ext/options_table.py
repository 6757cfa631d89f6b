"""The table of options, from the one place where each is stated."""

from __future__ import annotations

import math

from md_table import table

from dpstrata.survey.options import OPTIONS, Group, Option, written

_TITLES: dict[Group, str] = {
    "goal": "The goal",
    "privacy": "The promise and the noise",
    "survey": "The survey",
    "limits": "Limits of every stratum",
}
_SHOWN = 15  # powers of ten; bounds beyond only keep numbers within what a computer can hold


def option_tables() -> str:
    """Describe every option, by group."""
    parts = []
    for group, title in _TITLES.items():
        rows = [_row(each) for each in OPTIONS.values() if each.group == group]
        parts += [f"**{title}**", table(["option", "value", "default", "meaning"], rows)]
    return "\n\n".join(parts)


def _row(option: Option) -> list[str]:
    default = "" if option.default is None else f"`{option.default!r}`"
    return [f"`{option.name}`", _value(option), default, option.sentence]


def _value(option: Option) -> str:
    """Say what can be given.

    Examples
    --------
    >>> _value(OPTIONS["total"]), _value(OPTIONS["max_fraction"]), _value(OPTIONS["budget"])
    ('whole number, at least 1', 'number, above 0, at most 1', 'number, above 0')
    """
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    if not option.number:
        return "`True` or `False`" if option.kind is bool else "see below"
    least, most = (
        written(bound) if bound is not None and abs(math.log10(bound or 1)) < _SHOWN else None
        for bound in (option.least, option.most)
    )
    above = option.above if option.least is None or least is not None else 0
    limits = [f"{least} to {most}"] if least is not None and most is not None else []
    if not limits:
        limits += [] if least is None else [f"at least {least}"]
        limits += [] if above is None else [f"above {written(above)}"]
        limits += [] if most is None else [f"at most {most}"]
    return ", ".join(["whole number" if option.whole else "number", *limits])
