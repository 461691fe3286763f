"""Tables of calls by tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli import when
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.session.tallies import FailureMessage, ToolTally, sum_tallies, sum_tallies_by_server

_DEFINITION = (
    "Calls: every call id once, sub-agents included. Failed: the result is an error{apart}. Share: of all calls. Time:"
    " from the call to its result; waiting for a person (AskUserQuestion, ExitPlanMode, permissions) can't be told"
    " from work. Tokens: characters of inputs and results divided by four, an estimate."
)
_APART_NOTE = "; denied and interrupted calls are apart"
_TOGETHER_NOTE = ", denied and interrupted calls among them: the index can't tell them apart"
_FAILURES_DEFINITION = (
    "The first line of each failed result; paths, quoted texts and ids are …, numbers N. Every call id once, sub-agents"
    " included."
)
_FAILING_DEFINITION = (
    "Calls whose result is an error, denied and interrupted ones among them, of all calls; every call id once."
)


def render_tool_table(tools: list[ToolTally], screen: TerminalScreen) -> Iterator[str]:
    """Calls by tool, and by MCP server where there are any."""
    if not tools:
        yield "No calls."
        return
    apart = tools[0].denied is not None
    calls = sum(tool.calls for tool in tools)
    yield from _render_part("tool", [*tools, sum_tallies(tools)], calls, screen, apart=apart)
    if servers := sum_tallies_by_server(tools):
        yield ""
        yield from _render_part("MCP server", servers, calls, screen, apart=apart)
    yield from screen.wrap_prose(_DEFINITION.format(apart=_APART_NOTE if apart else _TOGETHER_NOTE), "dim")


def _render_part(
    title: str, tools: list[ToolTally], calls: int, screen: TerminalScreen, *, apart: bool
) -> Iterator[str]:
    outcomes = ("failed", "denied", "interrupted") if apart else ("failed",)
    head = (title, "calls", "share", *outcomes, "unanswered", "median", "p95", "time", "tokens in", "out")
    spare = ("share", "p95", "interrupted", "denied", "tokens in", "median", "unanswered", "time")
    return render_table_rows(
        head, (_build_cells(tool, calls, apart) for tool in tools), screen, range(1, len(head)), spare
    )


def _build_cells(tool: ToolTally, calls: int, apart: bool) -> tuple[str, ...]:
    name = to_visible_line(tool.name) or ("all" if tool.calls == calls else "(no name)")
    outcomes = (tool.failed, tool.denied or 0, tool.interrupted or 0) if apart else (tool.failed,)
    return (
        name,
        f"{tool.calls:,}",
        f"{tool.calls / calls:.1%}",
        *map(format_table_number, (*outcomes, tool.unanswered)),
        _format_time(tool.median),
        _format_time(tool.p95),
        _format_time(sum(tool.times) if tool.times else None),
        f"{tool.tokens_in:,}",
        f"{tool.tokens_out:,}",
    )


def _format_time(milliseconds: float | None) -> str:
    return "·" if milliseconds is None else when.format_milliseconds(milliseconds)


def render_failure_messages(found: list[FailureMessage], screen: TerminalScreen) -> Iterator[str]:
    """What calls failed with."""
    if not found:
        yield "No call failed."
        return
    head = ("tool", "calls", "how", "message")
    cells = (
        (to_visible_line(item.tool), f"{item.calls:,}", item.outcome, to_visible_line(item.message) or "(no words)")
        for item in found
    )
    yield from render_table_rows(head, cells, screen, numbers=range(1, 2))
    yield from screen.wrap_prose(_FAILURES_DEFINITION, "dim")


def render_failing_tools(tools: Iterable[ToolTally], screen: TerminalScreen) -> Iterator[str]:
    """How many calls of each tool failed, for sources that keep no messages."""
    found = sorted((tool for tool in tools if tool.failed), key=lambda tool: (-tool.failed, tool.name))
    if not found:
        yield "No call failed."
        return
    cells = ((to_visible_line(t.name), f"{t.failed:,}", f"{t.calls:,}", f"{t.failed / t.calls:.1%}") for t in found)
    yield from render_table_rows(("tool", "failed", "calls", "share"), cells, screen, numbers=range(1, 4))
    words = " What they said is shown for one session: turnlog tools SESSION --failures."
    yield from screen.wrap_prose(_FAILING_DEFINITION + words, "dim")


def to_tools_document(tools: list[ToolTally], said: list[FailureMessage] | None) -> dict[str, Any]:
    """Calls by tool as a JSON document."""
    return {
        "total": _to_tally_document(sum_tallies(tools)),
        "tools": [
            {"tool": tool.name, **_to_tally_document(tool), "waits_for_person": tool.waits_for_person} for tool in tools
        ],
        "servers": [{"server": server.name, **_to_tally_document(server)} for server in sum_tallies_by_server(tools)],
        "failures": None if said is None else [item._asdict() for item in said],
    }


def _to_tally_document(tool: ToolTally) -> dict[str, Any]:
    return {
        "calls": tool.calls,
        "failed": tool.failed,
        "denied": tool.denied,
        "interrupted": tool.interrupted,
        "unanswered": tool.unanswered,
        "median_ms": tool.median,
        "p95_ms": tool.p95,
        "total_ms": sum(tool.times),
        "characters_in": tool.given,
        "characters_out": tool.got,
        "estimated_tokens_in": tool.tokens_in,
        "estimated_tokens_out": tool.tokens_out,
    }
