"""Panels that rank: projects, models, sessions, tools, files, and what took longest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.store.insight.insights import BusyFile
from turnlog.web import amounts
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable, build_bar_cells, build_search_address

RankingRow = Mapping[str, Any]
_MAX_ROWS = 15
_TOKEN_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class LongWait(NamedTuple):
    """A call or turn that took a long time, and its address."""

    name: str
    title: str
    href: str
    time: float | None
    seconds: float
    failed: bool = False


def build_cost_panel(
    key: str,
    title: str,
    document: RankingRow,
    build_name_cell: Callable[[RankingRow], PanelCell],
    build_address: Callable[[RankingRow], str | None] = lambda _: None,
    *,
    is_wide: bool = False,
) -> Panel:
    """Rank projects, models or sessions by cost; `build_address` returns where the figures of a row lead."""
    rows = document["rows"]
    heads = [
        PanelHead(title.removeprefix("By ").capitalize(), is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Cost"),
    ]
    heads += [PanelHead("Saved"), PanelHead("Tokens"), PanelHead("Output"), PanelHead("Messages")]
    bars = build_bar_cells([row["cost_usd"] for row in rows])
    table = PanelTable(
        heads,
        [
            [build_name_cell(row), bar, *_build_sum_cells(row, build_address(row))]
            for row, bar in zip(rows, bars, strict=True)
        ],
        [PanelCell("Total"), PanelCell("", kind="bar"), *_build_sum_cells(document["total"])],
        document["all_rows"] - len(rows),
    )
    return Panel(key, title, table, definition=document["definition"], is_wide=is_wide, empty="No usage.")


def _build_sum_cells(row: RankingRow, href: str | None = None) -> list[PanelCell]:
    tokens = sum(row[name] for name in _TOKEN_FIELDS)
    cost = PanelCell(amounts.format_usd(row["cost_usd"]), href, _describe_unpriced(row))
    return [
        cost,
        PanelCell(amounts.format_usd(row["cache_saved_usd"])),
        PanelCell(amounts.format_short_number(tokens), href, f"{tokens:,}"),
        PanelCell(amounts.format_short_number(row["output_tokens"]), title=f"{row['output_tokens']:,}"),
        PanelCell(f"{row['messages']:,}", href),
    ]


def _describe_unpriced(row: RankingRow) -> str | None:
    return (
        f"{row['unpriced_tokens']:,} tokens without a known price are not included" if row["unpriced_tokens"] else None
    )


def build_project_cell(row: RankingRow, address: Callable[..., str], names: Mapping[str, str]) -> PanelCell:
    path = row["project"] or ""
    return PanelCell(names.get(path) or amounts.folder_name(path), address(project=path), path)


def build_model_cell(row: RankingRow, address: Callable[..., str]) -> PanelCell:
    name = row["model"]
    return PanelCell(amounts.model_name(name), address(model=name) if name else None, name)


def build_session_cell(row: RankingRow, names: Mapping[str, str]) -> PanelCell:
    title = " ".join((row["title"] or "")[:400].split())[:120] or "(no title)"
    name = title + (" (deleted)" if row["gone"] else "")
    return PanelCell(name, f"/s/{row['session_id']}", f"{name} · {names.get(row['project'], row['project'])}")


def build_context_panel(document: RankingRow) -> Panel:
    """Rank tools by the number of characters in their inputs and results."""
    rows = document["rows"][:_MAX_ROWS]
    heads = [
        PanelHead("Tool", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Results"),
        PanelHead("Inputs"),
        PanelHead("Calls"),
    ]
    heads += [PanelHead("Per call"), PanelHead("≈ Tokens")]
    bars = build_bar_cells([row["result_characters"] + row["input_characters"] for row in rows])
    cells = [[_build_tool_cell(row), bar, *_build_size_cells(row)] for row, bar in zip(rows, bars, strict=True)]
    sums = [PanelCell("All tools"), PanelCell("", kind="bar"), *_build_size_cells(document["total"]["calls"])]
    table = PanelTable(heads, cells, sums, len(document["rows"]) - len(rows))
    definition = document["definition"] + " Per call: characters of input and result divided by calls."
    return Panel("filling", "What fills the context", table, definition=definition, is_wide=True, empty="No calls.")


def _build_tool_cell(row: RankingRow) -> PanelCell:
    return PanelCell(row["tool"], build_search_address(("tool", row["tool"])))


def _build_size_cells(row: RankingRow) -> list[PanelCell]:
    both = row["result_characters"] + row["input_characters"]
    numbers = (row["result_characters"], row["input_characters"], row["calls"])
    cells = [PanelCell(amounts.format_short_number(number), title=f"{number:,}") for number in numbers]
    each = PanelCell(amounts.format_short_number(both / row["calls"]) if row["calls"] else "–")
    return [
        *cells,
        each,
        PanelCell(amounts.format_short_number(row["estimated_tokens"]), title=f"{row['estimated_tokens']:,}"),
    ]


def build_file_panel(files: Sequence[BusyFile]) -> Panel:
    """Rank files by the number of calls that mention them."""
    heads = [
        PanelHead("File", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Calls"),
        PanelHead("Reads"),
        PanelHead("Changes"),
    ]
    heads += [PanelHead("Failed"), PanelHead("Sessions"), PanelHead("Last")]
    bars = build_bar_cells([item.calls for item in files])
    cells = [
        [
            PanelCell(_shorten_path(item.path), build_search_address(("file", item.path)), item.path),
            bar,
            *(
                PanelCell(f"{number:,}")
                for number in (item.calls, item.reads, item.changes, item.failed, item.sessions)
            ),
            PanelCell(amounts.format_local_time(amounts.parse_seconds(item.last))[:10]),
        ]
        for item, bar in zip(files, bars, strict=True)
    ]
    definition = (
        "Calls: tool calls that mention the file, sub-agents included, each call id once. Changes: calls that write or"
        " edit. Failed: calls of either kind."
    )
    return Panel(
        "files",
        "Busiest files",
        PanelTable(heads, cells),
        definition=definition,
        is_wide=True,
        empty="No call mentions a file.",
    )


def _shorten_path(path: str) -> str:
    """Return the end of a path, which distinguishes files."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) < 4 else "…/" + "/".join(parts[-3:])


def build_wait_panel(key: str, title: str, waits: Sequence[LongWait], definition: str) -> Panel:
    """Rank calls or turns by how long they took."""
    heads = [
        PanelHead("What", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Took"),
        PanelHead("When"),
        PanelHead("Session", is_number=False),
    ]
    bars = build_bar_cells([item.seconds for item in waits])
    cells = [
        [
            PanelCell(item.name, item.href),
            bar,
            PanelCell(amounts.format_seconds(item.seconds), kind="bad" if item.failed else ""),
            PanelCell(amounts.format_local_time(item.time)[:10], title=amounts.format_local_time(item.time)),
            PanelCell(item.title, item.href.partition("?")[0], item.title, kind="clip"),
        ]
        for item, bar in zip(waits, bars, strict=True)
    ]
    return Panel(key, title, PanelTable(heads, cells), definition=definition, empty="Nothing took long.")
