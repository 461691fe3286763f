"""Facts about a session: titles, versions, folders, git branches, and events outside the conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.entries.titles import TITLE_FIELDS, SessionTitles


class SessionEvent(NamedTuple):
    """A value in an entry, with the entry's time."""

    time: str | None
    value: Any


def list_distinct(values: Iterable[str | None]) -> list[str]:
    """List each value once, in order of first appearance."""
    return [value for value in dict.fromkeys(values) if value]


def find_time_span(entries: Iterable[Entry]) -> tuple[str | None, str | None]:
    """Return the first and last time of any entry, ignoring entries that turnlog added to a copy."""
    times = [entry.timestamp for entry in entries if entry.timestamp and entry.type != "turnlog"]
    return (min(times), max(times)) if times else (None, None)


def count_entries_by_type(entries: Iterable[Entry]) -> dict[str, int]:
    """Count the entries of each type, most frequent first."""
    names = Counter((entry.type, entry.subtype) for entry in entries)
    counts: Counter[str] = Counter()
    for (kind, subtype), count in names.items():
        kind = kind or "(no type)"
        counts[f"{kind}/{subtype}" if subtype else kind] += count
    return dict(counts.most_common())


def read_session_titles(file: Transcript, entries: Sequence[Entry]) -> SessionTitles:
    """Read the titles of a session from its entries alone."""
    titles = SessionTitles()
    for kind, (_, name) in TITLE_FIELDS.items():
        # Search from the end: the client rewrites titles often, and the last one counts.
        for entry in (entry for entry in reversed(entries) if entry.type == kind):
            titles.add_title(kind, file.read_body(entry))
            if getattr(titles, name):
                break
    for entry in entries:
        if entry.type == "user":
            titles.add_user(file.read_body(entry))
            if titles.first_prompt:
                break
    return titles


def list_permission_modes(file: Transcript, entries: Iterable[Entry]) -> list[SessionEvent]:
    """List the changes of permission mode; an entry without a time gets the time of the previous entry."""
    found: list[SessionEvent] = []
    now: str | None = None
    for entry in entries:
        now = entry.timestamp or now
        if entry.type in ("permission-mode", "user"):
            mode = file.read_body(entry).get("permissionMode")
            if isinstance(mode, str) and (not found or found[-1].value != mode):
                found.append(SessionEvent(now, mode))
    return found


def list_pull_requests(file: Transcript, entries: Iterable[Entry]) -> list[str]:
    """List the URLs of pull requests that are linked to the session."""
    return list_distinct(_to_text(file.read_body(entry).get("prUrl")) for entry in entries if entry.type == "pr-link")


def list_api_errors(file: Transcript, entries: Iterable[Entry]) -> list[SessionEvent]:
    """List failed API requests: retries, and answers that consist only of an error."""
    found = []
    for entry in entries:
        if entry.subtype == "api_error":
            found.append(SessionEvent(entry.timestamp, file.read_body(entry).get("error")))
        elif entry.is_api_error_message:
            found.append(SessionEvent(entry.timestamp, _read_first_text(file.read_body(entry))))
    return found


def _to_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read_first_text(body: dict[str, Any]) -> str | None:
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return _to_text(content[0].get("text"))
    return _to_text(content)
