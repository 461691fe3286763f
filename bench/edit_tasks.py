"""The tasks that `bench.tasks` runs for edits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def prepare_clone(path: str) -> Callable[[], Any]:
    """Prepare cloning a session."""
    from turnlog.edit.clone import clone_session

    return lambda: str(clone_session(Path(path)).path)


def prepare_copy(path: str) -> Callable[[], Any]:
    """Prepare copying the bytes and flushing them, which is the lower bound for anything that writes."""
    source = Path(path)

    def work() -> Any:
        with source.open("rb") as old, source.with_suffix(".copy").open("wb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())

    return work


def prepare_strip(path: str) -> Callable[[], Any]:
    """Prepare stripping a session with the standard preset."""
    from turnlog.edit.draft import Draft
    from turnlog.edit.strip.presets import PRESETS
    from turnlog.edit.strip.strip import strip_session
    from turnlog.session.session import Session

    def work() -> Any:
        with Session.open(path) as session:
            draft = Draft.from_transcript(session.file)
            return strip_session(session, draft, PRESETS[1].strip_options).report.bytes_after

    return work
