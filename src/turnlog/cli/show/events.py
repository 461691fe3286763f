"""What happens in a session beside prompts and answers, as lines for a terminal."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.cli.terminal import to_visible_line
from turnlog.entries.entry import Entry
from turnlog.entries.speakers import SENDING_SPEAKERS
from turnlog.render.events import EventText, describe_entry_event
from turnlog.render.figures import format_count
from turnlog.session.session import Session

_KIND_STYLES = {
    "teammate": "magenta",
    "peer": "magenta",
    "other": "magenta",
    "hook": "yellow",
    "interrupt": "yellow",
    "api-error": "red",
    "microcompaction": "cyan",
}
_HIDDEN_KINDS = frozenset({"orphan"})
_HIDDEN_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary"})


class EventLine(NamedTuple):
    """One thing to tell."""

    text: str
    styles: tuple[str, ...] = ("dim",)
    is_long: bool = False
    """Whether more than its first line is worth telling."""
    typed: bool = False
    """Whether a person typed it while a turn was at work."""


def describe_side_event(session: Session, entry: Entry) -> EventLine | None:
    """What an entry beside the conversation tells; None if nothing worth a line."""
    if entry.subtype == "compact_boundary" and entry.type == "system":
        return EventLine(_describe_compaction(session, entry), ("cyan",))
    found = describe_entry_event(session.file, entry)
    if found is None or found.kind in _HIDDEN_KINDS or entry.subtype in _HIDDEN_SUBTYPES:
        return None
    is_long = found.kind == "output" or found.kind in SENDING_SPEAKERS or entry.subtype == "local_command"
    return EventLine(_word_event(found), (_choose_style(found),), is_long, found.kind == "typed")


def _word_event(found: EventText) -> str:
    match found.kind:
        case "output":
            return found.detail or found.text
        case "summary":
            return f"summary: {found.detail}"
        case "notification":
            return f"notification: {found.text}"
        case "teammate" | "peer" | "other":
            return f"{found.text}:\n{found.detail}"
        case "microcompaction":
            return f"── {found.text}"
        case "api-error":
            return to_visible_line(found.text)
    return found.text


def _choose_style(found: EventText) -> str:
    return _KIND_STYLES.get(found.kind, "yellow" if found.tone in ("warning", "error") else "dim")


def _describe_compaction(session: Session, entry: Entry) -> str:
    found = next((item for item in session.compactions if item.boundary is entry), None)
    if found is None:
        return "── compaction"
    parts = [f"── compaction ({found.trigger})" if found.trigger else "── compaction"]
    if found.summarised:
        parts.append(
            f"a summary stands for {format_count(len(found.summarised), 'entry')}".replace("entrys", "entries")
        )
    if found.preserved:
        parts.append(f"{format_count(len(found.preserved), 'message')} kept word for word")
    if found.pre_tokens:
        after = f" to {found.post_tokens:,}" if found.post_tokens else ""
        parts.append(f"from {found.pre_tokens:,}{after} tokens")
    return ", ".join(parts) + " ──"
