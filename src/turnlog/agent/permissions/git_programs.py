"""Finds programs that git runs because a repository's or a person's settings name them.

Read-only git commands run without permission, and a few hooks and filters run with them (`core.fsmonitor`, `textconv`).
Therefore, changing files that the settings name requires permission. In an untrusted folder, the settings themselves
may come from someone else, for example in an archive; git then runs without permission only if they don't name a
program.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.permissions.repository import find_repository
from turnlog.agent.small_file import read_small_file

_MAX_CONFIG_BYTES = 1 << 20
_FOLDER_KEYS = frozenset({"hookspath", "path"})
"""Settings that name a folder, or a file with further settings (`include.path`)."""
_UNASKED_KEYS = frozenset("fsmonitor textconv command external clean process program promisor partialclone".split())
"""Settings that name programs run by read-only commands; in a partial clone, git runs any program set for fetching."""
_PROGRAM_KEYS = _UNASKED_KEYS | frozenset("smudge driver helper sshcommand askpass pager editor cmd".split())
_HARMLESS_VALUE = re.compile(r"(?i:true|false|yes|no|on|off|\d*)|git-lfs [a-z -]+(?:%f)?")
_HOOK = "post-index-change"
"""The only hook that read-only commands run."""
_OUTSIDE_PATH = re.compile(r"/[\w./ -]+")
_SUBMODULE_MODE = (0o160000).to_bytes(4, "big")
_MAX_INDEX_BYTES = 256 << 20
# Better too many than too few: any name before a `=` counts.
_SETTING = re.compile(r"(?<![a-z0-9-])([a-z][a-z0-9-]*)[ \t]*=(?=[ \t]*((?:\\\r?\n|[^\n]){0,8192}))", re.IGNORECASE)
"""A value that is longer names no file, and a line of many `=` would take as long as its length squared."""
_VALUE_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"?|([^"\\#;]+)|(\\.)|([#;].*)', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}
_MAX_SETTINGS = 20_000
_PIECE = re.compile(r"[^\s\"';&|()<>=]+")


class GitSetting(NamedTuple):
    key: str
    """The name in lower case, without its section."""
    value: str
    """The rest of the line: more than the value if there is a comment, because too much is better than too little."""
    file: Path
    decoded: str
    """The value as git reads it."""


def is_run_by_git(path: Path, root: Path, home: Path) -> bool:
    """Return whether git would run a file in a working folder or read settings from it."""
    return any(path == named or named in path.parents for named in _iterate_named_files(root, home))


def has_unknown_programs(folder: Path) -> bool:
    """Return whether a read-only git command would run a program that the folder's repository names."""
    repository = find_repository(folder)
    if repository is None:
        return False
    top, hooks = find_top_folder(folder), [repository.git_folder / "hooks"]
    for key, value, *_ in read_git_settings(list_config_files(repository.git_folder)):
        if key in _UNASKED_KEYS and not _HARMLESS_VALUE.fullmatch(value):
            return True
        if key == "path" and not _lies_elsewhere(value, top):
            return True
        hooks += [top / value] if key == "hookspath" else []
    return any(os.path.lexists(one / _HOOK) for one in hooks) or _has_submodule(repository.git_folder)


def _lies_elsewhere(value: str, top: Path) -> bool:
    """Return whether included settings are in a place that an archive could not have written to."""
    names = (os.path.normpath(value), os.path.realpath(value))
    return bool(_OUTSIDE_PATH.fullmatch(value)) and not any(Path(name).is_relative_to(top) for name in names)


def _has_submodule(git_folder: Path) -> bool:
    """Return whether git would enter a submodule, which has its own settings."""
    files = [git_folder / "index", *git_folder.glob("sharedindex.*")]
    return any(_SUBMODULE_MODE in _read_bytes(file, _MAX_INDEX_BYTES) for file in files)


def _iterate_named_files(root: Path, home: Path) -> Iterator[Path]:
    repository = find_repository(root)
    if repository is None:
        return
    files = [*list_config_files(repository.git_folder), home / ".gitconfig", home / ".config" / "git" / "config"]
    for key, value, file, _ in read_git_settings(files):
        pieces = [value] if key in _FOLDER_KEYS else _PIECE.findall(value) if key in _PROGRAM_KEYS else []
        yield from (
            path for piece in pieces for path in _resolve_name(piece, (find_top_folder(root), file.parent), home)
        )


def find_top_folder(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), folder)


def list_config_files(git_folder: Path) -> list[Path]:
    """Return the config files of a repository; a linked worktree shares those of its main worktree."""
    shared = git_folder / read_git_text(git_folder / "commondir").strip("\n")
    return [git_folder / "config", git_folder / "config.worktree", shared / "config"]


def read_git_settings(files: list[Path]) -> Iterator[GitSetting]:
    """Yield the settings in config files; raise OSError if there are too many, so that turnlog asks."""
    for file in files:
        for count, match in enumerate(_SETTING.finditer(read_git_text(file))):
            if count == _MAX_SETTINGS:
                raise OSError(errno.EFBIG, "too many settings", str(file))
            yield GitSetting(match[1].lower(), match[2].strip().strip('"'), file, _decode_value(match[2]))


def _decode_value(text: str) -> str:
    """Return a value as git reads it: without quotes and comments."""
    if not set('"\\#;') & set(text):
        return text.strip()
    pieces = _VALUE_PIECE.findall(text.replace("\\\r\n", "\\\n"))
    decoded = [_decode_escapes(quoted or plain or escape) for quoted, plain, escape, _ in pieces]
    return "".join(decoded).strip()


def _decode_escapes(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _resolve_name(name: str, folders: tuple[Path, ...], home: Path) -> Iterator[Path]:
    """Yield the files that a name may refer to in the given folders, with and without following links."""
    text = f"{home}{name[1:]}" if name.startswith("~/") else name
    for folder in folders:
        for path in (os.path.normpath(folder / text), os.path.realpath(folder / text)):
            if not folders[0].is_relative_to(path):  # the whole working folder is not a program
                yield Path(path)


def read_git_text(file: Path) -> str:
    return _read_bytes(file, _MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape")


def _read_bytes(file: Path, limit: int) -> bytes:
    """Return a file's content, or nothing if it is missing; raise if it can't be read, so that turnlog asks."""
    try:
        return read_small_file(file, limit)
    except (FileNotFoundError, NotADirectoryError):
        return b""
