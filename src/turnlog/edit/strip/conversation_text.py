"""Renders a conversation as plain text for a summary: who said what, which tools ran, and what they returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from turnlog.entries.entry import Body, Entry
from turnlog.entries.speakers import SENDING_SPEAKERS
from turnlog.session.failures import to_result_text
from turnlog.session.graph import holds_result
from turnlog.session.prompts import parse_queued_prompt, parse_user_body
from turnlog.session.resume.parts import Json, build_message_part
from turnlog.session.session import Session

RESULT_CHAR_STEPS = (2000, 600, 150)
"""Character limits for each call and result; the next limit applies if the whole text is too long."""


def render_conversation_text(session: Session, rows: Sequence[Entry], max_chars: int) -> str:
    """Render rows within a character limit; shorten results first, then the middle of the whole text."""
    text = ""
    for max_result_chars in RESULT_CHAR_STEPS:
        text = "\n\n".join(_render_lines(session, rows, max_result_chars))
        if len(text) <= max_chars:
            return text
    head, tail = max_chars // 4, max_chars - max_chars // 4
    return f"{text[:head]}\n\n[… {len(text) - max_chars:,} characters left out …]\n\n{text[-tail:]}"


def _render_lines(session: Session, rows: Sequence[Entry], max_chars: int) -> Iterator[str]:
    for row in rows:
        body = session.read_body(row)
        part = build_message_part(row, body, as_sent=False)
        name = _name_speaker(row, body) if part else ""
        for block in part.blocks if part else ():
            if text := _render_block(block, max_chars):
                yield f"{name}: {text}"


def _name_speaker(row: Entry, body: Body) -> str:
    """Label the speaker of a row, so that a summary does not attribute other agents' words to the user."""
    if row.type == "assistant":
        return "ASSISTANT"
    attachment = body.get("attachment")
    if row.type == "user" and not holds_result(row):
        prompt = parse_user_body(body)
    elif isinstance(attachment, dict):
        prompt = parse_queued_prompt(attachment)
    else:
        return "USER"
    if prompt.kind == "notification":
        return "BACKGROUND TASK"
    return (
        f"MESSAGE FROM {prompt.speaker.name or 'ANOTHER AGENT'}, NOT THE USER"
        if prompt.kind in SENDING_SPEAKERS
        else "USER"
    )


def _render_block(block: Json, max_chars: int) -> str:
    kind = block["type"]
    if kind == "text":
        return str(block.get("text") or "").strip()
    if kind == "tool_use":
        return f"[calls {block.get('name')}] {shorten_middle(_to_json_text(block.get('input')), max_chars)}"
    if kind == "tool_result":
        failed = " with an error" if block.get("is_error") else ""
        return f"[result{failed}] {shorten_middle(to_result_text(block.get('content')), max_chars)}"
    return "" if "thinking" in kind else f"[{kind}]"


def shorten_middle(text: str, size: int) -> str:
    """Return the beginning and end of text that is longer than `size` characters."""
    text = text.strip()
    if len(text) <= size:
        return text
    tail = size // 4
    return f"{text[: size - tail]} [… {len(text) - size:,} characters …] {text[-tail:]}"


def _to_json_text(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)
