"""Where a window on a file begins: near its end, found in the timeline that is kept of it."""

from __future__ import annotations

from pathlib import Path

from turnlog.errors import TurnlogError
from turnlog.live.window import KEPT, Start
from turnlog.session.timeline.timeline import Item, Place
from turnlog.store.timelines.kept import Kept
from turnlog.store.timelines.timelines import Timelines

SMALL = 1 << 20
"""Files up to this size are read from their beginning."""


_NEAR = 8 << 20
"""A place that was found is good enough until so much was written behind it: a session that grows has a new timeline at
every moment, and a long one takes a second or more to make."""


class Opening:
    """Finds where windows begin."""

    def __init__(self, timelines: Timelines | None = None, kept: int = KEPT, small: int = SMALL) -> None:
        self._timelines = timelines
        self._small = small
        self._found: dict[tuple[Path, str | None], Start] = {}
        self.kept = kept

    def start(self, session: Path, agent_id: str | None, end: int) -> Start:
        """Where the window on a file begins that was followed up to an offset."""
        if end <= self._small or self._timelines is None:
            return Start()
        known = self._found.get((session, agent_id))
        if known is not None and known.offset < end < known.offset + _NEAR:
            return known
        found = self._found[session, agent_id] = self._look(self._timelines, session, agent_id, end)
        return found

    def forget(self, session: Path, agent_id: str | None) -> None:
        """Another file has the name now."""
        self._found.pop((session, agent_id), None)

    def _look(self, timelines: Timelines, session: Path, agent_id: str | None, end: int) -> Start:
        try:
            timeline = timelines.of(session, agent_id)
        except (TurnlogError, OSError):
            return Start()
        if any(helper.kind == "inline" for helper in timeline.head.agents):  # they are numbered from the beginning
            return Start()
        at = timeline.position_at(None, end - 1)
        return _start(timeline, at - self.kept) if at is not None and at > self.kept else Start()


def _start(timeline: Kept, first: int) -> Start:
    """The start of a window that shows the items of the current branch from a position on."""
    item = timeline.items(None, first, 1)[0]
    begin, turn = _chapter(timeline, first)
    offset = _offset(item)
    if turn == 0 or begin == first:
        return Start(offset, max(turn - 1, 0) if turn else _turns_before(timeline, first))
    prompt = timeline.items(None, begin, 1)[0]
    if prompt.kind != "prompt" or _offset(prompt) >= offset:
        return Start(offset, turn)
    return Start(offset, turn - 1, Place(*prompt.lines[0]))


def _chapter(timeline: Kept, position: int) -> tuple[int, int]:
    """Where the chapter begins that a position is in, and the number of its turn."""
    begin = 0
    for place in timeline.branch().chapters:
        chapter = timeline.head.chapters[place]
        if position < begin + chapter.count:
            return begin, chapter.turn
        begin += chapter.count
    return begin, 0


def _turns_before(timeline: Kept, position: int) -> int:
    begin = turns = 0
    for place in timeline.branch().chapters:
        chapter = timeline.head.chapters[place]
        if begin > position:
            break
        turns = max(turns, chapter.turn)
        begin += chapter.count
    return turns


def _offset(item: Item) -> int:
    return Place(*item.lines[0]).offset
