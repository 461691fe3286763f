"""Tables of calls by tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli import when
from turnlog.cli.rows import number, rows
from turnlog.cli.terminal import Screen, line
from turnlog.session.tallies import Failure, Tally, by_server, total

_DEFINITION = (
    "Calls: every call id once, sub-agents included. Failed: the result is an error{apart}. Share: of all calls. Time:"
    " from the call to its result; waiting for a person (AskUserQuestion, ExitPlanMode, permissions) can't be told"
    " from work. Tokens: characters of inputs and results divided by four, an estimate."
)
_APART = "; denied and interrupted calls are apart"
_TOGETHER = ", denied and interrupted calls among them: the index can't tell them apart"
_FAILURES = (
    "The first line of each failed result; paths, quoted texts and ids are …, numbers N. Every call id once, sub-agents"
    " included."
)
_FAILING = "Calls whose result is an error, denied and interrupted ones among them, of all calls; every call id once."


def table(tools: list[Tally], screen: Screen) -> Iterator[str]:
    """Calls by tool, and by MCP server where there are any."""
    if not tools:
        yield "No calls."
        return
    apart = tools[0].denied is not None
    calls = sum(tool.calls for tool in tools)
    yield from _part("tool", [*tools, total(tools)], calls, screen, apart=apart)
    if servers := by_server(tools):
        yield ""
        yield from _part("MCP server", servers, calls, screen, apart=apart)
    yield from screen.prose(_DEFINITION.format(apart=_APART if apart else _TOGETHER), "dim")


def _part(title: str, tools: list[Tally], calls: int, screen: Screen, *, apart: bool) -> Iterator[str]:
    outcomes = ("failed", "denied", "interrupted") if apart else ("failed",)
    head = (title, "calls", "share", *outcomes, "unanswered", "median", "p95", "time", "tokens in", "out")
    spare = ("share", "p95", "interrupted", "denied", "tokens in", "median", "unanswered", "time")
    return rows(head, (_cells(tool, calls, apart) for tool in tools), screen, range(1, len(head)), spare)


def _cells(tool: Tally, calls: int, apart: bool) -> tuple[str, ...]:
    name = line(tool.name) or ("all" if tool.calls == calls else "(no name)")
    outcomes = (tool.failed, tool.denied or 0, tool.interrupted or 0) if apart else (tool.failed,)
    return (
        name,
        f"{tool.calls:,}",
        f"{tool.calls / calls:.1%}",
        *map(number, (*outcomes, tool.unanswered)),
        _time(tool.median),
        _time(tool.p95),
        _time(sum(tool.times) if tool.times else None),
        f"{tool.tokens_in:,}",
        f"{tool.tokens_out:,}",
    )


def _time(milliseconds: float | None) -> str:
    return "·" if milliseconds is None else when.lasted(milliseconds)


def messages(found: list[Failure], screen: Screen) -> Iterator[str]:
    """What calls failed with."""
    if not found:
        yield "No call failed."
        return
    head = ("tool", "calls", "how", "message")
    cells = ((line(item.tool), f"{item.calls:,}", item.outcome, line(item.message) or "(no words)") for item in found)
    yield from rows(head, cells, screen, numbers=range(1, 2))
    yield from screen.prose(_FAILURES, "dim")


def failing(tools: Iterable[Tally], screen: Screen) -> Iterator[str]:
    """How many calls of each tool failed, for sources that keep no messages."""
    found = sorted((tool for tool in tools if tool.failed), key=lambda tool: (-tool.failed, tool.name))
    if not found:
        yield "No call failed."
        return
    cells = ((line(t.name), f"{t.failed:,}", f"{t.calls:,}", f"{t.failed / t.calls:.1%}") for t in found)
    yield from rows(("tool", "failed", "calls", "share"), cells, screen, numbers=range(1, 4))
    words = " What they said is shown for one session: turnlog tools SESSION --failures."
    yield from screen.prose(_FAILING + words, "dim")


def document(tools: list[Tally], said: list[Failure] | None) -> dict[str, Any]:
    """Calls by tool as a JSON document."""
    return {
        "total": _tally(total(tools)),
        "tools": [{"tool": tool.name, **_tally(tool), "waits_for_person": tool.waits} for tool in tools],
        "servers": [{"server": server.name, **_tally(server)} for server in by_server(tools)],
        "failures": None if said is None else [item._asdict() for item in said],
    }


def _tally(tool: Tally) -> dict[str, Any]:
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
