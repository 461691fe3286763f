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

from turnlog.edit.carried import Carried
from turnlog.edit.draft import Draft, Row
from turnlog.entries.decode import FAILURES, first_object, quick
from turnlog.entries.entry import Body, Scrap
from turnlog.entries.patch import GONE, patched
from turnlog.entries.window import open_regular
from turnlog.redact.redactor import Redactor
from turnlog.session.health.check import repeated_keys

_THINKING = ("thinking", "redacted_thinking")


def learn(draft: Draft, files: Iterable[Carried], redactor: Redactor) -> None:
    """Take note of every secret in a session and in what belongs to it."""
    first = redactor.rehearsal()
    for row in draft.rows:
        if isinstance(row.item, Scrap):
            _holds_secret(draft.file.raw(row.item), first)
        else:
            first.body(draft.body(row))
    for file in files:
        for _ in redacted_file(file.source, first):
            pass


def redacted(draft: Draft, redactor: Redactor) -> Draft:
    """A draft without secrets; they should have been learned before."""
    changes: dict[int, dict[str, Any]] = {}
    gone: set[int] = set()
    for at, row in enumerate(draft.rows):
        if isinstance(row.item, Scrap):
            if _holds_secret(draft.file.raw(row.item), redactor):
                gone.add(at)
            continue
        body = draft.body(row)
        found = changed(body, redactor, at + 1)
        if row.entry is not None and repeated_keys(draft.file.raw(row.entry)):
            found = {**redactor.rehearsal().body(body), **found}  # written anew: no earlier value of a key stays
        if found:
            changes[at] = found
        if (found and is_emptied(body, found)) or _is_left(draft, row, found, redactor):
            gone.add(at)
    return draft.changing(changes).without(gone)


def _holds_secret(raw: bytes, redactor: Redactor) -> bool:
    """Whether bytes that are no entry hold a secret; zero bytes, as a power cut leaves them, don't make them binary."""
    seen = raw.replace(b"\0", b" ")
    return redactor.plain(seen) != seen


def _is_left(draft: Draft, row: Row, found: dict[str, Any], redactor: Redactor) -> bool:
    """Whether an entry that could not be read as a whole holds a secret where nothing was read."""
    if row.entry is None or row.entry.flaw is None:
        return False
    raw = draft.file.raw(row.entry)
    return _holds_secret(patched(raw, found) if found else raw, redactor)


def changed(body: Body, redactor: Redactor, line: int | None = None) -> dict[str, Any]:
    """The top-level values of an entry that are others without secrets."""
    new = redactor.body(body, line)
    message, old = new.get("message"), body.get("message")
    if isinstance(message, dict) and isinstance(old, dict) and isinstance(message.get("content"), list):
        pairs = zip(message["content"], old["content"], strict=True)
        new["message"] = {**message, "content": [block for block, was in pairs if block == was or not _thinks(was)]}
    found = {key: value for key, value in new.items() if body.get(key) != value}
    return found | {key: GONE for key in body if key not in new}


def _thinks(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _THINKING


def is_emptied(body: Body, found: dict[str, Any]) -> bool:
    """Whether nothing is left of what an entry said."""
    now, was = found.get("message"), body.get("message")
    if not isinstance(now, dict) or not isinstance(was, dict):
        return False
    return now.get("content") == [] and was.get("content") != []


def redacted_line(raw: bytes, redactor: Redactor) -> bytes:
    """A line of a transcript without secrets; one that is no entry and holds some becomes empty."""
    body = first_object(raw)
    if body is None or not raw.strip().endswith(b"}"):
        return b"\n" if _holds_secret(raw, redactor) else raw
    found = changed(body, redactor)
    if repeated_keys(raw):
        found = {**redactor.rehearsal().body(body), **found}
    line = patched(raw, found) if found else raw
    return b"\n" if _is_flawed(raw) and _holds_secret(line, redactor) else line


def _is_flawed(raw: bytes) -> bool:
    """Whether a line can't be decoded in the ordinary way, so that not all of it was read."""
    try:
        quick(raw)
    except FAILURES:
        return True
    return False


def redacted_file(path: Path, redactor: Redactor) -> Iterator[bytes]:
    """A file that belongs to a session without secrets."""
    fd, _ = open_regular(path)
    with os.fdopen(fd, "rb") as file:
        if path.suffix == ".jsonl":
            yield from (redacted_line(line, redactor) for line in file)
        else:
            yield redactor.plain(file.read(), path.name)
