"""The events of one file that is being written: the session's own, or a sub-agent's.

A stream starts at the end of the file as it was first seen (`from_end`), or at its start (`from_start`). While the
file is silent, a stream needs little memory: the fold is created when lines are added and can be released afterwards.
The next lines then start a new fold, which first reads the last lines before them.

Each event is returned once, even if the file is truncated, replaced or rewritten: the new content is read from its
start, and only entries later than the latest one before it count as new.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import open_regular_file, read_lines, split_lines
from turnlog.entries.reader import READ_BUFFER_BYTES, scan_lines
from turnlog.entries.tail import Checkpoint, Tail, read_tail
from turnlog.live.events.event import AnyEvent, SessionStarted
from turnlog.live.events.fold import EventFold
from turnlog.live.file_stream import CHUNK_BYTES, find_last_checkpoint, read_last_lines
from turnlog.session.clock import parse_timestamp, to_iso_time

_MAX_RECENT_ENTRIES = 16
FileSignature = tuple[int, int, int]
"""Size, modification time and inode: a file that keeps all three was not written."""


class EventStream:
    """The position up to which the events of a file have been returned."""

    __slots__ = (
        "_checkpoint",
        "_fold",
        "_is_cut",
        "_is_new",
        "_recent",
        "_threshold",
        "actor",
        "changed_at",
        "file",
        "latest",
        "session",
        "signature",
        "size",
    )

    def __init__(self, file: str, session: str, actor: str) -> None:
        self.file = file
        self.session = session
        self.actor = actor
        self.signature: FileSignature | None = None
        """What the file looked like when it was last read; None if it was not read yet."""
        self.size = 0
        """Before the first read: how much of the file existed before."""
        self.changed_at = 0.0
        """When lines were last added, in seconds since 1970."""
        self.latest = ""
        """The latest time of an entry that was read; until then, the time when the file was first seen."""
        self._checkpoint: Checkpoint | None = None
        self._fold: EventFold | None = None
        self._is_cut = False
        """Whether the fold starts in the middle of the file."""
        self._threshold = ""
        """Entries up to this time are not new; empty if all are."""
        self._is_new = True
        """Whether the last entry was new: one without a time counts like the one before it."""
        self._recent: deque[str] | None = None
        """The latest entries that were read, which tells entries of the same time apart."""

    @classmethod
    def from_end(cls, file: str, session: str, actor: str, size: int, seen_at: str) -> EventStream:
        """Create a stream of the events after the first `size` bytes."""
        stream = cls(file, session, actor)
        stream.size, stream.latest = size, seen_at
        return stream

    @classmethod
    def from_start(cls, file: str, session: str, actor: str, threshold: str) -> EventStream:
        """Create a stream of the events later than a time, or of all events if the time is empty."""
        stream = cls(file, session, actor)
        stream._checkpoint, stream.latest = Checkpoint(), threshold
        stream._start_over(threshold)
        return stream

    @property
    def is_loaded(self) -> bool:
        """Whether the stream has a fold in memory."""
        return self._fold is not None

    @property
    def offset(self) -> int:
        """How many bytes of the file have been read or skipped."""
        return self.size if self._checkpoint is None else self._checkpoint.offset

    def release(self) -> None:
        """Release the fold; the next lines start a new one."""
        self._fold = None

    def read_events(self, signature: FileSignature, now: float) -> list[AnyEvent]:
        """Return events of added lines; raise FileNotFoundError if the file is gone, OSError if it is unreadable."""
        if self._checkpoint is None:
            if signature[0] < self.size:
                self._checkpoint = Checkpoint()  # what was there before is gone
                self._start_over(self.latest)
            else:
                self._checkpoint = find_last_checkpoint(Path(self.file), self.size)
        events: list[AnyEvent] = []
        while True:
            tail = read_tail(self.file, self._checkpoint, CHUNK_BYTES)
            if tail.reset == "missing":
                raise FileNotFoundError(self.file)
            if tail.reset:
                self._start_over(min(self.latest, to_iso_seconds(now)))
            events += self._fold_lines(tail)
            self._checkpoint = tail.checkpoint
            if not tail.data:
                break
            self.changed_at = now
        self.signature = signature
        return events

    def _start_over(self, threshold: str) -> None:
        """Read from the start of the file, and return only entries after a time."""
        self._fold, self._is_cut = EventFold(self.session, self.actor), False
        self._threshold, self._is_new = threshold, not threshold

    def _fold_lines(self, tail: Tail) -> list[AnyEvent]:
        if not tail.data:
            return []
        fold = self._fold or self._prepare_fold(tail.start)
        events: list[AnyEvent] = []
        for item, raw in scan_lines(split_lines(tail.data), tail.start):
            if isinstance(item, Entry):
                found = fold.add(item, raw, item.offset)
                if self._note_entry(item):
                    events += found
        if self._is_cut:
            events = [event for event in events if not isinstance(event, SessionStarted)]
        return events

    def _prepare_fold(self, end: int) -> EventFold:
        """Start a fold with the last lines before an offset, to find the calls that are still open."""
        fold = self._fold = EventFold(self.session, self.actor)
        if end > 0:
            tail = read_last_lines(Path(self.file), end)
            self._is_cut = tail.start > 0
            for item, raw in scan_lines(split_lines(tail.data), tail.start):
                if isinstance(item, Entry):
                    fold.add(item, raw, item.offset)
                    self._note_entry(item)
        return fold

    def _note_entry(self, entry: Entry) -> bool:
        """Mark an entry as read; return whether it is new."""
        time, uuid = entry.timestamp, entry.uuid
        if self._threshold and time:
            moment = to_iso_time(parse_timestamp(time)) or ""
            is_known = moment == self._threshold and self._recent is not None and uuid in self._recent
            self._is_new = moment >= self._threshold and not is_known
        if not self._is_new:
            return False
        if time and time > self.latest:
            self.latest = time
        if uuid:
            if self._recent is None:
                self._recent = deque(maxlen=_MAX_RECENT_ENTRIES)
            self._recent.append(uuid)
        return True


def iter_events_before(file: str, session: str, actor: str, end: int | None) -> Iterator[AnyEvent]:
    """Yield the events of a file before an offset, or all of them; yield nothing if the file can't be read."""
    fold = EventFold(session, actor)
    try:
        fd, _ = open_regular_file(file)
        with os.fdopen(fd, "rb", buffering=READ_BUFFER_BYTES) as source:
            for item, raw in scan_lines(read_lines(source)):
                if end is not None and item.offset >= end:
                    return
                if isinstance(item, Entry):
                    yield from fold.add(item, raw, item.offset)
    except OSError:
        return


def to_iso_seconds(seconds: float) -> str:
    """Format a time in seconds since 1970 as transcripts do."""
    return to_iso_time(datetime.fromtimestamp(seconds, UTC)) or ""
