"""Counts sessions, using one definition for the index, searches, reports and pages.

A session is a main transcript, `<id>.jsonl`, that contains a conversation: an entry from the user or the model that
doesn't belong to a sub-agent, or an unreadable line that may be one. It is still counted after its file is deleted.
Main transcripts without a conversation, and sub-agents whose main transcript is missing, are counted separately.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw


class SessionCounts(NamedTuple):
    """The number of sessions in an index, and the number of files that don't count as sessions."""

    sessions: int
    without_conversation: int
    """Main transcripts without a conversation."""
    without_transcript: int
    """Ids of which only sub-agents or large results are left."""


def count_sessions(db: apsw.Connection, left_out: Collection[int] = ()) -> SessionCounts:
    """Count the sessions in an index, except for `left_out`."""
    numbers = f"session NOT IN ({','.join(map(str, left_out))})"
    mains = "SELECT session FROM file WHERE kind = 'session'"
    return SessionCounts(
        db.execute(f"SELECT count(DISTINCT session) FROM file WHERE is_session AND {numbers}").get or 0,
        db.execute(f"SELECT count(*) FROM file WHERE kind = 'session' AND NOT is_session AND {numbers}").get or 0,
        db.execute(f"SELECT count(DISTINCT session) FROM file WHERE session NOT IN ({mains}) AND {numbers}").get or 0,
    )
