"""Which repository git would use in a folder, and which writes would make a folder one.

The settings of a repository say what git runs (`core.fsmonitor`, `diff.external`, hooks), and git takes the nearest one
that it finds on its way up: a `.git` folder, a `.git` file that names another folder, or a folder that is itself laid
out like `.git`. So git runs unasked only where it would find the repository of a folder that is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

_MAX_GITFILE_BYTES = 8192
_REPOSITORY_MARKS = frozenset({"head", "commondir"})
"""Every layout that git takes for a repository has a HEAD; a `commondir` says where the rest of it lies."""
REPOSITORY_NAMES = _REPOSITORY_MARKS | frozenset(
    "config config.worktree gitdir hooks index info modules objects packed-refs refs worktrees .git".split()
)
"""What git reads in a repository."""


class Repository(NamedTuple):
    """A repository that git would find."""

    git_folder: Path
    """Where its settings lie, with links followed."""
    is_bare: bool = False
    """It was found without a `.git`, so that any folder of a checkout may be one."""


def find_repository(folder: Path) -> Repository | None:
    """The repository that git would use in a folder; in doubt, what looks like one counts."""
    real = _resolve_real_path(folder)  # git goes up from there, whatever links led to it
    for path in (real, *real.parents):
        found = path / ".git"
        if found.is_file():
            return Repository(_read_gitfile_folder(found))
        if _has_name(found, "HEAD") and (
            _has_name(found, "commondir") or (_has_name(found, "refs") and _has_name(found, "objects"))
        ):
            return Repository(_resolve_real_path(found))
        # Git wants more than this of a HEAD, and finds it by links and by `commondir`: a guess would be too late.
        if _has_name(path, "HEAD") and any(_has_name(path, name) for name in ("commondir", "refs", "objects")):
            return Repository(_resolve_real_path(path), is_bare=True)
    return None


def is_trusted_repository(folder: Path, trusted: Iterable[Path]) -> bool:
    """Whether git would use, in a folder, the repository of one that is trusted, or one of its submodules or none."""
    found = find_repository(folder)
    if found is None:
        return True
    own = [one.git_folder for one in map(find_repository, trusted) if one and not one.is_bare]
    return not found.is_bare and any(found.git_folder.is_relative_to(one) for one in own)


def completes_repository(path: Path, names: Sequence[str]) -> bool:
    """Whether writing to a path makes its folder a repository, or changes one; `names` are its parts, case folded."""
    if names and names[-1] in _REPOSITORY_MARKS:
        return True
    beside = zip(path.parents, reversed(names), strict=False)
    return any(name in REPOSITORY_NAMES and _has_name(folder, "HEAD") for folder, name in beside)


def _has_name(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)  # git takes a HEAD that leads nowhere for one too


def _read_gitfile_folder(file: Path) -> Path:
    """The folder that a `.git` file names."""
    with file.open("rb") as stream:
        text = stream.read(_MAX_GITFILE_BYTES).decode("utf-8", "surrogateescape")
    # As git does it: a blank before the name or behind it is part of the name.
    return _resolve_real_path(file.parent / text.removeprefix("gitdir: ").rstrip("\r\n"))


def _resolve_real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))
