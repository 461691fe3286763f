"""Completes names of commands (`/com`) and files (`@src/ma`) on the input line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from turnlog.agent.loop import AgentLoop
from turnlog.agent.slash_commands import SLASH_COMMANDS
from turnlog.render.terminal import make_visible

MAX_COMPLETIONS = 200
_MAX_SCANNED_FILES = 20_000


def complete_word(loop: AgentLoop, word: str, *, is_first: bool) -> list[str]:
    """Return what a word can be completed to, in order; `is_first` says whether it begins the input."""
    if word.startswith("/") and is_first:
        return _complete_command(loop, word[1:])
    if word.startswith("@"):
        return _complete_path(loop.setup.place.root, word[1:])
    return []


def _complete_command(loop: AgentLoop, start: str) -> list[str]:
    custom = (name for name, command in loop.setup.commands.items() if command.is_for_people)
    names = {name for name in (*SLASH_COMMANDS, *custom) if name.startswith(start) and _is_plain(name)}
    return [f"/{name} " for name in sorted(names)]


def _complete_path(root: Path, typed: str) -> list[str]:
    """Complete a path relative to the folder; hidden names are offered only if a dot was typed."""
    is_quoted = typed.startswith('"')
    typed = typed.removeprefix('"')
    _, _, start = typed.rpartition("/")
    place = root / Path(typed[: len(typed) - len(start)]).expanduser()
    return [
        _quote_path(f"{typed[: len(typed) - len(start)]}{name}", is_quoted=is_quoted)
        for name in sorted(_list_names(place, start))[:MAX_COMPLETIONS]
    ]


def _list_names(folder: Path, start: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_MAX_SCANNED_FILES), entries, strict=False):
                name = entry.name
                is_wanted = name.startswith(start) and (start.startswith(".") or not name.startswith("."))
                if is_wanted and _is_plain(name):
                    yield f"{name}/" if entry.is_dir() else name
    except OSError:
        return


def _quote_path(path: str, *, is_quoted: bool) -> str:
    """Quote a path with spaces; a complete file is followed by a space, and a folder by nothing."""
    end = "" if path.endswith("/") else " "
    if not is_quoted and " " not in path:
        return f"@{path}{end}"
    return f'@"{path}' if not end else f'@"{path}"{end}'


def _is_plain(name: str) -> bool:
    """Return whether a name shows all that it contains and can be typed."""
    return make_visible(name) == name and '"' not in name
