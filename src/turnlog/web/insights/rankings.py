"""Panels that tell most from least: projects, models, sessions, tools, files, and what took longest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.store.insight.insights import BusyFile
from turnlog.web import amounts
from turnlog.web.insights.panels import Cell, Head, Panel, Table, bars, searched

Row = Mapping[str, Any]
_MOST = 15
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class Wait(NamedTuple):
    """Something that took long, and where it stands."""

    name: str
    title: str
    href: str
    time: float | None
    seconds: float
    failed: bool = False


def costs(key: str, title: str, document: Row, named: Callable[[Row], Cell], *, is_wide: bool = False) -> Panel:
    """What costs most: projects, models or sessions."""
    rows = document["rows"]
    heads = [Head(title.removeprefix("By ").capitalize(), is_number=False), Head("", kind="bar"), Head("Cost")]
    heads += [Head("Saved"), Head("Tokens"), Head("Output"), Head("Messages")]
    drawn = bars([row["cost_usd"] for row in rows])
    table = Table(
        heads,
        [[named(row), bar, *_sums(row)] for row, bar in zip(rows, drawn, strict=True)],
        [Cell("Total"), Cell("", kind="bar"), *_sums(document["total"])],
        document["all_rows"] - len(rows),
    )
    return Panel(key, title, table, definition=document["definition"], is_wide=is_wide, empty="No usage.")


def _sums(row: Row) -> list[Cell]:
    tokens = sum(row[name] for name in _TOKENS)
    cost = Cell(amounts.money(row["cost_usd"]), title=_unpriced(row))
    return [
        cost,
        Cell(amounts.money(row["cache_saved_usd"])),
        Cell(amounts.short(tokens), title=f"{tokens:,}"),
        Cell(amounts.short(row["output_tokens"]), title=f"{row['output_tokens']:,}"),
        Cell(f"{row['messages']:,}"),
    ]


def _unpriced(row: Row) -> str | None:
    return f"{row['unpriced_tokens']:,} tokens without a known price are not in it" if row["unpriced_tokens"] else None


def project(row: Row, address: Callable[..., str]) -> Cell:
    """The name of a project."""
    return Cell(amounts.folder_name(row["project"]), address(project=row["project"] or ""), row["project"])


def model(row: Row) -> Cell:
    """The name of a model."""
    name = row["model"]
    return Cell(amounts.model_name(name), searched(("model", name)) if name else None, name)


def session(row: Row) -> Cell:
    """The title of a session."""
    title = " ".join((row["title"] or "")[:400].split())[:120] or "(no title)"
    name = title + (" (deleted)" if row["gone"] else "")
    return Cell(name, f"/s/{row['session_id']}", f"{name} · {amounts.folder_name(row['project'])}")


def failures(document: Row) -> Panel:
    """How often calls of each tool fail."""
    rows = sorted((row for row in document["rows"] if row["failed"]), key=lambda row: -row["failed"] / row["calls"])
    shown = [row for row in rows if row["calls"] >= 5][:_MOST] or rows[:_MOST]
    heads = [Head("Tool", is_number=False), Head("", kind="bar"), Head("Failed"), Head("Of calls"), Head("Share")]
    drawn = bars([row["failed"] / row["calls"] for row in shown], "bad")
    made = [
        [
            Cell(row["tool"], searched(("tool", row["tool"]), ("error", "yes"))),
            bar,
            Cell(f"{row['failed']:,}"),
            Cell(f"{row['calls']:,}"),
            Cell(amounts.share(row["failed"], row["calls"])),
        ]
        for row, bar in zip(shown, drawn, strict=True)
    ]
    total = document["total"]["calls"]
    whole = [Cell("All tools"), Cell("", kind="bar"), Cell(f"{total['failed']:,}"), Cell(f"{total['calls']:,}")]
    defined = (
        "Failed: the result is an error, as of denied and interrupted calls. Tools with five calls or more, if any."
    )
    table = Table(heads, made, [*whole, Cell(amounts.share(total["failed"], total["calls"]))], len(rows) - len(shown))
    return Panel("failures", "Failing tools", table, definition=defined, empty="No call failed.")


def filling(document: Row) -> Panel:
    """What fills the context: characters of inputs and results, by tool."""
    rows = document["rows"][:_MOST]
    heads = [Head("Tool", is_number=False), Head("", kind="bar"), Head("Results"), Head("Inputs"), Head("Calls")]
    heads += [Head("A call"), Head("≈ Tokens")]
    drawn = bars([row["result_characters"] + row["input_characters"] for row in rows])
    made = [[_tool(row), bar, *_filled(row)] for row, bar in zip(rows, drawn, strict=True)]
    whole = [Cell("All tools"), Cell("", kind="bar"), *_filled(document["total"]["calls"])]
    table = Table(heads, made, whole, len(document["rows"]) - len(rows))
    defined = document["definition"] + " A call: characters of input and result by calls."
    return Panel("filling", "What fills the context", table, definition=defined, empty="No calls.")


def _tool(row: Row) -> Cell:
    return Cell(row["tool"], searched(("tool", row["tool"])))


def _filled(row: Row) -> list[Cell]:
    both = row["result_characters"] + row["input_characters"]
    numbers = (row["result_characters"], row["input_characters"], row["calls"])
    cells = [Cell(amounts.short(number), title=f"{number:,}") for number in numbers]
    each = Cell(amounts.short(both / row["calls"]) if row["calls"] else "–")
    return [*cells, each, Cell(amounts.short(row["estimated_tokens"]), title=f"{row['estimated_tokens']:,}")]


def files(found: Sequence[BusyFile]) -> Panel:
    """The files that most calls named."""
    heads = [Head("File", is_number=False), Head("", kind="bar"), Head("Calls"), Head("Reads"), Head("Changes")]
    heads += [Head("Failed"), Head("Sessions"), Head("Last")]
    drawn = bars([item.calls for item in found])
    made = [
        [
            Cell(_tail(item.path), searched(("file", item.path)), item.path),
            bar,
            *(Cell(f"{number:,}") for number in (item.calls, item.reads, item.changes, item.failed, item.sessions)),
            Cell(amounts.local(amounts.seconds_of(item.last))[:10]),
        ]
        for item, bar in zip(found, drawn, strict=True)
    ]
    defined = (
        "Counted: calls of tools that name the file, sub-agents included, every call id once; changes: calls that write"
        " or edit; failed: of either."
    )
    return Panel(
        "files", "Busiest files", Table(heads, made), definition=defined, is_wide=True, empty="No call names a file."
    )


def _tail(path: str) -> str:
    """The end of a path, which tells files apart."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) < 4 else "…/" + "/".join(parts[-3:])


def waits(key: str, title: str, found: Sequence[Wait], defined: str) -> Panel:
    """What took longest."""
    heads = [
        Head("What", is_number=False),
        Head("", kind="bar"),
        Head("Took"),
        Head("When"),
        Head("Session", is_number=False),
    ]
    drawn = bars([item.seconds for item in found])
    made = [
        [
            Cell(item.name, item.href),
            bar,
            Cell(amounts.lasted(item.seconds), kind="bad" if item.failed else ""),
            Cell(amounts.local(item.time)[:10], title=amounts.local(item.time)),
            Cell(item.title, item.href.partition("?")[0], item.title, kind="clip"),
        ]
        for item, bar in zip(found, drawn, strict=True)
    ]
    return Panel(key, title, Table(heads, made), definition=defined, empty="Nothing took long.")
