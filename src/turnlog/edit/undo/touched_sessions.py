"""Finds the sessions that a change touches, checks whether they are open in a client, and finds changes by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.edit.open_signs import (
    OpenSign,
    find_open_signs,
    find_recent_writes,
    find_suspect_sessions,
    select_blocking_signs,
)
from turnlog.edit.session_target import SessionTarget
from turnlog.edit.undo.record import STATE_UNDONE, UndoRecord
from turnlog.entries.layout import is_session_id
from turnlog.errors import Ambiguous, Busy, NotFound


def find_touched_targets(paths: Iterable[Path]) -> list[SessionTarget]:
    """Find the sessions that some files belong to, without duplicates."""
    targets: dict[Path, SessionTarget] = {}
    for path in paths:
        for target in _find_owners(path):
            targets.setdefault(target.path, target)
    return list(targets.values())


def _find_owners(path: Path) -> Iterator[SessionTarget]:
    """Find the session that a path belongs to: the path is its transcript or is in its folder."""
    for place in (path, *path.parents):
        if is_session_id(place.stem) and place.suffix in ("", ".jsonl"):
            file = place.with_suffix(".jsonl")
            projects = file.parent.parent
            yield SessionTarget(file, file.stem, projects.parent if projects.name == "projects" else None)


def refuse_open_sessions(
    targets: Iterable[SessionTarget], *, growth: bool = False, force: bool = False, asked: bool = False
) -> None:
    """Raise `Busy` if one of the sessions is open elsewhere; `force` and `asked` override uncertain signs.

    A recent write counts only with `growth`; callers that know the expected content have a better check.
    """
    for found, sign in _list_signs(targets, growth=growth):
        if select_blocking_signs([sign], force=force, asked=asked):
            raise Busy(f"{found.session_id}: {sign.words}; {sign.remedy}")


def list_doubts(targets: Iterable[SessionTarget]) -> list[str]:
    """Return the reasons why some of the sessions may be open, without duplicates, for the user to decide."""
    questions = (sign for _, sign in _list_signs(targets, growth=False) if sign.is_question)
    return list(dict.fromkeys(sign.words for sign in questions))


def _list_signs(targets: Iterable[SessionTarget], *, growth: bool) -> list[tuple[SessionTarget, OpenSign]]:
    known = list(targets)
    signs = [
        (found, sign)
        for found in find_suspect_sessions(known)
        for sign in find_open_signs(found)
        if sign.kind != "growth"
    ]
    return signs + [(found, sign) for found in known if growth for sign in find_recent_writes(found)]


def find_last_change(records: list[UndoRecord]) -> UndoRecord:
    """Return the newest change that has not been undone."""
    for record in records:
        if record.state != STATE_UNDONE:
            return record
    raise NotFound("there is nothing to undo; `turnlog undo --list` lists the changes")


def find_change(name: str, records: list[UndoRecord]) -> UndoRecord:
    """Find the change with this name or prefix, or the newest one that touched the session with this id."""
    wanted = name.strip().lower()
    matching = [record for record in records if wanted and record.name.lower().startswith(wanted)]
    exact = [record for record in matching if record.name.lower() == wanted]
    if len(exact or matching) > 1:
        names = ", ".join(record.name for record in matching[:5])
        raise Ambiguous(f"{name!r} matches {len(matching)} changes: {names}; use more of the name")
    candidates = exact or matching or [record for record in records if wanted and _touches_session(record, wanted)]
    if not candidates:
        raise NotFound(f"no change is named {name!r}; `turnlog undo --list` lists all changes")
    return next((record for record in candidates if record.state != STATE_UNDONE), candidates[0])


def _touches_session(record: UndoRecord, wanted: str) -> bool:
    return any(target.session_id.lower().startswith(wanted) for target in find_touched_targets(record.places))
