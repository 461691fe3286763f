"""Reading events in tests: from bytes, from a growing file, and in short."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tests.session.build import SESSION, Build
from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import split_lines
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.live.events.event import AnyEvent
from turnlog.live.events.fold import EventFold

SHARED_FIELDS = ("session", "actor", "entry", "offset", "time", "confidence")


def fold_lines(fold: EventFold, lines: Iterable[bytes], offset: int = 0) -> list[AnyEvent]:
    """Return the events of some lines."""
    return [
        event
        for item, raw in scan_lines(lines, offset)
        if isinstance(item, Entry)
        for event in fold.add(item, raw, item.offset)
    ]


def read_events(data: bytes, actor: str = "main") -> list[AnyEvent]:
    """Return the events of a whole file."""
    return fold_lines(EventFold(SESSION, actor), io.BytesIO(data))


def list_events(build: Build, *kinds: str, actor: str = "main") -> list[dict[str, Any]]:
    """Return the events of a session as JSON objects without the fields that all events have."""
    found = [msgspec.to_builtins(event) for event in read_events(build.data(), actor)]
    chosen = [event for event in found if not kinds or event["event"] in kinds]
    return [{name: value for name, value in event.items() if name not in SHARED_FIELDS} for event in chosen]


def list_kinds(build: Build, actor: str = "main") -> list[str]:
    """Return the names of a session's events, except those that nearly every session has."""
    names = [event["event"] for event in list_events(build, actor=actor)]
    return [name for name in names if name not in ("session-start", "context")]


class GrowingReader:
    """Reads the events of a growing file, as live views do."""

    def __init__(self, path: Path, actor: str = "main") -> None:
        self.path = path
        self.fold = EventFold(SESSION, actor)
        self.checkpoint = Checkpoint()
        self.events: list[AnyEvent] = []

    def poll(self, limit: int = 1 << 20) -> None:
        """Read all complete lines that were added."""
        while True:
            tail = read_tail(self.path, self.checkpoint, limit)
            assert tail.reset is None
            self.checkpoint = tail.checkpoint
            if not tail.data:
                return
            self.events += fold_lines(self.fold, split_lines(tail.data), tail.start)
