"""Adds a mark to a compressed session; the mark states which turns were shortened and by how much.

The mark follows the compressed turns as one of the client's own notices (`system`, `informational`): the client shows
it but does not send it and, unlike a compaction boundary, reads past it. If nothing follows these turns, or if the next
row has an answer as a sibling, turnlog writes a line of its own type, which clients ignore.
"""

from __future__ import annotations

from turnlog.edit.compress.compress import CompressionResult
from turnlog.edit.draft import Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.entries.entry import Body
from turnlog.session.session import Session

_SHARED_KEYS = ("cwd", "sessionId", "version", "gitBranch", "userType", "entrypoint")


def mark_compression(session: Session, draft: Draft, result: CompressionResult) -> Draft:
    """Add the mark to a compressed draft; return the same draft if nothing was shortened."""
    if not result.shortened_texts:
        return draft
    description = describe_compression(result)
    facts: Body = {"turns": list(result.turns), "texts": len(result.shortened_texts), "model": result.model}
    facts |= {"charactersBefore": result.chars_before, "charactersAfter": result.chars_after}
    position = _find_place_after(session, draft, max(result.turns))
    if position is None:
        return draft.with_added_lines(
            {"type": "turnlog", "verb": "compress", "content": description, "compressed": facts}
        )
    return _insert_mark(draft, position, description, facts)


def describe_compression(result: CompressionResult) -> str:
    """Describe the compression in one sentence."""
    amount = f"{len(result.shortened_texts):,} texts of turns {min(result.turns)} to {max(result.turns)}"
    how = f"shortened by {result.model}" if result.model else "shortened by leaving sentences out"
    size = f"{result.chars_before:,} to {result.chars_after:,} characters"
    return f"turnlog compressed the conversation above: {amount}, {size}, {how}. The source has the full texts."


def _find_place_after(session: Session, draft: Draft, last: int) -> int | None:
    """Find the position of the row that starts the turn after the compressed ones, if a line can be added before it."""
    if last >= len(session.turns):
        return None
    start = session.turns[last].start
    at = draft.map_entry_places().get(start.index)
    if at is None or start.parent < 0 or draft.get_parent_uuid(draft.rows[at]) != start.parent_uuid:
        return None
    siblings = (session.file.entries[index] for index in session.graph.list_children(start.parent))
    return None if any(entry.type == "assistant" for entry in siblings) else at


def _insert_mark(draft: Draft, at: int, description: str, facts: Body) -> Draft:
    row = draft.rows[at]
    body, uuid = draft.get_body(row), create_uuid()
    shared = {key: body[key] for key in _SHARED_KEYS if key in body}
    mark: Body = {
        "parentUuid": draft.get_parent_uuid(row),
        "isSidechain": False,
        **shared,
        "type": "system",
        "subtype": "informational",
        "content": description,
        "level": "info",
        "isMeta": False,
        "timestamp": body.get("timestamp"),
        "uuid": uuid,
        "compressed": facts,
    }
    rows = draft.with_changes({at: {"parentUuid": uuid}}).rows
    return draft._replace(rows=(*rows[:at], DraftRow(None, mark), *rows[at:]))
