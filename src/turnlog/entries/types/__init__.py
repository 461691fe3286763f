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
from turnlog.entries.types.base import NEWEST_CLIENT_VERSION, FormatObject, SeenVersions, collect_kinds
from turnlog.entries.types.blocks import Block, ToolResult
from turnlog.entries.types.conversation import Assistant, User
from turnlog.entries.types.envelope import Envelope
from turnlog.entries.types.metadata import Aside
from turnlog.entries.types.progress import ProgressEntry, ProgressReport
from turnlog.entries.types.system import SystemEntry

__all__ = [
    "ATTACHMENT_CLASSES",
    "BLOCK_CLASSES",
    "ENTRY_CLASSES",
    "NEWEST_CLIENT_VERSION",
    "PROGRESS_CLASSES",
    "SEEN_VERSIONS",
    "SYSTEM_CLASSES",
    "Aside",
    "Attachment",
    "Block",
    "Envelope",
    "FormatObject",
    "ProgressReport",
    "SeenVersions",
    "SystemEntry",
    "context",
    "convert_block",
    "convert_entry",
    "find_entry_class",
    "hooks",
    "rare",
    "records",
]

SYSTEM_CLASSES = collect_kinds(SystemEntry)
"""System entries by subtype."""

ENTRY_CLASSES = {
    tag: cls for base in (Envelope, Aside) for tag, cls in collect_kinds(base).items() if tag not in SYSTEM_CLASSES
}
"""Entries by type; `system` is the old one without a subtype."""

ATTACHMENT_CLASSES = collect_kinds(Attachment)
"""Attachments by the type inside `attachment`."""

PROGRESS_CLASSES = collect_kinds(ProgressReport)
"""Progress reports by the type inside `data`."""

BLOCK_CLASSES = collect_kinds(Block)
"""Content blocks by type."""

SEEN_VERSIONS: dict[str, SeenVersions] = {
    prefix + tag: cls.seen
    for prefix, classes in (
        ("", ENTRY_CLASSES),
        ("system/", SYSTEM_CLASSES),
        ("attachment/", ATTACHMENT_CLASSES),
        ("progress/", PROGRESS_CLASSES),
        ("block/", BLOCK_CLASSES),
    )
    for tag, cls in classes.items()
    if cls.seen
}
"""The first and the last version in which each kind was seen; what was never seen in a file is missing."""

# What msgspec raises for data that does not fit, strings that are no Unicode, and nesting without end.
_MISFIT_ERRORS = (ValueError, RecursionError)


def find_entry_class(body: dict[str, Any]) -> type[FormatObject] | None:
    """The class of an entry, by its type and, for system entries, its subtype."""
    kind, subtype = body.get("type"), body.get("subtype")
    if kind == "system" and subtype is not None:
        return _find_class(SYSTEM_CLASSES, subtype)
    return _find_class(ENTRY_CLASSES, kind)


def convert_entry(body: dict[str, Any]) -> FormatObject | None:
    """An entry as its class; None when the type is unknown or a field does not fit."""
    entry = _convert_body(body, find_entry_class(body))
    if isinstance(entry, User | Assistant) and entry.message is not None:
        entry.message.content = _convert_blocks(entry.message.content)
    elif isinstance(entry, AttachmentEntry):
        entry.attachment = _convert_inner(entry.attachment, ATTACHMENT_CLASSES)
    elif isinstance(entry, ProgressEntry):
        entry.data = _convert_inner(entry.data, PROGRESS_CLASSES)
    return entry


def convert_block(body: dict[str, Any]) -> FormatObject | None:
    """A content block as its class; None when the type is unknown or a field does not fit."""
    found = _convert_body(body, _find_class(BLOCK_CLASSES, body.get("type")))
    if isinstance(found, ToolResult) and isinstance(found.content, list):
        # Results hold no results, so one step down is all there is.
        found.content = [_convert_inner(part, BLOCK_CLASSES) for part in found.content]
    return found


def _find_class(classes: dict[str, type[FormatObject]], tag: object) -> type[FormatObject] | None:
    return classes.get(tag) if isinstance(tag, str) else None


def _convert_body(body: dict[str, Any], cls: type[FormatObject] | None) -> FormatObject | None:
    if cls is None:
        return None
    try:
        return msgspec.convert(body, cls)
    except _MISFIT_ERRORS:
        return None


def _convert_inner(body: Any, classes: dict[str, type[FormatObject]]) -> Any:
    if not isinstance(body, dict):
        return body
    return _convert_body(body, _find_class(classes, body.get("type"))) or body


def _convert_blocks(content: str | list[Any] | None) -> str | list[Any] | None:
    if not isinstance(content, list):
        return content
    return [(convert_block(part) or part) if isinstance(part, dict) else part for part in content]
