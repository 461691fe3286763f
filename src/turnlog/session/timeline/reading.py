"""What an entry is to somebody who reads a session, beside answers, results and the prompts that start turns."""

from __future__ import annotations

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.graph import holds_result
from turnlog.session.prompts import parse_queued_prompt, parse_user_entry
from turnlog.session.timeline.timeline import ItemKind

_QUIET_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary", "file_snapshot"})
"""System entries that say nothing to a reader."""
_FAILED_HOOKS = frozenset(
    {"hook_blocking_error", "hook_non_blocking_error", "hook_cancelled", "hook_error_during_execution"}
)

_SILENT_KINDS = ("meta", "empty")
_MESSAGE_ATTACHMENTS = ("queued_command", "teammate_mailbox")
"""Attachments that hold what somebody said while the model was working."""


def classify_entry(file: Transcript, entry: Entry, waiting: list[str]) -> ItemKind:
    """What an entry is; `waiting` holds what was typed while its turn worked, and loses what was found."""
    match entry.type:
        case "user":
            return _classify_user_entry(file, entry)
        case "system":
            return "compaction" if entry.subtype == "compact_boundary" else _classify_system_entry(entry)
        case "attachment":
            return _classify_attachment(file, entry, waiting)
        case "queue-operation":
            return _classify_typed_text(_to_text(file.read_body(entry).get("content")), waiting)
    return "meta"


def _classify_user_entry(file: Transcript, entry: Entry) -> ItemKind:
    if holds_result(entry):  # of a call that is not there
        return "event"
    return "meta" if parse_user_entry(file, entry).kind in _SILENT_KINDS else "event"


def _classify_system_entry(entry: Entry) -> ItemKind:
    return "meta" if entry.subtype in _QUIET_SUBTYPES or entry.is_meta else "event"


def _classify_attachment(file: Transcript, entry: Entry, waiting: list[str]) -> ItemKind:
    if entry.kind in _FAILED_HOOKS:
        return "event"
    attachment = file.read_body(entry).get("attachment") if entry.kind in _MESSAGE_ATTACHMENTS else None
    if not isinstance(attachment, dict):
        return "meta"
    if entry.kind == "teammate_mailbox":
        return "event"
    prompt = parse_queued_prompt(attachment)
    if prompt.is_typed:
        return _classify_typed_text(prompt.text, waiting)
    return "meta" if prompt.kind in _SILENT_KINDS else "event"


def _classify_typed_text(text: str, waiting: list[str]) -> ItemKind:
    if text not in waiting:
        return "meta"
    waiting.remove(text)
    return "typed"


def _to_text(content: object) -> str:
    return content.strip() if isinstance(content, str) else ""
