"""Whether any of the sessions that a change touches is open in a running client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.edit.busy import Sign, blocking, fresh, signs, suspects
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


def refuse_open(targets: Iterable[Target], *, growth: bool = False, force: bool = False, asked: bool = False) -> None:
    """Refuse when one of the sessions is open elsewhere; `force` and `asked` put doubts aside (`busy.blocking`).

    That a file has just been written counts with `growth` only: who knows what it must hold can see that better.
    """
    for found, sign in _signs_of(targets, growth=growth):
        if blocking([sign], force=force, asked=asked):
            raise Busy(f"{found.session_id}: {sign.words}; {sign.remedy}")


def doubts_of(targets: Iterable[Target]) -> list[str]:
    """Why some of the sessions may be open, for the user to decide; each reason once."""
    told = (sign for _, sign in _signs_of(targets, growth=False) if sign.is_question)
    return list(dict.fromkeys(sign.words for sign in told))


def _signs_of(targets: Iterable[Target], *, growth: bool) -> list[tuple[Target, Sign]]:
    known = list(targets)
    told = [(found, sign) for found in suspects(known) for sign in signs(found) if sign.kind != "growth"]
    return told + [(found, sign) for found in known if growth for sign in fresh(found)]
