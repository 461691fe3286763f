"""The events of existing files: of one file, or of a session together with its sub-agents.

Files are read line by line, so a session can be of any size. A sub-agent's file is opened when its first
event is due and closed after its last, so a session can have thousands of sub-agents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from pathlib import Path

from turnlog.entries.agents import list_agent_files, read_agent_owner
from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import MAX_END_BYTES, open_regular_file, read_at, read_lines, split_lines
from turnlog.entries.layout import is_session_id
from turnlog.entries.reader import READ_BUFFER_BYTES, scan_lines
from turnlog.errors import Unreadable
from turnlog.live.crew import SHOWN_AGENT_KINDS
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent
from turnlog.live.events.fold import EventFold, to_actor
from turnlog.session.clock import normalize_timestamp

_AGENT_PREFIX = "agent-"


def iter_file_events(path: Path, session: str, actor: str = MAIN_ACTOR) -> Iterator[AnyEvent]:
    """Yield the events of one file, including those of a last line without a newline."""
    fold = EventFold(session, actor)
    try:
        fd, _ = open_regular_file(path)
        with os.fdopen(fd, "rb", buffering=READ_BUFFER_BYTES) as file:
            for item, raw in scan_lines(read_lines(file)):
                if isinstance(item, Entry):
                    yield from fold.add(item, raw, item.offset)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def iter_session_events(path: Path) -> Iterator[AnyEvent]:
    """Yield the events of a session and its sub-agents in chronological order.

    Events of one file keep their order; an event without a time follows the one before it. A sub-agent's file that
    can't be read is skipped. The path may also be that of a sub-agent's own file.
    """
    if path.stem.startswith(_AGENT_PREFIX) and not is_session_id(path.stem):
        yield from iter_file_events(path, read_agent_owner(path).session_id, _name_actor(path))
        return
    streams = [_Stream(iter_file_events(path, path.stem), is_required=True)]
    streams += [
        _Stream(iter_file_events(file.path, path.stem, to_actor(file.agent_id)), read_first_time(file.path))
        for file in list_agent_files(path)
        if file.kind in SHOWN_AGENT_KINDS
    ]
    yield from _merge_streams(streams)


class _Stream:
    """The events of one file, with the time of the next one."""

    def __init__(self, events: Iterator[AnyEvent], time: str = "", *, is_required: bool = False) -> None:
        self._events = events
        self._is_required = is_required
        self.time = time
        self.event: AnyEvent | None = None

    def advance(self) -> bool:
        """Read the next event; return whether there is one."""
        try:
            self.event = next(self._events, None)
        except Unreadable:
            if self._is_required:
                raise
            self.event = None
        if self.event is not None and self.event.time is not None:
            self.time = self.event.time
        return self.event is not None


def _merge_streams(streams: list[_Stream]) -> Iterator[AnyEvent]:
    """Merge the streams: always yield the earliest of their next events."""
    queue = [(stream.time, place) for place, stream in enumerate(streams)]
    heapify(queue)
    while queue:
        _, place = queue[0]
        stream = streams[place]
        if stream.event is not None:
            yield stream.event
        if stream.advance():
            heapreplace(queue, (stream.time, place))
        else:
            heappop(queue)


def read_first_time(path: Path) -> str:
    """Return the first time in a file; return an empty string if no entry has a time."""
    try:
        fd, _ = open_regular_file(path)
    except OSError:
        return ""
    try:
        head = read_at(fd, 0, MAX_END_BYTES)
    finally:
        os.close(fd)
    entries = (item for item, _ in scan_lines(split_lines(head)) if isinstance(item, Entry))
    return next((time for entry in entries if (time := normalize_timestamp(entry.timestamp))), "")


def _name_actor(path: Path) -> str:
    return to_actor(path.stem.removeprefix(_AGENT_PREFIX))
