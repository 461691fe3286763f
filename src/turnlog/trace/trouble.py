"""The latest error of the background worker, in one line, for `turnlog trace status`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import TurnlogError

_MAX_TROUBLE_CHARS = 2000


class TroubleNote(NamedTuple):
    """An error and its time."""

    time: float
    """Seconds since 1970."""
    words: str


def write_trouble(folder: Path, text: str | None) -> None:
    """Store an error message, or clear it if `text` is None; never raise an exception."""
    path = folder / "trouble"
    with suppress(OSError):
        if text is None:
            path.unlink(missing_ok=True)
            return
        temporary = folder / f"trouble-{os.getpid()}.tmp"
        temporary.write_text(" ".join(text.split())[:_MAX_TROUBLE_CHARS], encoding="utf-8", errors="backslashreplace")
        temporary.replace(path)


def read_last_trouble(folder: Path) -> TroubleNote | None:
    path = folder / "trouble"
    with suppress(OSError):
        return TroubleNote(path.stat().st_mtime, path.read_text(encoding="utf-8", errors="replace"))
    return None


def describe_error(error: BaseException) -> str:
    if isinstance(error, TurnlogError):
        return str(error)
    return f"{type(error).__name__}: {error}".removesuffix(": ")
