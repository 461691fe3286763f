"""Following one session: its file and those of its sub-agents, which appear as they start.

    follow = Follow(path, opening)      at the present end of every file
    follow.poll()                       what has happened since, as happenings
    follow.cursor()                     how far that is, for whoever comes back

Files are looked at with `stat`; only whole lines that are new are read. A line that is still being written waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

from turnlog.entries.file_ends import split_lines
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, Tail, read_tail
from turnlog.errors import TurnlogError
from turnlog.live.activity import Activity
from turnlog.live.crew import AgentCrew, CrewMember
from turnlog.live.cursor import MAX_CURSOR_FILES, Cursor, encode_cursor, hash_stream_name, to_cursor_spot
from turnlog.live.file_stream import CHUNK_BYTES, FileStream, ItemsDiff, find_last_checkpoint, read_activity
from turnlog.live.states import SessionSigns
from turnlog.live.window_start import StartFinder

MAIN_STREAM = ""
"""The name of the session's own stream; the others go by their sub-agent's id."""
_REST_AFTER_SECONDS = 60.0
"""A sub-agent's file that was not written for so many seconds is looked at less often."""
_REST_POLL_SECONDS = 2.0


class StreamDeleted(NamedTuple):
    """A file was deleted."""

    stream: str


class AgentJoined(NamedTuple):
    """A sub-agent has started, or more is known of it."""

    member: CrewMember


class ItemsChanged(NamedTuple):
    """Items are new or have grown."""

    stream: str
    grown: list[ItemsDiff]
    reset: str | None = None
    """Why what was shown before is void: the file was truncated, replaced or rewritten."""


SessionChange: TypeAlias = StreamDeleted | AgentJoined | ItemsChanged


class StreamPositions(NamedTuple):
    """Where every stream of a session stood at one moment."""

    streams: dict[str, tuple[Path, Checkpoint]]
    members: dict[str, CrewMember]


class SessionFollower:
    """A session that is followed."""

    def __init__(self, path: Path, opening: StartFinder) -> None:
        self.path = path
        self.opening = opening
        self.crew = AgentCrew(path)
        self.streams: dict[str, FileStream] = {}
        self.folds: dict[str, Activity] = {}
        self.written: dict[str, float] = {}
        """When each file was last written, in seconds since 1970."""
        self._next: dict[str, float] = {}
        self._gone: set[str] = set()
        self._add_stream(MAIN_STREAM, path, find_last_checkpoint(path))
        for member in self.crew.find_new_members():
            self._add_member(member)

    def _add_stream(self, name: str, path: Path, at: Checkpoint) -> None:
        self.streams[name] = FileStream(self.path, path, name or None, at, self.opening)
        self.folds[name] = read_activity(path, at.offset, is_agent=bool(name))
        self.written[name] = _read_mtime(path)

    def _add_member(self, member: CrewMember, *, is_new: bool = False) -> None:
        if member.agent_id in self.streams:
            return
        try:
            at = Checkpoint() if is_new else find_last_checkpoint(member.path)
        except OSError:
            return
        self._add_stream(member.agent_id, member.path, at)

    # -- what happens

    def poll(self) -> Iterator[SessionChange]:
        """What has happened since the last time, one file after the other, at most a chunk of each."""
        for member in self.crew.find_new_members():
            yield AgentJoined(member)
            self._add_member(member, is_new=True)
        now = time.monotonic()
        for name in list(self.streams):
            if self._next.get(name, 0.0) <= now:
                yield from self._advance_stream(name)
                resting = name != MAIN_STREAM and time.time() - self.written[name] > _REST_AFTER_SECONDS
                self._next[name] = now + (_REST_POLL_SECONDS if resting else 0.0)

    def _advance_stream(self, name: str) -> Iterator[SessionChange]:
        stream = self.streams[name]
        try:
            tail = read_tail(stream.path, stream.checkpoint, CHUNK_BYTES)
        except OSError:
            tail = Tail(b"", 0, stream.checkpoint, "missing")
        if tail.reset == "missing":
            if name not in self._gone:
                self._gone.add(name)
                stream.close()
                yield StreamDeleted(name)
            return
        if tail.reset or name in self._gone:
            yield from self._restart_stream(name, tail.reset or "replaced")
            return
        if tail.data:
            yield from self._grow_stream(name, stream, tail)
        else:
            stream.checkpoint = tail.checkpoint

    def _grow_stream(self, name: str, stream: FileStream, tail: Tail) -> Iterator[SessionChange]:
        try:
            found = stream.grow(tail.checkpoint)
        except TurnlogError:  # it was cut or replaced between two looks at it: the next one will say so
            stream.close()
            return
        self.written[name] = _read_mtime(stream.path)
        self.folds[name].add_all(scan_lines(split_lines(tail.data), tail.start))
        yield ItemsChanged(name, found)

    def _restart_stream(self, name: str, reason: str) -> Iterator[SessionChange]:
        """Begin again at the present end of a file, and show its last items."""
        stream = self.streams[name]
        stream.close()
        self.opening.forget(self.path, stream.agent_id)
        self._gone.discard(name)
        try:
            self._add_stream(name, stream.path, find_last_checkpoint(stream.path))
            shown = self.streams[name].list_all_items()
        except (OSError, TurnlogError):
            return
        yield ItemsChanged(name, shown, reason)

    def release_resting_streams(self) -> None:
        """Let go of the windows of sub-agents that were not written for a while."""
        for name, stream in self.streams.items():
            if name != MAIN_STREAM and time.time() - self.written[name] > _REST_AFTER_SECONDS:
                stream.close()

    def close(self) -> None:
        """Let go of everything."""
        for stream in self.streams.values():
            stream.close()

    # -- where it stands

    def get_positions(self) -> StreamPositions:
        """Where every stream stands now."""
        streams = {name: (stream.path, stream.checkpoint) for name, stream in self.streams.items()}
        return StreamPositions(streams, dict(self.crew.members))

    def build_cursor(self) -> str:
        """How far everything was followed."""
        spots = {name: stream.checkpoint for name, stream in self.streams.items()}
        return build_cursor_text(self.path, spots, self.written)

    def read_signs(self) -> SessionSigns:
        """What is known of the session beside its transcript."""
        latest = max(self.written.values())
        summary = self.crew.read_summary_mtime()
        return SessionSigns(
            written=datetime.fromtimestamp(max(latest, summary), UTC),
            is_compacting=summary > latest and time.time() - summary < _REST_AFTER_SECONDS,
        )


def build_cursor_text(session: Path, spots: dict[str, Checkpoint], written: dict[str, float]) -> str:
    """The cursor of some streams: of all, or of those that were written last."""
    names = sorted(spots, key=lambda name: (name != MAIN_STREAM, -written.get(name, 0.0)))
    kept = names[:MAX_CURSOR_FILES]
    watermark = 0 if len(names) <= MAX_CURSOR_FILES else int(written.get(kept[-1], 0.0) * 1e9)
    return encode_cursor(
        Cursor({hash_stream_name(session.stem, name): to_cursor_spot(spots[name]) for name in kept}, watermark)
    )


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
