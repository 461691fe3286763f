"""Glob: files by the pattern of their names."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from turnlog.agent.tools.files import located
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.ripgrep import by_age, relative, search
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError

MOST = 100
_SPECIAL = re.compile(r"[*?\[{]")


class Glob(Offered):
    """The tool."""

    only_reads = True

    def run(self, given: Object, scene: Scene) -> Result:
        """Find them."""
        began = time.monotonic()
        folder, pattern = _start(given["pattern"], _folder(given, scene))
        names = _names(folder, pattern, scene)
        shown = [relative(str(folder / name), scene.place.cwd) for name in names[:MOST]]
        told = "\n".join(shown) or "No files found"
        if len(names) > MOST:
            told += (
                f"\n(Showing {MOST} of {len(names)} matching files; {len(names) - MOST} more are not listed."
                " Narrow the pattern or path to see the rest.)"
            )
        structured = {
            "filenames": shown,
            "durationMs": int((time.monotonic() - began) * 1000),
            "numFiles": len(shown),
            "truncated": len(names) > MOST,
            "totalMatches": len(names),
            "countIsComplete": True,
        }
        return Result(told, structured)


def _folder(given: Object, scene: Scene) -> Path:
    if not (named := given.get("path")):
        return scene.place.cwd
    folder = located(named, scene.place)
    if not folder.exists():
        here = scene.place.cwd
        raise ToolError(f"Directory does not exist: {named}. Note: your current working directory is {here}.")
    if not folder.is_dir():
        raise ToolError(f"Path is not a directory: {named}")
    return folder


def _start(pattern: str, folder: Path) -> tuple[Path, str]:
    """Where to begin: a pattern may be an absolute path."""
    if not Path(pattern).is_absolute():
        return folder, pattern
    special = _SPECIAL.search(pattern)
    head, _, tail = pattern[: special.start() if special else None].replace(os.sep, "/").rpartition("/")
    return Path(head or "/"), "/" + tail + (pattern[special.start() :] if special else "")


def _names(folder: Path, pattern: str, scene: Scene) -> list[str]:
    if not folder.is_dir():
        return []
    if pattern.startswith("/") and not _SPECIAL.search(pattern):
        names = [pattern[1:]] if (folder / pattern[1:]).is_file() else []
    else:
        out = search(["--files", "--hidden", "--no-ignore", "--null", f"--glob={pattern}"], folder, scene)
        names = out.split("\0")
    return by_age(names, folder, scene)
