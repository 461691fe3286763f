"""The mark that a compressed session bears: which turns were made shorter, and by how much.

It stands where the compressed turns end, as a notice of the client's own kind (`system`, `informational`): the client
shows it, does not send it, and reads on above it, which it does not do at the boundary of a compaction. Where nothing
follows these turns, or an answer hangs beside what follows, it is a line of turnlog's own, which no client reads.
"""

from __future__ import annotations

from turnlog.edit.compress.compress import CompressionResult
from turnlog.edit.draft import Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.entries.entry import Body
from turnlog.session.session import Session

_SHARED_KEYS = ("cwd", "sessionId", "version", "gitBranch", "userType", "entrypoint")


def mark_compression(session: Session, draft: Draft, found: CompressionResult) -> Draft:
    """A compressed draft with the mark that says so; the same draft if no text became shorter."""
    if not found.shortened_texts:
        return draft
    words = describe_compression(found)
    facts: Body = {"turns": list(found.turns), "texts": len(found.shortened_texts), "model": found.model}
    facts |= {"charactersBefore": found.chars_before, "charactersAfter": found.chars_after}
    place = _find_place_behind(session, draft, max(found.turns))
    if place is None:
        return draft.with_added_lines({"type": "turnlog", "verb": "compress", "content": words, "compressed": facts})
    return _insert_mark(draft, place, words, facts)


def describe_compression(found: CompressionResult) -> str:
    """What was done, for people."""
    amount = f"{len(found.shortened_texts):,} texts of turns {min(found.turns)} to {max(found.turns)}"
    how = f"shortened by {found.model}" if found.model else "shortened by leaving sentences out"
    size = f"{found.chars_before:,} to {found.chars_after:,} characters"
    return f"turnlog compressed the conversation above: {amount}, {size}, {how}. The source has the whole texts."


def _find_place_behind(session: Session, draft: Draft, last: int) -> int | None:
    """The place of the row that begins the turn behind the compressed ones, if a line can be put before it."""
    if last >= len(session.turns):
        return None
    start = session.turns[last].start
    at = draft.map_entry_places().get(start.index)
    if at is None or start.parent < 0 or draft.get_parent_uuid(draft.rows[at]) != start.parent_uuid:
        return None
    beside = (session.file.entries[index] for index in session.graph.list_children(start.parent))
    return None if any(entry.type == "assistant" for entry in beside) else at


def _insert_mark(draft: Draft, at: int, words: str, facts: Body) -> Draft:
    row = draft.rows[at]
    body, uuid = draft.get_body(row), create_uuid()
    shared = {key: body[key] for key in _SHARED_KEYS if key in body}
    mark: Body = {
        "parentUuid": draft.get_parent_uuid(row),
        "isSidechain": False,
        **shared,
        "type": "system",
        "subtype": "informational",
        "content": words,
        "level": "info",
        "isMeta": False,
        "timestamp": body.get("timestamp"),
        "uuid": uuid,
        "compressed": facts,
    }
    rows = draft.with_changes({at: {"parentUuid": uuid}}).rows
    return draft._replace(rows=(*rows[:at], DraftRow(None, mark), *rows[at:]))
