"""Sessions as tables: `iter_file_rows` builds the rows of one file, for an export and for a lake alike.

Every row contains the ids of its session and its sub-agent (no sub-agent for the session itself). Text that is not
valid UTF-8, and numbers beyond 64 bits, become values that a table can store. The rows of the table `entries` depend
only on their own lines, so any part of a file can be read apart from the rest (`iter_entry_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import scan_lines
from turnlog.export.file_facts import CallSizes, FileFacts
from turnlog.export.table_columns import ENTRY_TABLE, TableRow
from turnlog.render.json_bytes import to_json_bytes
from turnlog.session.call_times import find_working_time, measure_call_ms
from turnlog.session.calls import Call, find_tool_family
from turnlog.session.clock import parse_timestamp
from turnlog.session.failures import to_result_text
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.session.usage.iterations import divide_tokens, read_requests
from turnlog.session.usage.message_counts import MessageCounts
from turnlog.session.usage.prices import PICO_PER_DOLLAR, PricedTokens, compute_cost

NamedRow = tuple[str, TableRow]
"""A row with the name of its table."""


class FileIdentity(NamedTuple):
    """Which file the rows belong to."""

    session_id: str | None
    agent_id: str | None = None
    file_name: str | None = None
    """The path below the project's folder."""
    unique_name: str | None = None
    """Names the messages that have no id of their own; the default is `file_name`."""


class _MessageContext(NamedTuple):
    turn: int | None
    agent_id: str | None


def iter_table_rows(session: Session) -> Iterator[NamedRow]:
    """Yield the rows of a session and of its sub-agents' files."""
    name = session.session_id
    yield from iter_file_rows(session, FileIdentity(name, None, session.path.name if session.path else None))
    for agent in session.agents:
        if agent.path is not None:
            with Session.open(agent.path) as inner:
                yield from iter_file_rows(inner, FileIdentity(name, agent.agent_id, agent.path.name))


def iter_file_rows(
    session: Session, identity: FileIdentity, *, counted: FileFacts | None = None, with_entries: bool = True
) -> Iterator[NamedRow]:
    """Yield the rows of one file, which is open as a session, in all tables.

    Memory grows with the number of entries, by much less than their size. If the file is a redacted copy, `counted`
    are the facts of the original, so that redaction doesn't change any count.
    """
    if with_entries:
        yield from ((ENTRY_TABLE, row) for row in iter_entry_rows(session.file.source.read_lines(0), identity))
    facts = FileFacts.read(session.file.source.read_lines(0), identity.unique_name or identity.file_name or "")
    counted = counted or facts
    contexts: dict[str, _MessageContext] = {}
    known_calls: set[str] = set()
    parts = [(session, identity.agent_id)]
    parts += [(session.open_agent_session(agent), agent.agent_id) for agent in session.agents if agent.path is None]
    for part, agent_id in parts:
        own = {"session_id": identity.session_id, "agent_id": agent_id}
        yield from ((table, own | row) for table, row in _iter_part_rows(part, facts, counted, known_calls))
        for message in part.messages:
            contexts.setdefault(message.key, _MessageContext(_find_turn_number(part, message.lines[0]), agent_id))
    own = {"session_id": identity.session_id, "agent_id": identity.agent_id}
    for key, call in facts.calls.items():
        if call.tool is not None and key not in known_calls:
            yield "calls", own | _build_bare_call_row(key, call) | _build_call_counts(key, facts, counted)
    kinds = _map_request_kinds(part for part, _ in parts)
    for key, best in counted.answers.items():
        context = contexts.get(key.partition("#")[0]) or _MessageContext(None, identity.agent_id)
        place = {"agent_id": context.agent_id, "turn": context.turn, "request": kinds.get(key, "message")}
        yield "usage", own | place | _build_usage_row(key, best)
    yield "sessions", own | _build_session_row(session, identity, facts)


