"""A conversation in comparable form, whether the real client sent it or a reader made it.

Applied to both sides. (C) = added by the client, cannot be derived from the file.

 1 Blocks: string content = one text block. `cache_control` and unknown keys of known blocks are ignored.
   Compared are text.text; tool_use.id, name, input; tool_result.tool_use_id, content, is_error (absent =
   false); image and document by the hash of their data or url. Adjacent messages of one role are one
   message; empty blocks and messages vanish.
 2 Messages of role `system` are dropped (C: environment, tools, date), and so are <system-reminder> spans
   wherever they stand, also inside tool results (C). But what the client wraps is kept, as a user text: a
   background task's notification ("[SYSTEM NOTIFICATION ...") and a queued prompt ("The user sent a new
   message while you were working:"); depending on the model they come in a system message, a reminder or a
   plain text. A reader gives the bare <task-notification> row or queued_command prompt in its place in the
   chain; of a notification only the text up to its closing tag counts.
 3 Texts are stripped at both ends (the client adds a newline to texts it joins).
 4 (C) NEXT-ORACLE-PROMPT; "(no content)" for an empty message; "Tool loaded." after a ToolSearch result;
   "[Orphaned tool result removed ..." when nothing else is left; a <task-notification> saying that a task
   "didn't finish before the previous session ended".
 5 (C) "No response requested.": the client adds this assistant text after a session that ends with a user
   message. It is dropped when it ends the last assistant message. Earlier ones are rows of the file and are
   compared.
 6 tool_reference blocks and "[Tool references removed ..." are dropped (C: depends on the tools at hand),
   and so are thinking and redacted_thinking (depends on the model now used), and advisor_tool_result.
 7 A tool_use without tool_result and the reverse are dropped. The client itself drops them, or adds a
   result "[Tool call interrupted ..." (last call of the session) or "[Tool result missing ..." (result not
   in the next message) (C).
 8 The tool name Task = Agent (the client renames it). SendMessage: only to, summary and message count; the
   client stores further keys that it does not send.
 9 "[N characters removed]" is a marker in shortened test files and dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from tests.interop.classify import Object

NEXT = "NEXT-ORACLE-PROMPT"
FILLER = "No response requested."
INJECTED = ("(no content)", "Tool loaded.", "[Tool references removed", "[Orphaned tool result removed")
INTERRUPTED = ("[Tool call interrupted", "[Tool result missing")
STOPPED = "finish before the previous session ended"
IGNORED = {"thinking", "redacted_thinking", "tool_reference", "advisor_tool_result"}
ALIASES = {"Task": "Agent"}
SENT_KEYS = {"SendMessage": {"to", "summary", "message"}}
ID_KEYS = {"tool_use": "id", "tool_result": "tool_use_id"}
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)
CUT = re.compile(r"\[\d+ characters removed\]")
WRAPPED = re.compile(
    r"\[SYSTEM NOTIFICATION - NOT USER INPUT\]\n.*?\n\n(<task-notification>.*?</task-notification>|.*?)"
    r"(?:(?<=</task-notification>)|\s*(?=</system-reminder>|\[SYSTEM NOTIFICATION|\Z))"
    r"|The user sent a new message while you were working:\n(.*?)\n\n(?:This is how Claude Code|IMPORTANT: )",
    re.S,
)


def normalise(messages: Iterable[Object]) -> list[Object]:
    """The conversation in comparable form (rules 1 to 9)."""
    out: list[Object] = []
    for message in messages:
        role, blocks = unwrap(message)
        _append(out, role, [kept for kept in map(select_meaning, blocks) if kept and kept.get("text") != NEXT])
    return without_filler(drop_unpaired(out))


def unwrap(message: Object) -> tuple[str, list[Object]]:
    """Role and blocks of a message with the client's wrappers taken off (rule 2)."""
    role = str(message.get("role"))
    out: list[Object] = []
    for block in _blocks(message.get("content")):
        inner = WRAPPED.findall(str(block.get("text") or "")) if block.get("type") == "text" else []
        if inner:
            out += [{"type": "text", "text": notice or queued} for notice, queued in inner]
        elif role != "system":
            out.append(block)
    return ("user" if role == "system" else role), out


def clean(text: str) -> str:
    """A text without what the client adds (rules 2, 3, 4, 6, 9)."""
    text = CUT.sub("", REMINDER.sub("", text)).strip()
    if text.startswith("<task-notification>"):
        text = text[: text.find("</task-notification>") % (len(text) + 1)]
        return "" if STOPPED in text else text
    return "" if text.startswith(INJECTED) else text


def select_meaning(block: Object) -> Object | None:
    """The fields of a block that count, or None when nothing is left of it."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind in IGNORED:
        return None
    if kind == "text":
        text = clean(str(block.get("text") or ""))
        return {"type": kind, "text": text} if text else None
    if kind == "tool_use":
        return _call(block)
    if kind == "tool_result":
        inner = [kept for kept in map(select_meaning, _blocks(block.get("content"))) if kept]
        failed = bool(block.get("is_error"))
        return {"type": kind, "tool_use_id": block.get("tool_use_id"), "content": inner, "is_error": failed}
    if kind in ("image", "document"):
        source = block.get("source") or {}
        data = str(source.get("data") or source.get("url") or "")
        return {"type": kind, "sha256": hashlib.sha256(data.encode()).hexdigest()}
    return {key: value for key, value in block.items() if key != "cache_control"}


def _call(block: Object) -> Object:
    name, given = block.get("name"), block.get("input")
    if name in SENT_KEYS and isinstance(given, dict):
        given = {key: value for key, value in given.items() if key in SENT_KEYS[name]}
    alias = ALIASES.get(name, name) if isinstance(name, str) else name
    return {"type": "tool_use", "id": block.get("id"), "name": alias, "input": given}


def drop_unpaired(messages: list[Object]) -> list[Object]:
    """Without calls that have no result and results that have no call (rule 7)."""
    blocks = [block for message in messages for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    answered = {block["tool_use_id"] for block in results if not head(block).startswith(INTERRUPTED)}
    both = answered & {block["id"] for block in blocks if block["type"] == "tool_use"}
    out: list[Object] = []
    for message in messages:
        kept = [b for b in message["content"] if b["type"] not in ID_KEYS or b[ID_KEYS[b["type"]]] in both]
        _append(out, message["role"], kept)
    return out


def without_filler(messages: list[Object]) -> list[Object]:
    """Without the answer that the client makes up for an unanswered end (rule 5)."""
    last = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=None)
    if last is not None and messages[last]["content"][-1].get("text") == FILLER:
        messages[last]["content"].pop()
    out: list[Object] = []
    for message in messages:
        _append(out, message["role"], message["content"])
    return out


def head(block: Object) -> str:
    """The first words of a normalised block, for people."""
    if block["type"] == "tool_use":
        return str(block["name"])
    if block["type"] == "tool_result":
        return " ".join(head(inner) for inner in block["content"])[:40]
    return str(block.get("text") or "")[:40]


def _append(out: list[Object], role: str, blocks: list[Object]) -> None:
    if out and out[-1]["role"] == role:
        out[-1]["content"] += blocks
    elif blocks:
        out.append({"role": role, "content": list(blocks)})


def _blocks(content: Any) -> list[Object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]
