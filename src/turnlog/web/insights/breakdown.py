"""Panels that divide usage: stacked columns over time by project or model, and a treemap of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from turnlog.store.usage.usage_series import UsagePoint
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web import amounts
from turnlog.web.charts.column_chart import ChartColumn, render_column_chart
from turnlog.web.charts.treemap import TreemapLeaf, render_treemap
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable

MAX_SERIES = 7
"""Further projects or models are added up as `other`."""
_OTHER = "other"
_MAX_COLUMNS = 400


class Measure(NamedTuple):
    """What a chart adds up."""

    label: str
    get_amount: Callable[[UsagePoint], float]
    format_amount: Callable[[float], str]


def _format_count(amount: float) -> str:
    return f"{amount:,.0f}"


MEASURES = {
    "cost": Measure("Cost", lambda point: point.cost / PICO_PER_DOLLAR, amounts.format_usd),
    "tokens": Measure("Tokens", lambda point: point.tokens, amounts.format_short_number),
    "messages": Measure("Messages", lambda point: point.messages, _format_count),
}
DIMENSIONS: dict[str, Callable[[UsagePoint], str]] = {
    "project": lambda point: point.project,
    "model": lambda point: point.model,
}


class Breakdown(NamedTuple):
    """What to divide, by what, and in which periods."""

    by: str
    measure: str
    kind: str
    """daily, weekly or monthly."""


def build_breakdown_address(since: str, until: str, **changes: str) -> str:
    """Return the address of the sessions behind a part of a chart."""
    values = {"since": since, "until": until, **changes}
    return "/insights/sessions?" + urlencode({name: value for name, value in values.items() if value})


def build_stack_panel(points: Sequence[UsagePoint], wanted: Breakdown) -> Panel:
    """Show a measure over time, stacked by project or model."""
    measure, get_key = MEASURES[wanted.measure], DIMENSIONS[wanted.by]
    totals: Counter[str] = Counter()
    cells: dict[date, Counter[str]] = {}
    for point in points:
        amount = measure.get_amount(point)
        totals[get_key(point)] += amount  # type: ignore[assignment]
        cells.setdefault(_find_period_start(point.day, wanted.kind), Counter())[get_key(point)] += amount  # type: ignore[assignment]
    keys = [key for key, _ in totals.most_common(MAX_SERIES)]
    has_other = len(totals) > len(keys)
    names = [*(_name_key(key, wanted.by) for key in keys), *([_OTHER] if has_other else [])]
    rows = [
        (start, _split_amounts(cells.get(start, Counter()), keys, has_other)) for start in _list_periods(cells, wanted)
    ]
    chart = render_column_chart(
        f"{measure.label} over time by {wanted.by}",
        names,
        [_build_column(start, values, rows, wanted, measure) for start, values in rows],
        amounts.format_axis_number if wanted.measure != "cost" else lambda value: f"${value:,.2f}".removesuffix(".00"),
        f"By {wanted.by}",
    )
    heads = [PanelHead("From", is_number=False), PanelHead("All"), *(PanelHead(name) for name in names)]
    table_rows = [_build_row(start, values, keys, wanted, measure) for start, values in reversed(rows) if any(values)]
    sums = [sum(values) for values in zip(*(values for _, values in rows), strict=True)] if rows else []
    total = [PanelCell("Total"), *(PanelCell(measure.format_amount(value)) for value in (sum(sums), *sums))]
    definition = (
        "Every message counts once, in the session that has it first. Click a column, or a figure in the table, to see"
        " the sessions behind it; their sum is the same."
    )
    charts = (("", chart),)
    return Panel(
        "stack", f"{measure.label} over time", PanelTable(heads, table_rows, total), charts, definition, is_folded=True,
        is_wide=True,
    )  # fmt: skip


def _find_period_start(day: str, kind: str) -> date:
    start = date.fromisoformat(day)
    if kind == "weekly":
        return start - timedelta(days=start.weekday())
    return start.replace(day=1) if kind == "monthly" else start


def _find_next_start(start: date, kind: str) -> date:
    if kind == "monthly":
        return (start + timedelta(days=32)).replace(day=1)
    return start + timedelta(days=7 if kind == "weekly" else 1)


def _list_periods(cells: dict[date, Counter[str]], wanted: Breakdown) -> list[date]:
    """List all periods from the first to the last, those without usage included."""
    if not cells:
        return []
    found = [min(cells)]
    while found[-1] < max(cells) and len(found) < _MAX_COLUMNS:
        found.append(_find_next_start(found[-1], wanted.kind))
    return found if found[-1] >= max(cells) else sorted(cells)


def _split_amounts(cell: Counter[str], keys: Sequence[str], has_other: bool) -> tuple[float, ...]:
    own = [float(cell[key]) for key in keys]
    rest = [float(sum(value for key, value in cell.items() if key not in keys))] if has_other else []
    return (*own, *rest)


def _name_key(key: str, by: str) -> str:
    return amounts.model_name(key) if by == "model" else amounts.folder_name(key)


def _get_last_day(start: date, kind: str) -> date:
    return _find_next_start(start, kind) - timedelta(days=1)


def _build_column(
    start: date,
    values: tuple[float, ...],
    rows: Sequence[tuple[date, tuple[float, ...]]],
    wanted: Breakdown,
    measure: Measure,
) -> ChartColumn:
    has_years = rows[0][0].year != rows[-1][0].year
    label = (
        f"{start:%b %Y}"
        if wanted.kind == "monthly"
        else f"{start.day} {start:%b %Y}"
        if has_years
        else f"{start.day} {start:%b}"
    )
    last = _get_last_day(start, wanted.kind)
    words = f"{start}" + (f" to {last}" if last != start else "") + f": {measure.format_amount(sum(values))}"
    return ChartColumn(label, values, words, build_breakdown_address(start.isoformat(), last.isoformat()))


def _build_row(
    start: date, values: tuple[float, ...], keys: Sequence[str], wanted: Breakdown, measure: Measure
) -> list[PanelCell]:
    since, until = start.isoformat(), _get_last_day(start, wanted.kind).isoformat()
    every = build_breakdown_address(since, until)
    cells = [PanelCell(since, every), PanelCell(measure.format_amount(sum(values)), every)]
    for place, value in enumerate(values):
        href = (
            build_breakdown_address(since, until, **{wanted.by: keys[place]}) if place < len(keys) and value else None
        )
        cells.append(PanelCell(measure.format_amount(value), href))
    return cells


def build_treemap_panel(points: Sequence[UsagePoint]) -> Panel:
    """Show the cost of each project and model as an area."""
    costs: Counter[tuple[str, str]] = Counter()
    projects: Counter[str] = Counter()
    for point in points:
        costs[point.project, point.model] += point.cost
        projects[point.project] += point.cost
    groups = {project: place for place, (project, _) in enumerate(projects.most_common())}
    since, until = (min(point.day for point in points), max(point.day for point in points)) if points else ("", "")
    leaves, rows = [], []
    whole = sum(costs.values())
    for (project, model), cost in costs.most_common():
        figure = amounts.format_usd(cost / PICO_PER_DOLLAR)
        href = build_breakdown_address(since, until, project=project, model=model)
        name, share = f"{amounts.folder_name(project)} · {amounts.model_name(model)}", amounts.format_share(cost, whole)
        words = f"{name}: {figure}, {share}"
        leaves.append(TreemapLeaf(name, cost, figure, words, min(groups[project], MAX_SERIES), href))
        cells = [PanelCell(amounts.folder_name(project), title=project), PanelCell(amounts.model_name(model))]
        rows.append([*cells, PanelCell(figure, href), PanelCell(share)])
    heads = [
        PanelHead("Project", is_number=False),
        PanelHead("Model", is_number=False),
        PanelHead("Cost"),
        PanelHead("Share"),
    ]
    total = [PanelCell("Total"), PanelCell(""), PanelCell(amounts.format_usd(whole / PICO_PER_DOLLAR)), PanelCell("")]
    charts = (("", render_treemap("Cost by project and model", leaves)),)
    definition = "Areas are in proportion to the cost at list prices; one colour for each project."
    return Panel(
        "treemap", "Cost by project and model", PanelTable(heads, rows, total), charts, definition, is_folded=True,
        is_wide=True, empty="No priced usage.",
    )  # fmt: skip
