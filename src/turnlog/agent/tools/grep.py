"""Grep: lines of files that fit a regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.tools import schema
from turnlog.agent.tools.files import located
from turnlog.agent.tools.ripgrep import must_have_searched, relative, search
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError

LIMIT = 250
_OTHERS = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
"""Folders of version control, which are not searched."""
_WIDEST = 500
_NUMBERED = re.compile(r"\d+(?:([-:])|$)")


class Page(NamedTuple):
    """Some of what was found."""

    shown: Sequence[str]
    total: int
    limit: int | None
    """The limit, if it left something out."""
    offset: int | None

    @property
    def told(self) -> str:
        """What the page leaves out, for the model."""
        parts = [("limit", self.limit), ("offset", self.offset)]
        return ", ".join(f"{name}: {value}" for name, value in parts if value is not None)

    @property
    def applied(self) -> Object:
        """The same, for the record."""
        parts = {"appliedLimit": self.limit, "appliedOffset": self.offset}
        return {name: value for name, value in parts.items() if value is not None}


class Grep:
    """The tool."""

    name = "Grep"
    description = (
        "Searches files for a regular expression, with ripgrep; use it rather than grep or rg in a shell.\n"
        r'- Patterns are as in ripgrep: "log.*Error", "function\s+\w+"; braces are escaped: "interface\{\}".'
        "\n"
        '- Filter files by `glob` ("*.js", "**/*.tsx") or `type` ("js", "py").\n'
        "- `output_mode`: files_with_matches (the default) gives paths, content gives lines, count gives numbers.\n"
        "- A pattern fits within a line; with `multiline` it may go over several.\n"
        "- Ignored files (.gitignore) are left out; hidden ones are searched."
    )
    schema = schema.parameters(
        {
            "pattern": schema.text("The regular expression"),
            "path": schema.text("File or folder to search; the current folder if left out"),
            "glob": schema.text('Search only files that fit this pattern, such as "*.js" or "*.{ts,tsx}"'),
            "output_mode": schema.text("What to give", ("content", "files_with_matches", "count")),
            "-B": schema.number("Lines before each match; for content"),
            "-A": schema.number("Lines after each match; for content"),
            "-C": schema.number("The same as context"),
            "context": schema.number("Lines before and after each match; for content"),
            "-n": schema.flag("Show line numbers; for content, true if left out"),
            "-i": schema.flag("Take capital and small letters as equal"),
            "type": schema.text("Search only files of this type, such as js, py, rust, go"),
            "head_limit": schema.number(f"Give the first N lines or entries; {LIMIT} if left out, 0 for all"),
            "offset": schema.number("Leave out the first N lines or entries"),
            "multiline": schema.flag("Let matches go over several lines, and . fit line ends"),
        },
        ["pattern"],
    )

    def is_safe(self, given: Object) -> bool:
        """Always: it changes nothing."""
        return True

    def run(self, given: Object, scene: Scene) -> Result:
        """Search."""
        target = located(given.get("path") or ".", scene.place)
        here = scene.place.cwd
        if not target.exists():
            raise ToolError(f"Path does not exist: {given['path']}. Note: your current working directory is {here}.")
        mode = given.get("output_mode", "files_with_matches")
        found = search([*_words(given, mode), f"--regexp={given['pattern']}", "--", str(target)], here, scene)
        must_have_searched(found)
        if mode == "content":
            return _content(_lines(found.out, here, is_bare=target.is_file(), numbered=given.get("-n", True)), given)
        return _count(found.out, given, here) if mode == "count" else _files(found.out, given, here)


def _words(given: Object, mode: str) -> list[str]:
    words = ["--hidden", "--null", "--color=never", "--no-heading", "--with-filename", f"--max-columns={_WIDEST}"]
    words += [f"--glob=!{name}" for name in _OTHERS]
    words += [f"--glob={glob}" for glob in _globs(given.get("glob", ""))]
    words += [f"--type={given['type']}"] if given.get("type") else []
    words += ["--ignore-case"] if given.get("-i") else []
    words += ["--multiline", "--multiline-dotall"] if given.get("multiline") else []
    if mode == "content":
        return [*words, "--sort=path", "--line-number", *_around(given)]
    return [*words, "--sort=path", "--count"] if mode == "count" else [*words, "--files-with-matches"]


def _around(given: Object) -> list[str]:
    """How many lines around a match are shown."""
    around = given.get("context", given.get("-C"))
    if around is not None:
        return [f"--context={_natural(around)}"]
    sides = [("--before-context", "-B"), ("--after-context", "-A")]
    return [f"{word}={_natural(given[key])}" for word, key in sides if key in given]


def _globs(given: str) -> list[str]:
    """Several patterns may be given at once, between spaces or commas; commas in braces belong to a pattern."""
    return [
        part for word in given.split() for part in ([word] if "{" in word and "}" in word else word.split(",")) if part
    ]


def _natural(value: float) -> int:
    return max(0, int(value))


def _page(lines: Sequence[str], given: Object) -> Page:
    offset, limit = _natural(given.get("offset", 0)), _natural(given.get("head_limit", LIMIT))
    rest = lines[offset:]
    shown = rest[:limit] if limit else rest
    return Page(shown, len(lines), limit if len(shown) < len(rest) else None, offset or None)


def _files(out: str, given: Object, here: Path) -> Result:
    paths = sorted((path for path in out.split("\0") if path), key=lambda path: (-_changed(path), path))
    page = _page([relative(path, here) for path in paths], given)
    structured = {
        "mode": "files_with_matches",
        "filenames": list(page.shown),
        "numFiles": len(page.shown),
        "totalFiles": page.total,
        **page.applied,
    }
    if page.shown:
        told = f"Found {_counted(len(page.shown), 'file')} {page.told}".rstrip() + "\n" + "\n".join(page.shown)
    elif page.total:
        told = f"No entries at this offset. [Showing results with pagination = {page.told}]"
    else:
        told = "No files found"
    return Result(told, structured)


def _content(lines: Sequence[str], given: Object) -> Result:
    page = _page(lines, given)
    text = "\n".join(page.shown)
    told = text or ("No entries at this offset" if page.total else "No matches found")
    told += f"\n\n[Showing results with pagination = {page.told}]" if page.told and page.total else ""
    structured: dict[str, Any] = {"mode": "content", "numFiles": 0, "filenames": [], "content": text}
    return Result(told, structured | {"numLines": len(page.shown), "totalLines": page.total, **page.applied})


def _count(out: str, given: Object, here: Path) -> Result:
    entries = _lines(out, here)
    page = _page(entries, given)
    text = "\n".join(page.shown)
    matches = sum(int(entry.rpartition(":")[2]) for entry in entries)
    total = f"Found {_counted(matches, 'total occurrence')} across {_counted(len(entries), 'file')}."
    told = f"{text or ('No entries at this offset' if entries else 'No matches found')}\n\n{total}"
    told += f" with pagination = {page.told}" if page.told and entries else ""
    structured = {"mode": "count", "numFiles": len(entries), "filenames": [], "content": text, "numMatches": matches}
    return Result(told, {**structured, **page.applied})


def _lines(out: str, here: Path, *, is_bare: bool = False, numbered: bool = True) -> list[str]:
    """The lines of ripgrep's output, with paths as the model is told of them; without, if a single file is searched."""
    lines = out.removesuffix("\n").split("\n") if out else []
    return [_line(line.removesuffix("\r"), here, is_bare, numbered) for line in lines]


def _line(line: str, here: Path, is_bare: bool, numbered: bool) -> str:
    path, mark, rest = line.partition("\0")
    found = _NUMBERED.match(rest)
    if not mark or not found:
        return line  # where lines were left out
    rest = rest if numbered else rest[found.end() :]
    return rest if is_bare else f"{relative(path, here)}{found[1] or ':'}{rest}"


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
