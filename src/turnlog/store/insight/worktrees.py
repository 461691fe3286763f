"""Finds the repository that a folder belongs to, if the folder is a git worktree.

Claude Code creates worktrees in `<repository>/.claude/worktrees/<name>`, so the path identifies them even if the folder
was deleted. For other worktrees, the `.git` file points to `<repository>/.git/worktrees/<name>`.
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
    worktrees: dict[str, Worktree] = {}
    known: dict[str, Worktree | None] = {}
    for folder in set(folders):
        home = _match_worktree_path(folder) or _find_by_pointer(folder, known)
        if home is not None:
            worktrees[folder] = home
    return worktrees


def _match_worktree_path(folder: str) -> Worktree | None:
    match = _CLIENT_WORKTREE.fullmatch(folder)
    return Worktree(match[1], match[2]) if match else None


def _find_by_pointer(folder: str, known: dict[str, Worktree | None]) -> Worktree | None:
    """Find the repository by the nearest `.git` at or above a folder."""
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
    """Return the repository that a `.git` file points to; None for a folder, a submodule or an unreadable file."""
    try:
        if not pointer.is_file():
            return None
        with pointer.open("rb") as file:
            text = file.read(_MAX_POINTER_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    match = _GIT_POINTER.fullmatch(text.strip())
    if match is None:
        return None
    inside = os.path.normpath(os.path.join(pointer.parent, match[1]))  # noqa: PTH118 - it may be relative
    repository = os.path.dirname(inside) if os.path.basename(inside) == ".git" else inside  # noqa: PTH119, PTH120
    return Worktree(repository, match[2])
