"""Turns as text for a model: what was asked, what was answered, and the calls with their results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.call_titles import build_call_title
from turnlog.render.figures import format_count
from turnlog.session.calls import Call
from turnlog.session.clock import parse_timestamp, to_iso_time
from turnlog.session.failures import to_result_text
from turnlog.session.session import Session
from turnlog.session.turns import Turn

_MAX_SHORT_RESULT_CHARS = 300
_MAX_OUTLINE_CHARS = 160
_MAX_LISTED_TOOLS = 6
MAX_TEXT_CHARS = 1_000_000
"""Longer texts are cut before they are rendered; nobody reads that much of one."""


def format_minute(time: str | None) -> str:
    """Format a timestamp to the minute, in UTC; times that can't be parsed are left out."""
    parsed = parse_timestamp(time)
    text = to_iso_time(parsed) if parsed else None
    return f"{text[:10]} {text[11:16]}" if text else "no time"


def outline_turn(turn: Turn) -> str:
    """Describe a turn on one line."""
    tools = Counter(call.name for call in turn.calls)
    listed = ", ".join(f"{clean_line(name, 40)} {count}" for name, count in tools.most_common(_MAX_LISTED_TOOLS))
    failed = sum(bool(call.is_error) for call in turn.calls)
    parts = [
        f"{turn.number}. {format_minute(turn.started_at)} {turn.outcome}",
        f"{format_count(len(turn.calls), 'call')} ({listed}{', …' if len(tools) > _MAX_LISTED_TOOLS else ''})"
        if turn.calls
        else "",
        f"{failed} failed" if failed else "",
    ]
    kind = "" if turn.kind == "prompt" else f"[{turn.kind}] "
    return " · ".join(filter(None, parts)) + f": {kind}{clean_line(turn.text, _MAX_OUTLINE_CHARS)}"


def render_turn(session: Session, turn: Turn, results: str) -> str:
    """Render a turn in full; `results` is none, short or full."""
    return "\n".join(_iter_turn_lines(session, turn, results))


def _iter_turn_lines(session: Session, turn: Turn, results: str) -> Iterator[str]:
    yield f"## Turn {turn.number} · {format_minute(turn.started_at)} · {turn.outcome}"
    yield f"{turn.kind}: {_cut_text(turn.text)}"
    yield from (f"typed meanwhile: {_cut_text(text)}" for text in turn.further)
    calls = {call.id: call for call in turn.calls}
    for message in turn.messages:
        for block in session.read_content(message):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield f"answer: {_cut_text(block['text'])}"
            elif block.get("type") == "tool_use" and (call := calls.get(str(block.get("id")))):
                yield from _iter_call_lines(session, call, results)


def _iter_call_lines(session: Session, call: Call, results: str) -> Iterator[str]:
    detail = session.read_detail(call)
    agent = f" [sub-agent {call.agent_id}]" if call.agent_id else ""
    yield f"call {call.name}: {build_call_title(call.name, detail.input, call.line.cwd)}{agent}"
    if results == "full":
        yield f"  input: {_cut_text(json.dumps(detail.input, ensure_ascii=False, default=str))}"
    text = to_result_text(detail.result)
    if results == "none":
        yield f"  {detail.outcome}"
    elif results == "full":
        yield f"  {detail.outcome}: {_cut_text(text)}"
    else:
        rest = f" ({len(text):,} characters)" if len(text) > _MAX_SHORT_RESULT_CHARS else ""
        yield f"  {detail.outcome}: {clean_line(text, _MAX_SHORT_RESULT_CHARS)}{rest}"


def _cut_text(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return text[:MAX_TEXT_CHARS] + f"… ({len(text) - MAX_TEXT_CHARS:,} more characters)"


def render_message(number: int, message: dict[str, Any]) -> str:
    """Render a message as the API receives it, as JSON on one line; encoded files are left out."""
    return f"{number}. {json.dumps(_drop_encoded_files(message), ensure_ascii=False, default=str)}"


def _drop_encoded_files(value: Any) -> Any:
    if isinstance(value, list):
        return [_drop_encoded_files(item) for item in value]
    if not isinstance(value, dict):
        return _cut_text(value) if isinstance(value, str) else value
    if value.get("type") == "base64" and isinstance(value.get("data"), str):
        return {**value, "data": f"({len(value['data']):,} characters)"}
    return {
        name: "(signature)" if name == "signature" else _drop_encoded_files(item)
        for name, item in value.items()
        if name != "cache_control"
    }
