"""Which repository a working folder belongs to, if it is a git worktree.

The client makes worktrees in `<repository>/.claude/worktrees/<name>`: the path tells, even if the folder is gone. Of
others, the file `.git` tells: it names `<repository>/.git/worktrees/<name>`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from turnlog.store.insight.family import Worktree

_CLIENT_WORKTREE = re.compile(r"(.+?)[/\\]\.claude[/\\]worktrees[/\\]([^/\\]+)(?:[/\\].*)?", re.DOTALL)
_GIT_POINTER = re.compile(r"gitdir:\s*(.+?)[/\\]worktrees[/\\]([^/\\]+)")
_MAX_POINTER_BYTES = 4096


def find_worktrees(folders: Iterable[str]) -> dict[str, Worktree]:
    """The worktrees among some working folders."""
    found: dict[str, Worktree] = {}
    known: dict[str, Worktree | None] = {}
    for folder in set(folders):
        home = _match_worktree_path(folder) or _find_by_pointer(folder, known)
        if home is not None:
            found[folder] = home
    return found


def _match_worktree_path(folder: str) -> Worktree | None:
    made = _CLIENT_WORKTREE.fullmatch(folder)
    return Worktree(made[1], made[2]) if made else None


def _find_by_pointer(folder: str, known: dict[str, Worktree | None]) -> Worktree | None:
    """What the nearest `.git` at or above a folder says."""
    passed: list[str] = []
    home: Worktree | None = None
    while os.path.isabs(folder):  # noqa: PTH117 - thousands of them: plain strings are faster
        if folder in known:
            home = known[folder]
            break
        passed.append(folder)
        pointer = os.path.join(folder, ".git")  # noqa: PTH118
        if os.path.lexists(pointer):
            home = _read_pointer(Path(pointer))
            break
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            break
        folder = above
    known.update(dict.fromkeys(passed, home))
    return home


def _read_pointer(pointer: Path) -> Worktree | None:
    """The repository that a `.git` file points to; None for a folder, a submodule, and what can't be read."""
    try:
        if not pointer.is_file():
            return None
        with pointer.open("rb") as file:
            text = file.read(_MAX_POINTER_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    found = _GIT_POINTER.fullmatch(text.strip())
    if found is None:
        return None
    inside = os.path.normpath(os.path.join(pointer.parent, found[1]))  # noqa: PTH118 - it may be relative
    repository = os.path.dirname(inside) if os.path.basename(inside) == ".git" else inside  # noqa: PTH119, PTH120
    return Worktree(repository, found[2])
