"""Finding the change that is to be undone by what a person calls it."""

from __future__ import annotations

from turnlog.edit.undo.open_sessions import find_touched_targets
from turnlog.edit.undo.record import STATE_UNDONE, UndoRecord
from turnlog.errors import Ambiguous, NotFound


def find_last_change(records: list[UndoRecord]) -> UndoRecord:
    """The change that was made last and still stands."""
    for record in records:
        if record.state != STATE_UNDONE:
            return record
    raise NotFound("there is nothing to undo; `turnlog undo --list` lists what was changed")


def find_change(name: str, records: list[UndoRecord]) -> UndoRecord:
    """The change that a name or its start means, or the newest that touched the session whose id begins so."""
    wanted = name.strip().lower()
    named = [record for record in records if wanted and record.name.lower().startswith(wanted)]
    exact = [record for record in named if record.name.lower() == wanted]
    if len(exact or named) > 1:
        names = ", ".join(record.name for record in named[:5])
        raise Ambiguous(f"{name!r} fits {len(named)} changes: {names}; give more of the name")
    fitting = exact or named or [record for record in records if wanted and _touches_session(record, wanted)]
    if not fitting:
        raise NotFound(f"no change is called {name!r}; `turnlog undo --list` lists them")
    return next((record for record in fitting if record.state != STATE_UNDONE), fitting[0])


def _touches_session(record: UndoRecord, wanted: str) -> bool:
    return any(target.session_id.lower().startswith(wanted) for target in find_touched_targets(record.places))
