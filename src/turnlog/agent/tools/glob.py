"""Glob: finds files by name pattern."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.ripgrep import run_ripgrep, sort_by_age, to_cwd_relative_path
from turnlog.agent.tools.seen_files import hold_file
from turnlog.agent.tools.tool import CallContext

MAX_GLOB_FILES = 100
_GLOB_CHARACTER_PATTERN = re.compile(r"[*?\[{]")


class Glob(DescribedTool):
    only_reads = True

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        began = time.monotonic()
        folder, pattern = _split_start_folder(arguments["pattern"], _find_search_folder(arguments, context))
        names = _list_matching_names(folder, pattern, context)
        shown = [to_cwd_relative_path(str(folder / name), context.place.cwd) for name in names[:MAX_GLOB_FILES]]
        text = "\n".join(shown) or "No files found"
        if len(names) > MAX_GLOB_FILES:
            text += (
                f"\n(Showing {MAX_GLOB_FILES} of {len(names)} matching files; {len(names) - MAX_GLOB_FILES} "
                f"more are not listed."
                " Narrow the pattern or path to see the rest.)"
            )
        structured = {
            "filenames": shown,
            "durationMs": int((time.monotonic() - began) * 1000),
            "numFiles": len(shown),
            "truncated": len(names) > MAX_GLOB_FILES,
            "totalMatches": len(names),
            "countIsComplete": True,
        }
        return CallResult(text, structured)


def _find_search_folder(arguments: Object, context: CallContext) -> Path:
    if not (path := arguments.get("path")):
        return context.place.cwd
    folder = hold_file(path, context.place, "search").path
    if not folder.exists():
        here = context.place.cwd
        raise ToolError(f"Directory does not exist: {path}. Note: your current working directory is {here}.")
    if not folder.is_dir():
        raise ToolError(f"Path is not a directory: {path}")
    return folder


def _split_start_folder(pattern: str, folder: Path) -> tuple[Path, str]:
    """Return the folder to search and the rest of the pattern; the pattern may be an absolute path."""
    if not Path(pattern).is_absolute():
        return folder, pattern
    special = _GLOB_CHARACTER_PATTERN.search(pattern)
    head, _, tail = pattern[: special.start() if special else None].replace(os.sep, "/").rpartition("/")
    return Path(head or "/"), "/" + tail + (pattern[special.start() :] if special else "")


def _list_matching_names(folder: Path, pattern: str, context: CallContext) -> list[str]:
    if not folder.is_dir():
        return []
    if pattern.startswith("/") and not _GLOB_CHARACTER_PATTERN.search(pattern):
        names = [pattern[1:]] if (folder / pattern[1:]).is_file() else []
    else:
        out = run_ripgrep(["--files", "--hidden", "--no-ignore", "--null", f"--glob={pattern}"], folder, context)
        names = out.split("\0")
    return sort_by_age(names, folder, context)
