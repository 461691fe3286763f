"""The branch of git that is checked out, read from git's own files: starting a process for each prompt costs more."""

from __future__ import annotations

import os
from pathlib import Path

from turnlog.entries.window import open_regular, read_at

_REF = "ref: refs/heads/"
_POINTER = "gitdir:"
_LONGEST = 4096
DETACHED = "HEAD"
"""What the client calls a commit that is checked out without a branch, and a folder that is in no repository."""


def branch(cwd: Path) -> str:
    """The branch that a folder is on."""
    for folder in (cwd, *cwd.parents):
        try:
            head = _first_line(_git_dir(folder / ".git") / "HEAD")
        except (OSError, ValueError):
            continue
        return head.removeprefix(_REF) if head.startswith(_REF) else DETACHED
    return DETACHED


def _git_dir(path: Path) -> Path:
    """The folder of git; in a worktree a file names it."""
    if path.is_dir():
        return path
    line = _first_line(path)
    if not line.startswith(_POINTER):
        raise ValueError("names no folder of git")
    return path.parent / line.removeprefix(_POINTER).strip()


def _first_line(path: Path) -> str:
    fd, _ = open_regular(path)
    try:
        return read_at(fd, 0, _LONGEST).partition(b"\n")[0].decode("utf-8", "replace").strip()
    finally:
        os.close(fd)
