"""Replays as asciinema recordings (version 2): a header, then one line for each time that the screen changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.live.replay.performance import ReplayPerformance
from turnlog.live.replay.replayed_session import ReplayedSession
from turnlog.render.json_bytes import to_json_bytes
from turnlog.render.terminal import TerminalScreen, to_visible_line
from turnlog.session.clock import parse_timestamp

DEFAULT_COLUMNS, DEFAULT_ROWS = 100, 30
MIN_COLUMNS, MAX_COLUMNS = 20, 500
MIN_ROWS, MAX_ROWS = 5, 200
_FRAME_SECONDS = 0.04
"""Changes closer together than this, in real time, become one."""
_LAST_FRAME_SECONDS = 2.0
"""How long the last picture stays, so that players don't jump back to the start at once."""
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def iter_cast_lines(
    replay: ReplayedSession,
    *,
    speed: float = 1.0,
    idle_limit: float | None = None,
    columns: int = DEFAULT_COLUMNS,
    rows: int = DEFAULT_ROWS,
) -> Iterator[bytes]:
    """Yield the lines of a recording, as fast as they can be drawn."""
    yield to_json_bytes(_build_header(replay, idle_limit, columns, rows)) + b"\n"
    output: list[str] = [_HIDE_CURSOR]
    look = TerminalScreen(color=True, width=columns)
    performance = ReplayPerformance(replay, output.append, lambda: look)
    performance.draw_due()
    yield _build_event(0.0, output)
    while (change := performance.find_next_change()) is not None:
        performance.pass_time(max(change - performance.deck.now, _FRAME_SECONDS * speed))
        if output:
            yield _build_event(performance.deck.now / speed, output)
    performance.close()
    output.append(_SHOW_CURSOR)
    yield _build_event(performance.deck.now / speed, output)
    yield _build_event(performance.deck.now / speed + _LAST_FRAME_SECONDS, ["\r"])


def _build_header(replay: ReplayedSession, idle_limit: float | None, columns: int, rows: int) -> dict[str, Any]:
    times = (parse_timestamp(cue.event.time) for cue in replay.cues)
    start = next((time for time in times if time is not None), None)
    header: dict[str, Any] = {"version": 2, "width": columns, "height": rows}
    if start is not None:
        header["timestamp"] = int(start.timestamp())
    if idle_limit is not None:
        header["idle_time_limit"] = idle_limit
    return {**header, "title": to_visible_line(replay.title), "env": {"TERM": "xterm-256color"}}


def _build_event(at: float, output: list[str]) -> bytes:
    """Build the line for the text written so far, and empty the list."""
    text = "".join(output)
    output.clear()
    return to_json_bytes([round(at, 3), "o", text]) + b"\n"
