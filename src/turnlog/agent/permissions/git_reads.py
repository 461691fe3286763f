"""Finds files outside a repository that the repository makes git read, and so perhaps print.

The settings of a repository can name any file (`core.worktree`, `blame.ignoreRevsFile`, `include.path`), and so can a
link in `.git`, a list of alternates, or a `.git` file. Commands that don't name such a file would print it, so each of
them counts as a file that git reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.permissions.git_programs import (
    find_top_folder,
    list_config_files,
    read_git_settings,
    read_git_text,
)
from turnlog.agent.permissions.repository import find_repository

_UNREAD_KEYS = frozenset(
    "url pushurl insteadof pushinsteadof fetch push merge remote rebase hookspath helper sshcommand askpass pager "
    "editor cmd command external textconv clean smudge process driver program fsmonitor gitproxy sslcainfo sslcapath "
    "templatedir uploadpack receivepack name email signingkey repo".split()
)
"""Settings whose values are programs, addresses or words, not files that a read-only command prints."""
_OWN_FOLDER_KEYS = frozenset({"worktree", "path"})
"""Settings that are relative to the file in which they are; others are relative to the top folder."""
_UNREADABLE_PREFIXES = ("%(prefix)", "~")
_READ_IN_TREE = (".mailmap", ".gitattributes", ".gitignore")
_PRUNED_FOLDERS = frozenset({"lfs"})
_KEPT_OBJECT_FOLDERS = frozenset({"info", "pack"})
_MAX_INCLUDED_FILES = 50
_MAX_GIT_ENTRIES = 50_000
_MAX_ALTERNATES = 100


class RepositoryReads(NamedTuple):
    """What git reads in a folder besides the files that a command names."""

    files: tuple[tuple[str, Path], ...] = ()
    """Names, each with the folder that it is relative to."""
    own: tuple[Path, ...] = ()
    """Folders that belong to the repository, which may be above the working folder."""


def find_repository_reads(folder: Path, home: Path) -> RepositoryReads:
    """Return the files that the repository of a folder makes git read."""
    repository = find_repository(folder)
    if repository is None:
        return RepositoryReads()
    top, git_folder = find_top_folder(Path(os.path.realpath(folder))), repository.git_folder
    common = _find_common_folder(git_folder)
    own = [top, *_list_own_git_folders(top, git_folder, common)]
    folders = dict.fromkeys([git_folder, common])
    config_files = [*list_config_files(git_folder)]
    found = [(str(one), top) for one in folders if one not in own]
    for one in folders:
        links, nested = _scan_git_folder(one)
        found += [(str(link), one) for link in links]
        config_files += nested
        found += _list_alternates(one / "objects")
    found += [(name, top) for name in _READ_IN_TREE if (top / name).is_symlink()]
    found += _list_named_files(config_files, top, home)
    return RepositoryReads(tuple(dict.fromkeys(found)), tuple(own))


def _find_common_folder(git_folder: Path) -> Path:
    named = read_git_text(git_folder / "commondir").strip("\n")
    return Path(os.path.realpath(git_folder / named)) if named else git_folder


def _list_own_git_folders(top: Path, git_folder: Path, common: Path) -> list[Path]:
    """Return the folders of a repository that refer back to the folder that names them.

    A `.git` file can name anybody's repository; that of a linked worktree or a submodule names this folder in turn.
    """
    dot = top / ".git"
    if git_folder == Path(os.path.realpath(top)) / ".git":
        return [git_folder]
    names_worktree = read_git_text(git_folder / "gitdir").strip("\n")
    if names_worktree and os.path.realpath(git_folder / names_worktree) == os.path.realpath(dot):
        # The main worktree is where submodules have theirs.
        return [git_folder, common, common.parent] if git_folder.parent.parent == common else [git_folder]
    worktrees = [one.decoded for one in read_git_settings([git_folder / "config"]) if one.key == "worktree"]
    if dot.is_file() and any(os.path.realpath(git_folder / one) == os.path.realpath(top) for one in worktrees):
        return [git_folder]
    return []


def _scan_git_folder(git_folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the links in a git folder, and the config files of the repositories of submodules in it."""
    links: list[Path] = []
    nested: list[Path] = []
    count = 0
    for path, folders, files in os.walk(git_folder):
        count += len(folders) + len(files)
        if count > _MAX_GIT_ENTRIES:
            return [Path("/")], []  # too many to check: treat them as all files
        here = Path(path)
        links += [here / name for name in (*folders, *files) if (here / name).is_symlink()]
        if here != git_folder:
            nested += [here / name for name in ("config", "config.worktree") if name in files]
        if here.name == "objects":
            folders[:] = [name for name in folders if name in _KEPT_OBJECT_FOLDERS]
        folders[:] = [name for name in folders if name not in _PRUNED_FOLDERS]
    return links, nested


def _list_alternates(objects: Path) -> list[tuple[str, Path]]:
    """Return the folders from which git takes further objects."""
    lines = read_git_text(objects / "info" / "alternates").splitlines()
    return [(line.strip('"'), objects) for line in islice(lines, _MAX_ALTERNATES) if line and line[0] != "#"]


def _list_named_files(files: list[Path], top: Path, home: Path) -> Iterator[tuple[str, Path]]:
    """Yield the existing files that settings name, also those in included files."""
    queue = list(dict.fromkeys(files))
    for file in queue:
        for key, _, _, value in read_git_settings([file]):
            if key in _UNREAD_KEYS or not value or "\0" in value:
                continue
            name = value.removeprefix(":(optional)")
            base = file.parent if key in _OWN_FOLDER_KEYS else top
            path = base / (f"{home}{name[1:]}" if name.startswith("~/") else name)
            if name.startswith(_UNREADABLE_PREFIXES) and not name.startswith("~/"):
                yield ("/", top)  # only git knows this folder
            elif _exists(path):
                yield (name, base)
            if key == "path" and path.is_file() and path not in queue:
                if len(queue) >= _MAX_INCLUDED_FILES:
                    yield ("/", top)
                    return
                queue.append(path)


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False
