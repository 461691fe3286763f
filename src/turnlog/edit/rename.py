"""Giving a session a title, the way the client's `/rename` does it.

The client appends two entries, `custom-title` for its list of sessions and `agent-name` for the line above the
prompt, and keeps the title a second time in `<session id>/custom-title.json`, where it survives a transcript whose end
grows far beyond it.

An open session may be renamed: writers that append whole lines don't harm each other. But the client keeps titles in
memory and appends them again and again, sometimes after a look at what others appended, and sometimes not. So its old
title may come back when it goes on; whoever renames is told that it is open.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.edit.busy import Sign, signs
from turnlog.edit.target import Target, one_line, target
from turnlog.entries.writer import append, replace

LONGEST = 500
"""More would not be shown anywhere."""


class Appended(NamedTuple):
    """What was appended to which session."""

    target: Target
    value: str
    busy: list[Sign]
    """What tells that the session is open elsewhere."""


def rename(path: Path, title: str) -> Appended:
    """Give a session a title."""
    found, value = target(path), one_line(title, "title", LONGEST)
    own = found.session_id
    done = note(
        found,
        value,
        {"type": "custom-title", "customTitle": value, "sessionId": own},
        {"type": "agent-name", "agentName": value, "sessionId": own},
    )
    if found.config_dir is not None:
        _keep_beside(found, value)
    return done


def note(found: Target, value: str, *rows: dict[str, str]) -> Appended:
    """Append entries to a session, in one write.

    Where the last line has no end, a running client may be about to write it: then nothing is appended.
    """
    busy = signs(found)
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    append(found.path, lines, root=found.root, mend=not busy)
    return Appended(found, value, busy)


def _keep_beside(found: Target, title: str) -> None:
    beside = found.session_dir / "custom-title.json"
    if not beside.parent.is_symlink():
        beside.parent.mkdir(mode=0o700, exist_ok=True)
    replace(beside, msgspec.json.encode({"customTitle": title}), root=found.root)
