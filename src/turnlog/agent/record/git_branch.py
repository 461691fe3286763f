"""Reads the current git branch from git's own files, which is cheaper than starting a process for each prompt."""

from __future__ import annotations

import os
from pathlib import Path

from turnlog.entries.file_ends import open_regular_file, read_at

_HEAD_REF_PREFIX = "ref: refs/heads/"
_GITDIR_PREFIX = "gitdir:"
_MAX_HEAD_BYTES = 4096
DETACHED_HEAD = "HEAD"
"""The client's name for a detached HEAD, and for a folder outside any repository."""


def read_git_branch(cwd: Path) -> str:
    for folder in (cwd, *cwd.parents):
        try:
            head = _read_first_line(_find_git_dir(folder / ".git") / "HEAD")
        except (OSError, ValueError):
            continue
        return head.removeprefix(_HEAD_REF_PREFIX) if head.startswith(_HEAD_REF_PREFIX) else DETACHED_HEAD
    return DETACHED_HEAD


def _find_git_dir(path: Path) -> Path:
    """Return the git folder; in a worktree, the file `.git` names it."""
    if path.is_dir():
        return path
    line = _read_first_line(path)
    if not line.startswith(_GITDIR_PREFIX):
        raise ValueError("not a reference to a git folder")
    return path.parent / line.removeprefix(_GITDIR_PREFIX).strip()


def _read_first_line(path: Path) -> str:
    fd, _ = open_regular_file(path)
    try:
        return read_at(fd, 0, _MAX_HEAD_BYTES).partition(b"\n")[0].decode("utf-8", "replace").strip()
    finally:
        os.close(fd)
