"""Panels that tell most from least: projects, models, sessions, tools, files, and what took longest."""

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
    """Something that took long, and where it stands."""

    name: str
    title: str
    href: str
    time: float | None
    seconds: float
    failed: bool = False


def build_cost_panel(
    key: str, title: str, document: RankingRow, named: Callable[[RankingRow], PanelCell], *, is_wide: bool = False
) -> Panel:
    """What costs most: projects, models or sessions."""
    rows = document["rows"]
    heads = [
        PanelHead(title.removeprefix("By ").capitalize(), is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Cost"),
    ]
    heads += [PanelHead("Saved"), PanelHead("Tokens"), PanelHead("Output"), PanelHead("Messages")]
    drawn = build_bar_cells([row["cost_usd"] for row in rows])
    table = PanelTable(
        heads,
        [[named(row), bar, *_build_sum_cells(row)] for row, bar in zip(rows, drawn, strict=True)],
        [PanelCell("Total"), PanelCell("", kind="bar"), *_build_sum_cells(document["total"])],
        document["all_rows"] - len(rows),
    )
    return Panel(key, title, table, definition=document["definition"], is_wide=is_wide, empty="No usage.")


def _build_sum_cells(row: RankingRow) -> list[PanelCell]:
    tokens = sum(row[name] for name in _TOKEN_FIELDS)
    cost = PanelCell(amounts.format_usd(row["cost_usd"]), title=_describe_unpriced(row))
    return [
        cost,
        PanelCell(amounts.format_usd(row["cache_saved_usd"])),
        PanelCell(amounts.format_short_number(tokens), title=f"{tokens:,}"),
        PanelCell(amounts.format_short_number(row["output_tokens"]), title=f"{row['output_tokens']:,}"),
        PanelCell(f"{row['messages']:,}"),
    ]


def _describe_unpriced(row: RankingRow) -> str | None:
    return f"{row['unpriced_tokens']:,} tokens without a known price are not in it" if row["unpriced_tokens"] else None


def build_project_cell(row: RankingRow, address: Callable[..., str]) -> PanelCell:
    """The name of a project."""
    return PanelCell(amounts.folder_name(row["project"]), address(project=row["project"] or ""), row["project"])


def build_model_cell(row: RankingRow) -> PanelCell:
    """The name of a model."""
    name = row["model"]
    return PanelCell(amounts.model_name(name), build_search_address(("model", name)) if name else None, name)


def build_session_cell(row: RankingRow) -> PanelCell:
    """The title of a session."""
    title = " ".join((row["title"] or "")[:400].split())[:120] or "(no title)"
    name = title + (" (deleted)" if row["gone"] else "")
    return PanelCell(name, f"/s/{row['session_id']}", f"{name} · {amounts.folder_name(row['project'])}")


def build_failure_panel(document: RankingRow) -> Panel:
    """How often calls of each tool fail."""
    rows = sorted((row for row in document["rows"] if row["failed"]), key=lambda row: -row["failed"] / row["calls"])
    shown = [row for row in rows if row["calls"] >= 5][:_MAX_ROWS] or rows[:_MAX_ROWS]
    heads = [
        PanelHead("Tool", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Failed"),
        PanelHead("Of calls"),
        PanelHead("Share"),
    ]
    drawn = build_bar_cells([row["failed"] / row["calls"] for row in shown], "bad")
    made = [
        [
            PanelCell(row["tool"], build_search_address(("tool", row["tool"]), ("error", "yes"))),
            bar,
            PanelCell(f"{row['failed']:,}"),
            PanelCell(f"{row['calls']:,}"),
            PanelCell(amounts.format_share(row["failed"], row["calls"])),
        ]
        for row, bar in zip(shown, drawn, strict=True)
    ]
    total = document["total"]["calls"]
    whole = [
        PanelCell("All tools"),
        PanelCell("", kind="bar"),
        PanelCell(f"{total['failed']:,}"),
        PanelCell(f"{total['calls']:,}"),
    ]
    defined = (
        "Failed: the result is an error, as of denied and interrupted calls. Tools with five calls or more, if any."
    )
    table = PanelTable(
        heads, made, [*whole, PanelCell(amounts.format_share(total["failed"], total["calls"]))], len(rows) - len(shown)
    )
    return Panel("failures", "Failing tools", table, definition=defined, empty="No call failed.")


def build_context_panel(document: RankingRow) -> Panel:
    """What fills the context: characters of inputs and results, by tool."""
    rows = document["rows"][:_MAX_ROWS]
    heads = [
        PanelHead("Tool", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Results"),
        PanelHead("Inputs"),
        PanelHead("Calls"),
    ]
    heads += [PanelHead("A call"), PanelHead("≈ Tokens")]
    drawn = build_bar_cells([row["result_characters"] + row["input_characters"] for row in rows])
    made = [[_build_tool_cell(row), bar, *_build_size_cells(row)] for row, bar in zip(rows, drawn, strict=True)]
    whole = [PanelCell("All tools"), PanelCell("", kind="bar"), *_build_size_cells(document["total"]["calls"])]
    table = PanelTable(heads, made, whole, len(document["rows"]) - len(rows))
    defined = document["definition"] + " A call: characters of input and result by calls."
    return Panel("filling", "What fills the context", table, definition=defined, empty="No calls.")


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


def build_file_panel(found: Sequence[BusyFile]) -> Panel:
    """The files that most calls named."""
    heads = [
        PanelHead("File", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Calls"),
        PanelHead("Reads"),
        PanelHead("Changes"),
    ]
    heads += [PanelHead("Failed"), PanelHead("Sessions"), PanelHead("Last")]
    drawn = build_bar_cells([item.calls for item in found])
    made = [
        [
            PanelCell(_shorten_path(item.path), build_search_address(("file", item.path)), item.path),
            bar,
            *(
                PanelCell(f"{number:,}")
                for number in (item.calls, item.reads, item.changes, item.failed, item.sessions)
            ),
            PanelCell(amounts.format_local_time(amounts.parse_seconds(item.last))[:10]),
        ]
        for item, bar in zip(found, drawn, strict=True)
    ]
    defined = (
        "Counted: calls of tools that name the file, sub-agents included, every call id once; changes: calls that write"
        " or edit; failed: of either."
    )
    return Panel(
        "files",
        "Busiest files",
        PanelTable(heads, made),
        definition=defined,
        is_wide=True,
        empty="No call names a file.",
    )


def _shorten_path(path: str) -> str:
    """The end of a path, which tells files apart."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) < 4 else "…/" + "/".join(parts[-3:])


def build_wait_panel(key: str, title: str, found: Sequence[LongWait], defined: str) -> Panel:
    """What took longest."""
    heads = [
        PanelHead("What", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Took"),
        PanelHead("When"),
        PanelHead("Session", is_number=False),
    ]
    drawn = build_bar_cells([item.seconds for item in found])
    made = [
        [
            PanelCell(item.name, item.href),
            bar,
            PanelCell(amounts.format_seconds(item.seconds), kind="bad" if item.failed else ""),
            PanelCell(amounts.format_local_time(item.time)[:10], title=amounts.format_local_time(item.time)),
            PanelCell(item.title, item.href.partition("?")[0], item.title, kind="clip"),
        ]
        for item, bar in zip(found, drawn, strict=True)
    ]
    return Panel(key, title, PanelTable(heads, made), definition=defined, empty="Nothing took long.")
