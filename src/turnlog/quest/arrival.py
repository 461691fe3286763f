"""What a session did before it joins the party: the end of its file, and its sub-agents that are at work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import split_lines
from turnlog.entries.reader import scan_lines
from turnlog.live.board import BoardRow
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent, SessionStarted
from turnlog.live.events.fold import EventFold
from turnlog.live.file_stream import read_activity, read_last_lines
from turnlog.live.session_watch import JudgedSession, estimate_first_activity, judge_agent_state
from turnlog.live.signs import NO_SIGNS
from turnlog.live.states import SessionState
from turnlog.quest.game_event import GameEvent

_FRESH_SECONDS = 600.0
"""A sub-agent whose file has not been written for this long is not at work, whatever its last entry says."""
_AT_WORK_KINDS = ("answering", "running", "retrying", "waiting", "permission")
_ARRIVAL_GAMES = ("quest", "context", "todos")


def read_recent_events(row: BoardRow, end: int) -> list[AnyEvent]:
    """Read the last events of the first `end` bytes of a session's file, of which about 256 KB are read."""
    fold = EventFold(row.session_id)
    try:
        tail = read_last_lines(Path(row.path), end)
    except OSError:
        return []
    events: list[AnyEvent] = []
    for item, raw in scan_lines(split_lines(tail.data), tail.start):
        if isinstance(item, Entry):
            events += fold.add(item, raw, item.offset)
    return [event for event in events if not isinstance(event, SessionStarted)]


def is_agent_at_work(path: Path, session: SessionState, now: float) -> bool:
    """Return whether a sub-agent of a session that works is at work too."""
    try:
        status = path.stat()
    except OSError:
        return False
    fold = read_activity(path, status.st_size, is_agent=True)
    written = estimate_first_activity(fold, status.st_mtime, now)
    if now - written > _FRESH_SECONDS:
        return False
    return judge_agent_state(fold, written, now, JudgedSession(session, NO_SIGNS)).kind in _AT_WORK_KINDS


def describe_arrival(past: Sequence[GameEvent], row: BoardRow) -> list[GameEvent]:
    """Return the latest of what is known about a session that has just joined, so that its hero is not blank."""
    chosen = {event.game: event for event in past if event.actor == MAIN_ACTOR and event.game in _ARRIVAL_GAMES}
    if row.column == "idle":
        chosen.pop("quest", None)
    return list(chosen.values())
