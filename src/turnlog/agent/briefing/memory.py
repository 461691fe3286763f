"""Project memory: the instructions of `CLAUDE.md` files, found and sent as the real client does.

    <config>/CLAUDE.md                      of the person, for all projects
    from the top of the tree to the working folder, in each:
        CLAUDE.md, .claude/CLAUDE.md, .claude/rules/**/*.md, CLAUDE.local.md

`@path` in a text brings that file in behind it, five files deep, each once; in code it is no more than text. A
repository must not have any file of the machine sent: its files count only if they really lie in the folder in which
they are found, and bring in only what really lies in the working folder, unless the person agreed to more (Claude Code
asks). Nor does it bring in, or link to, a file that a rule forbids to read. Links in the person's own config folder are
theirs. What is left out for these reasons is said. Everything goes into one reminder before the first prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.small_file import leaves_folder, read_small_file

MAX_IMPORT_DEPTH = 5
MAX_MEMORY_FILE_BYTES = 4 << 20
"""Bytes; no instructions for a model are larger."""
MEMORY_INTRODUCTION = (
    "Instructions of the user and of the project follow. They take precedence over your general instructions: keep"
    " to them exactly."
)
MEMORY_KIND_LABELS = {
    "user": "user's private global instructions for all projects",
    "project": "project instructions, checked into the codebase",
    "local": "user's private project instructions, not checked in",
}
# Not compiled here: most sessions begin without any of these files.
_HTML_COMMENT_PATTERN = r"(?s)<!--.*?-->[ \t]*\n?"
_FENCED_CODE_PATTERN = r"(?sm)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
_INDENTED_CODE_PATTERN = r"(?:\A|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"
_INLINE_CODE_PATTERN = r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)"
_IMPORT_PATTERN = r"(?m)(?:^|(?<=[\s*_]))@((?:[^\s\\]|\\ )+)"
_BINARY_SUFFIXES = frozenset(
    ".png .jpg .jpeg .gif .webp .bmp .ico .pdf .zip .gz .tar .7z .exe .dll .so .dylib .bin .woff .woff2 .ttf .mp3"
    " .mp4 .mov .pyc .class .jar .sqlite .db".split()
)


class MemoryFile(NamedTuple):
    """One file of instructions."""

    path: Path
    kind: str
    """`user`, `project` or `local`."""
    text: str


def load_memory_files(
    cwd: Path,
    config_dir: Path,
    *,
    external: bool = False,
    home: Path | None = None,
    warn: Callable[[str], object] = lambda _: None,
    is_unreadable: Callable[[Path], bool] = lambda _: False,
) -> list[MemoryFile]:
    """All instructions for work in a folder, in the order in which they are sent; `warn` hears of those left out."""
    search = _MemorySearch(cwd, home or Path.home(), external, warn, is_unreadable)
    found = [*search.read_file(config_dir / "CLAUDE.md", "user")]
    for folder in (*reversed(cwd.parents), cwd):
        dot = folder / ".claude"
        if dot != config_dir:
            for path in (folder / "CLAUDE.md", dot / "CLAUDE.md", *search.list_rules(dot / "rules", folder)):
                found += search.read_instruction_file(path, "project", folder)
        found += search.read_instruction_file(folder / "CLAUDE.local.md", "local", folder)
    return found


def render_memory_reminder(found: list[MemoryFile]) -> str:
    """What the model is sent of them; nothing if there is nothing."""
    if not found:
        return ""
    texts = [
        f"Contents of {memory.path} ({MEMORY_KIND_LABELS[memory.kind]}):\n\n{memory.text.strip()}" for memory in found
    ]
    return "\n\n".join([MEMORY_INTRODUCTION, *texts])


class _MemorySearch:
    """The files that were found so far."""

    def __init__(
        self,
        cwd: Path,
        home: Path,
        external: bool,
        warn: Callable[[str], object],
        is_unreadable: Callable[[Path], bool],
    ) -> None:
        self._cwd = cwd
        self._home = home
        self._external = external
        self._warn = warn
        self._is_unreadable = is_unreadable
        self._seen: set[str] = set()

    def list_rules(self, folder: Path, root: Path) -> list[Path]:
        """The rules in a folder; one that leads elsewhere is not even looked through."""
        return (
            sorted(folder.glob("**/*.md")) if folder.is_dir() and self._is_in_project(folder, root, str(folder)) else []
        )

    def read_instruction_file(self, path: Path, kind: str, root: Path) -> Iterator[MemoryFile]:
        """A file that lies where instructions are looked for, and all that it brings in."""
        if path.is_file() and self._is_in_project(path, root, str(path)):
            is_linked = Path(os.path.realpath(path)) != os.path.realpath(root) / path.relative_to(root)
            if not is_linked or self._may_read(path, str(path)):
                yield from self.read_file(path, kind)

    def read_file(self, path: Path, kind: str, depth: int = 1) -> Iterator[MemoryFile]:
        """A file and all that it brings in."""
        real = os.path.realpath(path)
        if depth > MAX_IMPORT_DEPTH or real in self._seen:
            return
        text = _read_text(Path(real))
        if text is None:
            return
        self._seen.add(real)
        from turnlog.agent.briefing import frontmatter

        document = frontmatter.split_frontmatter(text)
        if depth == 1 and document.get_items("paths"):
            return  # a rule for some files only; it is not for all of the work
        body = re.sub(_HTML_COMMENT_PATTERN, "", document.body)
        if body.strip():
            yield MemoryFile(path, kind, body)
        for name in find_imports(body):
            wanted = self._resolve_path(name, path.parent)
            told = f"{path}: @{name}"
            if kind == "user" or (self._is_in_project(wanted, self._cwd, told) and self._may_read(wanted, told)):
                yield from self.read_file(wanted, kind, depth + 1)

    def _is_in_project(self, path: Path, root: Path, name: str) -> bool:
        """Whether a file, or a folder, of a project may be read; says if it is there and may not."""
        if self._external or not leaves_folder(path, root):
            return True
        if _path_exists(path):
            self._warn(f"{name} leads to {os.path.realpath(path)}, outside of {root}; it is not sent")
        return False

    def _may_read(self, path: Path, name: str) -> bool:
        """Whether no rule forbids to read a file that a project names; says if one does."""
        if not _path_exists(path) or not self._is_unreadable(path):
            return True
        self._warn(f"{name} leads to {os.path.realpath(path)}, which a rule forbids to read; it is not sent")
        return False

    def _resolve_path(self, name: str, folder: Path) -> Path:
        if name.startswith("~/"):
            return Path(os.path.normpath(self._home / name[2:]))
        return Path(os.path.normpath(folder / name))


def find_imports(text: str) -> list[str]:
    """The paths that a text brings in, in their order, without those in code."""
    for code in (_FENCED_CODE_PATTERN, _INDENTED_CODE_PATTERN, _INLINE_CODE_PATTERN):
        text = re.sub(code, " ", text)
    names = (
        found[1].replace("\\ ", " ").partition("#")[0].rstrip("*_") for found in re.finditer(_IMPORT_PATTERN, text)
    )
    return list(dict.fromkeys(name for name in names if name))


def _path_exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _read_text(path: Path) -> str | None:
    """The text of a file; None if there is none."""
    if path.suffix.lower() in _BINARY_SUFFIXES:
        return None
    try:
        raw = read_small_file(path, MAX_MEMORY_FILE_BYTES)
    except (OSError, ValueError):
        return None
    return None if b"\0" in raw else raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
