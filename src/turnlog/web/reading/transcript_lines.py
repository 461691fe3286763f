"""The lines of a transcript by their offsets, whether or not its timeline has an item for them.

A page that follows a growing session shows lines before the session's timeline is built again, and also those that the
timeline leaves out, such as a second entry with the same uuid. What such a page links to must exist.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from turnlog.entries.agents import list_agent_files
from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import find_line_end, open_regular_file, read_at
from turnlog.entries.reader import FileSource
from turnlog.entries.spread_values import join_lines
from turnlog.errors import NotFound, Unreadable
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import LinePlace, TimelineItem
from turnlog.web.answers import get_machine
from turnlog.web.machine import IndexedSession, Machine
from turnlog.web.reading.transcript_view import MAX_AGENT_ID_CHARS, restore_archived_copy

_MAX_OPENING_BYTES = 1 << 16
"""The first line of a value that stretches over several is shorter."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TranscriptLine(NamedTuple):
    """One line of a session's file or of a sub-agent's."""

    session: IndexedSession
    agent: str | None
    path: Path
    place: LinePlace

    @property
    def address(self) -> str:
        query = f"?{urlencode({'agent': self.agent}, errors='replace')}" if self.agent else ""
        return f"/s/{self.session.ref}/raw/{self.place.offset}{query}"

    def read_bytes(self) -> bytes:
        """Return the line without its end."""
        source = FileSource(self.path)
        try:
            return source.read(*self.place).rstrip(b"\r\n")
        finally:
            source.close()

    def read_excerpt(self) -> Excerpt:
        source = FileSource(self.path)
        try:
            return Excerpt.read(source, [TimelineItem("", "meta", None, [self.place])])
        finally:
            source.close()

    def find_entry(self, excerpt: Excerpt) -> Entry | None:
        """Return the entry, or None for a broken line."""
        item = excerpt.find_item_at(self.place.offset)
        return item if isinstance(item, Entry) else None


def open_transcript_line(request: Request) -> TranscriptLine:
    """Find the line that starts at the offset in a request; raise `NotFound` if there is none."""
    machine = get_machine(request)
    session = machine.find_session_file(request.path_params["ref"])
    if session.is_gone:
        session = session._replace(path=restore_archived_copy(machine, session))
    agent = request.query_params.get("agent") or None
    path = _find_agent_path(machine, session.path, agent) if agent else session.path
    return TranscriptLine(session, agent, path, _find_line(path, request.path_params["offset"]))


def _find_agent_path(machine: Machine, path: Path, agent: str) -> Path:
    if len(agent) > MAX_AGENT_ID_CHARS:
        raise NotFound("no such sub-agent")
    own = next((file.path for file in list_agent_files(path) if file.agent_id == agent), None)
    return own or machine.timelines.get_timeline(path, agent).path  # the oldest clients wrote into the session's file


def _find_line(path: Path, offset: int) -> LinePlace:
    size = 0
    try:
        fd, status = open_regular_file(path)
        try:
            if offset < status.st_size and _is_line_start(fd, offset):
                size = _measure_line(fd, offset)
        finally:
            os.close(fd)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None
    if not size:
        raise NotFound(f"no entry starts at offset {offset}")
    return LinePlace(offset, size)


def _measure_line(fd: int, offset: int) -> int:
    """Return the length of the line at an offset, or of all lines that its value stretches over."""
    size = find_line_end(fd, offset) - offset
    first = read_at(fd, offset, min(size, _MAX_OPENING_BYTES))
    if size > len(first) or first.endswith(b"}\n"):
        return size
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(offset)
        return len(next(join_lines(file)))


def _is_line_start(fd: int, offset: int) -> bool:
    before = read_at(fd, max(offset - len(_BYTE_ORDER_MARK), 0), min(offset, len(_BYTE_ORDER_MARK)))
    is_after_mark = offset == len(before) and before == _BYTE_ORDER_MARK
    return not before or before.endswith(b"\n") or is_after_mark
