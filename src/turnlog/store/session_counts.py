"""How many sessions there are: one definition for the index, searches, reports and pages.

A session is a main transcript, `<id>.jsonl`, with a conversation in it: an entry of the user or of the model that is
no sub-agent's, or a line that can't be read and may be one. It stays one when its file is deleted. Main transcripts
without a conversation and sub-agents whose main transcript is missing are counted apart.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw


class SessionCounts(NamedTuple):
    """How many sessions an index knows, and what is none."""

    sessions: int
    without_conversation: int
    """Main transcripts that hold none."""
    without_transcript: int
    """Ids of which only sub-agents or large results are there."""


def count_sessions(db: apsw.Connection, left_out: Collection[int] = ()) -> SessionCounts:
    """Count the sessions of an index, but for some."""
    numbers = f"session NOT IN ({','.join(map(str, left_out))})"
    mains = "SELECT session FROM file WHERE kind = 'session'"
    return SessionCounts(
        db.execute(f"SELECT count(DISTINCT session) FROM file WHERE is_session AND {numbers}").get or 0,
        db.execute(f"SELECT count(*) FROM file WHERE kind = 'session' AND NOT is_session AND {numbers}").get or 0,
        db.execute(f"SELECT count(DISTINCT session) FROM file WHERE session NOT IN ({mains}) AND {numbers}").get or 0,
    )
