"""Entries that say nothing to a reader, each on one line: what it is, and what it is about."""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Body, Entry, Item, Scrap
from turnlog.entries.reader import Transcript
from turnlog.render.events import told
from turnlog.render.figures import count
from turnlog.render.values import fields, line, scalar, text
from turnlog.render.view import Row
from turnlog.session.prompts import understand

# The fields that say best what an entry is about, in this order.
_TELLING = (
    "hookName", "command", "displayPath", "filename", "path", "query", "prompt", "text", "content", "lastPrompt",
    "operation", "title", "url", "prUrl", "frameUrl", "status", "message", "reason", "condition", "banner", "newDate",
    "date", "trackingPath", "relocatedCwd", "taskDescription", "output", "messageId", "note", "name", "key", "id",
)  # fmt: skip
_ENVELOPE = frozenset(
    "type subtype uuid parentUuid timestamp sessionId session_id version cwd gitBranch userType isSidechain entrypoint "
    "slug level isMeta agentId".split()
)


def row(file: Transcript, item: Item, offset: int) -> Row:
    """An entry, or bytes that are none, in a row; `offset` is where it begins in the session's file."""
    return _scrap(file, item, offset) if isinstance(item, Scrap) else _entry(file, item, offset)


def _entry(file: Transcript, entry: Entry, offset: int) -> Row:
    name = f"{entry.name}/{entry.kind}" if entry.kind else entry.name
    return Row(offset, line(name), entry.timestamp, gist(file, entry), entry.uuid)


def _scrap(file: Transcript, scrap: Scrap, offset: int) -> Row:
    """Bytes that are no entry.

    They are looked at by themselves: why they are none may depend on what stands beside them, which an excerpt does
    not have.
    """
    inner = Transcript.of(file.raw(scrap).rstrip(b"\r\n") + b"\n")
    found = inner.items[0]
    if isinstance(found, Scrap):
        return Row(offset, f"no entry/{found.kind}", None, line(found.reason))
    return _entry(inner, found, offset)


def gist(file: Transcript, entry: Entry) -> str:
    """What an entry is about, on one line."""
    found = told(file, entry)
    if found is not None:
        return line(found.text)
    body = file.body(entry)
    if entry.type == "user":
        return line(understand(file, entry).text)
    inner = body.get("attachment") or body.get("data")
    return telling(inner) if isinstance(inner, dict) else telling(body)


def telling(facts: Body) -> str:
    """The most telling field of an object, else its first ones."""
    if found := text(*(facts.get(name) for name in _TELLING)):
        return line(found)
    known = [(name, value) for name, value in facts.items() if name not in _ENVELOPE]
    parts = [f"{line(name, 40)} {told}" for name, value in known[:12] if (told := _short(value))]
    return line(", ".join(parts))


def _short(value: Any) -> str:
    if isinstance(value, list):
        return count(len(value), "item") if value else ""
    if isinstance(value, dict):
        inner = [scalar(item) for item in fields(value).values() if isinstance(item, str | int) and item]
        return line(" ".join(inner[:3]), 60)
    return line(scalar(value), 60) if value is not None else ""