def iter_entry_rows(lines: Iterable[bytes], identity: FileIdentity, offset: int = 0) -> Iterator[TableRow]:
    """Yield the rows of `entries` for consecutive lines, the first of which starts at `offset` in the file."""
    for item, raw in scan_lines(lines, offset):
        if isinstance(item, Entry):
            yield {
                "session_id": identity.session_id,
                "agent_id": identity.agent_id,
                "offset": item.offset,
                "size": item.size,
                "type": item.type,
                "subtype": item.subtype,
                "kind": item.kind,
                "uuid": item.uuid,
                "parent_uuid": item.parent_uuid,
                "time": item.timestamp,
                "cwd": item.cwd,
                "git_branch": item.git_branch,
                "version": item.version,
                "is_sidechain": item.is_sidechain,
                "is_meta": item.is_meta,
                "message_id": item.message.id if item.message else None,
                "json": raw.decode("utf-8", "replace").strip(),
            }


def _iter_part_rows(part: Session, facts: FileFacts, counted: FileFacts, known_calls: set[str]) -> Iterator[NamedRow]:
    for turn in part.turns:
        yield "turns", _build_turn_row(turn)
        yield "messages", _build_prompt_row(turn)
    for message in part.messages:
        yield "messages", _build_message_row(part, message)
    for call in part.calls:
        known_calls.add(call.id)
        yield "calls", _build_call_row(part, call) | _build_call_counts(call.id, facts, counted)


def _build_session_row(session: Session, identity: FileIdentity, facts: FileFacts) -> TableRow:
    outline, is_main = facts.outline, identity.agent_id is None
    return {
        "kind": "session" if is_main else "agent",
        "file_name": identity.file_name,
        "title": outline.best,
        "tag": outline.tag,
        "started": outline.started,
        "ended": outline.ended,
        "cwd": outline.cwd,
        "git_branch": outline.git_branch,
        "version": outline.version,
        "is_session": is_main and bool(outline.talks or outline.broken),
        "forked_from": outline.forked_from,
        "made_by": outline.made_by,
        "size": session.file.complete,
        "entries": outline.entries,
        "broken": outline.broken,
        "prompts": outline.prompts,
        "turns": len(session.turns),
        "messages": len(facts.answers),
        "calls": sum(call.tool is not None for call in facts.calls.values()),
        "compactions": outline.compactions,
        "entry_types": to_json_bytes(dict(facts.types.most_common())).decode(),
        "unknown": to_json_bytes({item.path: item.count for item in facts.drift}).decode(),
    }


def _build_turn_row(turn: Turn) -> TableRow:
    started, ended = parse_timestamp(turn.started_at), parse_timestamp(turn.ended_at)
    span = round((ended - started).total_seconds() * 1000) if started and ended else None
    return {
        "turn": turn.number,
        "kind": turn.kind,
        "speaker": turn.speaker,
        "outcome": turn.outcome,
        "round": turn.round,
        "prompt_id": turn.start.uuid,
        "time": turn.started_at,
        "ended": turn.ended_at,
        "duration_ms": span if turn.duration_ms is None else turn.duration_ms,
        "messages": len(turn.messages),
        "calls": len(turn.calls),
        "failed_calls": sum(bool(call.is_error) for call in turn.calls),
    }


def _build_prompt_row(turn: Turn) -> TableRow:
    return {
        "message_id": turn.start.uuid,
        "role": "user",
        "kind": turn.kind,
        "turn": turn.number,
        "time": turn.started_at,
        "ended": turn.started_at,
        "is_error": False,
        "text": turn.text,
        "calls": 0,
    }


def _build_message_row(session: Session, message: Message) -> TableRow:
    blocks = session.read_content(message)
    kinds = [block.get("type") for block in blocks]
    return {
        "message_id": message.key,
        "role": "assistant",
        "kind": "synthetic" if message.is_synthetic else "answer",
        "turn": _find_turn_number(session, message.lines[0]),
        "time": message.started_at,
        "ended": message.ended_at,
        "model": message.model,
        "stop_reason": message.stop_reason,
        "is_error": message.is_error,
        "text": "\n\n".join(_read_block_text(block, "text") for block in blocks if block.get("type") == "text"),
        "thinking": "\n\n".join(
            _read_block_text(block, "thinking") for block in blocks if block.get("type") == "thinking"
        ),
        "calls": kinds.count("tool_use"),
    }


