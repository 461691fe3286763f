"""Repair of a file that holds entries of another session: they go, unless the client sends them."""

from __future__ import annotations

from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.repairs.sent_blocks import explain_sent_entries
from turnlog.entries.entry import Entry


def drop_strangers(case: RepairCase) -> RepairAttempt:
    """Without entries of another session that nothing of this one goes on from; those that are sent go by name only."""
    sent = [] if case.is_named else [entry for entry in case.entries if entry.index in case.view.members]
    going = [entry for entry in case.entries if entry not in sent]
    if not going:
        return RepairAttempt(case.draft, 0, explain_sent_entries(len(sent), "other-session"))
    told = f"entries of {_list_sessions(going)} went; the source has them"
    if sent:
        told += f"; {explain_sent_entries(len(sent), 'other-session')}"
    gone = {case.places[entry.index] for entry in going}
    return RepairAttempt(case.draft.without_rows(gone), len(gone), told)


def _list_sessions(entries: list[Entry]) -> str:
    sessions = sorted({entry.session_id or "" for entry in entries})
    return ", ".join(name[:36] for name in sessions[:3]) + (" …" if len(sessions) > 3 else "")
