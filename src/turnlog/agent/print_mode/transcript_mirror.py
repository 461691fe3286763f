"""Copies of the lines of a session's files, for a program that keeps sessions elsewhere (`--session-mirror`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


def build_mirror_line(path: Path, data: bytes) -> dict[str, Any]:
    """Return the message about lines that were written to a file."""
    entries = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
    return {"type": "transcript_mirror", "filePath": str(path), "entries": entries}
