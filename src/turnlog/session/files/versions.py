"""The known versions of one file in a session, and which of them was current after a turn.

Versions do not contain the content, so that a multi-megabyte file with a thousand changes can be listed;
`recreate_version` walks through the session again and returns the bytes of one version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.errors import NotFound, UsageError
from turnlog.session.files.backups import list_file_backups
from turnlog.session.files.contents import encode_file_text, is_damaged_text
from turnlog.session.files.file_steps import DAMAGED_NOTE, FileStep, Sureness, list_file_steps
from turnlog.session.files.touches import list_touches

if TYPE_CHECKING:
    from turnlog.session.session import Session

FOUND_ACTION = "found"
"""The action of a version that an edit found because something else had changed the file."""
_MAX_LISTED_PATHS = 8


class FileVersion(Struct):
    """The content of a file from a certain moment on."""

    number: int
    """Its position among the versions of the file, starting at 1."""
    turn: int | None
    """The turn that saw or made it; a copy shows the file before that turn changed it."""
    time: str | None
    action: str
    """read, write, edit, attach, change, copy, or FOUND_ACTION."""
    source: str
    """The tool, the kind of the attachment, or `file-history`."""
    sure: Sureness
    absent: bool = False
    """Whether the file does not exist."""
    size: int | None = None
    sha256: str | None = None
    lines: tuple[int, int, int | None] | None = None
    """The numbers of the first and last known line and the total, if only some lines are known."""
    agent_id: str | None = None
    call_id: str | None = None
    note: str | None = None

    @property
    def is_change(self) -> bool:
        """Whether this version was created by a call, a command or a person rather than only seen."""
        return self.action in ("write", "edit", "change")

    @property
    def is_whole(self) -> bool:
        """Whether the whole file is known, or is known to be absent."""
        return self.absent or self.sure in ("exact", "text", "rebuilt")


class ChosenVersion(NamedTuple):
    """A version, and whether it was seen only later."""

    version: FileVersion
    later: bool
    """Whether it was only seen later, with no known change to the file in between."""


def list_file_paths(session: Session) -> list[str]:
    """List the files whose content a session may reveal."""
    known = [touch.path for touch in list_touches(session) if touch.outcome == "done"]
    return list(dict.fromkeys([*known, *(copy.path for copy in list_file_backups(session))]))


def find_file_path(session: Session, name: str, others: Sequence[str] = ()) -> str:
    """Find the one file that a name refers to, by its path, the end of its path, or other spellings (`others`)."""
    return choose_file_path(list_file_paths(session), name, others)


def choose_file_path(known: Sequence[str], name: str, others: Sequence[str] = ()) -> str:
    """Choose the one path that a name refers to."""
    for wanted in (name, *others):
        if wanted in known:
            return wanted
    end = "/" + name.replace("\\", "/").removeprefix("./").strip("/")
    found = [path for path in known if ("/" + path.replace("\\", "/")).endswith(end)] if len(end) > 1 else []
    if len(found) == 1:
        return found[0]
    if found:
        more = " …" if len(found) > _MAX_LISTED_PATHS else ""
        raise UsageError(
            f"{name!r} matches {len(found)} files: {', '.join(found[:_MAX_LISTED_PATHS])}{more}; use more of the path"
        )
    raise NotFound(f"{name}: the session did not touch this file; `turnlog files` lists the files it touched")


def list_file_versions(session: Session, path: str) -> list[FileVersion]:
    """List the versions of a file in chronological order, without reads that showed nothing new."""
    found: list[FileVersion] = []
    for version, _ in _list_all_versions(session, path):
        last = next((item for item in reversed(found) if item.is_whole or item.is_change), None)
        if last is not None and _is_same_version(last, version):
            if version.sure == "exact" and last.sure != "exact":
                last.sure, last.note = "exact", f"confirmed by a copy of turn {version.turn}" if version.turn else None
            continue
        found.append(version)
    for number, version in enumerate(found, 1):
        version.number = number
    return found


def recreate_version(session: Session, path: str, version: FileVersion) -> bytes:
    """Return the bytes of a version."""
    for candidate, data in _list_all_versions(session, path):
        same = (candidate.action, candidate.sha256, candidate.call_id, candidate.time)
        if data is not None and same == (version.action, version.sha256, version.call_id, version.time):
            return data
    raise NotFound(f"{path}: the content at that point is unknown")


def _is_same_version(last: FileVersion, version: FileVersion) -> bool:
    """Return whether a version only confirms the previous one."""
    if version.is_change:
        return False
    return (version.absent and last.absent) or (version.is_whole and version.sha256 == last.sha256 is not None)


class _VersionData(NamedTuple):
    version: FileVersion
    data: bytes | None


def _list_all_versions(session: Session, path: str) -> Iterator[_VersionData]:
    """Yield the version that each step reveals, with its bytes."""
    current: bytes | None = None
    for step in list_file_steps(session, path.__eq__):
        before = step.before.data if step.before else None
        if before is not None and before != current:
            yield _VersionData(_build_found_version(step, before), before)
        after = _read_step_data(step)
        yield _VersionData(_build_version(step, step.action, step.sure, after), after)
        if step.after is not None or step.changes_file:
            current = after


def _read_step_data(step: FileStep) -> bytes | None:
    """Return the file content that a step reveals."""
    if step.data is not None:
        return step.data
    if step.part is not None:
        return encode_file_text(step.part.text)
    return step.after.data if step.after else None


def _build_found_version(step: FileStep, data: bytes) -> FileVersion:
    """Build the version that a write or an edit found."""
    damaged = step.before is not None and is_damaged_text(step.before.text)
    version = _build_version(step, FOUND_ACTION, "partial" if damaged else "text", data)
    version.note = DAMAGED_NOTE if damaged else None
    return version


def _build_version(step: FileStep, action: str, sure: Sureness, data: bytes | None) -> FileVersion:
    part = step.part
    return FileVersion(
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


def find_version_after_turn(known: Sequence[FileVersion], turn: int) -> ChosenVersion | None:
    """Find the version that was current after a turn; return None if it is unknown."""
    return _choose_version(known, [item for item in known if (item.turn or 0) <= turn])


def find_version_before_turn(known: Sequence[FileVersion], turn: int) -> ChosenVersion | None:
    """Find the version that was current before a turn changed anything."""
    within = takewhile(lambda item: not item.is_change, [item for item in known if item.turn == turn])
    return _choose_version(known, [item for item in known if (item.turn or 0) < turn] + list(within))


def _choose_version(known: Sequence[FileVersion], past: list[FileVersion]) -> ChosenVersion | None:
    part: FileVersion | None = None
    for item in reversed(past):
        if item.is_whole:
            return ChosenVersion(item, False)
        if item.is_change:
            break
        part = part or (item if item.sure == "partial" else None)
    start = known.index(past[-1]) + 1 if past else 0
    for item in takewhile(lambda item: not item.is_change, known[start:]):
        if item.is_whole:
            return ChosenVersion(item, True)
    return ChosenVersion(part, False) if part else None
