"""Overviews of a whole transcript: the context chart and the positions of failures."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response

from turnlog.session.clock import to_epoch_seconds
from turnlog.session.timeline.timeline import TimelineItem
from turnlog.web.amounts import format_count
from turnlog.web.answers import build_json_response, render_page
from turnlog.web.charts.context_chart import CompactionLine, ContextPoint, CostBar, render_context_chart
from turnlog.web.reading.transcript_view import TranscriptView, open_transcript_view
from turnlog.web.reading.windows import ITEMS_PER_WINDOW, TEMPLATE_FUNCTIONS


def show_context_chart(request: Request) -> Response:
    """GET /s/{ref}/context: render the chart as a fragment, by message or by time."""
    transcript = open_transcript_view(request)
    axis = _TimeAxis(transcript) if request.query_params.get("by") == "time" else _MessageAxis(transcript)
    points = list(_build_points(transcript, axis))
    chart = render_context_chart(
        points,
        list(_build_compaction_lines(transcript, axis)),
        list(_build_cost_bars(transcript, axis)),
        transcript.turn_link,
    )
    read, all_ = sum(point.cache_read for point in points), sum(point.context for point in points)
    return render_page(
        request,
        "session_context.html",
        **TEMPLATE_FUNCTIONS,
        chart=chart if points else None,
        most=max((point.context for point in points), default=0),
        share=read / all_ if all_ else 0.0,
        messages=len(points),
    )


class _MessageAxis:
    """Places items at equal distances."""

    def __init__(self, transcript: TranscriptView) -> None:
        self._last = max(transcript.count - 1, 1)

    def find_place(self, position: int, time: str | None) -> float | None:
        """Return a position from 0 to 1."""
        return position / self._last


class _TimeAxis:
    """Places items by the time they were written."""

    def __init__(self, transcript: TranscriptView) -> None:
        self._begin, self._end = to_epoch_seconds(transcript.head.started), to_epoch_seconds(transcript.head.ended)

    def find_place(self, position: int, time: str | None) -> float | None:
        """Return a position from 0 to 1; None if the time is unknown."""
        written = to_epoch_seconds(time)
        if not written or self._end <= self._begin:
            return None
        return min(max((written - self._begin) / (self._end - self._begin), 0.0), 1.0)


_Axis = _MessageAxis | _TimeAxis


def _build_points(transcript: TranscriptView, axis: _Axis) -> Iterator[ContextPoint]:
    for position, step in transcript.iter_steps():
        x = axis.find_place(position, step.time)
        if x is not None:
            yield ContextPoint(x, position, step.context, step.cache_read)


def _build_compaction_lines(transcript: TranscriptView, axis: _Axis) -> Iterator[CompactionLine]:
    for item in transcript.head.compactions:
        position = transcript.compactions.get(item.key)
        if position is None:
            continue
        x = axis.find_place(position, transcript.read_items(position, 1)[0].time)
        before = f", {format_count(item.before, 'token')} before" if item.before is not None else ""
        if x is not None:
            yield CompactionLine(
                x, position, f"Compaction ({item.trigger or 'unknown'}){before}", transcript.permalink(item.key)
            )


def _build_cost_bars(transcript: TranscriptView, axis: _Axis) -> Iterator[CostBar]:
    for position, chapter in transcript.turns:
        left = axis.find_place(position, chapter.started)
        right = axis.find_place(position + chapter.count - 1, chapter.ended or chapter.started)
        if left is not None and right is not None:
            cost_usd = chapter.cost_usd + transcript.agent_cost_by_turn.get(chapter.turn, 0.0)
            yield CostBar(left, max(right, left), cost_usd, position, chapter.turn, chapter.turn)


def send_next_error(request: Request) -> Response:
    """GET /api/s/{ref}/errors: find the next or previous item in which something failed."""
    transcript = open_transcript_view(request)
    start = request.query_params.get("from", "-1").removeprefix("-")
    from_ = int(start[:9]) if start.isdecimal() and not request.query_params.get("from", "").startswith("-") else -1
    is_back = request.query_params.get("direction", "1").startswith("-")
    return build_json_response({"position": next(_find_failures(transcript, from_, is_back=is_back), None)})


def _find_failures(transcript: TranscriptView, start: int, *, is_back: bool) -> Iterator[int]:
    """Yield the positions of failed items after or before a position, reading only turns that have errors."""
    chapters = [pair for pair in transcript.chapters if pair[1].errors]
    for position, chapter in reversed(chapters) if is_back else chapters:
        ends = range(position, position + chapter.count)
        parts = [ends[at : at + ITEMS_PER_WINDOW] for at in range(0, len(ends), ITEMS_PER_WINDOW)]
        for part in reversed(parts) if is_back else parts:
            if (part[0] >= start) if is_back else (part[-1] <= start):
                continue
            failed = sorted(_find_failed_items(transcript, part), reverse=is_back)
            yield from (place for place in failed if (place < start if is_back else place > start))


def _find_failed_items(transcript: TranscriptView, part: range) -> Iterator[int]:
    items = transcript.read_items(part[0], len(part))
    excerpt = transcript.timeline.read_excerpt(items)
    session = excerpt.session
    bad = {excerpt.find_offset(call.line) for call in session.calls if call.is_error}
    bad |= {excerpt.find_offset(message.lines[0]) for message in session.messages if message.is_error}
    for position, item in zip(part, items, strict=False):
        if _list_line_offsets(item) & bad:
            yield position


def _list_line_offsets(item: TimelineItem) -> set[int]:
    return {place[0] for place in item.lines}
