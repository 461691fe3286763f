"""What happens in a session beside prompts and answers, as lines for a terminal."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.cli.terminal import line
from turnlog.entries.entry import Entry
from turnlog.entries.speakers import SENDERS
from turnlog.render.events import Told, told
from turnlog.render.figures import count
from turnlog.session.session import Session

_STYLES = {
    "teammate": "magenta",
    "peer": "magenta",
    "other": "magenta",
    "hook": "yellow",
    "interrupt": "yellow",
    "api-error": "red",
    "microcompaction": "cyan",
}
_UNTOLD = frozenset({"orphan"})
_QUIET = frozenset({"turn_duration", "stop_hook_summary"})


class Event(NamedTuple):
    """One thing to tell."""

    text: str
    styles: tuple[str, ...] = ("dim",)
    is_long: bool = False
    """Whether more than its first line is worth telling."""
    typed: bool = False
    """Whether a person typed it while a turn was at work."""


def event(session: Session, entry: Entry) -> Event | None:
    """What an entry beside the conversation tells; None if nothing worth a line."""
    if entry.subtype == "compact_boundary" and entry.type == "system":
        return Event(_compaction(session, entry), ("cyan",))
    found = told(session.file, entry)
    if found is None or found.kind in _UNTOLD or entry.subtype in _QUIET:
        return None
    is_long = found.kind == "output" or found.kind in SENDERS or entry.subtype == "local_command"
    return Event(_worded(found), (_style(found),), is_long, found.kind == "typed")


def _worded(found: Told) -> str:
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
            return line(found.text)
    return found.text


def _style(found: Told) -> str:
    return _STYLES.get(found.kind, "yellow" if found.tone in ("warning", "error") else "dim")


def _compaction(session: Session, entry: Entry) -> str:
    found = next((item for item in session.compactions if item.boundary is entry), None)
    if found is None:
        return "── compaction"
    parts = [f"── compaction ({found.trigger})" if found.trigger else "── compaction"]
    if found.summarised:
        parts.append(f"a summary stands for {count(len(found.summarised), 'entry')}".replace("entrys", "entries"))
    if found.preserved:
        parts.append(f"{count(len(found.preserved), 'message')} kept word for word")
    if found.pre_tokens:
        after = f" to {found.post_tokens:,}" if found.post_tokens else ""
        parts.append(f"from {found.pre_tokens:,}{after} tokens")
    return ", ".join(parts) + " ──"
