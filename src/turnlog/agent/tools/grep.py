"""Grep: finds lines that match a regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.ripgrep import run_ripgrep, sort_by_age, to_cwd_relative_path
from turnlog.agent.tools.seen_files import hold_file
from turnlog.agent.tools.tool import CallContext

DEFAULT_HEAD_LIMIT = 250
_VERSION_CONTROL_FOLDERS = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
"""Version control folders, which are not searched."""
_MAX_LINE_COLUMNS = 500
_GAP_MARK = "--"
"""Marks omitted lines."""
_FILE_NAME_PATTERN = re.compile(r"(.*?)(?:\0|: binary file matches \()")
_LINE_NUMBER_PATTERN = re.compile(r"\d+(?:([-:])|$)")


class GrepPage(NamedTuple):
    shown: Sequence[str]
    total: int
    limit: int | None
    """The limit, if it shortened the results."""
    offset: int | None

    @property
    def omission_note(self) -> str:
        """The limits that were applied, as shown to the model."""
        parts = [("limit", self.limit), ("offset", self.offset)]
        return ", ".join(f"{name}: {value}" for name, value in parts if value is not None)

    @property
    def applied_limits(self) -> Object:
        """The limits that were applied, as recorded in the session."""
        parts = {"appliedLimit": self.limit, "appliedOffset": self.offset}
        return {name: value for name, value in parts.items() if value is not None}


class Grep(DescribedTool):
    only_reads = True

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        name = arguments.get("path") or "."
        target = hold_file(name, context.place, "search").path
        here = context.place.cwd
        if not target.exists():
            raise ToolError(f"Path does not exist: {name}. Note: your current working directory is {here}.")
        if not target.is_file() and not target.is_dir():
            raise ToolError(f"Cannot search {name}: it is a device or a pipe.")
        mode = arguments.get("output_mode", "files_with_matches")
        out = run_ripgrep(
            [*_build_arguments(arguments, mode), f"--regexp={arguments['pattern']}", "--", str(target)], here, context
        )
        if mode == "files_with_matches":
            return _build_files_result(sort_by_age(out.split("\0"), here, context, newest_first=True), arguments, here)
        lines = _select_readable_lines(out, context)
        if mode == "count":
            return _build_count_result([_format_line(line, here) for line in lines], arguments)
        is_bare, is_numbered = target.is_file(), arguments.get("-n", True)
        return _build_content_result(
            [_format_line(line, here, is_bare=is_bare, is_numbered=is_numbered) for line in lines], arguments
        )


def _build_arguments(arguments: Object, mode: str) -> list[str]:
    flags = [
        "--hidden",
        "--null",
        "--color=never",
        "--no-heading",
        "--with-filename",
        f"--max-columns={_MAX_LINE_COLUMNS}",
    ]
    flags += [f"--glob=!{name}" for name in _VERSION_CONTROL_FOLDERS]
    flags += [f"--glob={glob}" for glob in _split_globs(arguments.get("glob", ""))]
    flags += [f"--type={arguments['type']}"] if arguments.get("type") else []
    flags += ["--ignore-case"] if arguments.get("-i") else []
    flags += ["--multiline", "--multiline-dotall"] if arguments.get("multiline") else []
    if mode == "content":
        return [*flags, "--sort=path", "--line-number", *_build_context_arguments(arguments)]
    return [*flags, "--sort=path", "--count"] if mode == "count" else [*flags, "--files-with-matches"]


def _build_context_arguments(arguments: Object) -> list[str]:
    """Return the arguments for context lines around a match."""
    around = arguments.get("context", arguments.get("-C"))
    if around is not None:
        return [f"--context={_to_natural_number(around)}"]
    sides = [("--before-context", "-B"), ("--after-context", "-A")]
    return [f"{word}={_to_natural_number(arguments[key])}" for word, key in sides if key in arguments]


def _split_globs(text: str) -> list[str]:
    """Split patterns at spaces and commas, except commas in braces."""
    return [
        part for word in text.split() for part in ([word] if "{" in word and "}" in word else word.split(",")) if part
    ]


def _to_natural_number(value: float) -> int:
    return max(0, int(value))


def _cut_page(lines: Sequence[str], arguments: Object) -> GrepPage:
    offset, limit = (
        _to_natural_number(arguments.get("offset", 0)),
        _to_natural_number(arguments.get("head_limit", DEFAULT_HEAD_LIMIT)),
    )
    rest = lines[offset:]
    shown = rest[:limit] if limit else rest
    return GrepPage(shown, len(lines), limit if len(shown) < len(rest) else None, offset or None)


def _build_files_result(paths: Sequence[str], arguments: Object, here: Path) -> CallResult:
    page = _cut_page([to_cwd_relative_path(path, here) for path in paths], arguments)
    structured = {
        "mode": "files_with_matches",
        "filenames": list(page.shown),
        "numFiles": len(page.shown),
        "totalFiles": page.total,
        **page.applied_limits,
    }
    if page.shown:
        text = (
            f"Found {_format_count(len(page.shown), 'file')} {page.omission_note}".rstrip()
            + "\n"
            + "\n".join(page.shown)
        )
    elif page.total:
        text = f"No entries at this offset. [Showing results with pagination = {page.omission_note}]"
    else:
        text = "No files found"
    return CallResult(text, structured)


def _build_content_result(lines: Sequence[str], arguments: Object) -> CallResult:
    page = _cut_page(lines, arguments)
    text = "\n".join(page.shown)
    summary = text or ("No entries at this offset" if page.total else "No matches found")
    summary += (
        f"\n\n[Showing results with pagination = {page.omission_note}]" if page.omission_note and page.total else ""
    )
    structured: dict[str, Any] = {"mode": "content", "numFiles": 0, "filenames": [], "content": text}
    return CallResult(
        summary, structured | {"numLines": len(page.shown), "totalLines": page.total, **page.applied_limits}
    )


def _build_count_result(entries: Sequence[str], arguments: Object) -> CallResult:
    page = _cut_page(entries, arguments)
    text = "\n".join(page.shown)
    matches = sum(int(entry.rpartition(":")[2]) for entry in entries)
    total = f"Found {_format_count(matches, 'total occurrence')} across {_format_count(len(entries), 'file')}."
    summary = f"{text or ('No entries at this offset' if entries else 'No matches found')}\n\n{total}"
    summary += f" with pagination = {page.omission_note}" if page.omission_note and entries else ""
    structured = {"mode": "count", "numFiles": len(entries), "filenames": [], "content": text, "numMatches": matches}
    return CallResult(summary, {**structured, **page.applied_limits})


def _select_readable_lines(out: str, context: CallContext) -> list[str]:
    """Return the lines of ripgrep's output that don't come from protected files."""
    lines: list[str] = []
    is_unreadable = cache(lambda path: context.is_unreadable(context.place.cwd / path))
    for line in out.removesuffix("\n").split("\n") if out else ():
        match = _FILE_NAME_PATTERN.match(line)
        if not is_unreadable(match[1]) if match else lines and lines[-1] != _GAP_MARK:
            lines.append(line.removesuffix("\r"))
    return lines[:-1] if lines and lines[-1] == _GAP_MARK else lines


def _format_line(line: str, here: Path, *, is_bare: bool = False, is_numbered: bool = True) -> str:
    """Format a line for the model with its path, or without the path if only a single file is searched."""
    path, mark, rest = line.partition("\0")
    found = _LINE_NUMBER_PATTERN.match(rest)
    if not mark or not found:
        return line
    rest = rest if is_numbered else rest[found.end() :]
    return rest if is_bare else f"{to_cwd_relative_path(path, here)}{found[1] or ':'}{rest}"


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
