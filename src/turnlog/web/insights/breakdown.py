"""Panels that divide usage: stacked columns over time by project, model or tool, and a treemap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from turnlog.render.html_escape import name_hidden_chars
from turnlog.store.usage.usage_series import UsagePoint
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web import amounts
from turnlog.web.charts.column_chart import ChartColumn, ColumnPart, render_column_chart
from turnlog.web.charts.treemap import TreemapLeaf, render_treemap
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable
from turnlog.web.insights.time_axis import TimeAxis, TimePeriod
from turnlog.web.slices.slice_address import SliceAddress

MAX_SERIES = 7
"""Further projects or models are added up as `other`."""
_OTHER = "other"
_MAX_NAME_CHARS = 60


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
    "calls": Measure("Calls", lambda point: point.calls, _format_count),
}
"""Calls have no model."""
LINK_NAMES = {"project": "folder", "model": "by_model", "tool": "by_tool"}
"""The part of an address that selects one series."""
DIMENSIONS: dict[str, Callable[[UsagePoint], str]] = {
    "project": lambda point: point.project,
    "model": lambda point: point.model,
    "tool": lambda point: point.tool,
}


class Breakdown(NamedTuple):
    """What to divide, by what, and where the figures lead."""

    by: str
    measure: str
    axis: TimeAxis
    links: SliceAddress
    projects: Mapping[str, str]
    """The projects' names by path."""

    def name_key(self, key: str) -> str:
        if self.by == "project":
            return _shorten_name(self.projects.get(key) or amounts.folder_name(key))
        return _shorten_name(amounts.model_name(key) if self.by == "model" else key)


def _shorten_name(name: str) -> str:
    name = name_hidden_chars(" ".join(name.split()))
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[: _MAX_NAME_CHARS - 1]}…"


def build_stack_panel(points: Sequence[UsagePoint], wanted: Breakdown) -> Panel:
    """Show a measure over time, stacked by project, model or tool."""
    measure, get_key = MEASURES[wanted.measure], DIMENSIONS[wanted.by]
    totals: Counter[str] = Counter()
    cells: dict[date, Counter[str]] = {}
    for point in points:
        amount = measure.get_amount(point)
        totals[get_key(point)] += amount  # type: ignore[assignment]
        start = wanted.axis.find_start(date.fromisoformat(point.day))
        cells.setdefault(start, Counter())[get_key(point)] += amount  # type: ignore[assignment]
    keys = [key for key, _ in totals.most_common(MAX_SERIES)]
    has_other = len(totals) > len(keys)
    names = [*map(wanted.name_key, keys), *([_OTHER] if has_other else [])]
    rows = [
        (period, _split_amounts(cells.get(start, Counter()), keys, has_other))
        for start, period in wanted.axis.list_periods().items()
    ]
    chart = render_column_chart(
        f"{measure.label} over time by {wanted.by}",
        names,
        [_build_column(period, values, names, keys, wanted) for period, values in rows],
        amounts.format_axis_number if wanted.measure != "cost" else lambda value: f"${value:,.2f}".removesuffix(".00"),
        wanted.axis.words,
    )
    heads = [PanelHead(wanted.axis.name.capitalize(), is_number=False), PanelHead("All"), *map(PanelHead, names)]
    table_rows = [_build_row(period, values, keys, wanted, measure) for period, values in reversed(rows) if any(values)]
    sums = [sum(values) for values in zip(*(values for _, values in rows), strict=True)] if rows else []
    total = [PanelCell("Total"), *(PanelCell(measure.format_amount(value)) for value in (sum(sums), *sums))]
    definition = (
        f"{_define_measure(wanted)} Click a column, a part of one, or a figure in the table, to see the sessions behind"
        " it; their sum is the same."
    )
    charts = (("", chart),)
    return Panel(
        "stack", f"{measure.label} over time", PanelTable(heads, table_rows, total), charts, definition, is_folded=True,
        is_wide=True,
    )  # fmt: skip


def _define_measure(wanted: Breakdown) -> str:
    if wanted.measure == "calls":
        return "Every call counts once, sub-agents included."
    shared = " A message that makes several calls is divided equally among them." if wanted.by == "tool" else ""
    return f"Every message counts once, in the session that has it first.{shared}"


def _split_amounts(cell: Counter[str], keys: Sequence[str], has_other: bool) -> tuple[float, ...]:
    own = [float(cell[key]) for key in keys]
    rest = [float(sum(value for key, value in cell.items() if key not in keys))] if has_other else []
    return (*own, *rest)


def _build_column(
    period: TimePeriod, values: tuple[float, ...], names: Sequence[str], keys: Sequence[str], wanted: Breakdown
) -> ChartColumn:
    figures = [MEASURES[wanted.measure].format_amount(value) for value in values]
    whole = f"{period.words}: {MEASURES[wanted.measure].format_amount(sum(values))}"
    lines = [f"{name}: {figure}" for name, figure, value in zip(names, figures, values, strict=True) if value]
    parts = tuple(
        ColumnPart(f"{name}, {period.words}: {figure}", _build_part_address(period, place, value, keys, wanted))
        for place, (name, figure, value) in enumerate(zip(names, figures, values, strict=True))
    )
    href = _build_period_address(period, wanted) if any(values) else None
    return ChartColumn(period.label, values, "\n".join([whole, *reversed(lines)]), href, parts)


def _build_part_address(
    period: TimePeriod, place: int, value: float, keys: Sequence[str], wanted: Breakdown
) -> str | None:
    """Return the address of the sessions behind a part of a column; None for the part of all others."""
    if not value or place >= len(keys):
        return None
    return _build_period_address(period, wanted, **{LINK_NAMES[wanted.by]: keys[place]})


def _build_period_address(period: TimePeriod, wanted: Breakdown, **changes: str) -> str:
    return wanted.links.build(since=period.first.isoformat(), until=period.last.isoformat(), **changes)


def _build_row(
    period: TimePeriod, values: tuple[float, ...], keys: Sequence[str], wanted: Breakdown, measure: Measure
) -> list[PanelCell]:
    every = _build_period_address(period, wanted)
    cells = [PanelCell(period.words, every), PanelCell(measure.format_amount(sum(values)), every)]
    for place, value in enumerate(values):
        cells.append(PanelCell(measure.format_amount(value), _build_part_address(period, place, value, keys, wanted)))
    return cells


def build_treemap_panel(points: Sequence[UsagePoint], links: SliceAddress, names: Mapping[str, str]) -> Panel:
    """Show the cost of each project and model as an area."""
    costs: Counter[tuple[str, str]] = Counter()
    projects: Counter[str] = Counter()
    for point in points:
        costs[point.project, point.model] += point.cost  # type: ignore[assignment]
        projects[point.project] += point.cost  # type: ignore[assignment]
    groups = {project: place for place, (project, _) in enumerate(projects.most_common())}
    leaves, rows = [], []
    whole = sum(costs.values())
    for (project, model), cost in costs.most_common():
        figure = amounts.format_usd(cost / PICO_PER_DOLLAR)
        href = links.build(folder=project, by_model=model)
        name = names.get(project) or amounts.folder_name(project)
        labels = _shorten_name(name), _shorten_name(amounts.model_name(model))
        share = amounts.format_share(cost, whole)
        words = f"{' · '.join(labels)}: {figure}, {share}"
        leaves.append(TreemapLeaf(labels, cost, figure, words, min(groups[project], MAX_SERIES), href))
        cells = [PanelCell(name, links.build(folder=project), project)]
        cells.append(PanelCell(amounts.model_name(model), links.build(by_model=model), model))
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
