"""What clients before the newest would not show of a session; `clone --portable` writes what all of them resume."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.session.resume.resumed import Resumed
from turnlog.session.resume.rows import GRAPH_TYPES

LAST_OLD = "2.1.45"
"""The newest client that was seen to lose these."""
NO_PROGRESS = "2.0.76"


class Loss(Struct, frozen=True):
    """Something that an older client loses."""

    kind: str
    version: str
    """The newest client that was seen to do so."""
    text: str
    count: int


def losses(view: Resumed) -> Iterator[Loss]:
    """What older clients would lose of what the newest one resumes."""
    if lost := _answered(view.thread) - _answered(view.chain):
        yield Loss("parallel-calls", LAST_OLD, "parallel calls with their results", len(lost))
    if unknown := [row for row in view.chain if _above(view, row) not in (None, *GRAPH_TYPES)]:
        yield Loss("unknown-type", LAST_OLD, "entries of an unknown type, above which nothing is shown", len(unknown))
    if progress := [row for row in view.chain if _above(view, row) == "progress"]:
        text = "reports of progress between entries, above which nothing is shown"
        yield Loss("progress", NO_PROGRESS, text, len(progress))
    if texts := [row for row in view.thread if row.type == "assistant" and _is_text(row)]:
        yield Loss("text-answer", LAST_OLD, "answers that are a plain text, on which resuming fails", len(texts))
    if other := _newest_elsewhere(view):
        yield Loss("newest-time", LAST_OLD, "a later time on another branch, which is resumed instead", other)


def _answered(rows: list[Entry]) -> set[str]:
    """The calls among some entries whose results are there too."""
    blocks = [block for row in rows if row.message for block in row.message.blocks]
    results = {block.tool_use_id for block in blocks if block.type == "tool_result"}
    return {block.id for block in blocks if block.type == "tool_use" and block.id and block.id in results}


def _above(view: Resumed, row: Entry) -> str | None:
    """The type of an entry's own parent."""
    return view.session.file.entries[row.parent].type or "" if row.parent >= 0 else None


def _is_text(row: Entry) -> bool:
    return row.message is not None and isinstance(row.message.content, str)


def _newest_elsewhere(view: Resumed) -> int:
    """How many entries of other branches are later than all that is resumed: these clients go by time."""
    shown = max((row.timestamp for row in view.thread if row.timestamp), default=None)
    if shown is None:
        return 0
    rest = (row for row in view.session.graph.rows if row.timestamp and row.timestamp > shown)
    return sum(row.index not in view.members and row.type in ("user", "assistant") for row in rest)
