"""Follow one session: its file and those of its sub-agents, which appear as they start.

    follower = SessionFollower(path, opening)      at the present end of every file
    follower.poll()                                the changes since then
    follower.build_cursor()                        how far that is, for returning readers

Files are checked with `stat`, and only new complete lines are read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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
from turnlog.live.window_start import StartFinder

MAIN_STREAM = ""
"""The name of the session's own stream; the others are named by their sub-agent's id."""
_REST_AFTER_SECONDS = 60.0
"""A sub-agent's file that has not been written for this long is checked less often."""
_REST_POLL_SECONDS = 2.0


class StreamDeleted(NamedTuple):
    stream: str


class AgentJoined(NamedTuple):
    """A sub-agent has started, or more is known about it."""

    member: CrewMember


class ItemsChanged(NamedTuple):
    """Items are new or have grown."""

    stream: str
    grown: list[ItemsDiff]
    reset: str | None = None
    """Why what was shown before is invalid: the file was truncated, replaced or rewritten."""


SessionChange: TypeAlias = StreamDeleted | AgentJoined | ItemsChanged


class StreamPositions(NamedTuple):
    """The position of every stream of a session at one moment."""

    streams: dict[str, tuple[Path, Checkpoint]]
    members: dict[str, CrewMember]


class SessionFollower:
    """Follows a session."""

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
        """Yield the changes since the last poll, file by file, with at most one chunk of each."""
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
            diffs = stream.grow(tail.checkpoint)
        except TurnlogError:  # it was truncated or replaced meanwhile: the next poll will report it
            stream.close()
            return
        self.written[name] = _read_mtime(stream.path)
        self.folds[name].add_all(scan_lines(split_lines(tail.data), tail.start))
        yield ItemsChanged(name, diffs)

    def _restart_stream(self, name: str, reason: str) -> Iterator[SessionChange]:
        """Start again at the present end of a file, and show its last items."""
        stream = self.streams[name]
        stream.close()
        self.opening.forget(self.path, stream.agent_id)
        self._gone.discard(name)
        try:
            self._add_stream(name, stream.path, find_last_checkpoint(stream.path))
            diffs = self.streams[name].list_all_items()
        except (OSError, TurnlogError):
            return
        yield ItemsChanged(name, diffs, reason)

    def release_resting_streams(self) -> None:
        """Close the windows of sub-agents that have not been written for a while."""
        for name, stream in self.streams.items():
            if name != MAIN_STREAM and time.time() - self.written[name] > _REST_AFTER_SECONDS:
                stream.close()

    def close(self) -> None:
        """Close all streams."""
        for stream in self.streams.values():
            stream.close()

    # -- positions

    def get_positions(self) -> StreamPositions:
        """Return the present position of every stream."""
        streams = {name: (stream.path, stream.checkpoint) for name, stream in self.streams.items()}
        return StreamPositions(streams, dict(self.crew.members))

    def build_cursor(self) -> str:
        """Return the cursor of the present positions."""
        spots = {name: stream.checkpoint for name, stream in self.streams.items()}
        return build_cursor_text(self.path, spots, self.written)


def build_cursor_text(session: Path, spots: dict[str, Checkpoint], written: dict[str, float]) -> str:
    """Build the cursor of all streams, or of the latest ones if there are too many."""
    names = sorted(spots, key=lambda name: (name != MAIN_STREAM, -written.get(name, 0.0)))
    included = names[:MAX_CURSOR_FILES]
    watermark = 0 if len(names) <= MAX_CURSOR_FILES else int(written.get(included[-1], 0.0) * 1e9)
    return encode_cursor(
        Cursor({hash_stream_name(session.stem, name): to_cursor_spot(spots[name]) for name in included}, watermark)
    )


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
