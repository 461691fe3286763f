"""What a user entry is: the client writes much under `user` that nobody typed."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.entries.typed import as_typed, separated, tagged
from turnlog.session.graph import holds_result
from turnlog.session.resume.additions import is_notification

KINDS = {
    "prompt": "typed by a person",
    "command": "a slash command or skill",
    "bash": "a `!` command",
    "result": "results of calls",
    "meta": "added by the client: a caveat, a reminder, the text of a skill, feedback of a hook",
    "notification": "from a background task",
    "teammate": "from another agent or a channel",
    "interrupt": "the mark of an interruption",
    "summary": "the summary of a compaction",
    "command-output": "what a slash command printed",
    "bash-output": "what a `!` command printed",
    "empty": "nothing at all",
}
"""What a user entry can be."""


class Prompt(NamedTuple):
    """A user entry, understood."""

    kind: str
    """One of KINDS."""
    text: str = ""
    """What was typed or said, without the context that an editor added."""
    context: tuple[tuple[str, str], ...] = ()
    """What an editor or hook added: (tag, text)."""
    images: int = 0


def understand(file: Transcript, entry: Entry) -> Prompt:
    """What a user entry is, and what it says."""
    if holds_result(entry):
        return Prompt("result")
    content = entry.message.content if entry.message else None
    if isinstance(content, str):  # it was kept whole when the file was read
        notified = entry.origin is not None and entry.origin.kind == "task-notification"
        return _prompt([content], 0, _marked(entry.is_compact_summary, entry.is_meta), notified)
    return read(file.body(entry))


def read(body: Body) -> Prompt:
    """What the body of a user entry without results is, and what it says."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [t for b in blocks if isinstance(t := b.get("text"), str)]
    images = sum(block.get("type") in ("image", "document") for block in blocks)
    return _prompt(texts, images, _marked(body.get("isCompactSummary"), body.get("isMeta")), is_notification(body))


def _marked(is_summary: object, is_meta: object) -> str | None:
    return "summary" if is_summary else "meta" if is_meta else None


def _prompt(texts: list[str], images: int, marked: str | None, notified: bool = False) -> Prompt:
    parts = [separated(text) for text in texts]
    text = "\n".join(part.rest for part in parts if part.rest)
    kind = marked or tagged(text) or ("notification" if notified else "prompt" if text or images else "empty")
    context = tuple(tag for part in parts for tag in part.context)
    return Prompt(kind, as_typed(text) if kind in ("command", "bash") else text, context, images)
