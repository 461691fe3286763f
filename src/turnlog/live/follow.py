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

from turnlog.entries.reader import scan
from turnlog.entries.tail import Checkpoint, Tail, read_tail
from turnlog.entries.window import lines_of
from turnlog.errors import TurnlogError
from turnlog.live.crew import Crew, Member
from turnlog.live.cursor import MOST, Cursor, encode, name_of, spot_of
from turnlog.live.fold import Fold
from turnlog.live.opening import Opening
from turnlog.live.states import Signs
from turnlog.live.stream import CHUNK, Grown, Stream, present, told

MAIN = ""
"""The name of the session's own stream; the others go by their sub-agent's id."""
_RESTING = 60.0
"""A sub-agent's file that was not written for so many seconds is looked at less often."""
_SELDOM = 2.0


class Gone(NamedTuple):
    """A file was deleted."""

    stream: str


class Joined(NamedTuple):
    """A sub-agent has started, or more is known of it."""

    member: Member


class Growth(NamedTuple):
    """Items are new or have grown."""

    stream: str
    grown: list[Grown]
    reset: str | None = None
    """Why what was shown before is void: the file was truncated, replaced or rewritten."""


Happening: TypeAlias = Gone | Joined | Growth


class Positions(NamedTuple):
    """Where every stream of a session stood at one moment."""

    streams: dict[str, tuple[Path, Checkpoint]]
    members: dict[str, Member]


class Follow:
    """A session that is followed."""

    def __init__(self, path: Path, opening: Opening) -> None:
        self.path = path
        self.opening = opening
        self.crew = Crew(path)
        self.streams: dict[str, Stream] = {}
        self.folds: dict[str, Fold] = {}
        self.written: dict[str, float] = {}
        """When each file was last written, in seconds since 1970."""
        self._next: dict[str, float] = {}
        self._gone: set[str] = set()
        self._join(MAIN, path, present(path))
        for member in self.crew.look():
            self._enlist(member)

    def _join(self, name: str, path: Path, at: Checkpoint) -> None:
        self.streams[name] = Stream(self.path, path, name or None, at, self.opening)
        self.folds[name] = told(path, at.offset, is_agent=bool(name))
        self.written[name] = _mtime(path)

    def _enlist(self, member: Member, *, is_new: bool = False) -> None:
        if member.agent_id in self.streams:
            return
        try:
            at = Checkpoint() if is_new else present(member.path)
        except OSError:
            return
        self._join(member.agent_id, member.path, at)

    # -- what happens

    def poll(self) -> Iterator[Happening]:
        """What has happened since the last time, one file after the other, at most a chunk of each."""
        for member in self.crew.look():
            yield Joined(member)
            self._enlist(member, is_new=True)
        now = time.monotonic()
        for name in list(self.streams):
            if self._next.get(name, 0.0) <= now:
                yield from self._advance(name)
                resting = name != MAIN and time.time() - self.written[name] > _RESTING
                self._next[name] = now + (_SELDOM if resting else 0.0)

    def _advance(self, name: str) -> Iterator[Happening]:
        stream = self.streams[name]
        try:
            tail = read_tail(stream.path, stream.checkpoint, CHUNK)
        except OSError:
            tail = Tail(b"", 0, stream.checkpoint, "missing")
        if tail.reset == "missing":
            if name not in self._gone:
                self._gone.add(name)
                stream.close()
                yield Gone(name)
            return
        if tail.reset or name in self._gone:
            yield from self._restart(name, tail.reset or "replaced")
            return
        if tail.data:
            yield from self._grow(name, stream, tail)
        else:
            stream.checkpoint = tail.checkpoint

    def _grow(self, name: str, stream: Stream, tail: Tail) -> Iterator[Happening]:
        try:
            found = stream.grow(tail.checkpoint)
        except TurnlogError:  # it was cut or replaced between two looks at it: the next one will say so
            stream.close()
            return
        self.written[name] = _mtime(stream.path)
        self.folds[name].add_all(scan(lines_of(tail.data), tail.start))
        yield Growth(name, found)

    def _restart(self, name: str, reason: str) -> Iterator[Happening]:
        """Begin again at the present end of a file, and show its last items."""
        stream = self.streams[name]
        stream.close()
        self.opening.forget(self.path, stream.agent_id)
        self._gone.discard(name)
        try:
            self._join(name, stream.path, present(stream.path))
            shown = self.streams[name].shown()
        except (OSError, TurnlogError):
            return
        yield Growth(name, shown, reason)

    def rest(self) -> None:
        """Let go of the windows of sub-agents that were not written for a while."""
        for name, stream in self.streams.items():
            if name != MAIN and time.time() - self.written[name] > _RESTING:
                stream.close()

    def close(self) -> None:
        """Let go of everything."""
        for stream in self.streams.values():
            stream.close()

    # -- where it stands

    def positions(self) -> Positions:
        """Where every stream stands now."""
        streams = {name: (stream.path, stream.checkpoint) for name, stream in self.streams.items()}
        return Positions(streams, dict(self.crew.members))

    def cursor(self) -> str:
        """How far everything was followed."""
        spots = {name: stream.checkpoint for name, stream in self.streams.items()}
        return cursor_of(self.path, spots, self.written)

    def signs(self) -> Signs:
        """What is known of the session beside its transcript."""
        latest = max(self.written.values())
        summary = self.crew.summary_written()
        return Signs(
            written=datetime.fromtimestamp(max(latest, summary), UTC),
            is_compacting=summary > latest and time.time() - summary < _RESTING,
        )


def cursor_of(session: Path, spots: dict[str, Checkpoint], written: dict[str, float]) -> str:
    """The cursor of some streams: of all, or of those that were written last."""
    names = sorted(spots, key=lambda name: (name != MAIN, -written.get(name, 0.0)))
    kept = names[:MOST]
    watermark = 0 if len(names) <= MOST else int(written.get(kept[-1], 0.0) * 1e9)
    return encode(Cursor({name_of(session.stem, name): spot_of(spots[name]) for name in kept}, watermark))


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
