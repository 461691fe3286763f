"""The versions of one file that a session knows of, and which of them was there after a turn.

Versions hold no content, so that a file of megabytes that was changed a thousand times can be listed: `recreate` walks
the session once more and gives the bytes of one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.errors import NotFound, UsageError
from turnlog.session.files.backups import backups
from turnlog.session.files.contents import encoded, is_damaged
from turnlog.session.files.edits import DAMAGED, Step, Sure, steps
from turnlog.session.files.touches import touches

if TYPE_CHECKING:
    from turnlog.session.session import Session

FOUND = "found"
"""The action of a version that an edit came upon: something else had changed the file."""
_LISTED = 8


class Version(Struct):
    """What a file held from some moment on."""

    number: int
    """Its place among the versions of the file, from 1."""
    turn: int | None
    """The turn in which it was seen or made; a copy shows the file before that turn changed it."""
    time: str | None
    action: str
    """read, write, edit, attach, change, copy, or FOUND."""
    source: str
    """The tool, the kind of the attachment, or `file-history`."""
    sure: Sure
    absent: bool = False
    """There is no such file."""
    size: int | None = None
    sha256: str | None = None
    lines: tuple[int, int, int | None] | None = None
    """First, last and number of all lines, when only some are known."""
    agent_id: str | None = None
    call_id: str | None = None
    note: str | None = None

    @property
    def changes(self) -> bool:
        """Whether a call, a command or a person made it, and it was not merely seen."""
        return self.action in ("write", "edit", "change")

    @property
    def is_whole(self) -> bool:
        """Whether all of the file is known, or that there was none."""
        return self.absent or self.sure in ("exact", "text", "rebuilt")


class Chosen(NamedTuple):
    """The version that was asked for."""

    version: Version
    later: bool
    """It was only seen later; nothing that the session knows of changed the file in between."""


def paths(session: Session) -> list[str]:
    """The files whose content a session may tell something of."""
    known = [touch.path for touch in touches(session) if touch.outcome == "done"]
    return list(dict.fromkeys([*known, *(copy.path for copy in backups(session))]))


def the_path(session: Session, name: str, others: Sequence[str] = ()) -> str:
    """The one file that a name means: a path, the end of one, or a file's name; `others` are further spellings."""
    known = paths(session)
    for wanted in (name, *others):
        if wanted in known:
            return wanted
    end = "/" + name.replace("\\", "/").removeprefix("./").strip("/")
    found = [path for path in known if ("/" + path.replace("\\", "/")).endswith(end)] if len(end) > 1 else []
    if len(found) == 1:
        return found[0]
    if found:
        more = " …" if len(found) > _LISTED else ""
        raise UsageError(f"{name!r} fits {len(found)} files: {', '.join(found[:_LISTED])}{more}; give more of the path")
    raise NotFound(f"{name}: the session touched no such file; `turnlog files` lists those that it did")


def versions(session: Session, path: str) -> list[Version]:
    """The versions of a file in order of time; looks that showed nothing new are left out."""
    found: list[Version] = []
    for version, _ in _all(session, path):
        last = next((item for item in reversed(found) if item.is_whole or item.changes), None)
        if last is not None and _same(last, version):
            if version.sure == "exact" and last.sure != "exact":
                last.sure, last.note = "exact", f"a copy of turn {version.turn} is the same" if version.turn else None
            continue
        found.append(version)
    for number, version in enumerate(found, 1):
        version.number = number
    return found


def recreate(session: Session, path: str, version: Version) -> bytes:
    """The bytes of a version."""
    for candidate, data in _all(session, path):
        same = (candidate.action, candidate.sha256, candidate.call_id, candidate.time)
        if data is not None and same == (version.action, version.sha256, version.call_id, version.time):
            return data
    raise NotFound(f"{path}: what it held then is not known")


def _same(last: Version, version: Version) -> bool:
    """Whether a version only confirms the one before it."""
    if version.changes:
        return False
    return (version.absent and last.absent) or (version.is_whole and version.sha256 == last.sha256 is not None)


class _Told(NamedTuple):
    version: Version
    data: bytes | None


def _all(session: Session, path: str) -> Iterator[_Told]:
    """What every step tells, with the bytes."""
    held: bytes | None = None
    for step in steps(session, path.__eq__):
        before = step.before.data if step.before else None
        if before is not None and before != held:
            yield _Told(_found(step, before), before)
        after = _data(step)
        yield _Told(_version(step, step.action, step.sure, after), after)
        if step.after is not None or step.changes:
            held = after


def _data(step: Step) -> bytes | None:
    """What a step tells that the file holds."""
    if step.data is not None:
        return step.data
    if step.part is not None:
        return encoded(step.part.text)
    return step.after.data if step.after else None


def _found(step: Step, data: bytes) -> Version:
    """What an edit came upon."""
    damaged = step.before is not None and is_damaged(step.before.text)
    version = _version(step, FOUND, "partial" if damaged else "text", data)
    version.note = DAMAGED if damaged else None
    return version


def _version(step: Step, action: str, sure: Sure, data: bytes | None) -> Version:
    part = step.part
    return Version(
        0,
        step.turn.number if step.turn else None,
        step.time,
        action,
        step.source,
        sure,
        step.absent,
        None if data is None else len(data),
        None if data is None else hashlib.sha256(data).hexdigest(),
        (part.first, part.last, part.total) if part else None,
        step.agent.agent_id if step.agent else None,
        step.call_id,
        step.note,
    )


def after_turn(known: Sequence[Version], turn: int) -> Chosen | None:
    """What was there after a turn, or None if nothing is known of it."""
    return _chosen(known, [item for item in known if (item.turn or 0) <= turn])


def before_turn(known: Sequence[Version], turn: int) -> Chosen | None:
    """What was there before a turn changed anything."""
    within = takewhile(lambda item: not item.changes, [item for item in known if item.turn == turn])
    return _chosen(known, [item for item in known if (item.turn or 0) < turn] + list(within))


def _chosen(known: Sequence[Version], past: list[Version]) -> Chosen | None:
    part: Version | None = None
    for item in reversed(past):
        if item.is_whole:
            return Chosen(item, False)
        if item.changes:
            break
        part = part or (item if item.sure == "partial" else None)
    start = known.index(past[-1]) + 1 if past else 0
    for item in takewhile(lambda item: not item.changes, known[start:]):
        if item.is_whole:
            return Chosen(item, True)
    return Chosen(part, False) if part else None
