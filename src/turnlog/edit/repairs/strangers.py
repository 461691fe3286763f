"""Repair of a file that holds entries of another session: they go."""

from __future__ import annotations

from turnlog.edit.repairs.case import Case, Repaired


def strangers(case: Case) -> Repaired:
    """Without entries of another session that nothing of this one goes on from."""
    gone = {case.places[entry.index] for entry in case.entries}
    sessions = sorted({entry.session_id or "" for entry in case.entries})
    named = ", ".join(name[:36] for name in sessions[:3]) + (" …" if len(sessions) > 3 else "")
    return Repaired(case.draft.without(gone), len(gone), f"entries of {named} went; the source has them")
