"""The header of a session: title, time, folder and cost."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.cli import time_format
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.demo import is_demo
from turnlog.render.client_totals import describe_client_totals
from turnlog.render.figures import format_count, list_price
from turnlog.session.client_totals import ClientTotals
from turnlog.session.message_usage import Usage
from turnlog.session.session import Session


def render_session_header(session: Session, screen: TerminalScreen) -> Iterator[str]:
    """Render the lines above the turns."""
    title = to_visible_line((session.title or "")[:1000]) or "(no title)"
    yield screen.paint(screen.fit(title), "bold")
    yield _join_parts(session.session_id or "no id", _describe_place(session), _describe_demo(session))
    yield _join_parts(
        _describe_time(session),
        _describe_client(session),
        ", ".join(to_visible_line(model) for model in session.models),
    )
    if session.resume_command and not _describe_demo(session):
        yield to_visible_line(f"Resume: {session.resume_command}")
    yield _join_parts(*_list_counts(session))
    yield from _describe_damage(session)
    yield from render_usage_lines(session.usage, session.client_totals, has_agents=bool(session.agents))


def _join_parts(*parts: str) -> str:
    return " · ".join(part for part in map(to_visible_line, parts) if part)


def _describe_place(session: Session) -> str:
    folder = session.folders[0] if session.folders else ""
    more = f" and {format_count(len(session.folders) - 1, 'other folder')}" if len(session.folders) > 1 else ""
    branch = f" ({', '.join(session.git_branches)})" if session.git_branches else ""
    return folder + more + branch


def _describe_demo(session: Session) -> str:
    return "demo" if session.path is not None and is_demo(session.path) else ""


def _describe_time(session: Session) -> str:
    started, ended = session.span
    if started is None:
        return ""
    passed = time_format.measure_time_between(started, ended)
    length = f" ({time_format.format_milliseconds(passed.total_seconds() * 1000)})" if passed else ""
    return time_format.format_time_span(started, ended) + length


def _describe_client(session: Session) -> str:
    return f"Claude Code {', '.join(session.versions)}" if session.versions else ""


def _list_counts(session: Session) -> Iterator[str]:
    """Count what the session contains, leaving out zeros."""
    errors = sum(bool(call.is_error) for call in session.calls)
    unanswered = sum(call.result is None for call in session.calls)
    told = [f"{errors:,} failed"] * bool(errors) + [f"{unanswered:,} without result"] * bool(unanswered)
    yield format_count(len(session.turns), "turn")
    yield format_count(len(session.messages), "message")
    yield format_count(len(session.calls), "call") + (f" ({', '.join(told)})" if told else "")
    if session.agents:
        yield f"{format_count(len(session.agents), 'sub-agent')}, not counted here"
    if session.compactions:
        yield format_count(len(session.compactions), "compaction")
    if session.graph.branches:
        yield f"{len(session.graph.leaves):,} branches"


def _describe_damage(session: Session) -> Iterator[str]:
    """Say how many lines are missing below because they hold no entry; a last line may be one that is being written."""
    damaged = sum(scrap.kind in ("broken", "value") for scrap in session.file.scraps)
    if damaged:
        yield f"{format_count(damaged, 'line')} can't be read; `turnlog check` lists them"


def render_usage_lines(usage: Usage, client: ClientTotals | None, *, has_agents: bool) -> Iterator[str]:
    """Describe the tokens and cost, which include those of sub-agents, and how reliable they are."""
    messages = sum(usage.quality.values())
    scope = ", sub-agents included" if has_agents else ""
    if usage.quality["missing"] == messages:
        if messages:
            yield f"Tokens: not recorded on any of {format_count(messages, 'message')}{scope}"
        return
    doubts = list(_list_doubts(usage))
    price = list_price(usage.cost_usd, usage.unpriced_tokens)
    certainty = "" if doubts else _describe_certainty(client)
    yield f"Tokens{scope}: {format_usage_tokens(usage)} · {price}{certainty}"
    yield from map(to_visible_line, describe_client_totals(client))
    if doubts:
        yield f"Output tokens: {'; '.join(doubts)} (of {format_count(messages, 'message')}{scope})."


def _describe_certainty(client: ClientTotals | None) -> str:
    """Say what is final: all counts, if the client's own total is the same; without one, those of the messages."""
    if client is None:
        return " · final for each message"
    return " · all counts final" if client.is_confirmed else ""


def format_usage_tokens(usage: Usage) -> str:
    parts = [f"{usage.input_tokens:,} in", f"{usage.output_tokens:,} out"]
    if usage.cache_read_input_tokens:
        parts.append(f"{usage.cache_read_input_tokens:,} read from cache")
    if usage.cache_creation_input_tokens:
        cache = "it" if usage.cache_read_input_tokens else "cache"
        parts.append(f"{usage.cache_creation_input_tokens:,} written to {cache}")
    return ", ".join(parts)


def _list_doubts(usage: Usage) -> Iterator[str]:
    quality = usage.quality
    if number := quality["partial"]:
        yield f"{number:,} counted before the answer was complete, so too low"
    if number := quality["placeholder"]:
        yield f"{number:,} with only a placeholder, so far too low"
    if number := quality["missing"]:
        yield f"{number:,} not recorded at all"
