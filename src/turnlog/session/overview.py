"""What a session is about: titles, versions, folders, branches of git, and what happened beside the conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.entries.titles import TITLE_FIELDS, SessionTitles


class SessionEvent(NamedTuple):
    """Something that an entry states, with its time."""

    time: str | None
    value: Any


def list_distinct(values: Iterable[str | None]) -> list[str]:
    """Each value once, in the order of appearance."""
    return [value for value in dict.fromkeys(values) if value]


def find_time_span(entries: Iterable[Entry]) -> tuple[str | None, str | None]:
    """The first and the last time that any entry names; when turnlog made a copy is not when the session ran."""
    times = [entry.timestamp for entry in entries if entry.timestamp and entry.type != "turnlog"]
    return (min(times), max(times)) if times else (None, None)


def count_entries_by_type(entries: Iterable[Entry]) -> dict[str, int]:
    """How many entries there are of each type, the most frequent first."""
    names = Counter((entry.type, entry.subtype) for entry in entries)
    counts: Counter[str] = Counter()
    for (kind, subtype), count in names.items():
        kind = kind or "(no type)"
        counts[f"{kind}/{subtype}" if subtype else kind] += count
    return dict(counts.most_common())


def read_session_titles(file: Transcript, entries: Sequence[Entry]) -> SessionTitles:
    """The names of a session, from its entries alone."""
    found = SessionTitles()
    for kind, (_, name) in TITLE_FIELDS.items():
        # From the end: the client writes titles again and again, and the last one counts.
        for entry in (entry for entry in reversed(entries) if entry.type == kind):
            found.add_title(kind, file.read_body(entry))
            if getattr(found, name):
                break
    for entry in entries:
        if entry.type == "user":
            found.add_user(file.read_body(entry))
            if found.first_prompt:
                break
    return found


def list_permission_modes(file: Transcript, entries: Iterable[Entry]) -> list[SessionEvent]:
    """The permission modes in force, each change once; an entry without a time has that of the entry before it."""
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
    """The addresses of pull requests that the session is linked to."""
    return list_distinct(_to_text(file.read_body(entry).get("prUrl")) for entry in entries if entry.type == "pr-link")


def list_api_errors(file: Transcript, entries: Iterable[Entry]) -> list[SessionEvent]:
    """Failed requests to the API: retries, and answers that are nothing but an error."""
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
