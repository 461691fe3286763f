"""Whether the result of an edit resumes as well as its source; what does not is never written."""

from __future__ import annotations

from collections.abc import Collection

from turnlog.edit.draft import Draft
from turnlog.errors import TurnlogError
from turnlog.session.health.verdict import judge_session, list_regressions
from turnlog.session.session import Session

PORTABLE_LOSSES = frozenset({"compaction", "user", "assistant"})
"""What the portable form may lack: it holds no more than what would be resumed."""


def check_resumes(source: Session, draft: Draft, apart_from: Collection[str] = ()) -> None:
    """Refuse a result, to be written as a new session, that the client would resume worse than what it was made from.

    `apart_from` names what the edit is meant to change (see `session.health.resumable.worse`).
    """
    apart = {*apart_from, "other-session"}  # all its entries will have the id of the new one
    with Session(draft.to_transcript()) as after:
        reasons = list_regressions(judge_session(source), judge_session(after), apart_from=apart)
    if reasons:
        raise TurnlogError(f"{source.path}: the result would not resume as well: {reasons[0]}; nothing was written")
