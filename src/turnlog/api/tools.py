"""Counts calls by tool and by MCP server, in one session or in all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, open_session
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.session.tallies import (
    FailureMessage,
    ToolTally,
    count_calls_by_tool,
    count_failure_messages,
    sum_tallies,
    sum_tallies_by_server,
)

if TYPE_CHECKING:
    from turnlog.api.index import Progress


class CallCounts(Struct, frozen=True, kw_only=True):
    """The number of calls, their outcomes and their times."""

    calls: int
    failed: int
    denied: int | None
    """None in a report on all sessions, because the index counts denied calls as failed."""
    interrupted: int | None
    unanswered: int
    median_ms: float | None
    p95_ms: float | None
    total_ms: float
    characters_in: int
    characters_out: int
    estimated_tokens_in: int
    estimated_tokens_out: int


class ToolCalls(CallCounts, frozen=True):
    """The calls to one tool."""

    tool: str
    waits_for_person: bool
    """Whether its calls end when a person answers."""


class ServerCalls(CallCounts, frozen=True):
    """The calls to one MCP server."""

    server: str


class ToolReport(Struct, frozen=True):
    """Calls by tool and by MCP server."""

    total: CallCounts
    tools: list[ToolCalls]
    """Most used first."""
    servers: list[ServerCalls]
    failures: list[FailureMessage] | None
    """The error messages of failed calls, most frequent first; None if they were not read."""


def count_tools(
    session: str | Path | None = None,
    *,
    project: str | None = None,
    since: str | date | None = None,
    include_failures: bool = True,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> ToolReport:
    """Count calls by tool in one session or, by default, in all sessions; `project` and `since` limit the latter.

    Sub-agents are included, and a call that appears in several files is counted once. `include_failures` adds the error
    messages of the failed calls in a session.
    """
    config = config or load_config()
    if session is not None:
        if project is not None or since is not None:
            raise UsageError("--project and --since can't be combined with SESSION")
        with open_session(session, config, notify) as found:
            failures = count_failure_messages(found) if include_failures else None
            return build_tool_report(count_calls_by_tool(found), failures)
    from turnlog.api.index import open_index  # for one session, the index is not needed
    from turnlog.api.sessions import find_project_sessions
    from turnlog.store.insight.tool_tallies import tally_tool_calls

    start = None if since is None else to_day_start(since)
    with open_index(config, notify=notify, progress=progress) as (index, _):
        ids = None if project is None else find_project_sessions(index.db, project)
        return build_tool_report(tally_tool_calls(index.db, ids, start), None)


def build_tool_report(tallies: list[ToolTally], failures: list[FailureMessage] | None) -> ToolReport:
    """Convert tallies to the fields of the JSON document."""
    return ToolReport(
        CallCounts(**_to_counts(sum_tallies(tallies))),
        [ToolCalls(item.name, item.waits_for_person, **_to_counts(item)) for item in tallies],
        [ServerCalls(item.name, **_to_counts(item)) for item in sum_tallies_by_server(tallies)],
        failures,
    )


def _to_counts(tally: ToolTally) -> dict[str, Any]:
    return {
        "calls": tally.calls,
        "failed": tally.failed,
        "denied": tally.denied,
        "interrupted": tally.interrupted,
        "unanswered": tally.unanswered,
        "median_ms": tally.median,
        "p95_ms": tally.p95,
        "total_ms": sum(tally.times),
        "characters_in": tally.given,
        "characters_out": tally.got,
        "estimated_tokens_in": tally.tokens_in,
        "estimated_tokens_out": tally.tokens_out,
    }


def to_day_start(day: str | date) -> str:
    """Return the start of a day in this machine's time zone, in Claude Code's time format."""
    from turnlog.store.usage.time_zones import parse_day

    if isinstance(day, str):
        day = parse_day(day, "--since", lambda: datetime.now().astimezone().date())
    try:
        return to_iso_time(datetime.combine(day, datetime.min.time()).astimezone(UTC)) or ""
    except (OverflowError, ValueError, OSError):  # years outside the range of the machine's calendar
        return day.isoformat()
