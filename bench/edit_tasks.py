"""What is measured of edits, as programs; see `tasks`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def clone(path: str) -> Callable[[], Any]:
    """A new session made from one."""
    from turnlog.edit.clone import clone_session as made_from

    return lambda: str(made_from(Path(path)).path)


def copy(path: str) -> Callable[[], Any]:
    """The bound for all that writes: the bytes copied and flushed."""
    source = Path(path)

    def work() -> Any:
        with source.open("rb") as old, source.with_suffix(".copy").open("wb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())

    return work


def strip(path: str) -> Callable[[], Any]:
    """A session stripped with the standard preset, and its lines."""
    from turnlog.edit.draft import Draft
    from turnlog.edit.strip.presets import PRESETS
    from turnlog.edit.strip.strip import strip_session as stripped
    from turnlog.session.session import Session

    def work() -> Any:
        with Session.open(path) as session:
            return stripped(session, Draft.from_transcript(session.file), PRESETS[1].strip_options).report.bytes_after

    return work
