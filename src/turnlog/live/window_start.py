"""Where a window on a file starts: near its end, found in the stored timeline."""

from __future__ import annotations

from pathlib import Path

from turnlog.errors import TurnlogError
from turnlog.live.window import KEPT_ITEMS, WindowStart
from turnlog.session.timeline.timeline import LinePlace, TimelineItem
from turnlog.store.timelines.kept_timeline import KeptTimeline
from turnlog.store.timelines.timelines import Timelines

MAX_WHOLE_READ_BYTES = 1 << 20
"""Files up to this size are read from the start."""


_START_REUSE_BYTES = 8 << 20
"""A start is reused until this much was written after it: a growing session has a new timeline at every moment, and
building a long one takes a second or more."""


class StartFinder:
    """Finds where windows start."""

    def __init__(
        self, timelines: Timelines | None = None, kept: int = KEPT_ITEMS, small: int = MAX_WHOLE_READ_BYTES
    ) -> None:
        self._timelines = timelines
        self._small = small
        self._starts: dict[tuple[Path, str | None], WindowStart] = {}
        self.kept = kept

    def find_start(self, session: Path, agent_id: str | None, end: int) -> WindowStart:
        """Find where the window starts on a file that was followed up to an offset."""
        if end <= self._small or self._timelines is None:
            return WindowStart()
        known = self._starts.get((session, agent_id))
        if known is not None and known.offset < end < known.offset + _START_REUSE_BYTES:
            return known
        start = self._starts[session, agent_id] = self._find_in_timeline(self._timelines, session, agent_id, end)
        return start

    def forget(self, session: Path, agent_id: str | None) -> None:
        """Discard the start of a file that was replaced."""
        self._starts.pop((session, agent_id), None)

    def _find_in_timeline(self, timelines: Timelines, session: Path, agent_id: str | None, end: int) -> WindowStart:
        try:
            timeline = timelines.get_timeline(session, agent_id)
        except (TurnlogError, OSError):
            return WindowStart()
        if any(
            helper.kind == "inline" for helper in timeline.head.agents
        ):  # inline agents are numbered from the start of the file
            return WindowStart()
        at = timeline.find_position_at(None, end - 1)
        return _build_start(timeline, at - self.kept) if at is not None and at > self.kept else WindowStart()


def _build_start(timeline: KeptTimeline, first: int) -> WindowStart:
    """Return the start of a window that shows the items of the current branch starting at a position."""
    item = timeline.read_items(None, first, 1)[0]
    begin, turn = _find_chapter(timeline, first)
    offset = _read_offset(item)
    if turn == 0 or begin == first:
        return WindowStart(offset, max(turn - 1, 0) if turn else _count_turns_before(timeline, first))
    prompt = timeline.read_items(None, begin, 1)[0]
    if prompt.kind != "prompt" or _read_offset(prompt) >= offset:
        return WindowStart(offset, turn)
    return WindowStart(offset, turn - 1, LinePlace(*prompt.lines[0]))


def _find_chapter(timeline: KeptTimeline, position: int) -> tuple[int, int]:
    """Return where the chapter of a position starts, and the number of its turn."""
    begin = 0
    for place in timeline.get_branch().chapters:
        chapter = timeline.head.chapters[place]
        if position < begin + chapter.count:
            return begin, chapter.turn
        begin += chapter.count
    return begin, 0


def _count_turns_before(timeline: KeptTimeline, position: int) -> int:
    begin = turns = 0
    for place in timeline.get_branch().chapters:
        chapter = timeline.head.chapters[place]
        if begin > position:
            break
        turns = max(turns, chapter.turn)
        begin += chapter.count
    return turns


def _read_offset(item: TimelineItem) -> int:
    return LinePlace(*item.lines[0]).offset
