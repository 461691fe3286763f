"""Programs that git runs because the settings of a repository, or of the person, name them.

Git commands that only show something run unasked, and with them a few hooks and filters (`core.fsmonitor`, `textconv`).
So the files of a working folder that settings name are not changed unasked. In a folder that nobody trusts, even the
settings may be somebody else's, because they came in an archive: git runs unasked there only if they name nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.permissions.repository import find_repository
from turnlog.agent.small_file import read_small_file

_MAX_CONFIG_BYTES = 1 << 20
_FOLDER_KEYS = frozenset({"hookspath", "path"})
"""What names a folder, or a file with further settings (`include.path`)."""
_UNASKED_KEYS = frozenset("fsmonitor textconv command external clean process program promisor partialclone".split())
"""What commands that only show something run; from a partial clone they fetch, by any program that is set for it."""
_PROGRAM_KEYS = _UNASKED_KEYS | frozenset("smudge driver helper sshcommand askpass pager editor cmd".split())
_HARMLESS_VALUE = re.compile(r"(?i:true|false|yes|no|on|off|\d*)|git-lfs [a-z -]+(?:%f)?")
_HOOK = "post-index-change"
"""The only hook that such commands run."""
_OUTSIDE_PATH = re.compile(r"/[\w./ -]+")
_SUBMODULE_MODE = (0o160000).to_bytes(4, "big")
_MAX_INDEX_BYTES = 256 << 20
# Rather too many: whatever stands before a `=` counts, wherever it stands.
_SETTING = re.compile(r"(?<![a-z0-9-])([a-z][a-z0-9-]*)[ \t]*=(?=[ \t]*((?:\\\r?\n|[^\n])*))", re.IGNORECASE)
_PIECE = re.compile(r"[^\s\"';&|()<>=]+")


class _Setting(NamedTuple):
    key: str
    """In small letters, without its section."""
    value: str
    file: Path


def is_run_by_git(path: Path, root: Path, home: Path) -> bool:
    """Whether git, in a working folder, would run a file or read its settings from it."""
    return any(path == named or named in path.parents for named in _named_files(root, home))


def has_unknown_programs(folder: Path) -> bool:
    """Whether a git command that only shows something would run what the repository of a folder itself names."""
    found = find_repository(folder)
    if found is None:
        return False
    top, hooks = _top(folder), [found.git_folder / "hooks"]
    for key, value, _ in _settings(_own_files(found.git_folder)):
        if key in _UNASKED_KEYS and not _HARMLESS_VALUE.fullmatch(value):
            return True
        if key == "path" and not _lies_elsewhere(value, top):
            return True
        hooks += [top / value] if key == "hookspath" else []
    return any(os.path.lexists(one / _HOOK) for one in hooks) or _has_submodule(found.git_folder)


def _lies_elsewhere(value: str, top: Path) -> bool:
    """Whether further settings lie where an archive could not put them."""
    names = (os.path.normpath(value), os.path.realpath(value))
    return bool(_OUTSIDE_PATH.fullmatch(value)) and not any(Path(name).is_relative_to(top) for name in names)


def _has_submodule(git_folder: Path) -> bool:
    """Whether git would look into another repository, with settings of its own."""
    files = [git_folder / "index", *git_folder.glob("sharedindex.*")]
    return any(_SUBMODULE_MODE in _read_bytes(file, _MAX_INDEX_BYTES) for file in files)


def _named_files(root: Path, home: Path) -> Iterator[Path]:
    found = find_repository(root)
    if found is None:
        return
    files = [*_own_files(found.git_folder), home / ".gitconfig", home / ".config" / "git" / "config"]
    for key, value, file in _settings(files):
        pieces = [value] if key in _FOLDER_KEYS else _PIECE.findall(value) if key in _PROGRAM_KEYS else []
        yield from (path for piece in pieces for path in _places(piece, (_top(root), file.parent), home))


def _top(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), folder)


def _own_files(git_folder: Path) -> list[Path]:
    """The settings of a repository; those of a linked worktree lie in the one that it belongs to."""
    shared = git_folder / _read_text(git_folder / "commondir").strip("\n")
    return [git_folder / "config", git_folder / "config.worktree", shared / "config"]


def _settings(files: list[Path]) -> Iterator[_Setting]:
    for file in files:
        for key, value in _SETTING.findall(_read_text(file)):
            yield _Setting(key.lower(), value.strip().strip('"'), file)


def _places(name: str, folders: tuple[Path, ...], home: Path) -> Iterator[Path]:
    """The files that a name may mean in some folders, by the name and with links followed."""
    text = f"{home}{name[1:]}" if name.startswith("~/") else name
    for folder in folders:
        for path in (os.path.normpath(folder / text), os.path.realpath(folder / text)):
            if not folders[0].is_relative_to(path):  # the whole working folder is no program
                yield Path(path)


def _read_text(file: Path) -> str:
    return _read_bytes(file, _MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape")


def _read_bytes(file: Path, limit: int) -> bytes:
    """What a file holds; nothing if there is none. One that can't be read is an error, and so is asked about."""
    try:
        return read_small_file(file, limit)
    except (FileNotFoundError, NotADirectoryError):
        return b""
