"""What is wrong with a command, in one sentence that names options as they are typed."""

from __future__ import annotations

import re
from typing import Any

from dpstrata.cli.options import OPTIONS

_WANTED = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_NAMES = "|".join([*OPTIONS, "sample_sizes", "pilot_epsilon", "pilot_total", "key_file"])
# A name without underscore may be a plain word, unless a message begins with it, lists it or gives its value.
_LISTED = re.compile(
    rf"(?:^|\bone of |\bgot (?=\w+(?:,| and) ))(?:{_NAMES})(?:(?:, | and )(?:{_NAMES}))*(?![\w'=])"
)
_NAMED = re.compile(rf"(?<![\w'\"-])({_NAMES})\b(=?)")  # after a quotation mark it is someone's text


def as_typed(message: str) -> str:
    """Name options in a message of the library as they are typed on the command line.

    Examples
    --------
    >>> as_typed("a design needs one of total, at_most and target_se, got none of them.")
    'a design needs one of --total, --at-most and --target-se, got none of them.'
    >>> as_typed("total must be at most 34,000, the total of all strata, got total=99,999.")
    '--total must be at most 34,000, the total of all strata, got --total 99,999.'
    """
    message = _LISTED.sub(lambda found: _NAMED.sub(_flag, found[0]), message)
    return _NAMED.sub(lambda found: _flag(found) if found[2] or "_" in found[1] else found[0], message)


def _flag(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}"


def usage_in_words(error: Any) -> str:
    """Say what Typer found wrong with the arguments, and where the help is."""
    context = error.ctx
    hint = f" See {context.command_path} --help." if context is not None else ""
    sentence = _sentence(error)
    return f"{sentence}{'' if sentence.endswith(('.', '?')) else '.'}{hint}"


def _sentence(error: Any) -> str:
    said: str = error.format_message()
    parameter, cause = getattr(error, "param", None), error.__cause__
    if parameter is None or not hasattr(cause, "errors"):
        return said[:1].lower() + said[1:]
    name = max(parameter.opts, key=len) if parameter.opts[0].startswith("-") else parameter.name.upper()
    found = cause.errors()[0]
    choice = re.search(r"is not one of (.*)", found["msg"])
    if choice is not None:
        wanted = f"one of {choice[1].rstrip('.').replace(chr(39), '')}"
    elif found["type"] in _WANTED:
        wanted = _WANTED[found["type"]]
    else:
        return said
    return f"{name} must be {wanted}, got {found['input']!r}"
