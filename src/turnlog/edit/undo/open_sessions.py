"""Whether any of the sessions that a change touches is open in a running client."""

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
from turnlog.entries.layout import is_session_id
from turnlog.errors import Busy


def find_touched_targets(paths: Iterable[Path]) -> list[SessionTarget]:
    """The sessions that some files belong to, each once."""
    found: dict[Path, SessionTarget] = {}
    for path in paths:
        for target in _find_owners(path):
            found.setdefault(target.path, target)
    return list(found.values())


def _find_owners(path: Path) -> Iterator[SessionTarget]:
    """The session whose transcript a path is, or in whose folder it lies."""
    for place in (path, *path.parents):
        if is_session_id(place.stem) and place.suffix in ("", ".jsonl"):
            file = place.with_suffix(".jsonl")
            projects = file.parent.parent
            yield SessionTarget(file, file.stem, projects.parent if projects.name == "projects" else None)


def refuse_open_sessions(
    targets: Iterable[SessionTarget], *, growth: bool = False, force: bool = False, asked: bool = False
) -> None:
    """Refuse when one of the sessions is open elsewhere; `force` and `asked` put doubts aside (`busy.blocking`).

    That a file has just been written counts with `growth` only: who knows what it must hold can see that better.
    """
    for found, sign in _list_signs(targets, growth=growth):
        if select_blocking_signs([sign], force=force, asked=asked):
            raise Busy(f"{found.session_id}: {sign.words}; {sign.remedy}")


def list_doubts(targets: Iterable[SessionTarget]) -> list[str]:
    """Why some of the sessions may be open, for the user to decide; each reason once."""
    told = (sign for _, sign in _list_signs(targets, growth=False) if sign.is_question)
    return list(dict.fromkeys(sign.words for sign in told))


def _list_signs(targets: Iterable[SessionTarget], *, growth: bool) -> list[tuple[SessionTarget, OpenSign]]:
    known = list(targets)
    told = [
        (found, sign)
        for found in find_suspect_sessions(known)
        for sign in find_open_signs(found)
        if sign.kind != "growth"
    ]
    return told + [(found, sign) for found in known if growth for sign in find_recent_writes(found)]
