"""What is wrong with a command, in one sentence that names options as they are typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from dpstrata.errors import Mention, Sentence

_WANTED = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_QUOTED = "'\"(["


def flag(mention: Mention) -> str:
    """Name an option as it is typed on the command line.

    Examples
    --------
    >>> flag(Mention("at_most", "9,000"))
    '--at-most 9,000'
    >>> flag(Mention("mechanism", "'gaussian'")), flag(Mention("clip", "True"))
    ('--mechanism gaussian', '--clip')
    >>> flag(Mention("answers", "(0, 100, 1)")), flag(Mention("sample_sizes", "[50, 60]"))
    ('--answers 0:100:1', '--sample-sizes 50,60')
    """
    match mention.value:
        case None | "True":
            return _flag(mention.name)
        case "False":
            return f"--no-{mention.name.replace('_', '-')}"
        case text if text[:1] in _QUOTED:
            return f"{_flag(mention.name)} {_typed(ast.literal_eval(text))}"
        case number:
            return f"{_flag(mention.name)} {number}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _typed(value: Any) -> str:
    between = ":" if isinstance(value, tuple) else ","
    return between.join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def in_flags(sentence: str, names: Iterable[str] = ()) -> str:
    """Write a sentence of the library with options as they are typed.

    ``names`` are those of a message that does not mention its options, for :func:`as_typed`.
    """
    if isinstance(sentence, Sentence) and sentence.mentions:
        return sentence.worded(flag)
    return as_typed(sentence, names)


# --- until every message mentions its options -----------------------------------------------------


_VERBS = "must|needs|asks|is for|requires|and|go|does|lies"


def as_typed(message: str, names: Iterable[str]) -> str:
    """Name options in a message of the library as they are typed on the command line.

    Parameters
    ----------
    message : str
        What the library says.
    names : iterable of str
        The options of the command, as arguments of the library.

    Examples
    --------
    >>> names = ["total", "at_most", "mechanism", "answers"]
    >>> as_typed("a design needs one of total, at_most, got none of them.", names)
    'a design needs one of --total, --at-most, got none of them.'
    >>> as_typed("total must be at most 34,000, the total of all strata, got total=99,999.", names)
    '--total must be at most 34,000, the total of all strata, got --total 99,999.'
    >>> as_typed("answers.csv has no column 'total'; use mechanism='gaussian'.", names)
    "answers.csv has no column 'total'; use --mechanism gaussian."
    """
    known = "|".join(sorted(names, key=len, reverse=True))
    if not known:
        return message
    # Next to a quotation mark, a point, a slash or a hyphen a name is part of someone's own text.
    name = rf"(?<![\w'\"./-])(?:{known})(?![\w'\"/-]|\.\w)"
    # Without a value or an underscore it may be a plain word, unless a sentence begins with it or lists it.
    first = rf"^{name}(?= (?:{_VERBS})\b)"
    listed = rf"\b(?:one of|got|remove) {name}(?:(?:, | and | or ){name})*(?=[,.]| too| alone)"
    message = re.sub(rf"({name})='([^']*)'", lambda found: f"{_flag(found[1])} {found[2]}", message)
    message = re.sub(rf"({name})=", lambda found: f"{_flag(found[1])} ", message)
    message = re.sub(
        f"{first}|{listed}", lambda found: re.sub(name, lambda each: _flag(each[0]), found[0]), message
    )
    return re.sub(name, lambda found: _flag(found[0]) if "_" in found[0] else found[0], message)


# --- what Typer finds -------------------------------------------------------------------------------


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
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        wanted = f"one of {', '.join(str(each.value) for each in kind)}"
    elif found["type"] in _WANTED:
        wanted = _WANTED[found["type"]]
    else:
        return said
    return f"{name} must be {wanted}, got {found['input']!r}"
