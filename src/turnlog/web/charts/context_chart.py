"""A chart of how full the context window was at each message and what each turn cost; its marks link to their items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.amounts import format_axis_number, format_usd
from turnlog.web.charts.scale import AxisScale, build_axis_scale
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

MAX_POINTS = 600
MAX_BARS = 300
_FILL_HEIGHT_PX = 88
_TOP_MARGIN_PX = 8
_GAP_PX = 12
_COST_HEIGHT_PX = 26
_CHART_HEIGHT_PX = _TOP_MARGIN_PX + _FILL_HEIGHT_PX + _GAP_PX + _COST_HEIGHT_PX + 2
_AXIS_WIDTH_PX = 52
_MAX_FULL_LINES = 30


class ContextPoint(NamedTuple):
    """The context window at one message."""

    x: float
    """From 0 to 1."""
    position: int
    """The position of its item in the branch."""
    context: int
    cache_read: int


class CostBar(NamedTuple):
    """The cost of a turn, or of several neighbouring turns."""

    left: float
    right: float
    cost_usd: float
    position: int
    turn: int
    last: int
    """The number of the last turn."""


class CompactionLine(NamedTuple):
    x: float
    position: int
    words: str
    href: str


def thin_points(points: Sequence[ContextPoint], most: int = MAX_POINTS) -> list[ContextPoint]:
    """Reduce points to what a screen can show: the fullest in each group, and always the first and last."""
    if len(points) <= most:
        return list(points)
    heaps: dict[int, ContextPoint] = {}
    for point in points:
        place = min(int(point.x * most), most - 1)
        if place not in heaps or point.context > heaps[place].context:
            heaps[place] = point
    return sorted({points[0], *heaps.values(), points[-1]})


def join_bars(bars: Sequence[CostBar], most: int = MAX_BARS) -> list[CostBar]:
    """Merge neighbouring bars until they can be told apart."""
    if len(bars) <= most:
        return list(bars)
    size = -(-len(bars) // most)
    return [_merge_bars([*bars[at : at + size]]) for at in range(0, len(bars), size)]


def _merge_bars(bars: list[CostBar]) -> CostBar:
    return bars[0]._replace(right=bars[-1].right, cost_usd=sum(bar.cost_usd for bar in bars), last=bars[-1].last)


def render_context_chart(
    points: Sequence[ContextPoint], lines: Sequence[CompactionLine], bars: Sequence[CostBar], link: Callable[[int], str]
) -> Markup:
    """Render the chart; `link` returns the address of a turn."""
    visible, turns = thin_points(points), len(bars)
    bars = join_bars(bars)
    axis = build_axis_scale(max((point.context for point in visible), default=0), 2)
    inner = join_markup(
        [
            *_render_grid(axis),
            _render_areas(visible, axis),
            *_render_compaction_lines(lines),
            *_render_cost_bars(bars, link),
            _render_position_line(),
        ]
    )
    places = " ".join(f"{point.x * 1000:.1f},{point.position},{point.context}" for point in visible)
    description = f"Tokens in the context window over {len(points):,} messages, and the cost of {turns:,} turns."
    plot = build_element(
        "svg",
        inner,
        class_="plot",
        width="100%",
        height=_CHART_HEIGHT_PX,
        aria_label=description,
        role="group",
        data_points=places,
    )
    side = build_element(
        "svg",
        join_markup(_render_axis_numbers(axis, bars)),
        class_="axis",
        width=_AXIS_WIDTH_PX,
        height=_CHART_HEIGHT_PX,
        aria_hidden="true",
    )
    return build_element("div", side + build_element("div", plot, class_="plot-place"), class_="context-chart")


def _to_y(axis: AxisScale, value: float) -> float:
    return _TOP_MARGIN_PX + _FILL_HEIGHT_PX - axis.to_share(value) * _FILL_HEIGHT_PX


def _render_axis_numbers(axis: AxisScale, bars: Sequence[CostBar]) -> Iterator[Markup]:
    for tick in axis.ticks:
        yield build_element(
            "text", format_axis_number(tick), x=_AXIS_WIDTH_PX - 6, y=_to_y(axis, tick) + 4, text_anchor="end"
        )
    if bars and (most := max(bar.cost_usd for bar in bars)):
        yield build_element(
            "text",
            format_usd(most),
            x=_AXIS_WIDTH_PX - 6,
            y=_TOP_MARGIN_PX + _FILL_HEIGHT_PX + _GAP_PX + 9,
            text_anchor="end",
        )


def _render_grid(axis: AxisScale) -> Iterator[Markup]:
    for tick in axis.ticks:
        y = _to_y(axis, tick)
        yield build_element("line", class_="base" if tick == 0 else "grid", x1="0%", x2="100%", y1=y, y2=y)
    bottom = _TOP_MARGIN_PX + _FILL_HEIGHT_PX + _GAP_PX + _COST_HEIGHT_PX
    yield build_element("line", class_="base", x1="0%", x2="100%", y1=bottom, y2=bottom)


def _render_areas(points: Sequence[ContextPoint], axis: AxisScale) -> Markup:
    fill = build_element("path", class_="fill", d=_build_area_path([(p.x, axis.to_share(p.context)) for p in points]))
    read = build_element(
        "path", class_="read", d=_build_area_path([(p.x, axis.to_share(p.cache_read)) for p in points])
    )
    return build_element(
        "svg",
        fill + read,
        x="0%",
        y=_TOP_MARGIN_PX,
        width="100%",
        height=_FILL_HEIGHT_PX,
        viewBox="0 0 1000 100",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _build_area_path(spots: Sequence[tuple[float, float]]) -> str:
    """Draw steps instead of slopes: the fill doesn't change between messages."""
    if not spots:
        return ""
    path = [f"M{spots[0][0] * 1000:.1f} 100"]
    for x, part in spots:
        path.append(f"H{x * 1000:.1f}V{100 - part * 100:.1f}")
    return "".join([*path, "H1000V100Z"])


