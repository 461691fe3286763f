"""What there is to see of a whole transcript at once: the chart of its context window, and where something failed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response

from turnlog.session.clock import seconds
from turnlog.session.timeline.timeline import Item
from turnlog.web.amounts import count
from turnlog.web.answers import document, page
from turnlog.web.charts.context import Bar, Line, Point, context_chart
from turnlog.web.reading.transcript import Transcript, transcript
from turnlog.web.reading.windows import SIZE, WORDS


def context(request: Request) -> Response:
    """GET /s/{ref}/context: the chart as a fragment, by messages or by time."""
    found = transcript(request)
    axis = _ByTime(found) if request.query_params.get("by") == "time" else _ByMessages(found)
    points = list(_points(found, axis))
    chart = context_chart(points, list(_cuts(found, axis)), list(_bars(found, axis)), found.turn_link)
    read, all_ = sum(point.cache_read for point in points), sum(point.context for point in points)
    return page(
        request,
        "session_context.html",
        **WORDS,
        chart=chart if points else None,
        most=max((point.context for point in points), default=0),
        share=read / all_ if all_ else 0.0,
        messages=len(points),
    )


class _ByMessages:
    """The items at equal distances."""

    def __init__(self, found: Transcript) -> None:
        self._last = max(found.count - 1, 1)

    def at(self, position: int, time: str | None) -> float | None:
        """Where something stands, from 0 to 1."""
        return position / self._last


class _ByTime:
    """The items at the times when they were written."""

    def __init__(self, found: Transcript) -> None:
        self._begin, self._end = seconds(found.head.started), seconds(found.head.ended)

    def at(self, position: int, time: str | None) -> float | None:
        """Where something stands, from 0 to 1."""
        made = seconds(time)
        if not made or self._end <= self._begin:
            return None
        return min(max((made - self._begin) / (self._end - self._begin), 0.0), 1.0)


_Axis = _ByMessages | _ByTime


def _points(found: Transcript, axis: _Axis) -> Iterator[Point]:
    firsts = [chapter.first for _, chapter in found.chapters]
    for step in found.kept.steps():
        place = bisect_right(firsts, step.item) - 1
        position, chapter = found.chapters[place]
        inside = step.item - chapter.first
        if place >= 0 and inside < chapter.count:
            x = axis.at(position + inside, step.time)
            if x is not None:
                yield Point(x, position + inside, step.context, step.cache_read)


def _cuts(found: Transcript, axis: _Axis) -> Iterator[Line]:
    for item in found.head.compactions:
        position = found.compactions.get(item.key)
        if position is None:
            continue
        x = axis.at(position, found.items(position, 1)[0].time)
        before = f", {count(item.before, 'token')} before" if item.before is not None else ""
        if x is not None:
            yield Line(x, position, f"Compaction ({item.trigger or 'unknown'}){before}", found.permalink(item.key))


def _bars(found: Transcript, axis: _Axis) -> Iterator[Bar]:
    for position, chapter in found.turns:
        left = axis.at(position, chapter.started)
        right = axis.at(position + chapter.count - 1, chapter.ended or chapter.started)
        if left is not None and right is not None:
            yield Bar(left, max(right, left), chapter.cost_usd, position, chapter.turn, chapter.turn)


def errors(request: Request) -> Response:
    """GET /api/s/{ref}/errors: the next item, from a position on, in which something failed; or the one before."""
    found = transcript(request)
    start = request.query_params.get("from", "-1").removeprefix("-")
    from_ = int(start[:9]) if start.isdecimal() and not request.query_params.get("from", "").startswith("-") else -1
    is_back = request.query_params.get("direction", "1").startswith("-")
    return document({"position": next(_failures(found, from_, is_back=is_back), None)})


def _failures(found: Transcript, start: int, *, is_back: bool) -> Iterator[int]:
    """The positions of items in which something failed, behind one or before it; only turns with errors are read."""
    chapters = [pair for pair in found.chapters if pair[1].errors]
    for position, chapter in reversed(chapters) if is_back else chapters:
        ends = range(position, position + chapter.count)
        parts = [ends[at : at + SIZE] for at in range(0, len(ends), SIZE)]
        for part in reversed(parts) if is_back else parts:
            if (part[0] >= start) if is_back else (part[-1] <= start):
                continue
            failed = sorted(_failed(found, part), reverse=is_back)
            yield from (place for place in failed if (place < start if is_back else place > start))


def _failed(found: Transcript, part: range) -> Iterator[int]:
    items = found.items(part[0], len(part))
    excerpt = found.kept.excerpt(items)
    session = excerpt.session
    bad = {excerpt.offset(call.line) for call in session.calls if call.is_error}
    bad |= {excerpt.offset(message.lines[0]) for message in session.messages if message.is_error}
    for position, item in zip(part, items, strict=False):
        if _lines(item) & bad:
            yield position


def _lines(item: Item) -> set[int]:
    return {place[0] for place in item.lines}