def _read_block_text(block: TableRow, key: str) -> str:
    text = block.get(key)
    return text if isinstance(text, str) else ""


def _map_request_kinds(parts: Iterable[Session]) -> dict[str, str]:
    """Map the keys of separately billed requests to their kinds."""
    messages = (message for part in parts for message in part.messages)
    return {
        f"{message.key}#{request.place}": request.kind for message in messages for request in message.separate_requests
    }


def _build_usage_row(key: str, best: MessageCounts) -> TableRow:
    tokens = best.tokens
    return {
        "message_id": key,
        "time": best.first,
        "model": best.model,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_5m_tokens": tokens.cache_write_5m,
        "cache_write_1h_tokens": tokens.cache_write_1h,
        "web_searches": tokens.web_searches,
        "cost_usd": _compute_cost_usd(best, tokens),
        "quality": best.quality,
        "ended": best.last,
        "lowest_output": best.lowest,
        "stopped": best.stopped,
        "sidechain": best.sidechain,
        "version": best.version,
        "terms": best.terms,
        "letters": best.letters,
        "requests": best.requests,
    }


def _compute_cost_usd(best: MessageCounts, tokens: PricedTokens) -> float | None:
    speed, tier, geo = (*(best.terms or "").split("|"), "", "")[:3]
    parts = divide_tokens(tokens, read_requests(best.requests)) if best.requests else [tokens]
    costs = [
        compute_cost(
            best.model, part, speed=speed or None, service_tier=tier or None, geo=geo or None, at=best.first
        ).pico
        for part in parts
    ]
    prices = [cost for cost in costs if cost is not None]
    return sum(prices) / PICO_PER_DOLLAR if len(prices) == len(costs) else None


def _build_call_row(session: Session, call: Call) -> TableRow:
    detail = session.read_detail(call)
    took = measure_call_ms(call, detail)
    return {
        "call_id": call.id,
        "message_id": call.message,
        "turn": _find_turn_number(session, call.line),
        "tool": call.name,
        "family": find_tool_family(call.name),
        "time": call.started_at,
        "ended": call.ended_at,
        "duration_ms": None if took is None else round(took),
        "outcome": detail.outcome,
        "is_error": call.is_error,
        "input": to_json_bytes(detail.input).decode(),
        "result": to_result_text(detail.result) if call.result else None,
        "started_agent_id": call.agent_id,
    }


def _build_call_counts(key: str, facts: FileFacts, counted: FileFacts) -> TableRow:
    """Build the columns of a call that `turnlog usage tool` counts."""
    original = counted.calls.get(key) or CallSizes()
    return {
        "failed": original.failed,
        "input_chars": original.input_chars,
        "result_chars": original.result_chars,
        "path": (facts.calls.get(key) or original).path,
    }


def _build_bare_call_row(key: str, call: CallSizes) -> TableRow:
    """Build the row of a call that belongs to no session view, such as one that a progress entry repeats."""
    took = _measure_milliseconds(call.started, call.ended)
    return {
        "call_id": key,
        "tool": call.tool,
        "family": find_tool_family(call.tool or ""),
        "time": call.started,
        "ended": call.ended,
        "duration_ms": None if took is None or find_working_time(call.tool or "", took) is None else took,
        "outcome": "unanswered" if call.failed is None else "error" if call.failed else "answered",
        "is_error": call.failed,
    }


def _measure_milliseconds(started: str | None, ended: str | None) -> int | None:
    first, last = parse_timestamp(started), parse_timestamp(ended)
    return round((last - first).total_seconds() * 1000) if first and last else None


def _find_turn_number(session: Session, entry: Entry) -> int | None:
    turn = session.find_turn(entry)
    return turn.number if turn else None
