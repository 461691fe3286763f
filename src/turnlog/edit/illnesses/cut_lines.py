"""Keeps what can be read of a line that was cut off: the text of a prompt, an answer or a result.

A cut line is JSON up to some byte. Its values are closed where it ends, and what was said in it becomes text, with a
note that the rest is missing. Calls become text too: a call that was not written completely was never made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.illness import TALK_TYPES
from turnlog.entries.entry import Body, Entry
from turnlog.session.clock import parse_timestamp, to_iso_time
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

CUT_NOTE = "[turnlog: the rest of this text is missing, because the line was cut off]"
_TOKEN = re.compile(r'\s*+(?:("(?:[^"\\]++|\\.)*+")|([{}\[\],:])|([^\s{}\[\],:"]++))', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_MAX_CUT_ESCAPE_CHARS = 12
"""The length of an escape of two surrogates, of which any part may be missing."""


class _OpenJson(NamedTuple):
    """A point in JSON text at which everything that is open can be closed."""

    end: int
    closers: str


def complete_json(raw: bytes) -> Any:
    """Return what JSON text that was cut off says, with the last string as far as it goes; None if nothing."""
    text = raw.decode("utf-8", "ignore")
    stack: list[str] = []
    point, is_key, at = _OpenJson(0, ""), False, 0
    while token := _TOKEN.match(text, at):
        string, mark, literal = token.groups()
        is_last_literal = literal is not None and token.end() == len(text)
        if is_last_literal or (mark in _CLOSERS.values() and mark != (stack[-1:] or [""])[0]):
            break
        at = token.end()
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
            is_key = mark == "{"
        elif mark in _CLOSERS.values():
            stack.pop()
            is_key = False
        elif mark is not None:
            is_key = mark == "," and stack[-1:] == ["}"]
            continue
        elif string is not None and is_key:
            continue
        point = _OpenJson(at, "".join(reversed(stack)))
    rest = text[at:].lstrip()
    if rest.startswith('"') and not is_key and (string_value := _complete_string(rest)) is not None:
        return _parse_json(text[:at] + json.dumps(string_value) + "".join(reversed(stack)))
    return _parse_json(text[: point.end] + point.closers)


def _complete_string(rest: str) -> str | None:
    """Close a string, without an escape that was cut off."""
    for cut in range(min(len(rest), _MAX_CUT_ESCAPE_CHARS)):
        value = _parse_json(rest[: len(rest) - cut] + '"')
        if isinstance(value, str) and not "\ud800" <= value[-1:] <= "\udbff":
            return value
    return None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


class KeptLine(NamedTuple):
    """An entry made of what could be read of a cut line."""

    body: Body
    chars: int
    """The length of its text without the note."""


def keep_cut_line(session: Session, raw: bytes, before: Entry | None, uuid: str | None = None) -> KeptLine | None:
    """Make an entry of what was said in a cut line; return None if nothing was.

    `before` is the last entry above the line, and `uuid` is the one that later entries know it by.
    """
    body = complete_json(raw.strip(b"\0 \t\r\n"))
    message = body.get("message") if isinstance(body, dict) else None
    if before is None or not isinstance(message, dict) or body.get("isSidechain") is True:
        return None
    role = message.get("role", body.get("type"))
    open_calls = {call.id for call in session.calls if call.result is None}
    content, chars = _keep_content(message.get("content"), open_calls)
    if role not in TALK_TYPES or not chars:
        return None
    head = {key: body[key] for key in ("cwd", "version", "gitBranch", "isMeta", "userType") if key in body}
    parent = body.get("parentUuid")
    kept: Body = {
        "parentUuid": parent if isinstance(parent, str) and parent in session.file.by_uuid else before.uuid,
        "isSidechain": False,
        **head,
        "sessionId": session.session_id or "",
        "type": role,
        "message": {"role": role, "content": content} if role == "user" else _build_answer(content),
        "uuid": uuid or create_uuid(),
        "timestamp": _choose_time(body.get("timestamp"), before),
    }
    return KeptLine(kept, chars)


def _build_answer(content: list[Body]) -> Body:
    message = {
        "id": create_uuid(),
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC_MODEL,
        "content": content,
    }
    return {**message, "stop_reason": "stop_sequence", "usage": {"input_tokens": 0, "output_tokens": 0}}


def _choose_time(timestamp: object, before: Entry) -> str:
    if isinstance(timestamp, str) and parse_timestamp(timestamp) is not None:
        return timestamp
    earlier = parse_timestamp(before.timestamp)
    return to_iso_time(earlier + timedelta(milliseconds=1) if earlier else None) or ""


def _keep_content(content: object, open_calls: set[str]) -> tuple[list[Body], int]:
    """Return the readable content as text, or as the result of a call that has none yet, and its length."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    answers = [
        block for block in parts if block.get("type") == "tool_result" and block.get("tool_use_id") in open_calls
    ]
    texts = [text for block in parts for text in _iter_texts(block)]
    chars = sum(map(len, texts))
    noted: list[Body] = [{"type": "text", "text": "\n\n".join([*texts, CUT_NOTE])}]
    if len(answers) == 1 and len(parts) == 1:
        return [{"type": "tool_result", "tool_use_id": answers[0]["tool_use_id"], "content": noted}], chars
    return noted, chars


def _iter_texts(block: Body) -> Iterator[str]:
    """Yield what can be read in a block."""
    for key in ("text", "thinking"):
        if isinstance(text := block.get(key), str) and text.strip():
            yield text
    if block.get("type") == "tool_use" and isinstance(block.get("input"), dict) and block["input"]:
        yield f"[{block.get('name')}: {json.dumps(block['input'], ensure_ascii=False)}]"
    content = block.get("content")
    if isinstance(content, str) and content.strip():
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict):
                yield from _iter_texts(part)
