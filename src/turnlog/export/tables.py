"""Sessions as tables: the columns, and the rows of one session with its sub-agents.

Every row contains the ids of its session and its sub-agent (no sub-agent for the session itself). Text that is not
valid UTF-8, and numbers beyond 64 bits, become values that a table can store.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from turnlog.entries.entry import Entry
from turnlog.render.html_escape import replace_unencodable
from turnlog.render.json_bytes import to_json_bytes
from turnlog.session.calls import Call, find_tool_family
from turnlog.session.clock import parse_timestamp
from turnlog.session.failures import to_result_text
from turnlog.session.message_usage import compute_own_cost, list_separate_requests
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.session.usage.prices import Cost, PricedTokens

TableRow = dict[str, Any]
_MAX_INTEGER = 2**63 - 1


def _parse_columns(names: str) -> dict[str, str]:
    """Parse column names, each with an optional type after a colon; the default is text."""
    pairs = (name.partition(":") for name in f"session_id agent_id {names}".split())
    return {name: kind or "text" for name, _, kind in pairs}


TABLE_COLUMNS: dict[str, dict[str, str]] = {
    "entries": _parse_columns(
        "place:number offset:number size:number type subtype kind uuid parent_uuid time:time turn:number cwd"
        " git_branch version is_sidechain:truth is_meta:truth message_id json"
    ),
    "messages": _parse_columns(
        "message_id role kind turn:number time:time ended:time model stop_reason is_error:truth text thinking"
        " calls:number"
    ),
    "calls": _parse_columns(
        "call_id message_id turn:number tool family time:time ended:time duration_ms:number outcome is_error:truth"
        " input result started_agent_id"
    ),
    "usage": _parse_columns(
        "message_id turn:number time:time model input_tokens:number output_tokens:number cache_read_tokens:number"
        " cache_write_5m_tokens:number cache_write_1h_tokens:number web_searches:number cost_usd:real quality request"
    ),
}
"""The columns of each table, with their types."""


def iter_table_rows(session: Session) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a session and its sub-agents, each with the name of its table."""
    name = session.session_id
    yield from _iter_own_rows(session, name, None)
    for agent in session.agents:
        inner = Session.open(agent.path) if agent.path else session.open_agent_session(agent)
        try:
            yield from _iter_own_rows(inner, name, agent.agent_id)
        finally:
            if not inner.is_part:
                inner.close()


def _iter_own_rows(session: Session, name: str | None, agent_id: str | None) -> Iterator[tuple[str, TableRow]]:
    own = {"session_id": name, "agent_id": agent_id}
    for entry in session.entries:
        yield "entries", own | _build_entry_row(session, entry)
    for turn in session.turns:
        yield "messages", own | _build_prompt_row(turn)
    for message in session.messages:
        yield "messages", own | _build_message_row(session, message)
        if message.tokens is not None and not message.is_synthetic:
            yield from (("usage", own | row) for row in _build_usage_rows(session, message, message.tokens))
    for call in session.calls:
        yield "calls", own | _build_call_row(session, call)


def _build_entry_row(session: Session, entry: Entry) -> TableRow:
    return {
        "place": entry.index,
        "offset": entry.offset,
        "size": entry.size,
        "type": entry.type,
        "subtype": entry.subtype,
        "kind": entry.kind,
        "uuid": entry.uuid,
        "parent_uuid": entry.parent_uuid,
        "time": entry.timestamp,
        "turn": _find_turn_number(session, entry),
        "cwd": entry.cwd,
        "git_branch": entry.git_branch,
        "version": entry.version,
        "is_sidechain": entry.is_sidechain,
        "is_meta": entry.is_meta,
        "message_id": entry.message.id if entry.message else None,
        "json": session.file.read_raw(entry).decode("utf-8", "replace").strip(),
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


def _build_usage_rows(session: Session, message: Message, tokens: PricedTokens) -> Iterator[TableRow]:
    """Yield the usage of a message, and a separate row for each separately billed request, such as an advisor's."""
    about = {
        "message_id": message.key,
        "turn": _find_turn_number(session, message.lines[0]),
        "time": message.started_at,
    }
    own = {"model": message.model, "quality": message.quality, "request": "message"}
    yield about | own | _build_token_fields(tokens, compute_own_cost(message))
    for separate_request, request in zip(message.separate_requests, list_separate_requests(message), strict=True):
        separate = {"model": request.model, "quality": "final", "request": request.kind}
        separate["message_id"] = f"{message.key}#{separate_request.place}"
        yield about | separate | _build_token_fields(request.tokens, request.compute_cost(message.started_at))


def _build_token_fields(tokens: PricedTokens, cost: Cost) -> TableRow:
    return {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_5m_tokens": tokens.cache_write_5m,
        "cache_write_1h_tokens": tokens.cache_write_1h,
        "web_searches": tokens.web_searches,
        "cost_usd": cost.usd,
    }


def _build_call_row(session: Session, call: Call) -> TableRow:
    detail = session.read_detail(call)
    started, ended = parse_timestamp(call.started_at), parse_timestamp(call.ended_at)
    return {
        "call_id": call.id,
        "message_id": call.message,
        "turn": _find_turn_number(session, call.line),
        "tool": call.name,
        "family": find_tool_family(call.name),
        "time": call.started_at,
        "ended": call.ended_at,
        "duration_ms": round((ended - started).total_seconds() * 1000) if started and ended else None,
        "outcome": detail.outcome,
        "is_error": call.is_error,
        "input": to_json_bytes(detail.input).decode(),
        "result": to_result_text(detail.result) if call.result else None,
        "started_agent_id": call.agent_id,
    }


def _find_turn_number(session: Session, entry: Entry) -> int | None:
    turn = session.find_turn(entry)
    return turn.number if turn else None


def _read_block_text(block: dict[str, Any], key: str) -> str:
    text = block.get(key)
    return text if isinstance(text, str) else ""


def fit_column_value(kind: str, value: Any) -> Any:
    """Convert a value to a type that its column can store; return None if that is impossible."""
    match kind:
        case "text" if isinstance(value, str):
            return replace_unencodable(value)
        case "number" if isinstance(value, int):
            return value if -_MAX_INTEGER <= value <= _MAX_INTEGER else None
        case "real" if isinstance(value, int | float):
            return float(value)
        case "truth" if isinstance(value, bool):
            return value
        case "time":
            return _fit_time(parse_timestamp(value))
    return None


def _fit_time(time: datetime | None) -> datetime | None:
    return time if time is not None and 1 < time.year < 9999 else None
