"""What last went wrong in the background, where nobody looks: one line, for whoever asks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import TurnlogError

_MAX_TROUBLE_CHARS = 2000


class TroubleNote(NamedTuple):
    """What went wrong, and when."""

    time: float
    """Seconds since 1970."""
    words: str


def write_trouble(folder: Path, words: str | None) -> None:
    """Keep what went wrong; None: nothing did, and what is kept is forgotten. Never raises."""
    path = folder / "trouble"
    with suppress(OSError):
        if words is None:
            path.unlink(missing_ok=True)
            return
        temporary = folder / f"trouble-{os.getpid()}.tmp"
        temporary.write_text(" ".join(words.split())[:_MAX_TROUBLE_CHARS], encoding="utf-8", errors="backslashreplace")
        temporary.replace(path)


def read_last_trouble(folder: Path) -> TroubleNote | None:
    """What was noted last."""
    path = folder / "trouble"
    with suppress(OSError):
        return TroubleNote(path.stat().st_mtime, path.read_text(encoding="utf-8", errors="replace"))
    return None


def describe_error(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, TurnlogError):
        return str(error)
    return f"{type(error).__name__}: {error}".removesuffix(": ")
