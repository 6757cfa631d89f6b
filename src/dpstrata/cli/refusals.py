"""What is wrong with a command, in one sentence that names options as they are typed."""

from __future__ import annotations

import ast
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
    >>> flag(Mention("questions", "(0, 100, 1)")), flag(Mention("sample_sizes", "[50, 60]"))
    ('--questions 0:100:1', '--sample-sizes 50,60')
    """
    match mention.value:
        case None | "True":
            return _flag(mention.name)
        case "False":
            return f"--no-{mention.name.replace('_', '-')}"
        case text if text[:1] in _QUOTED:
            return f"{_flag(mention.name)} {_typed(text)}"
        case number:
            return f"{_flag(mention.name)} {number}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _typed(text: str) -> str:
    """Write a value as it is typed; what nobody could type is left as Python writes it."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    if isinstance(value, tuple | list):
        return (":" if isinstance(value, tuple) else ",").join(map(str, value))
    return value if isinstance(value, str) and value.isprintable() and value else text


def in_flags(sentence: str) -> str:
    """Write a sentence of the library with the options that it mentions as they are typed."""
    return sentence.worded(flag) if isinstance(sentence, Sentence) else sentence


# --- what Typer finds -------------------------------------------------------------------------------


def usage_in_words(error: Any) -> str:
    """Say what Typer found wrong with the arguments, and where the help is."""
    context = error.ctx
    hint = f" See {context.command_path} --help." if context is not None else ""
    sentence = _sentence(error)
    return f"{sentence}{'' if sentence.endswith(('.', '?')) else '.'}{hint}"


def _sentence(error: Any) -> str:
    said: str = error.format_message() or "missing survey or command"
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
