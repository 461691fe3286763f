"""The updates for a reader who follows a session, which a page can apply one by one.

    items    items are new or have grown: the page inserts each after the one it follows, or replaces the one with its
             key; items that became part of others are removed
    reset    the same, but what the page shows of that file is invalid; of all files, if none is named
    agent    a sub-agent has started, or more is known about it
    gone     a file was deleted
    state    what the session and its sub-agents are doing

Each update is self-contained and includes the cursor for the position after it. `CatchUp` builds the updates between a
cursor and the present from the files, so it doesn't matter whether a server was running in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from turnlog.entries.tail import Checkpoint
from turnlog.errors import TurnlogError
from turnlog.live.crew import CrewMember
from turnlog.live.cursor import Cursor, decode_cursor, find_checkpoint, hash_stream_name
from turnlog.live.file_stream import FileStream, ItemsDiff, iter_checkpoints
from turnlog.live.follower import (
    MAIN_STREAM,
    AgentJoined,
    ItemsChanged,
    SessionChange,
    SessionFollower,
    StreamDeleted,
    StreamPositions,
    build_cursor_text,
)
from turnlog.live.window_start import StartFinder
from turnlog.render.json_line_breaks import escape_line_breaks
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineItem

ItemRenderer = Callable[[Excerpt, Sequence[TimelineItem], str | None], list[str]]
"""Renders items of the named sub-agent, or of the session itself, as markup."""


class PageUpdate(NamedTuple):
    """An update as it is sent."""

    name: str
    data: bytes
    """JSON on one line."""
    cursor: str


def build_page_update(name: str, cursor: str, **fields: Any) -> PageUpdate:
    return PageUpdate(name, encode_update_data(fields), cursor)


def encode_update_data(value: Any) -> bytes:
    """Encode JSON on one line; lone surrogates are replaced, because a browser's parser would keep them."""
    try:
        return escape_line_breaks(msgspec.json.encode(value))
    except UnicodeEncodeError:
        import json

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return escape_line_breaks(text.encode("utf-8", "replace"))


def to_page_update(change: SessionChange, cursor: str, renderer: ItemRenderer) -> PageUpdate:
    """Convert a change to its update."""
    match change:
        case StreamDeleted(stream):
            return build_page_update("gone", cursor, stream=stream)
        case AgentJoined(member):
            return to_agent_update(member, cursor)
        case ItemsChanged(stream, grown, reset):
            return to_items_update(stream, grown, cursor, renderer, reset)


def to_agent_update(member: CrewMember, cursor: str) -> PageUpdate:
    """Build the update for a sub-agent that has started."""
    return build_page_update("agent", cursor, agent=member.agent_id, type=member.type, description=member.description)


def to_items_update(
    stream: str | None, grown: Sequence[ItemsDiff], cursor: str, renderer: ItemRenderer, reset: str | None = None
) -> PageUpdate:
    """Build the update for items that are new or have grown."""
    parts = [_build_part(stream or MAIN_STREAM, diff, renderer) for diff in grown]
    if reset is None:
        return build_page_update("items", cursor, parts=parts)
    return build_page_update("reset", cursor, stream=stream, reason=reset, parts=parts)


def _build_part(stream: str, grown: ItemsDiff, renderer: ItemRenderer) -> dict[str, Any]:
    name = grown.agent or stream
    texts = renderer(grown.excerpt, [change.item for change in grown.changes], name or None)
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


