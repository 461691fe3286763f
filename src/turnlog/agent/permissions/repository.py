"""Finds the repository that git would use in a folder, and detects writes that would create one.

A repository's settings decide which programs git runs (`core.fsmonitor`, `diff.external`, hooks), and git uses the
nearest repository in the folder or its parents: a `.git` folder, a `.git` file that names a different folder, or a
folder that itself has the layout of `.git`. Therefore, git runs without permission only where it would use the
repository of a trusted folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

_MAX_GITFILE_BYTES = 8192
_REPOSITORY_MARKS = frozenset({"head", "commondir"})
"""Every layout that git accepts as a repository has a HEAD; `commondir` names the folder with the rest."""
REPOSITORY_NAMES = _REPOSITORY_MARKS | frozenset(
    "config config.worktree gitdir hooks index info modules objects packed-refs refs worktrees .git".split()
)
"""Names that git reads in a repository."""


class Repository(NamedTuple):
    """A repository that git would find."""

    git_folder: Path
    """The folder that contains the settings, with links resolved."""
    is_bare: bool = False
    """Whether it has no `.git`, so that any folder in a checkout may be such a repository."""


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that git would use in a folder; if in doubt, return anything that looks like one."""
    real = _resolve_real_path(folder)  # git searches upwards from the real path
    for path in (real, *real.parents):
        found = path / ".git"
        if found.is_file():
            return Repository(_read_gitfile_folder(found))
        if _has_name(found, "HEAD") and (
            _has_name(found, "commondir") or (_has_name(found, "refs") and _has_name(found, "objects"))
        ):
            return Repository(_resolve_real_path(found))
        # Git requires more than a HEAD, but links and `commondir` can provide that later, so this is enough.
        if _has_name(path, "HEAD") and any(_has_name(path, name) for name in ("commondir", "refs", "objects")):
            return Repository(_resolve_real_path(path), is_bare=True)
    return None


def is_trusted_repository(folder: Path, trusted: Iterable[Path]) -> bool:
    """Return whether git would use a trusted folder's repository, one of its submodules, or no repository."""
    repository = find_repository(folder)
    if repository is None:
        return True
    own = [one.git_folder for one in map(find_repository, trusted) if one and not one.is_bare]
    return not repository.is_bare and any(repository.git_folder.is_relative_to(one) for one in own)


def completes_repository(path: Path, names: Sequence[str]) -> bool:
    """Return whether writing to a path creates or changes a repository; `names` are its parts, case-folded."""
    if names and names[-1] in _REPOSITORY_MARKS:
        return True
    beside = zip(path.parents, reversed(names), strict=False)
    return any(name in REPOSITORY_NAMES and _has_name(folder, "HEAD") for folder, name in beside)


def _has_name(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)  # git also accepts a dangling HEAD link


def _read_gitfile_folder(file: Path) -> Path:
    """Return the folder that a `.git` file names."""
    with file.open("rb") as stream:
        text = stream.read(_MAX_GITFILE_BYTES).decode("utf-8", "surrogateescape")
    # As in git, spaces around the name are part of it.
    return _resolve_real_path(file.parent / text.removeprefix("gitdir: ").rstrip("\r\n"))


def _resolve_real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))
