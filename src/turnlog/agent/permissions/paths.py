"""Paths as rules see them: every name that a file has, the patterns of rules, and what is never changed unasked."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.permissions.rules import Rule

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PROTECTED_FOLDERS = frozenset(".git .claude .vscode .idea .husky .cargo .devcontainer .yarn .mvn .ssh .gnupg".split())
"""Whoever writes there decides what a program runs."""
PROTECTED_FILES = frozenset(
    ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zprofile .zshenv "
    ".zlogin .zlogout .profile .envrc .npmrc .yarnrc .yarnrc.yml .pypirc .netrc .ripgreprc .mcp.json .claude.json "
    ".inputrc .pre-commit-config.yaml bunfig.toml .bazelrc .pythonrc".split()
)


def spellings(name: str, base: Path, home: Path) -> tuple[Path, ...]:
    """A file by its name, and by the name that it has when all links are followed; `..` is resolved in both ways."""
    text = str(home) + name[1:] if name == "~" or name.startswith(("~/", "~\\")) else name
    path = base / text
    return tuple(dict.fromkeys((Path(os.path.normpath(path)), Path(os.path.realpath(path)))))


def lies_within(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path lies in one of some folders."""
    return any(path.is_relative_to(name) for folder in folders for name in _both(folder))


def is_protected(path: Path) -> bool:
    """Whether a file is one of those by which other programs are told what to run."""
    names = [_plain(part) for part in path.parts]
    if sys.platform == "win32" and any(":" in part for part in path.parts[1:]):
        return True
    return not PROTECTED_FOLDERS.isdisjoint(names) or not PROTECTED_FILES.isdisjoint(names[-1:])


def _plain(name: str) -> str:
    """A name as a file system may see it that knows no case and drops what is at its end."""
    return unicodedata.normalize("NFKC", name).casefold().rstrip(". ") or name


def matches(rule: Rule, path: Path, bases: Sequence[Path], home: Path) -> bool:
    """Whether a rule for paths speaks of a path; a relative pattern begins in any of the bases."""
    spec = (rule.spec or "").replace("\\", "/") if sys.platform == "win32" else rule.spec or ""
    if spec.startswith("//"):
        return _within(spec[1:], path, [Path(path.anchor or "/")], rule)
    if spec == "~" or spec.startswith("~/"):
        return _within(spec[1:] or "/**", path, [home], rule)
    if spec.startswith("/"):
        return _within(spec, path, [rule.root], rule)
    return _within(spec[1:] if spec.startswith("./") else spec, path, bases, rule)


def _within(pattern: str, path: Path, bases: Sequence[Path], rule: Rule) -> bool:
    for base in bases:
        for name in _both(base):
            if path.is_relative_to(name) and _fits(pattern, path.relative_to(name).as_posix(), rule.kind != "allow"):
                return True
    return False


def _fits(pattern: str, relative: str, is_strict: bool) -> bool:
    """What forbids holds for names in any case: some file systems see no difference."""
    if _spec(pattern).match_file(relative):
        return True
    return is_strict and _spec(pattern.casefold()).match_file(relative.casefold())


@cache
def _spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([rf"\{pattern}" if pattern[:1] in ("!", "#") else pattern])


@cache
def _both(folder: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((Path(os.path.normpath(folder)), Path(os.path.realpath(folder)))))
