"""Removes secrets from a session: from every string in every entry, and from every file that belongs to it.

Everything is read twice, so that a secret found once by a rule is replaced everywhere, including in earlier text.
Thinking whose text changed is removed, because its signature would no longer match and the API would refuse it. A line
that is not an entry is removed too if it contains a secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from turnlog.edit.carried_files import CarriedFile
from turnlog.edit.draft import Draft, DraftRow
from turnlog.entries.entry import Body, Scrap
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.line_decoder import (
    DECODE_ERRORS,
    decode_body,
    decode_entry,
    decode_first_object,
    is_plainly_encoded,
)
from turnlog.entries.patch import REMOVE_KEY, patch_entry
from turnlog.redact.redactor import Redactor
from turnlog.redact.secret_rule import SECRET_MARK
from turnlog.session.check import find_repeated_keys

_THINKING_TYPES = ("thinking", "redacted_thinking")


def learn_session_secrets(
    draft: Draft,
    files: Iterable[CarriedFile],
    redactor: Redactor,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Record every secret in a session and its files, so that `redact_draft` can replace it everywhere.

    Progress is counted in lines; the two passes have the same number.
    """
    rehearsal, read = redactor.make_rehearsal(), draft.make_sequential_reader()
    for at, row in enumerate(draft.rows):
        if progress:
            progress(at, 2 * len(draft.rows))
        if isinstance(row.item, Scrap):
            _holds_secret(read(row.item.offset, row.item.size), rehearsal)
        elif row.entry is None or row.changed:
            rehearsal.redact_entry_body(draft.get_body(row))
        else:
            raw = read(row.entry.offset, row.entry.size)
            rehearsal.redact_entry_body(decode_body(raw), raw=raw if row.entry.flaw is None else None)
    for file in files:
        for _ in redact_file(file.source, rehearsal):
            pass


def redact_draft(draft: Draft, redactor: Redactor, progress: Callable[[int, int], object] | None = None) -> Draft:
    """Return a draft without the secrets that `learn_session_secrets` recorded."""
    changes: dict[int, dict[str, Any]] = {}
    removed: set[int] = set()
    read = draft.make_sequential_reader()
    for at, row in enumerate(draft.rows):
        if progress:
            progress(len(draft.rows) + at, 2 * len(draft.rows))
        if isinstance(row.item, Scrap):
            if _holds_secret(read(row.item.offset, row.item.size), redactor):
                removed.add(at)
            continue
        raw = read(row.entry.offset, row.entry.size) if row.entry is not None else b""
        if not row.changed and redactor.is_settled(raw):
            continue
        body = draft.get_body(row) if row.changed else decode_body(raw)
        values = redact_body(body, redactor, at + 1)
        if _may_repeat_keys(raw, body) and find_repeated_keys(raw):
            values = {
                **redactor.make_rehearsal().redact_entry_body(body),
                **values,
            }  # all keys, so that no earlier value of a repeated key remains
        if values:
            changes[at] = values
        if (values and is_emptied_entry(body, values)) or _has_unread_secret(draft, row, values, redactor):
            removed.add(at)
    return draft.with_changes(changes).without_rows(removed)


def _holds_secret(raw: bytes, redactor: Redactor) -> bool:
    """Return whether bytes that are not an entry contain a secret, ignoring NUL bytes left by a power cut."""
    text = raw.replace(b"\0", b" ")
    return redactor.redact_file_data(text) != text


def _has_unread_secret(draft: Draft, row: DraftRow, values: dict[str, Any], redactor: Redactor) -> bool:
    """Return whether an entry that could not be decoded completely contains a secret in the undecoded part."""
    if row.entry is None or row.entry.flaw is None:
        return False
    raw = draft.file.read_raw(row.entry)
    return _holds_secret(patch_entry(raw, values) if values else raw, redactor)


def redact_body(body: Body, redactor: Redactor, line: int | None = None, *, raw: bytes | None = None) -> dict[str, Any]:
    """Return the top-level values of an entry that redaction changes; `raw` is its line in the file, if it has one."""
    new = redactor.redact_entry_body(body, line, raw=raw)
    message, old = new.get("message"), body.get("message")
    if isinstance(message, dict) and isinstance(old, dict) and isinstance(message.get("content"), list):
        pairs = zip(message["content"], old["content"], strict=True)
        new["message"] = {
            **message,
            "content": [block for block, original in pairs if block == original or not _is_thinking(original)],
        }
    changed = {key: value for key, value in new.items() if body.get(key) != value}
    return changed | {key: REMOVE_KEY for key in body if key not in new}


def _is_thinking(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _THINKING_TYPES


def is_emptied_entry(body: Body, values: dict[str, Any]) -> bool:
    """Return whether redaction removed the whole content of an entry."""
    message, original = values.get("message"), body.get("message")
    if not isinstance(message, dict) or not isinstance(original, dict):
        return False
    return message.get("content") == [] and original.get("content") != []


def redact_line(raw: bytes, redactor: Redactor) -> bytes:
    """Redact a line of a transcript; a line that is not an entry and contains a secret becomes empty."""
    if redactor.is_settled(raw):
        return raw
    body = decode_first_object(raw)
    if body is None or not raw.strip().endswith(b"}"):
        return b"\n" if _holds_secret(raw, redactor) else raw
    is_flawed = _is_flawed_line(raw)
    values = redact_body(body, redactor, raw=None if is_flawed else raw)
    if _may_repeat_keys(raw, body) and find_repeated_keys(raw):
        values = {**redactor.make_rehearsal().redact_entry_body(body), **values}
    line = patch_entry(raw, values) if values else raw
    return b"\n" if is_flawed and _holds_secret(line, redactor) else line


def _may_repeat_keys(raw: bytes, body: Body) -> bool:
    """Return whether an object in a line may have a key twice; looking for one takes longer than encoding the line."""
    return not is_plainly_encoded(raw, body)


def _is_flawed_line(raw: bytes) -> bool:
    """Return whether a line can't be decoded normally, so that part of it was not read."""
    try:
        decode_entry(raw)
    except DECODE_ERRORS:
        return True
    return False


def redact_name(name: str, redactor: Redactor) -> str:
    """Return a file name without secrets; the placeholder has only characters that every system allows."""
    redacted = redactor.redact_text(name)
    return SECRET_MARK.sub(lambda mark: mark[0].strip("[]").replace(":", "-"), redacted)


def redact_file(path: Path, redactor: Redactor) -> Iterator[bytes]:
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb") as file:
        if path.suffix == ".jsonl":
            yield from (redact_line(line, redactor) for line in file)
        else:
            yield redactor.redact_file_data(file.read(), path.name)
