"""`turnlog tools`: count calls by tool, in one session or in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line

if TYPE_CHECKING:
    from turnlog.api.tools import CallCounts, ToolCalls, ToolReport
    from turnlog.session.tallies import FailureMessage


@click.command()
@click.argument("session", required=False)
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Include only sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("--since", metavar="DAY", help="First day to include, such as 2026-11-03, yesterday or 30d.")
@click.option(
    "--failures", "only_failures", is_flag=True, help="Show why calls failed, with the most frequent reasons first."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def tools(session: str | None, project: str | None, since: str | None, only_failures: bool, as_json: bool) -> None:
    """Count calls by tool and by MCP server, with their outcomes and durations.

    Calls by sub-agents are included, and a call that appears in several files is counted once. Durations leave out
    calls that waited for permission, as far as session files show it. SESSION is a path, an id, an id prefix, a title,
    or `last` (the most recent session). If SESSION is omitted, the calls in all sessions are counted.

    \b
    Examples:
      turnlog tools
      turnlog tools last
      turnlog tools last --failures
      turnlog tools --project webshop --since 7d --json
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.tools import count_tools
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    with show_index_bar() as bar:
        found = count_tools(
            session,
            project=project,
            since=since,
            include_failures=only_failures or as_json,
            config=config,
            notify=bar.notify,
            progress=bar.show,
        )
    if as_json:
        print_json(to_document(found))
        return
    screen = detect_screen(config.color)
    if not only_failures:
        print_lines(render_tool_table(found, screen))
    elif found.failures is None:
        print_lines(render_failing_tools(found.tools, screen))
    else:
        print_lines(render_failure_messages(found.failures, screen))


_DEFINITION = (
    "Calls: every call id once, sub-agents included. Failed: the result is an error{apart}. Share: of all calls. Time:"
    " from the call to its result, without calls that waited for permission or continued in the background, as far"
    " as the files show it; AskUserQuestion and ExitPlanMode wait for a person. Tokens: characters of inputs and"
    " results divided by four, an estimate."
)
_APART_NOTE = "; denied and interrupted calls are counted separately"
_TOGETHER_NOTE = ", including denied and interrupted calls, which the index can't tell apart"
_FAILURES_DEFINITION = (
    "The first line of each failed result; paths, quoted text and ids are shown as …, numbers as N. Every call id"
    " once, sub-agents"
    " included."
)
_FAILING_DEFINITION = (
    "Calls whose result is an error, including denied and interrupted ones, out of all calls; every call id once."
)


def render_tool_table(found: ToolReport, screen: TerminalScreen) -> Iterator[str]:
    """Render calls by tool, and by MCP server if there are any."""
    if not found.tools:
        yield "No calls."
        return
    apart = found.total.denied is not None
    rows = [(item.tool or "(no name)", item) for item in found.tools]
    yield from _render_part("tool", [*rows, ("all", found.total)], found.total.calls, screen, apart=apart)
    if found.servers:
        yield ""
        servers = [(item.server, item) for item in found.servers]
        yield from _render_part("MCP server", servers, found.total.calls, screen, apart=apart)
    yield from screen.wrap_prose(_DEFINITION.format(apart=_APART_NOTE if apart else _TOGETHER_NOTE), "dim")


def _render_part(
    title: str, rows: Sequence[tuple[str, CallCounts]], calls: int, screen: TerminalScreen, *, apart: bool
) -> Iterator[str]:
    outcomes = ("failed", "denied", "interrupted") if apart else ("failed",)
    head = (title, "calls", "share", *outcomes, "unanswered", "median", "p95", "time", "tokens in", "out")
    spare = ("share", "p95", "interrupted", "denied", "tokens in", "median", "unanswered", "time")
    cells = (_build_cells(name, item, calls, apart) for name, item in rows)
    return render_table_rows(head, cells, screen, range(1, len(head)), spare)


def _build_cells(name: str, item: CallCounts, calls: int, apart: bool) -> tuple[str, ...]:
    outcomes = (item.failed, item.denied or 0, item.interrupted or 0) if apart else (item.failed,)
    return (
        to_visible_line(name),
        f"{item.calls:,}",
        f"{item.calls / calls:.1%}",
        *map(format_table_number, (*outcomes, item.unanswered)),
        _format_time(item.median_ms),
        _format_time(item.p95_ms),
        _format_time(None if item.median_ms is None else item.total_ms),
        f"{item.estimated_tokens_in:,}",
        f"{item.estimated_tokens_out:,}",
    )


def _format_time(milliseconds: float | None) -> str:
    return "·" if milliseconds is None else time_format.format_milliseconds(milliseconds)


def render_failure_messages(found: list[FailureMessage], screen: TerminalScreen) -> Iterator[str]:
    if not found:
        yield "No call failed."
        return
    head = ("tool", "calls", "how", "message")
    cells = (
        (to_visible_line(item.tool), f"{item.calls:,}", item.outcome, to_visible_line(item.message) or "(no message)")
        for item in found
    )
    yield from render_table_rows(head, cells, screen, numbers=range(1, 2))
    yield from screen.wrap_prose(_FAILURES_DEFINITION, "dim")


def render_failing_tools(tools: Iterable[ToolCalls], screen: TerminalScreen) -> Iterator[str]:
    """Count failed calls by tool, for sources without error messages."""
    found = sorted((tool for tool in tools if tool.failed), key=lambda tool: (-tool.failed, tool.tool))
    if not found:
        yield "No call failed."
        return
    cells = ((to_visible_line(t.tool), f"{t.failed:,}", f"{t.calls:,}", f"{t.failed / t.calls:.1%}") for t in found)
    yield from render_table_rows(("tool", "failed", "calls", "share"), cells, screen, numbers=range(1, 4))
    words = " For the error messages of one session, run: turnlog tools SESSION --failures"
    yield from screen.wrap_prose(_FAILING_DEFINITION + words, "dim")