class CatchUp:
    """The updates that a new or returning reader has missed."""

    def __init__(
        self, session: Path, opening: StartFinder, positions: StreamPositions, written: dict[str, float]
    ) -> None:
        self._session = session
        self._opening = opening
        self._positions = positions
        self._written = written
        self._spots: dict[str, Checkpoint] = {}

    def iter_updates_since(
        self, cursor: str | None, renderer: ItemRenderer, at_work: frozenset[str] = frozenset()
    ) -> Iterator[PageUpdate]:
        """Yield the updates from a cursor to the present; without a usable cursor, show the session from scratch.

        `at_work` lists the sub-agents whose last items are then shown; for the others, only their names are sent.
        """
        known = decode_cursor(cursor) if cursor else None
        path, end = self._positions.streams[MAIN_STREAM]
        begin = self._find_start(known, MAIN_STREAM, path)
        if known is None or begin is None:
            yield from self._start_over("cursor" if cursor else "start", renderer, at_work)
            return
        self._spots = {name: at for name, at, _ in self._iter_agent_checkpoints(known) if at is not None}
        self._spots[MAIN_STREAM] = begin
        yield from self._catch_up_stream(MAIN_STREAM, path, begin, end, renderer)
        for name, at, target in self._iter_agent_checkpoints(known):
            yield from self._catch_up_agent(name, at, target, renderer)

    def _iter_agent_checkpoints(self, known: Cursor) -> Iterator[tuple[str, Checkpoint | None, Checkpoint]]:
        """Yield each sub-agent with the checkpoint up to which it was delivered, or with None if that is unknown."""
        for name, (path, end) in self._positions.streams.items():
            if name == MAIN_STREAM:
                continue
            if hash_stream_name(self._session.stem, name) in known.spots:
                yield name, self._find_start(known, name, path), end
            elif known.watermark and self._written.get(name, 0.0) * 1e9 <= known.watermark:
                yield name, end, end
            elif not known.watermark:
                yield name, Checkpoint(), end
            else:
                yield name, None, end

    def _catch_up_agent(
        self, name: str, at: Checkpoint | None, end: Checkpoint, renderer: ItemRenderer
    ) -> Iterator[PageUpdate]:
        path = self._positions.streams[name][0]
        if at is None:
            yield from self._show_agent(name, renderer, "replaced")
            return
        if at.offset == 0:
            yield to_agent_update(self._positions.members[name], self._build_cursor())
        yield from self._catch_up_stream(name, path, at, end, renderer)

    def _find_start(self, known: Cursor | None, name: str, path: Path) -> Checkpoint | None:
        """Find the checkpoint up to which a stream was delivered; return None if it is unknown or no longer valid."""
        spot = known.spots.get(hash_stream_name(self._session.stem, name)) if known else None
        end = self._positions.streams[name][1]
        checkpoint = find_checkpoint(path, spot) if spot is not None else None
        return checkpoint if checkpoint is not None and checkpoint.offset <= end.offset else None

    def _catch_up_stream(
        self, name: str, path: Path, begin: Checkpoint, end: Checkpoint, renderer: ItemRenderer
    ) -> Iterator[PageUpdate]:
        if begin.offset >= end.offset:
            return
        stream = self._open_stream(name, path, begin)
        try:
            for step in iter_checkpoints(path, begin, end):
                grown = stream.grow(step)
                self._spots[name] = step
                yield to_items_update(name, grown, self._build_cursor(), renderer)
        except TurnlogError:  # replaced just now: the follower will report it
            return
        finally:
            stream.close()

    def _start_over(self, reason: str, renderer: ItemRenderer, at_work: frozenset[str]) -> Iterator[PageUpdate]:
        path, end = self._positions.streams[MAIN_STREAM]
        quiet = {name: at for name, (_, at) in self._positions.streams.items() if name not in at_work}
        self._spots = {**quiet, MAIN_STREAM: end}
        stream = self._open_stream(MAIN_STREAM, path, end)
        try:
            yield to_items_update(None, stream.list_all_items(), self._build_cursor(), renderer, reason)
        finally:
            stream.close()
        for name, member in self._positions.members.items():
            yield to_agent_update(member, self._build_cursor())
            if name in at_work and name in self._positions.streams:
                yield from self._show_agent(name, renderer)

    def _show_agent(self, name: str, renderer: ItemRenderer, reset: str | None = None) -> Iterator[PageUpdate]:
        """Yield the last items of a sub-agent."""
        path, end = self._positions.streams[name]
        stream = self._open_stream(name, path, end)
        try:
            self._spots[name] = end
            yield to_items_update(name, stream.list_all_items(), self._build_cursor(), renderer, reset)
        except TurnlogError:
            return
        finally:
            stream.close()

    def _open_stream(self, name: str, path: Path, at: Checkpoint) -> FileStream:
        return FileStream(self._session, path, name or None, at, self._opening)

    def _build_cursor(self) -> str:
        return build_cursor_text(self._session, self._spots, self._written)


def build_catch_up(follow: SessionFollower) -> CatchUp:
    """Build the catch-up of a session to where it is followed now."""
    return CatchUp(follow.path, follow.opening, follow.get_positions(), dict(follow.written))
