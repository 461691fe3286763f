"""What clients before the newest would not show of a session; `clone --portable` writes what all of them resume."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.session.graph import GRAPH_TYPES
from turnlog.session.resume_view import ResumeView

LAST_LOSSY_VERSION = "2.1.45"
"""The newest client that was seen to lose these."""
LAST_VERSION_LOSING_PROGRESS = "2.0.76"


class Loss(Struct, frozen=True):
    """Something that an older client loses."""

    kind: str
    version: str
    """The newest client that was seen to do so."""
    text: str
    count: int


def list_losses(view: ResumeView) -> Iterator[Loss]:
    """What older clients would lose of what the newest one resumes."""
    if lost := _list_answered_calls(view.thread) - _list_answered_calls(view.chain):
        yield Loss("parallel-calls", LAST_LOSSY_VERSION, "parallel calls with their results", len(lost))
    if unknown := [row for row in view.chain if _find_parent_type(view, row) not in (None, *GRAPH_TYPES)]:
        yield Loss(
            "unknown-type", LAST_LOSSY_VERSION, "entries of an unknown type, above which nothing is shown", len(unknown)
        )
    if progress := [row for row in view.chain if _find_parent_type(view, row) == "progress"]:
        text = "reports of progress between entries, above which nothing is shown"
        yield Loss("progress", LAST_VERSION_LOSING_PROGRESS, text, len(progress))
    if texts := [row for row in view.thread if row.type == "assistant" and _is_text(row)]:
        yield Loss(
            "text-answer", LAST_LOSSY_VERSION, "answers that are a plain text, on which resuming fails", len(texts)
        )
    if other := _count_newer_elsewhere(view):
        yield Loss("newest-time", LAST_LOSSY_VERSION, "a later time on another branch, which is resumed instead", other)


def _list_answered_calls(rows: list[Entry]) -> set[str]:
    """The calls among some entries whose results are there too."""
    blocks = [block for row in rows if row.message for block in row.message.blocks]
    results = {block.tool_use_id for block in blocks if block.type == "tool_result"}
    return {block.id for block in blocks if block.type == "tool_use" and block.id and block.id in results}


def _find_parent_type(view: ResumeView, row: Entry) -> str | None:
    """The type of an entry's own parent."""
    return view.session.file.entries[row.parent].type or "" if row.parent >= 0 else None


def _is_text(row: Entry) -> bool:
    return row.message is not None and isinstance(row.message.content, str)


def _count_newer_elsewhere(view: ResumeView) -> int:
    """How many entries of other branches are later than all that is resumed: these clients go by time."""
    shown = max((row.timestamp for row in view.thread if row.timestamp), default=None)
    if shown is None:
        return 0
    rest = (row for row in view.session.graph.rows if row.timestamp and row.timestamp > shown)
    return sum(row.index not in view.members and row.type in ("user", "assistant") for row in rest)
