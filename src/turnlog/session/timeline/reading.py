"""What an entry is to somebody who reads a session, beside answers, results and the prompts that start turns."""

from __future__ import annotations

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.graph import holds_result
from turnlog.session.prompts import read_queued, understand
from turnlog.session.timeline.timeline import Kind

_QUIET = frozenset({"turn_duration", "stop_hook_summary", "file_snapshot"})
"""System entries that say nothing to a reader."""
_FAILED_HOOKS = frozenset(
    {"hook_blocking_error", "hook_non_blocking_error", "hook_cancelled", "hook_error_during_execution"}
)

_NOTHING_SAID = ("meta", "empty")
_MESSAGES = ("queued_command", "teammate_mailbox")
"""Attachments that hold what somebody said while the model was working."""


def kind_of(file: Transcript, entry: Entry, waiting: list[str]) -> Kind:
    """What an entry is; `waiting` holds what was typed while its turn worked, and loses what was found."""
    match entry.type:
        case "user":
            return _said(file, entry)
        case "system":
            return "compaction" if entry.subtype == "compact_boundary" else _noted(entry)
        case "attachment":
            return _attached(file, entry, waiting)
        case "queue-operation":
            return _typed(_text(file.body(entry).get("content")), waiting)
    return "meta"


def _said(file: Transcript, entry: Entry) -> Kind:
    if holds_result(entry):  # of a call that is not there
        return "event"
    return "meta" if understand(file, entry).kind in _NOTHING_SAID else "event"


def _noted(entry: Entry) -> Kind:
    return "meta" if entry.subtype in _QUIET or entry.is_meta else "event"


def _attached(file: Transcript, entry: Entry, waiting: list[str]) -> Kind:
    if entry.kind in _FAILED_HOOKS:
        return "event"
    attachment = file.body(entry).get("attachment") if entry.kind in _MESSAGES else None
    if not isinstance(attachment, dict):
        return "meta"
    if entry.kind == "teammate_mailbox":
        return "event"
    prompt = read_queued(attachment)
    if prompt.is_typed:
        return _typed(prompt.text, waiting)
    return "meta" if prompt.kind in _NOTHING_SAID else "event"


def _typed(text: str, waiting: list[str]) -> Kind:
    if text not in waiting:
        return "meta"
    waiting.remove(text)
    return "typed"


def _text(content: object) -> str:
    return content.strip() if isinstance(content, str) else ""
