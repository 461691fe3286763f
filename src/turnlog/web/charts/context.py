"""How full the context window was, message by message, with what each turn cost: a chart that leads to its places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.amounts import money, rounded
from turnlog.web.charts.marks import element, joined, percent
from turnlog.web.charts.scale import Scale, scale

POINTS = 600
BARS = 300
_FILL = 88
_TOP = 8
_GAP = 12
_COST = 26
_HEIGHT = _TOP + _FILL + _GAP + _COST + 2
_AXIS = 52
_MANY = 30


class Point(NamedTuple):
    """A message."""

    x: float
    """From 0 to 1."""
    position: int
    """Of its item in the branch."""
    context: int
    cache_read: int


class Bar(NamedTuple):
    """What a turn, or some turns beside each other, cost."""

    left: float
    right: float
    cost_usd: float
    position: int
    turn: int
    last: int
    """The number of the last of the turns."""


class Line(NamedTuple):
    """A compaction."""

    x: float
    position: int
    words: str
    href: str


def thinned(points: Sequence[Point], most: int = POINTS) -> list[Point]:
    """No more points than a screen shows: of neighbours the fullest, and always the first and the last."""
    if len(points) <= most:
        return list(points)
    heaps: dict[int, Point] = {}
    for point in points:
        place = min(int(point.x * most), most - 1)
        if place not in heaps or point.context > heaps[place].context:
            heaps[place] = point
    return sorted({points[0], *heaps.values(), points[-1]})


def joined_bars(bars: Sequence[Bar], most: int = BARS) -> list[Bar]:
    """No more bars than can be told apart: neighbours become one."""
    if len(bars) <= most:
        return list(bars)
    size = -(-len(bars) // most)
    return [_one([*bars[at : at + size]]) for at in range(0, len(bars), size)]


def _one(bars: list[Bar]) -> Bar:
    return bars[0]._replace(right=bars[-1].right, cost_usd=sum(bar.cost_usd for bar in bars), last=bars[-1].last)


def context_chart(
    points: Sequence[Point], lines: Sequence[Line], bars: Sequence[Bar], link: Callable[[int], str]
) -> Markup:
    """The chart; `link` leads to a turn by its number."""
    shown, turns = thinned(points), len(bars)
    bars = joined_bars(bars)
    axis = scale(max((point.context for point in shown), default=0), 2)
    inner = joined([*_grid(axis), _areas(shown, axis), *_cut(lines), *_bars(bars, link), _here()])
    places = " ".join(f"{point.x * 1000:.1f},{point.position},{point.context}" for point in shown)
    words = f"Tokens in the context window over {len(points):,} messages, and the cost of {turns:,} turns."
    plot = element("svg", inner, class_="plot", width="100%", height=_HEIGHT, aria_label=words, role="group",
                   data_points=places)  # fmt: skip
    side = element("svg", joined(_numbers(axis, bars)), class_="axis", width=_AXIS, height=_HEIGHT,
                   aria_hidden="true")  # fmt: skip
    return element("div", side + element("div", plot, class_="plot-place"), class_="context-chart")


def _y(axis: Scale, value: float) -> float:
    return _TOP + _FILL - axis.part(value) * _FILL


def _numbers(axis: Scale, bars: Sequence[Bar]) -> Iterator[Markup]:
    for tick in axis.ticks:
        yield element("text", rounded(tick), x=_AXIS - 6, y=_y(axis, tick) + 4, text_anchor="end")
    if bars and (most := max(bar.cost_usd for bar in bars)):
        yield element("text", money(most), x=_AXIS - 6, y=_TOP + _FILL + _GAP + 9, text_anchor="end")


def _grid(axis: Scale) -> Iterator[Markup]:
    for tick in axis.ticks:
        y = _y(axis, tick)
        yield element("line", class_="base" if tick == 0 else "grid", x1="0%", x2="100%", y1=y, y2=y)
    bottom = _TOP + _FILL + _GAP + _COST
    yield element("line", class_="base", x1="0%", x2="100%", y1=bottom, y2=bottom)


def _areas(points: Sequence[Point], axis: Scale) -> Markup:
    fill = element("path", class_="fill", d=_area([(p.x, axis.part(p.context)) for p in points]))
    read = element("path", class_="read", d=_area([(p.x, axis.part(p.cache_read)) for p in points]))
    return element("svg", fill + read, x="0%", y=_TOP, width="100%", height=_FILL, viewBox="0 0 1000 100",
                   preserveAspectRatio="none", aria_hidden="true")  # fmt: skip


def _area(spots: Sequence[tuple[float, float]]) -> str:
    """Steps, not slopes: a window is as full as its last message left it."""
    if not spots:
        return ""
    path = [f"M{spots[0][0] * 1000:.1f} 100"]
    for x, part in spots:
        path.append(f"H{x * 1000:.1f}V{100 - part * 100:.1f}")
    return "".join([*path, "H1000V100Z"])


def _cut(lines: Sequence[Line]) -> Iterator[Markup]:
    """Lines for compactions; many of them would hide the rest, and become short marks."""
    end = _TOP + _FILL if len(lines) <= _MANY else _TOP
    for line in lines:
        x = percent(line.x)
        mark = element("line", class_="cut", x1=x, x2=x, y1=0, y2=end)
        mark += element("line", class_="reach", x1=x, x2=x, y1=0, y2=end)
        mark += element("title", line.words)
        yield element("a", mark, href=line.href, data_position=line.position, aria_label=line.words)


def _bars(bars: Sequence[Bar], link: Callable[[int], str]) -> Iterator[Markup]:
    most = max((bar.cost_usd for bar in bars), default=0.0)
    bottom = _TOP + _FILL + _GAP + _COST
    for bar in bars:
        if bar.cost_usd <= 0 or most <= 0:
            continue
        height = max(bar.cost_usd / most * _COST, 1)
        wide = percent(max(bar.right - bar.left, 0.0015))
        turns = f"Turn {bar.turn}" if bar.turn == bar.last else f"Turns {bar.turn} to {bar.last}"
        words = f"{turns}: {money(bar.cost_usd)}"
        mark = element("rect", class_="bar", x=percent(bar.left), y=bottom - height, width=wide, height=height)
        yield element("a", mark + element("title", words), href=link(bar.turn), data_position=bar.position, tabindex=-1)


def _here() -> Markup:
    return element("line", class_="chart-here", x1=0, x2=0, y1=_TOP, y2=_HEIGHT - 2, visibility="hidden")
