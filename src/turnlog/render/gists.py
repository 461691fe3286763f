"""Entries that say nothing to a reader, each on one line: what it is, and what it is about."""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap
from turnlog.entries.reader import Transcript
from turnlog.render.events import describe_entry_event
from turnlog.render.figures import format_count
from turnlog.render.values import format_scalar, pick_text, to_dict, to_short_line
from turnlog.render.view import MetaRow
from turnlog.session.prompts import parse_user_entry

# The fields that say best what an entry is about, in this order.
_TELLING_FIELDS = (
    "hookName", "command", "displayPath", "filename", "path", "query", "prompt", "text", "content", "lastPrompt",
    "operation", "title", "url", "prUrl", "frameUrl", "status", "message", "reason", "condition", "banner", "newDate",
    "date", "trackingPath", "relocatedCwd", "taskDescription", "output", "messageId", "note", "name", "key", "id",
)  # fmt: skip
_ENVELOPE_FIELDS = frozenset(
    "type subtype uuid parentUuid timestamp sessionId session_id version cwd gitBranch userType isSidechain entrypoint "
    "slug level isMeta agentId".split()
)


def build_meta_row(file: Transcript, item: EntryOrScrap, offset: int) -> MetaRow:
    """An entry, or bytes that are none, in a row; `offset` is where it begins in the session's file."""
    return _build_scrap_row(file, item, offset) if isinstance(item, Scrap) else _build_entry_row(file, item, offset)


def _build_entry_row(file: Transcript, entry: Entry, offset: int) -> MetaRow:
    name = f"{entry.name}/{entry.kind}" if entry.kind else entry.name
    return MetaRow(offset, to_short_line(name), entry.timestamp, describe_entry(file, entry), entry.uuid)


def _build_scrap_row(file: Transcript, scrap: Scrap, offset: int) -> MetaRow:
    """Bytes that are no entry.

    They are looked at by themselves: why they are none may depend on what stands beside them, which an excerpt does
    not have.
    """
    inner = Transcript.from_bytes(file.read_raw(scrap).rstrip(b"\r\n") + b"\n")
    found = inner.items[0]
    if isinstance(found, Scrap):
        return MetaRow(offset, f"no entry/{found.kind}", None, to_short_line(found.reason))
    return _build_entry_row(inner, found, offset)


def describe_entry(file: Transcript, entry: Entry) -> str:
    """What an entry is about, on one line."""
    found = describe_entry_event(file, entry)
    if found is not None:
        return to_short_line(found.text)
    body = file.read_body(entry)
    if entry.type == "user":
        return to_short_line(parse_user_entry(file, entry).text)
    inner = body.get("attachment") or body.get("data")
    return pick_telling_field(inner) if isinstance(inner, dict) else pick_telling_field(body)


def pick_telling_field(facts: Body) -> str:
    """The most telling field of an object, else its first ones."""
    if found := pick_text(*(facts.get(name) for name in _TELLING_FIELDS)):
        return to_short_line(found)
    known = [(name, value) for name, value in facts.items() if name not in _ENVELOPE_FIELDS]
    parts = [f"{to_short_line(name, 40)} {told}" for name, value in known[:12] if (told := _shorten_value(value))]
    return to_short_line(", ".join(parts))


def _shorten_value(value: Any) -> str:
    if isinstance(value, list):
        return format_count(len(value), "item") if value else ""
    if isinstance(value, dict):
        inner = [format_scalar(item) for item in to_dict(value).values() if isinstance(item, str | int) and item]
        return to_short_line(" ".join(inner[:3]), 60)
    return to_short_line(format_scalar(value), 60) if value is not None else ""
