"""The format in code: one class per known type of entry, attachment, progress report and content block.

`typed(body)` turns a decoded entry into its class. Nothing in the hot path uses this: reading a session needs
only `entries.entry`. It is for those who want a whole object typed and for telling what is new
(`entries.drift`), and it is what the tables of `docs/format.md` are made from.
"""

from __future__ import annotations

from typing import Any

import msgspec

# Some of these only for the kinds they define: a class is known as soon as it exists.
from turnlog.entries.types import context, hooks, rare, records
from turnlog.entries.types.attachments import Attachment, AttachmentEntry
from turnlog.entries.types.blocks import Block, ToolResult
from turnlog.entries.types.conversation import Assistant, User
from turnlog.entries.types.envelope import Envelope
from turnlog.entries.types.metadata import Aside
from turnlog.entries.types.part import NEWEST, Part, Seen, kinds
from turnlog.entries.types.progress import Progress, ProgressReport
from turnlog.entries.types.system import SystemEntry

__all__ = [
    "ATTACHMENTS",
    "BLOCKS",
    "ENTRIES",
    "NEWEST",
    "PROGRESS",
    "SEEN",
    "SYSTEM",
    "Aside",
    "Attachment",
    "Block",
    "Envelope",
    "Part",
    "ProgressReport",
    "Seen",
    "SystemEntry",
    "block",
    "class_of",
    "context",
    "hooks",
    "rare",
    "records",
    "typed",
]

SYSTEM = kinds(SystemEntry)
"""System entries by subtype."""

ENTRIES = {tag: cls for base in (Envelope, Aside) for tag, cls in kinds(base).items() if tag not in SYSTEM}
"""Entries by type; `system` is the old one without a subtype."""

ATTACHMENTS = kinds(Attachment)
"""Attachments by the type inside `attachment`."""

PROGRESS = kinds(ProgressReport)
"""Progress reports by the type inside `data`."""

BLOCKS = kinds(Block)
"""Content blocks by type."""

SEEN: dict[str, Seen] = {
    prefix + tag: cls.seen
    for prefix, classes in (
        ("", ENTRIES),
        ("system/", SYSTEM),
        ("attachment/", ATTACHMENTS),
        ("progress/", PROGRESS),
        ("block/", BLOCKS),
    )
    for tag, cls in classes.items()
    if cls.seen
}
"""The first and the last version in which each kind was seen; what was never seen in a file is missing."""

# What msgspec raises for data that does not fit, strings that are no Unicode, and nesting without end.
_MISFITS = (ValueError, RecursionError)


def class_of(body: dict[str, Any]) -> type[Part] | None:
    """The class of an entry, by its type and, for system entries, its subtype."""
    kind, subtype = body.get("type"), body.get("subtype")
    if kind == "system" and subtype is not None:
        return _by_tag(SYSTEM, subtype)
    return _by_tag(ENTRIES, kind)


def typed(body: dict[str, Any]) -> Part | None:
    """An entry as its class; None when the type is unknown or a field does not fit."""
    entry = _convert(body, class_of(body))
    if isinstance(entry, User | Assistant) and entry.message is not None:
        entry.message.content = _blocks(entry.message.content)
    elif isinstance(entry, AttachmentEntry):
        entry.attachment = _inner(entry.attachment, ATTACHMENTS)
    elif isinstance(entry, Progress):
        entry.data = _inner(entry.data, PROGRESS)
    return entry


def block(body: dict[str, Any]) -> Part | None:
    """A content block as its class; None when the type is unknown or a field does not fit."""
    found = _convert(body, _by_tag(BLOCKS, body.get("type")))
    if isinstance(found, ToolResult) and isinstance(found.content, list):
        # Results hold no results, so one step down is all there is.
        found.content = [_inner(part, BLOCKS) for part in found.content]
    return found


def _by_tag(classes: dict[str, type[Part]], tag: object) -> type[Part] | None:
    return classes.get(tag) if isinstance(tag, str) else None


def _convert(body: dict[str, Any], cls: type[Part] | None) -> Part | None:
    if cls is None:
        return None
    try:
        return msgspec.convert(body, cls)
    except _MISFITS:
        return None


def _inner(body: Any, classes: dict[str, type[Part]]) -> Any:
    if not isinstance(body, dict):
        return body
    return _convert(body, _by_tag(classes, body.get("type"))) or body


def _blocks(content: str | list[Any] | None) -> str | list[Any] | None:
    if not isinstance(content, list):
        return content
    return [(block(part) or part) if isinstance(part, dict) else part for part in content]
