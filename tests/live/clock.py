"""A clock that tests move, and sessions that were written just now."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.session.build import START, Build, encode_lines
from turnlog.entries.clients import read_process_identity


class ManualClock:
    """The time of this machine, and what was skipped."""

    def __init__(self) -> None:
        self._skipped = 0.0
        self._back = 0.0

    def skip(self, seconds: float) -> None:
        self._skipped += seconds

    def turn_back(self, seconds: float) -> None:
        """Change the wall clock only, as somebody who corrects it does."""
        self._back += seconds

    def now(self) -> float:
        return time.time() + self._skipped - self._back

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped


def build_now(step: float = 0.01) -> Build:
    """A session whose entries are written from now on."""
    build = Build(step=step)
    build.wait((datetime.now(UTC) - START).total_seconds())
    return build


def register_client(config_dir: Path, session_id: str) -> Path:
    """Let this process count as the client that has a session open, however long a test takes."""
    path = config_dir / "sessions" / f"{session_id}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"pid": os.getpid(), "sessionId": session_id, **read_process_identity(os.getpid())}))
    return path


def recent(build: Build, age: float = 0) -> Build:
    """The same session, with its last entry so many seconds ago."""
    move_times(build.lines, age)
    return build


def recent_lines(data: bytes, age: float = 0) -> bytes:
    lines = [json.loads(line) for line in data.splitlines()]
    move_times(lines, age)
    return encode_lines(lines)


def move_times(lines: list[dict[str, Any]], age: float) -> None:
    times = [datetime.fromisoformat(line["timestamp"]) for line in lines if "timestamp" in line]
    if not times:
        return
    shift = datetime.now(UTC) - timedelta(seconds=age) - max(times)
    for line in lines:
        if "timestamp" in line:
            moved = datetime.fromisoformat(line["timestamp"]) + shift
            line["timestamp"] = moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")
