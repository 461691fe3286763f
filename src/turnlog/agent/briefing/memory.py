"""Project memory: the instructions of `CLAUDE.md` files, found and sent as the real client does.

    <config>/CLAUDE.md                      of the person, for all projects
    from the top of the tree to the working folder, in each:
        CLAUDE.md, .claude/CLAUDE.md, .claude/rules/**/*.md, CLAUDE.local.md

`@path` in a text brings that file in behind it, five files deep, each once; in code it is no more than text. A file of
a project brings in nothing from outside of the working folder, unless the person has agreed: or a repository could have
any file of the machine sent. Everything goes into one reminder before the first prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.small_file import small_file

DEEPEST = 5
LARGEST = 4 << 20
"""Bytes; no instructions for a model are larger."""
INTRODUCTION = (
    "Instructions of the user and of the project follow. They take precedence over your general instructions: keep"
    " to them exactly."
)
KINDS = {
    "user": "user's private global instructions for all projects",
    "project": "project instructions, checked into the codebase",
    "local": "user's private project instructions, not checked in",
}
# Not compiled here: most sessions begin without any of these files.
_COMMENT = r"(?s)<!--.*?-->[ \t]*\n?"
_FENCE = r"(?sm)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
_INDENTED = r"(?:\A|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"
_CODE = r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)"
_IMPORT = r"(?m)(?:^|(?<=[\s*_]))@((?:[^\s\\]|\\ )+)"
_BINARY = frozenset(
    ".png .jpg .jpeg .gif .webp .bmp .ico .pdf .zip .gz .tar .7z .exe .dll .so .dylib .bin .woff .woff2 .ttf .mp3"
    " .mp4 .mov .pyc .class .jar .sqlite .db".split()
)


class Memory(NamedTuple):
    """One file of instructions."""

    path: Path
    kind: str
    """`user`, `project` or `local`."""
    text: str


def memories(cwd: Path, config_dir: Path, *, external: bool = False, home: Path | None = None) -> list[Memory]:
    """All instructions for work in a folder, in the order in which they are sent."""
    search = _Search(cwd, home or Path.home(), external)
    found = [*search.file(config_dir / "CLAUDE.md", "user")]
    for folder in (*reversed(cwd.parents), cwd):
        dot = folder / ".claude"
        if dot != config_dir:
            for path in (folder / "CLAUDE.md", dot / "CLAUDE.md", *_rules(dot / "rules")):
                found += search.file(path, "project")
        found += search.file(folder / "CLAUDE.local.md", "local")
    return found


def reminder(found: list[Memory]) -> str:
    """What the model is sent of them; nothing if there is nothing."""
    if not found:
        return ""
    texts = [f"Contents of {memory.path} ({KINDS[memory.kind]}):\n\n{memory.text.strip()}" for memory in found]
    return "\n\n".join([INTRODUCTION, *texts])


def _rules(folder: Path) -> list[Path]:
    return sorted(folder.glob("**/*.md")) if folder.is_dir() else []


class _Search:
    """The files that were found so far."""

    def __init__(self, cwd: Path, home: Path, external: bool) -> None:
        self._inside = Path(os.path.realpath(cwd))
        self._home = home
        self._external = external
        self._seen: set[str] = set()

    def file(self, path: Path, kind: str, depth: int = 1) -> Iterator[Memory]:
        """A file and all that it brings in."""
        real = os.path.realpath(path)
        if depth > DEEPEST or real in self._seen:
            return
        text = _text(path)
        if text is None:
            return
        self._seen.add(real)
        from turnlog.agent.briefing import frontmatter

        document = frontmatter.read(text)
        if depth == 1 and document.items("paths"):
            return  # a rule for some files only; it is not for all of the work
        body = re.sub(_COMMENT, "", document.body)
        if body.strip():
            yield Memory(path, kind, body)
        for name in imports(body):
            wanted = self._path(name, path.parent)
            if kind == "user" or self._external or self._is_inside(wanted):
                yield from self.file(wanted, kind, depth + 1)

    def _path(self, name: str, folder: Path) -> Path:
        if name.startswith("~/"):
            return Path(os.path.normpath(self._home / name[2:]))
        return Path(os.path.normpath(folder / name))

    def _is_inside(self, path: Path) -> bool:
        """Whether a file lies in the working folder, links followed."""
        return self._inside in Path(os.path.realpath(path)).parents


def imports(text: str) -> list[str]:
    """The paths that a text brings in, in their order, without those in code."""
    for code in (_FENCE, _INDENTED, _CODE):
        text = re.sub(code, " ", text)
    names = (found[1].replace("\\ ", " ").partition("#")[0].rstrip("*_") for found in re.finditer(_IMPORT, text))
    return list(dict.fromkeys(name for name in names if name))


def _text(path: Path) -> str | None:
    """The text of a file; None if there is none."""
    if path.suffix.lower() in _BINARY:
        return None
    try:
        raw = small_file(path, LARGEST)
    except (OSError, ValueError):
        return None
    return None if b"\0" in raw else raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
