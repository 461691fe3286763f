"""Whether any of the sessions that a change touches is open in a running client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.edit.busy import fresh, signs, suspects
from turnlog.edit.target import Target
from turnlog.entries.layout import is_session_id
from turnlog.errors import Busy


def targets_of(paths: Iterable[Path]) -> list[Target]:
    """The sessions that some files belong to, each once."""
    found: dict[Path, Target] = {}
    for path in paths:
        for target in _owners(path):
            found.setdefault(target.path, target)
    return list(found.values())


def _owners(path: Path) -> Iterator[Target]:
    """The session whose transcript a path is, or in whose folder it lies."""
    for place in (path, *path.parents):
        if is_session_id(place.stem) and place.suffix in ("", ".jsonl"):
            file = place.with_suffix(".jsonl")
            projects = file.parent.parent
            yield Target(file, file.stem, projects.parent if projects.name == "projects" else None)


def refuse_open(targets: Iterable[Target], *, growth: bool = False, force: bool = False) -> None:
    """Refuse when one of the sessions is open elsewhere; `force` overrides what is only a suspicion.

    That a file has just been written is told by `growth` only: who knows what it must hold can see that better.
    """
    known = list(targets)
    told = [(found, sign) for found in suspects(known) for sign in signs(found) if sign.kind != "growth"]
    if growth:
        told += [(found, sign) for found in known for sign in fresh(found)]
    for found, sign in told:
        if sign.is_certain or not force:
            waiting = "wait until it is quiet" if growth else "wait until it is quiet, or use --force"
            remedy = "end that first" if sign.is_certain else waiting
            raise Busy(f"{found.session_id}: {sign.words}; {remedy}")
