"""Sessions as tables: their columns, and the rows of one session with its sub-agents.

Every row says of which session it is, and of which sub-agent (none: the session itself). Texts that are no valid
UTF-8, and numbers beyond 64 bits, become what a table can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from turnlog.entries.entry import Entry
from turnlog.render.encoding import encoded
from turnlog.render.visible import sound
from turnlog.session.calls import Call, family
from turnlog.session.clock import moment
from turnlog.session.failures import plain
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.session.usage.prices import Cost, Tokens
from turnlog.session.usage.usage import own_cost_of, separate_requests

Row = dict[str, Any]
_MOST = 2**63 - 1


def _columns(words: str) -> dict[str, str]:
    """Columns by name, with the kind of their values: text, unless the name is followed by another."""
    pairs = (word.partition(":") for word in f"session_id agent_id {words}".split())
    return {name: kind or "text" for name, _, kind in pairs}


TABLES: dict[str, dict[str, str]] = {
    "entries": _columns(
        "place:number offset:number size:number type subtype kind uuid parent_uuid time:time turn:number cwd"
        " git_branch version is_sidechain:truth is_meta:truth message_id json"
    ),
    "messages": _columns(
        "message_id role kind turn:number time:time ended:time model stop_reason is_error:truth text thinking"
        " calls:number"
    ),
    "calls": _columns(
        "call_id message_id turn:number tool family time:time ended:time duration_ms:number outcome is_error:truth"
        " input result started_agent_id"
    ),
    "usage": _columns(
        "message_id turn:number time:time model input_tokens:number output_tokens:number cache_read_tokens:number"
        " cache_write_5m_tokens:number cache_write_1h_tokens:number web_searches:number cost_usd:real quality request"
    ),
}
"""The columns of each table, with the kind of their values."""


def rows(session: Session) -> Iterator[tuple[str, Row]]:
    """The rows of a session and its sub-agents, each with the name of its table."""
    name = session.session_id
    yield from _rows(session, name, None)
    for agent in session.agents:
        inner = Session.open(agent.path) if agent.path else session.agent_session(agent)
        try:
            yield from _rows(inner, name, agent.agent_id)
        finally:
            if not inner.is_part:
                inner.close()


def _rows(session: Session, name: str | None, agent_id: str | None) -> Iterator[tuple[str, Row]]:
    own = {"session_id": name, "agent_id": agent_id}
    for entry in session.entries:
        yield "entries", own | _entry(session, entry)
    for turn in session.turns:
        yield "messages", own | _prompt(turn)
    for message in session.messages:
        yield "messages", own | _message(session, message)
        if message.tokens is not None and not message.is_synthetic:
            yield from (("usage", own | row) for row in _usage(session, message, message.tokens))
    for call in session.calls:
        yield "calls", own | _call(session, call)


def _entry(session: Session, entry: Entry) -> Row:
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
        "turn": _turn(session, entry),
        "cwd": entry.cwd,
        "git_branch": entry.git_branch,
        "version": entry.version,
        "is_sidechain": entry.is_sidechain,
        "is_meta": entry.is_meta,
        "message_id": entry.message.id if entry.message else None,
        "json": session.file.raw(entry).decode("utf-8", "replace").strip(),
    }


def _prompt(turn: Turn) -> Row:
    return {
        "message_id": turn.start.uuid,
        "role": "user",
        "kind": turn.kind,
        "turn": turn.number,
        "time": turn.started,
        "ended": turn.started,
        "is_error": False,
        "text": turn.text,
        "calls": 0,
    }


def _message(session: Session, message: Message) -> Row:
    blocks = session.content(message)
    kinds = [block.get("type") for block in blocks]
    return {
        "message_id": message.key,
        "role": "assistant",
        "kind": "synthetic" if message.is_synthetic else "answer",
        "turn": _turn(session, message.lines[0]),
        "time": message.started,
        "ended": message.ended,
        "model": message.model,
        "stop_reason": message.stop_reason,
        "is_error": message.is_error,
        "text": "\n\n".join(_said(block, "text") for block in blocks if block.get("type") == "text"),
        "thinking": "\n\n".join(_said(block, "thinking") for block in blocks if block.get("type") == "thinking"),
        "calls": kinds.count("tool_use"),
    }


def _usage(session: Session, message: Message, tokens: Tokens) -> Iterator[Row]:
    """What a message used, and what was billed beside it: an advisor's answer is a row of its own."""
    about = {
        "message_id": message.key,
        "turn": _turn(session, message.lines[0]),
        "time": message.started,
    }
    own = {"model": message.model, "quality": message.quality, "request": "message"}
    yield about | own | _counts(tokens, own_cost_of(message))
    for listed, request in zip(message.separate_requests, separate_requests(message), strict=True):
        separate = {"model": request.model, "quality": "final", "request": request.kind}
        separate["message_id"] = f"{message.key}#{listed.place}"
        yield about | separate | _counts(request.tokens, request.cost(message.started))


def _counts(tokens: Tokens, cost: Cost) -> Row:
    return {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_5m_tokens": tokens.cache_write_5m,
        "cache_write_1h_tokens": tokens.cache_write_1h,
        "web_searches": tokens.web_searches,
        "cost_usd": cost.usd,
    }


def _call(session: Session, call: Call) -> Row:
    detail = session.detail(call)
    began, ended = moment(call.started), moment(call.ended)
    return {
        "call_id": call.id,
        "message_id": call.message,
        "turn": _turn(session, call.line),
        "tool": call.name,
        "family": family(call.name),
        "time": call.started,
        "ended": call.ended,
        "duration_ms": round((ended - began).total_seconds() * 1000) if began and ended else None,
        "outcome": detail.outcome,
        "is_error": call.is_error,
        "input": encoded(detail.input).decode(),
        "result": plain(detail.result) if call.result else None,
        "started_agent_id": call.agent_id,
    }


def _turn(session: Session, entry: Entry) -> int | None:
    turn = session.turn_of(entry)
    return turn.number if turn else None


def _said(block: dict[str, Any], key: str) -> str:
    found = block.get(key)
    return found if isinstance(found, str) else ""


def fitting(kind: str, value: Any) -> Any:
    """A value as its column can hold it; None where it can't."""
    match kind:
        case "text" if isinstance(value, str):
            return sound(value)
        case "number" if isinstance(value, int):
            return value if -_MOST <= value <= _MOST else None
        case "real" if isinstance(value, int | float):
            return float(value)
        case "truth" if isinstance(value, bool):
            return value
        case "time":
            return _within(moment(value))
    return None


def _within(time: datetime | None) -> datetime | None:
    return time if time is not None and 1 < time.year < 9999 else None