def _render_compaction_lines(lines: Sequence[CompactionLine]) -> Iterator[Markup]:
    """Render full lines, or short marks if many lines would hide the rest."""
    end = _TOP_MARGIN_PX + _FILL_HEIGHT_PX if len(lines) <= _MAX_FULL_LINES else _TOP_MARGIN_PX
    for line in lines:
        x = to_percent(line.x)
        mark = build_element("line", class_="cut", x1=x, x2=x, y1=0, y2=end)
        mark += build_element("line", class_="reach", x1=x, x2=x, y1=0, y2=end)
        mark += build_element("title", line.words)
        yield build_element("a", mark, href=line.href, data_position=line.position, aria_label=line.words)


def _render_cost_bars(bars: Sequence[CostBar], link: Callable[[int], str]) -> Iterator[Markup]:
    most = max((bar.cost_usd for bar in bars), default=0.0)
    bottom = _TOP_MARGIN_PX + _FILL_HEIGHT_PX + _GAP_PX + _COST_HEIGHT_PX
    for bar in bars:
        if bar.cost_usd <= 0 or most <= 0:
            continue
        height = max(bar.cost_usd / most * _COST_HEIGHT_PX, 1)
        wide = to_percent(max(bar.right - bar.left, 0.0015))
        turns = f"Turn {bar.turn}" if bar.turn == bar.last else f"Turns {bar.turn} to {bar.last}"
        label = f"{turns}: {format_usd(bar.cost_usd)}"
        mark = build_element("rect", class_="bar", x=to_percent(bar.left), y=bottom - height, width=wide, height=height)
        yield build_element(
            "a", mark + build_element("title", label), href=link(bar.turn), data_position=bar.position, tabindex=-1
        )


def _render_position_line() -> Markup:
    return build_element(
        "line", class_="chart-here", x1=0, x2=0, y1=_TOP_MARGIN_PX, y2=_CHART_HEIGHT_PX - 2, visibility="hidden"
    )
