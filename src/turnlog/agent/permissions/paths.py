"""Matches paths against rules: handles all names of a file, rule patterns and protected files."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.permissions.repository import completes_repository
from turnlog.agent.permissions.rules import PermissionRule

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PROTECTED_FOLDERS = frozenset(
    ".git .hg .jj .svn .claude .vscode .idea .husky .cargo .devcontainer .yarn .mvn .ssh .gnupg .config "
    ".githooks".split()
)
"""Folders whose files control what programs run."""
PROTECTED_FILES = frozenset(
    ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zprofile .zshenv "
    ".zlogin .zlogout .profile .envrc .npmrc .yarnrc .yarnrc.yml .pypirc .netrc .ripgreprc .mcp.json .claude.json "
    ".inputrc .pre-commit-config.yaml bunfig.toml .bazelrc .pythonrc .pdbrc .irbrc .pryrc .rprofile .gdbinit .lldbinit "
    ".exrc .vimrc .nvimrc .tmux.conf .screenrc .cshrc .tcshrc .kshrc .login .xprofile .xinitrc .xsession .hgrc".split()
)

_MAX_STEPS = 4096
"""The maximum number of names and links to follow when resolving a path."""


def list_spellings(name: str, base: Path, home: Path) -> tuple[Path, ...]:
    """Return a file's name and its names after links are followed, both before and after resolving `..`.

    A link into `/proc` resolves differently in each process, so its target as a command would see it is not known. In
    that case, the path in `/proc` is one of the names.
    """
    text = str(home) + name[1:] if name == "~" or name.startswith(("~/", "~\\")) else name
    path = base / (os.path.expanduser(text) if text.startswith("~") else text)  # noqa: PTH111 - keeps the names of unknown users
    plain = os.path.normpath(path)
    real = [os.path.realpath(plain), os.path.realpath(path)]
    linked = [_find_process_path(Path(one)) for one in (plain, path)] if {*real} != {plain} else []
    return tuple(dict.fromkeys(Path(one) for one in (plain, *real, *linked) if one))


def is_of_process(path: Path) -> bool:
    """Return whether a path is in `/proc`."""
    return path.parts[:2] == (os.sep, "proc")


def _find_process_path(path: Path) -> Path | None:
    """Return the first path in `/proc` that a path passes through, followed by the rest of the path."""
    here, rest = Path(path.anchor), [*reversed(path.parts[1:])]
    for _ in range(_MAX_STEPS):
        if not rest:
            return None
        name = rest.pop()
        here = here.parent if name == ".." else here / name
        if is_of_process(here):
            return here.joinpath(*reversed(rest))
        if here.is_symlink():
            target = here.readlink()
            here = Path(target.anchor) if target.anchor else here.parent
            rest += [*reversed(target.parts[1:] if target.anchor else target.parts)]
    return Path("/proc")  # in doubt, assume that it leads there


def lies_within(path: Path, folders: Iterable[Path]) -> bool:
    """Return whether a path is inside one of the folders."""
    return any(path.is_relative_to(name) for folder in folders for name in _list_folder_names(folder))


def is_protected(path: Path) -> bool:
    """Return whether a file controls what other programs run."""
    names = [fold_file_name(part).rstrip(". ") for part in path.parts]
    if sys.platform == "win32" and any(":" in part or re.search(r"~\d", part) for part in path.parts[1:]):
        return True  # streams and short names
    if not PROTECTED_FOLDERS.isdisjoint(names) or not PROTECTED_FILES.isdisjoint(names[-1:]):
        return True
    if completes_repository(path, names):
        return True
    folders, above = _list_program_folders(os.environ.get("PATH", ""))
    return path.parent in folders or path in above


@cache
def _list_program_folders(path: str) -> tuple[frozenset[Path], frozenset[Path]]:
    """Return the folders in PATH, and the same folders together with all their parents."""
    folders = frozenset(
        name for folder in path.split(os.pathsep) for name in _list_folder_names(Path(folder).absolute())
    )
    return folders, frozenset(above for folder in folders for above in (folder, *folder.parents))


def fold_file_name(name: str) -> str:
    """Fold a name as a file system might, ignoring case, letter variants and zero-width characters."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def matches_path(rule: PermissionRule, path: Path, bases: Sequence[Path], home: Path) -> bool:
    """Return whether a path rule matches; a relative pattern may start in any of the bases."""
    spec = (rule.spec or "").replace("\\", "/") if sys.platform == "win32" else rule.spec or ""
    if spec.startswith("//"):
        return _matches_below_bases(spec[1:], path, [Path(path.anchor or "/")], rule)
    if spec == "~" or spec.startswith("~/"):
        return _matches_below_bases(spec[1:] or "/**", path, [home], rule)
    if spec.startswith("/"):
        return _matches_below_bases(spec, path, [rule.root], rule)
    return _matches_below_bases(spec[1:] if spec.startswith("./") else spec, path, bases, rule)


def _matches_below_bases(pattern: str, path: Path, bases: Sequence[Path], rule: PermissionRule) -> bool:
    names = [
        path.relative_to(name).as_posix()
        for base in bases
        for name in _list_folder_names(base)
        if path.is_relative_to(name)
    ]
    if any(map(_build_ignore_spec(pattern).match_file, names)):
        return True
    # Prohibitions ignore case, as some file systems do.
    return rule.kind != "allow" and any(
        _build_ignore_spec(fold_file_name(pattern)).match_file(fold_file_name(name)) for name in names
    )


@cache
def _build_ignore_spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([rf"\{pattern}" if pattern[:1] in ("!", "#") else pattern])


@cache
def _list_folder_names(folder: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((Path(os.path.normpath(folder)), Path(os.path.realpath(folder)))))
