"""The part of a session that may still have spans to send: from the first unsettled turn to the end.

A session of hundreds of megabytes is read completely once; after that, only new turns are read. If the end can't be
interpreted alone (it continues an older turn, or the file has been replaced), the whole file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.entries.agents import list_agent_files
from turnlog.entries.reader import FileSource, Transcript
from turnlog.entries.tail import Checkpoint
from turnlog.errors import TurnlogError, Unreadable
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.spans.span_trees import Trace, build_session_traces


class TraceProgress(NamedTuple):
    """How far a session is settled: no span before this point will be sent again."""

    checkpoint: Checkpoint
    turns: int
    """The number of turns before it."""
    leaf: str | None
    """The last uuid before this point, which is the parent of the next turn."""

    def to_text(self) -> str:
        """Encode the progress for the outbox."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str | None) -> TraceProgress | None:
        """Decode the output of `to_text`; return None for anything else."""
        try:
            return msgspec.json.decode(text, type=cls) if text else None
        except msgspec.DecodeError:
            return None


class SessionTail(NamedTuple):
    """A session, or the end of one."""

    session: Session
    base: int
    """The offset in the file where the part starts."""
    turns: int
    """The number of turns before it."""
    leaf: str | None
    """The last uuid before it."""

    @property
    def is_whole(self) -> bool:
        """Whether this is the whole file."""
        return self.base == 0

    def build_traces(self, signals: SessionSignals) -> list[Trace]:
        """Build the traces of the turns in this part."""
        traces = build_session_traces(self.session, signals, first_turn=self.turns + 1)
        # In a part, an agent without its call belongs to a turn that is already settled.
        return traces if self.is_whole else [trace for trace in traces if _is_in_session(self.session, trace)]

    def close(self) -> None:
        self.session.close()

    def compute_progress(self, traces: list[Trace]) -> TraceProgress | None:
        """Return how far the session is settled once the final spans of these traces are in the outbox."""
        session = self.session
        limit = _find_first_unsettled(session, traces)
        offset = session.file.complete if limit is None else limit
        checkpoint = session.file.source.make_checkpoint(offset)
        if checkpoint is None:
            return None
        before = sum(turn.start.offset < offset for turn in session.turns)
        uuids = (entry.uuid for entry in reversed(session.file.entries) if entry.uuid and entry.offset < offset)
        return TraceProgress(checkpoint, self.turns + before, next(uuids, self.leaf))


def read_session_tail(path: Path, progress: TraceProgress | None) -> SessionTail:
    """Read the unsettled end of a session, or all of it if the end alone is not enough."""
    if progress is not None and progress.checkpoint.offset and (tail := _read_tail(path, progress)):
        return tail
    return SessionTail(open_traced_session(path), 0, 0, None)


def open_traced_session(path: Path) -> Session:
    """Open a session; if its own file is missing, the session consists of its sub-agents."""
    try:
        return Session.open(path)
    except Unreadable:
        if path.exists() or not list_agent_files(path):
            raise
        return Session.from_missing_file(path)


def _read_tail(path: Path, progress: TraceProgress) -> SessionTail | None:
    base = progress.checkpoint.offset
    source = _OffsetSource(path, base)
    try:
        if source.make_checkpoint(0) == progress.checkpoint:
            session = Session(Transcript(source, path))
            if _stands_alone(session, progress.leaf):
                return SessionTail(session, base, progress.turns, progress.leaf)
    except TurnlogError:
        pass  # truncated in the meantime
    source.close()
    return None


def _stands_alone(session: Session, leaf: str | None) -> bool:
    """Return whether a part depends on earlier entries only through its first parent and starts with a dated turn."""
    known = session.file.by_uuid.keys() | {leaf, None}
    if any(entry.parent_uuid not in known for entry in session.file.entries):
        return False
    if any(session.find_turn(message.lines[0]) is None for message in session.messages):
        return False
    calls = {call.id for call in session.calls}
    keys = [*calls, *(message.key for message in session.messages), *(turn.start.uuid or "@" for turn in session.turns)]
    if any(key.startswith("@") for key in keys):  # identified by their place in the file
        return False
    if any(notice.call_id and notice.call_id not in calls for notice in session.notices):
        return False
    return all(turn.start.timestamp for turn in session.turns[:1])


def _find_first_unsettled(session: Session, traces: list[Trace]) -> int | None:
    """Find the start of the first turn that is still in progress or waiting for an answer."""
    unsettled = [trace.start.offset for trace in traces if not trace.settled and _is_in_session(session, trace)]
    last = session.turns[-1:]
    waiting = [turn.start.offset for turn in last if not _has_trace(turn, traces)]
    return min([*unsettled, *waiting], default=None)


def _is_in_session(session: Session, trace: Trace) -> bool:
    """Return whether a trace starts in the session's own file and not in a sub-agent's."""
    entries = session.file.entries
    return trace.start.index < len(entries) and entries[trace.start.index] is trace.start


def _has_trace(turn: Turn, traces: list[Trace]) -> bool:
    return any(trace.start is turn.start for trace in traces)


class _OffsetSource(FileSource):
    """A file that starts at an offset; all other offsets are relative to it."""

    def __init__(self, path: Path, base: int) -> None:
        super().__init__(path)
        self._base = base

    def read(self, offset: int, size: int) -> bytes:
        return super().read(self._base + offset, size)

    def read_lines(self, offset: int) -> Iterator[bytes]:
        return super().read_lines(self._base + offset)

    def make_checkpoint(self, offset: int) -> Checkpoint | None:
        return super().make_checkpoint(self._base + offset)
