"""Illnesses of files that have lost what was in them: everything, or the beginning.

A file from a client begins with a prompt, or with an entry that has no parent. Another beginning shows that lines are
missing before it; so do prompts in the client's history that are older than the file's first entry.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from turnlog.edit.illnesses.illness import TALK_TYPES, Illness, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.belongings import read_history
from turnlog.entries.entry import MISSING_PARENT, Entry
from turnlog.render.figures import format_count
from turnlog.session.clock import parse_timestamp
from turnlog.session.session import Session

LOST_PART_KINDS = ("empty-file", "lost-beginning")
"""Illnesses that only an earlier copy of the file can cure."""
_MIN_EARLIER = timedelta(seconds=60)
"""How much older a typed prompt must be than the first entry to count as missing: hooks may take their time."""


def detect_empty_file(view: ResumeView, symptoms: Symptoms) -> None:
    """Detect a file in which nothing is left; old clients leave such files behind, so that alone is only a note."""
    file = view.session.file
    if not file.entries and all(scrap.kind in ("blank", "padding", "bom") for scrap in file.scraps):
        size = max((scrap.end for scrap in file.scraps), default=0)
        symptoms.note("empty-file", "info", f"nothing is in the file ({size:,} bytes)")


def detect_lost_beginning(view: ResumeView, symptoms: Symptoms) -> None:
    """Detect a file that begins with an answer or a result whose parent is missing."""
    first = _find_first_row(view.session)
    if first is not None and first.parent == MISSING_PARENT and _is_reply(first):
        text = "the file begins in the middle: this entry answers one that is not in it"
        symptoms.add_items("lost-beginning", "error", text, [first])


def _find_first_row(session: Session) -> Entry | None:
    """Return the first entry of the main conversation, unless something unreadable comes before it."""
    rows = (row for row in session.graph.rows if not row.is_sidechain)
    return next(rows, None)


def _is_reply(row: Entry) -> bool:
    blocks = row.message.blocks if row.message else []
    return row.type == "assistant" or (row.type == "user" and any(block.type == "tool_result" for block in blocks))


def detect_missing_prompts(session: Session, config_dir: Path, session_id: str, symptoms: Symptoms) -> None:
    """Compare a file that may have lost its beginning with the prompts that the client remembers."""
    first = _find_first_row(session)
    if first is not None and (first.parent != MISSING_PARENT or _is_reply(first)):
        return
    began = parse_timestamp(first.timestamp) if first else None
    if first is None and any(entry.type in TALK_TYPES for entry in session.file.entries):
        return
    own = [row for row in read_history(config_dir) if row.get("sessionId") == session_id]
    typed = [parse_timestamp(row.get("timestamp")) for row in own]
    lost = [time for time in typed if first is None or _is_earlier(time, began)]
    if lost and first is None:
        text = f"nothing is in the file, but {format_count(len(lost), 'prompt')} of it in the client's history"
        symptoms.note("empty-file", "error", text)
    elif lost:
        text = f"{format_count(len(lost), 'prompt')} of it in the client's history, typed before its first entry"
        symptoms.note("lost-beginning", "error", text)


def _is_earlier(time: datetime | None, began: datetime | None) -> bool:
    return time is not None and began is not None and time < began - _MIN_EARLIER


EMPTY_FILE = Illness(
    "empty-file",
    "“No conversation found with session ID …”",
    "old clients leave empty files behind; or a full disk, a crash or another program emptied the file",
    remedy="none, if nothing was said in it; else a copy of the file",
    alternative="only an earlier copy of the file has what was in it",
)
LOST_BEGINNING = Illness(
    "lost-beginning",
    "The beginning of the conversation is missing, in the file as well.",
    "a program, a full disk or an unfinished copy cut the file off at its start",
    remedy="an earlier copy of the file; `turnlog tree` shows sessions that were forked from it",
    alternative="only an earlier copy of the file has what was in it",
)
