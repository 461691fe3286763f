"""A session without its secrets: every string of every entry, and every file that belongs to it.

All of it is read twice: a secret that a rule finds once is then replaced wherever it stands, also before. Thinking
whose text changed goes: its signature would no longer fit, and the API would refuse it. So does a line that is no
entry and holds a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turnlog.edit.carried_files import CarriedFile
from turnlog.edit.draft import Draft, DraftRow
from turnlog.entries.entry import Body, Scrap
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_entry, decode_first_object
from turnlog.entries.patch import REMOVE_KEY, patch_entry
from turnlog.redact.redactor import Redactor
from turnlog.session.check import find_repeated_keys

_THINKING_TYPES = ("thinking", "redacted_thinking")


def learn_session_secrets(draft: Draft, files: Iterable[CarriedFile], redactor: Redactor) -> None:
    """Take note of every secret in a session and in what belongs to it."""
    first = redactor.make_rehearsal()
    for row in draft.rows:
        if isinstance(row.item, Scrap):
            _holds_secret(draft.file.read_raw(row.item), first)
        else:
            first.redact_entry_body(draft.get_body(row))
    for file in files:
        for _ in redact_file(file.source, first):
            pass


def redact_draft(draft: Draft, redactor: Redactor) -> Draft:
    """A draft without secrets; they should have been learned before."""
    changes: dict[int, dict[str, Any]] = {}
    gone: set[int] = set()
    for at, row in enumerate(draft.rows):
        if isinstance(row.item, Scrap):
            if _holds_secret(draft.file.read_raw(row.item), redactor):
                gone.add(at)
            continue
        body = draft.get_body(row)
        found = redact_body(body, redactor, at + 1)
        if row.entry is not None and find_repeated_keys(draft.file.read_raw(row.entry)):
            found = {
                **redactor.make_rehearsal().redact_entry_body(body),
                **found,
            }  # written anew: no earlier value of a key stays
        if found:
            changes[at] = found
        if (found and is_emptied_entry(body, found)) or _has_unread_secret(draft, row, found, redactor):
            gone.add(at)
    return draft.with_changes(changes).without_rows(gone)


def _holds_secret(raw: bytes, redactor: Redactor) -> bool:
    """Whether bytes that are no entry hold a secret; zero bytes, as a power cut leaves them, don't make them binary."""
    seen = raw.replace(b"\0", b" ")
    return redactor.redact_file_data(seen) != seen


def _has_unread_secret(draft: Draft, row: DraftRow, found: dict[str, Any], redactor: Redactor) -> bool:
    """Whether an entry that could not be read as a whole holds a secret where nothing was read."""
    if row.entry is None or row.entry.flaw is None:
        return False
    raw = draft.file.read_raw(row.entry)
    return _holds_secret(patch_entry(raw, found) if found else raw, redactor)


def redact_body(body: Body, redactor: Redactor, line: int | None = None) -> dict[str, Any]:
    """The top-level values of an entry that are others without secrets."""
    new = redactor.redact_entry_body(body, line)
    message, old = new.get("message"), body.get("message")
    if isinstance(message, dict) and isinstance(old, dict) and isinstance(message.get("content"), list):
        pairs = zip(message["content"], old["content"], strict=True)
        new["message"] = {
            **message,
            "content": [block for block, was in pairs if block == was or not _is_thinking(was)],
        }
    found = {key: value for key, value in new.items() if body.get(key) != value}
    return found | {key: REMOVE_KEY for key in body if key not in new}


def _is_thinking(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _THINKING_TYPES


def is_emptied_entry(body: Body, found: dict[str, Any]) -> bool:
    """Whether nothing is left of what an entry said."""
    now, was = found.get("message"), body.get("message")
    if not isinstance(now, dict) or not isinstance(was, dict):
        return False
    return now.get("content") == [] and was.get("content") != []


def redact_line(raw: bytes, redactor: Redactor) -> bytes:
    """A line of a transcript without secrets; one that is no entry and holds some becomes empty."""
    body = decode_first_object(raw)
    if body is None or not raw.strip().endswith(b"}"):
        return b"\n" if _holds_secret(raw, redactor) else raw
    found = redact_body(body, redactor)
    if find_repeated_keys(raw):
        found = {**redactor.make_rehearsal().redact_entry_body(body), **found}
    line = patch_entry(raw, found) if found else raw
    return b"\n" if _is_flawed_line(raw) and _holds_secret(line, redactor) else line


def _is_flawed_line(raw: bytes) -> bool:
    """Whether a line can't be decoded in the ordinary way, so that not all of it was read."""
    try:
        decode_entry(raw)
    except DECODE_ERRORS:
        return True
    return False


def redact_file(path: Path, redactor: Redactor) -> Iterator[bytes]:
    """A file that belongs to a session without secrets."""
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb") as file:
        if path.suffix == ".jsonl":
            yield from (redact_line(line, redactor) for line in file)
        else:
            yield redactor.redact_file_data(file.read(), path.name)
