"""What is sent to somebody who follows a session: events that a page can carry out one by one.

    items    items are new or have grown: the page puts each behind the one that it follows, or in place of the one
             with its key; some may have become part of others and go
    reset    the same, but what the page shows of that file is void; of everything, if no file is named
    agent    a sub-agent has started, or more is known of it
    gone     a file was deleted
    state    what the session and its sub-agents are doing

Each event is whole by itself and carries the cursor behind it. `missed` gives the events between a cursor and the
present: they are made from the files, so it does not matter whether this server, or any, was running meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from turnlog.entries.tail import Checkpoint
from turnlog.errors import TurnlogError
from turnlog.live.crew import Member
from turnlog.live.cursor import Cursor, checkpoint_at, decode, name_of
from turnlog.live.follow import MAIN, Follow, Gone, Growth, Happening, Joined, Positions, cursor_of
from turnlog.live.opening import Opening
from turnlog.live.stream import Grown, Stream, pursued
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Item

Scribe = Callable[[Excerpt, Sequence[Item], str | None], list[str]]
"""Writes items as markup; of the sub-agent that is named, or of the session itself."""


class Event(NamedTuple):
    """An event as it is sent."""

    name: str
    data: bytes
    """JSON on one line."""
    cursor: str


def event(name: str, cursor: str, **fields: Any) -> Event:
    """Make an event."""
    return Event(name, encoded(fields), cursor)


def encoded(value: Any) -> bytes:
    """JSON on one line, also of texts that hold half a surrogate pair."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def told(happening: Happening, cursor: str, scribe: Scribe) -> Event:
    """The event of something that has happened."""
    match happening:
        case Gone(stream):
            return event("gone", cursor, stream=stream)
        case Joined(member):
            return joined(member, cursor)
        case Growth(stream, grown, reset):
            return grew(stream, grown, cursor, scribe, reset)


def joined(member: Member, cursor: str) -> Event:
    """A sub-agent has started."""
    return event("agent", cursor, agent=member.agent_id, type=member.type, description=member.description)


def grew(stream: str | None, grown: Sequence[Grown], cursor: str, scribe: Scribe, reset: str | None = None) -> Event:
    """Items are new or have grown."""
    parts = [_part(stream or MAIN, found, scribe) for found in grown]
    if reset is None:
        return event("items", cursor, parts=parts)
    return event("reset", cursor, stream=stream, reason=reset, parts=parts)


def _part(stream: str, grown: Grown, scribe: Scribe) -> dict[str, Any]:
    name = grown.agent or stream
    texts = scribe(grown.excerpt, [change.item for change in grown.changes], name or None)
    changes = [
        {
            "key": change.item.key,
            "after": change.after,
            "is_new": change.is_new,
            "kind": change.item.kind,
            "turn": change.item.turn,
            "html": text,
        }
        for change, text in zip(grown.changes, texts, strict=True)
    ]
    return {"stream": name, "changes": changes, "gone": grown.gone}


class Missed:
    """What somebody has missed who comes back, or comes for the first time."""

    def __init__(self, session: Path, opening: Opening, positions: Positions, written: dict[str, float]) -> None:
        self._session = session
        self._opening = opening
        self._positions = positions
        self._written = written
        self._spots: dict[str, Checkpoint] = {}

    def since(self, cursor: str | None, scribe: Scribe, at_work: frozenset[str] = frozenset()) -> Iterator[Event]:
        """The events from a cursor to the positions; without a usable one the session is shown from anew.

        `at_work` names the sub-agents whose last items are shown then; of the others only the names.
        """
        known = decode(cursor) if cursor else None
        path, end = self._positions.streams[MAIN]
        begin = self._begin(known, MAIN, path)
        if known is None or begin is None:
            yield from self._anew("cursor" if cursor else "start", scribe, at_work)
            return
        self._spots = {name: at for name, at, _ in self._old(known) if at is not None}
        self._spots[MAIN] = begin
        yield from self._pursue(MAIN, path, begin, end, scribe)
        for name, at, target in self._old(known):
            yield from self._agent(name, at, target, scribe)

    def _old(self, known: Cursor) -> Iterator[tuple[str, Checkpoint | None, Checkpoint]]:
        """The sub-agents, each with the place up to which it was delivered; None: it can't be known."""
        for name, (path, end) in self._positions.streams.items():
            if name == MAIN:
                continue
            if name_of(self._session.stem, name) in known.spots:
                yield name, self._begin(known, name, path), end
            elif known.watermark and self._written.get(name, 0.0) * 1e9 <= known.watermark:
                yield name, end, end
            elif not known.watermark:
                yield name, Checkpoint(), end
            else:
                yield name, None, end

    def _agent(self, name: str, at: Checkpoint | None, end: Checkpoint, scribe: Scribe) -> Iterator[Event]:
        path = self._positions.streams[name][0]
        if at is None:
            yield from self._shown(name, scribe, "replaced")
            return
        if at.offset == 0:
            yield joined(self._positions.members[name], self._cursor())
        yield from self._pursue(name, path, at, end, scribe)

    def _begin(self, known: Cursor | None, name: str, path: Path) -> Checkpoint | None:
        """The place up to which a stream was delivered; None if that is not known, or no longer there."""
        spot = known.spots.get(name_of(self._session.stem, name)) if known else None
        end = self._positions.streams[name][1]
        found = checkpoint_at(path, spot) if spot is not None else None
        return found if found is not None and found.offset <= end.offset else None

    def _pursue(self, name: str, path: Path, begin: Checkpoint, end: Checkpoint, scribe: Scribe) -> Iterator[Event]:
        if begin.offset >= end.offset:
            return
        stream = self._stream(name, path, begin)
        try:
            for step in pursued(path, begin, end):
                grown = stream.grow(step)
                self._spots[name] = step
                yield grew(name, grown, self._cursor(), scribe)
        except TurnlogError:  # replaced just now: whoever follows will be told
            return
        finally:
            stream.close()

    def _anew(self, reason: str, scribe: Scribe, at_work: frozenset[str]) -> Iterator[Event]:
        path, end = self._positions.streams[MAIN]
        quiet = {name: at for name, (_, at) in self._positions.streams.items() if name not in at_work}
        self._spots = {**quiet, MAIN: end}
        stream = self._stream(MAIN, path, end)
        try:
            yield grew(None, stream.shown(), self._cursor(), scribe, reason)
        finally:
            stream.close()
        for name, member in self._positions.members.items():
            yield joined(member, self._cursor())
            if name in at_work and name in self._positions.streams:
                yield from self._shown(name, scribe)

    def _shown(self, name: str, scribe: Scribe, reset: str | None = None) -> Iterator[Event]:
        """The last items of a sub-agent."""
        path, end = self._positions.streams[name]
        stream = self._stream(name, path, end)
        try:
            self._spots[name] = end
            yield grew(name, stream.shown(), self._cursor(), scribe, reset)
        except TurnlogError:
            return
        finally:
            stream.close()

    def _stream(self, name: str, path: Path, at: Checkpoint) -> Stream:
        return Stream(self._session, path, name or None, at, self._opening)

    def _cursor(self) -> str:
        return cursor_of(self._session, self._spots, self._written)


def missed(follow: Follow) -> Missed:
    """What can be missed of a session up to where it is followed now."""
    return Missed(follow.path, follow.opening, follow.positions(), dict(follow.written))
