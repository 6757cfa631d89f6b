"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from md_table import table

from dpstrata.cli import app

_KINDS = {int: "whole number", float: "number", str: "text", Path: "path", datetime: "date"}
_CODE_OR_FLAG = re.compile(r"`[^`]*`|(?<![\w-])--[a-z][a-z-]*")


def command_line_pages() -> str:
    """Describe every command with its arguments and options."""
    commands = _flat(typer.main.get_command(app))
    shown = {name: command for name, command in commands.items() if not command.hidden}
    overview = table(
        ["command", "what it does"],
        [[f"[`{n}`](#{n.replace(' ', '-')})", in_code(c.help)] for n, c in shown.items()],
    )
    return "\n\n".join([overview, *(_command(name, command) for name, command in shown.items())])


def _flat(group: Any, before: str = "") -> dict[str, Any]:
    """Return all commands, those of a group by two words."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inside = hasattr(command, "commands")
        found |= _flat(command, f"{before}{name} ") if inside else {before + name: command}
    return found


def in_code(words: str) -> str:
    """Mark the options that a help text names as code, or the site would make dashes of their hyphens.

    Examples
    --------
    >>> in_code("As --total, not `--at-most`.")
    'As `--total`, not `--at-most`.'
    """
    return _CODE_OR_FLAG.sub(lambda found: f"`{found[0].strip('`')}`", words)


def _command(name: str, command: Any) -> str:
    parameters = [each for each in command.params if not each.hidden]
    arguments = [each for each in parameters if not each.opts[0].startswith("-")]
    panels: dict[str, list[Any]] = {}
    for each in parameters:
        if each not in arguments:
            panels.setdefault(each.rich_help_panel or "Options", []).append(each)
    usage = " ".join(_argument(each) for each in arguments)
    parts = [f"## {name}", in_code(command.help), f"```text\ndpstrata {name} {usage} [OPTIONS]\n```"]
    parts.append(
        table(["argument", "meaning"], [[f"`{_argument(each)}`", in_code(each.help)] for each in arguments])
    )
    for panel, options in panels.items():
        parts.append(f"**{panel}**")
        parts.append(table(["option", "value", "default", "meaning"], map(_option, options)))
    return "\n\n".join(parts)


def _argument(parameter: Any) -> str:
    name = parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _option(option: Any) -> list[str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    kind, words = _kind(option), in_code(option.help or "")
    if isinstance(kind, list):
        kind, words = "choice", f"{words} One of {', '.join(f'`{value}`' for value in kind)}."
    several = ", may be repeated" if option.multiple else ""
    return [names, kind + several, _default(option), words]


def _kind(option: Any) -> str | list[str]:
    kind = option.type_descriptor.annotation
    kind = getattr(kind, "__args__", [kind])[0]
    if kind is bool:
        return "flag"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(each.value) for each in kind]
    return _KINDS[kind]


def _default(option: Any) -> str:
    default = option.default.value if isinstance(option.default, Enum) else option.default
    if option.required:
        return "required"
    if isinstance(default, bool):
        return ("on" if default else "off") if option.secondary_opts else ""
    return "" if default is None or default == [] else f"`{default}`"
