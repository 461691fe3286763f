"""Rows of a conversation as plain text, for somebody who sums them up: who said what, which tools, what came back."""

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
"""So many characters of each call and result are shown, fewer if the whole is too long."""


def render_conversation_text(session: Session, rows: Sequence[Entry], longest: int) -> str:
    """The rows as text of at most so many characters; results are cut first, then the middle of all."""
    text = ""
    for cut in RESULT_CHAR_STEPS:
        text = "\n\n".join(_render_lines(session, rows, cut))
        if len(text) <= longest:
            return text
    head, tail = longest // 4, longest - longest // 4
    return f"{text[:head]}\n\n[… {len(text) - longest:,} characters left out …]\n\n{text[-tail:]}"


def _render_lines(session: Session, rows: Sequence[Entry], cut: int) -> Iterator[str]:
    for row in rows:
        body = session.read_body(row)
        found = build_message_part(row, body, as_sent=False)
        name = _name_speaker(row, body) if found else ""
        for block in found.blocks if found else ():
            if text := _render_block(block, cut):
                yield f"{name}: {text}"


def _name_speaker(row: Entry, body: Body) -> str:
    """Who says what a row says: a summary must not take other agents' words for the user's."""
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


def _render_block(block: Json, cut: int) -> str:
    kind = block["type"]
    if kind == "text":
        return str(block.get("text") or "").strip()
    if kind == "tool_use":
        return f"[calls {block.get('name')}] {shorten_middle(_to_json_text(block.get('input')), cut)}"
    if kind == "tool_result":
        failed = " with an error" if block.get("is_error") else ""
        return f"[result{failed}] {shorten_middle(to_result_text(block.get('content')), cut)}"
    return "" if "thinking" in kind else f"[{kind}]"


def shorten_middle(text: str, size: int) -> str:
    """The beginning and the end of a text, if it is longer than so many characters."""
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
