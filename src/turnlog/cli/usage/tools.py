"""`turnlog tools`: calls by tool, of one session or of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from turnlog.cli import time_format
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.session.tallies import FailureMessage, ToolTally, sum_tallies, sum_tallies_by_server

if TYPE_CHECKING:
    from turnlog.api.config import Config


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("--since", metavar="DAY", help="Only calls from this day on: 2026-11-03, yesterday, 30d.")
@click.option("--failures", "only_failures", is_flag=True, help="What calls failed with, the most frequent first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def tools(session: str | None, project: str | None, since: str | None, only_failures: bool, as_json: bool) -> None:
    """Count calls by tool and by MCP server: how many, how they ended, how long they took.

    SESSION is a path, an id or the start of one, a title, or `last`; without one, all sessions are counted, out
    of the index. Sub-agents are included; a call that several files hold counts once. What time was work and what
    was waiting for a person can't be told apart.

    \b
    Examples:
      turnlog tools
      turnlog tools last
      turnlog tools last --failures
      turnlog tools --project webshop --since 7d --json
    """
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError

    config = load_config()
    if session is None:
        _print_all_tools(config, project, since, only_failures, as_json)
        return
    if project is not None or since is not None:
        raise UsageError("--project and --since choose among all sessions; leave SESSION out")
    _print_session_tools(session, config, only_failures, as_json)


def _print_session_tools(name: str, config: Config, only_failures: bool, as_json: bool) -> None:
    from turnlog.cli.named_sessions import open_named_session
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.session.tallies import count_calls_by_tool, count_failure_messages

    with open_named_session(name, config) as session:
        found = count_calls_by_tool(session)
        said = count_failure_messages(session) if only_failures or as_json else []
    if as_json:
        print_json(to_tools_document(found, said))
    else:
        print_lines(
            render_failure_messages(said, detect_screen(config.color))
            if only_failures
            else render_tool_table(found, detect_screen(config.color))
        )


def _print_all_tools(
    config: Config, project: str | None, since: str | None, only_failures: bool, as_json: bool
) -> None:
    from turnlog.api.sessions import find_project_sessions
    from turnlog.cli.fresh_index import open_fresh_index
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.time_format import to_day_start
    from turnlog.store.insight.tool_tallies import tally_tool_calls

    start = to_day_start(since) if since is not None else None
    with open_fresh_index(config) as index:
        ids = None if project is None else find_project_sessions(index.db, project)
        found = tally_tool_calls(index.db, ids, start)
    if as_json:
        print_json(to_tools_document(found, None))
    else:
        print_lines(
            render_failing_tools(found, detect_screen(config.color))
            if only_failures
            else render_tool_table(found, detect_screen(config.color))
        )


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
    return "·" if milliseconds is None else time_format.format_milliseconds(milliseconds)


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
