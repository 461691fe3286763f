"""Project memory: the instructions in `CLAUDE.md` files, found and sent as in Claude Code.

    <config>/CLAUDE.md                      the person's instructions for all projects
    in each folder from the top of the tree to the working folder:
        CLAUDE.md, .claude/CLAUDE.md, .claude/rules/**/*.md, CLAUDE.local.md

`@path` in a file imports the file at that path after the importing file, up to five levels deep and each file only
once; inside code, `@path` is plain text. A repository must not be able to send arbitrary files from the machine: its
files are read only if they resolve to a path inside the folder where they were found, and they can import only files
that resolve to a path inside the working folder, unless the person has approved external imports (Claude Code asks). A
repository's files also can't import or link to a file if a rule forbids reading it. Links in the person's own config
folder are allowed. A warning names each skipped file. Everything is sent in one reminder before the first prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.settings import SETTING_SOURCES
from turnlog.agent.small_file import leaves_folder, read_small_file

MAX_IMPORT_DEPTH = 5
MAX_MEMORY_FILE_BYTES = 4 << 20
"""Larger files are not treated as instruction files."""
MEMORY_INTRODUCTION = (
    "Instructions from the user and the project follow. They take precedence over your general instructions: follow"
    " them exactly."
)
MEMORY_KIND_LABELS = {
    "user": "user's private global instructions for all projects",
    "project": "project instructions, checked into the codebase",
    "local": "user's private project instructions, not checked in",
}
# Not compiled here: most sessions have none of these files.
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
    sources: Collection[str] = SETTING_SOURCES,
) -> list[MemoryFile]:
    """Return all instructions for a folder in sending order; `warn` receives a line for each skipped file."""
    search = _MemorySearch(cwd, home or Path.home(), external, warn, is_unreadable)
    memory = [*search.read_file(config_dir / "CLAUDE.md", "user")] if "user" in sources else []
    for folder in (*reversed(cwd.parents), cwd):
        claude_folder = folder / ".claude"
        if "project" in sources and claude_folder != config_dir:
            for path in (
                folder / "CLAUDE.md",
                claude_folder / "CLAUDE.md",
                *search.list_rules(claude_folder / "rules", folder),
            ):
                memory += search.read_instruction_file(path, "project", folder)
        if "local" in sources:
            memory += search.read_instruction_file(folder / "CLAUDE.local.md", "local", folder)
    return memory


def render_memory_reminder(files: list[MemoryFile]) -> str:
    """Return the reminder for the model, or an empty string if there are no instructions."""
    if not files:
        return ""
    texts = [
        f"Contents of {memory.path} ({MEMORY_KIND_LABELS[memory.kind]}):\n\n{memory.text.strip()}" for memory in files
    ]
    return "\n\n".join([MEMORY_INTRODUCTION, *texts])


class _MemorySearch:
    """Reads instruction files, each only once."""

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
        """Return the rule files in a folder; do not search a folder that resolves to a path outside the project."""
        return (
            sorted(folder.glob("**/*.md")) if folder.is_dir() and self._is_in_project(folder, root, str(folder)) else []
        )

    def read_instruction_file(self, path: Path, kind: str, root: Path) -> Iterator[MemoryFile]:
        """Yield an instruction file found at its standard path, followed by its imports."""
        if path.is_file() and self._is_in_project(path, root, str(path)):
            is_linked = Path(os.path.realpath(path)) != os.path.realpath(root) / path.relative_to(root)
            if not is_linked or self._may_read(path, str(path)):
                yield from self.read_file(path, kind)

    def read_file(self, path: Path, kind: str, depth: int = 1) -> Iterator[MemoryFile]:
        """Yield a file and its imports."""
        real = os.path.realpath(path)
        if depth > MAX_IMPORT_DEPTH or real in self._seen:
            return
        text = _read_text(Path(real))
        if text is None:
            return
        self._seen.add(real)
        from turnlog.agent import frontmatter

        document = frontmatter.split_frontmatter(text)
        if depth == 1 and document.get_items("paths"):
            return  # a rule for certain files, not for the whole session
        body = re.sub(_HTML_COMMENT_PATTERN, "", document.body)
        if body.strip():
            yield MemoryFile(path, kind, body)
        for name in find_imports(body):
            imported = self._resolve_path(name, path.parent)
            source = f"{path}: @{name}"
            if kind == "user" or (
                self._is_in_project(imported, self._cwd, source) and self._may_read(imported, source)
            ):
                yield from self.read_file(imported, kind, depth + 1)

    def _is_in_project(self, path: Path, root: Path, name: str) -> bool:
        """Return whether a path resolves to a place inside the project; warn if it exists but is outside."""
        if self._external or not leaves_folder(path, root):
            return True
        if _path_exists(path):
            self._warn(f"{name} is not sent because it resolves to {os.path.realpath(path)}, which is outside {root}")
        return False

    def _may_read(self, path: Path, name: str) -> bool:
        """Return whether a file that a project refers to may be read; warn if a rule forbids it."""
        if not _path_exists(path) or not self._is_unreadable(path):
            return True
        self._warn(f"{name} is not sent because a rule forbids reading {os.path.realpath(path)}")
        return False

    def _resolve_path(self, name: str, folder: Path) -> Path:
        if name.startswith("~/"):
            return Path(os.path.normpath(self._home / name[2:]))
        return Path(os.path.normpath(folder / name))


def find_imports(text: str) -> list[str]:
    """Return the imported paths in order, ignoring those in code."""
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
    """Return the text of a file, or None if it is missing or binary."""
    if path.suffix.lower() in _BINARY_SUFFIXES:
        return None
    try:
        raw = read_small_file(path, MAX_MEMORY_FILE_BYTES)
    except (OSError, ValueError):
        return None
    return None if b"\0" in raw else raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
