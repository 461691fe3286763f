"""Turns a command's file into text for the model: fills in the arguments, and runs the shell commands in it.

    $ARGUMENTS  $ARGUMENTS[0]  $0  $name     arguments; positions count from zero; `\\$0` is plain text
    !`command`                               the output of a command, at the start of a line or after a space
    ```! … ```                               the same for several lines

A shell command runs only if the rules allow it, together with the command's own `allowed-tools`; otherwise nothing runs
and the model is not asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from turnlog.agent.tools.command_file import CommandFile
from turnlog.errors import UsageError

_PLACEHOLDER_PATTERN = re.compile(r"(\\?)\$(?:ARGUMENTS\[(\d{1,3})\]|(ARGUMENTS)\b|(\d{1,3})(?!\w)|([A-Za-z_]\w*))")
_SHELL_PATTERN = re.compile(r"```!\s*\n?(.*?)\n?```|(?:(?<=\s)|^)!`([^`]+)`", re.DOTALL | re.MULTILINE)


class CommandRefused(UsageError):
    """A command that can't run."""


def fill_in_arguments(command: CommandFile, arguments: str, session_id: str) -> str:
    """Return the text of a command with its arguments; if it has no place for them, they follow it."""
    positions = _split_arguments(arguments)
    names = {name: number for number, name in enumerate(command.names)}
    used = False

    def fill(match: re.Match[str]) -> str:
        nonlocal used
        escaped, index, everything, number, name = match.groups()
        place = next((int(one) for one in (index, number) if one is not None), names.get(name or ""))
        if not everything and place is None:
            return match[0]
        if escaped:
            return match[0][1:]
        used = True
        if everything:
            return arguments
        return positions[place] if place is not None and place < len(positions) else match[0]

    text = _PLACEHOLDER_PATTERN.sub(fill, command.body)
    if not used and arguments.strip():
        text = f"{text}\n\nARGUMENTS: {arguments}"
    known = {
        "CLAUDE_PLUGIN_ROOT": command.plugin_root,
        "CLAUDE_SKILL_DIR": str(command.path.parent) if command.is_skill else "",
        "CLAUDE_SESSION_ID": session_id,
    }
    for name, value in known.items():
        if value:
            text = text.replace(f"${{{name}}}", value)
    head = f"Base directory for this skill: {command.path.parent}\n\n" if command.is_skill else ""
    return head + text


def _split_arguments(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without its pair
        return arguments.split()


def run_shell_parts(text: str, run: Callable[[str, str], str]) -> str:
    """Replace each shell command with what `run` returns for it and for the text that contains it.

    Each command is checked before the first one runs: see `find_shell_commands`.
    """
    return _SHELL_PATTERN.sub(lambda match: run(_get_command(match), match[0]), text)


def find_shell_commands(text: str) -> list[tuple[str, str]]:
    """Return the shell commands in a text, each with the text that contains it."""
    return [(_get_command(match), match[0]) for match in _SHELL_PATTERN.finditer(text)]


def _get_command(match: re.Match[str]) -> str:
    return str(match[2] if match[1] is None else match[1]).strip()
