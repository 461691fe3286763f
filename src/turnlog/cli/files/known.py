"""The known versions of a file in words, and the session to take them from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from turnlog.cli import when
from turnlog.cli.named import opened
from turnlog.cli.output import dump, remark, say
from turnlog.cli.rows import rows
from turnlog.cli.terminal import line, screen
from turnlog.errors import NotFound
from turnlog.session.files.versions import Chosen, Version

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.session.session import Session

_DEFINITION = (
    "exact: a copy, or a text that was written whole. text: shown whole; line ends and byte order mark are as the"
    " client shows them. rebuilt: changes applied to what was known. partial: some lines. unknown: changed, and nobody"
    " recorded to what. A version that only confirms the one before it is not listed."
)
_MADE = {
    "read": "shown by",
    "attach": "shown by the client:",
    "write": "written by",
    "edit": "edited by",
    "found": "found by",
    "change": "changed by somebody else:",
    "copy": "the client's copy:",
}


def names(file: str) -> list[str]:
    """Other spellings of a file's name: as seen from here, and where it leads."""
    expanded = os.path.expanduser(file)  # noqa: PTH111 - Path raises for ~nobody
    return [os.path.abspath(expanded), os.path.realpath(expanded)]  # noqa: PTH100


def session_of(file: str, session: str | None, config: Config) -> Session:
    """The session that is named, or else the newest that touched a file."""
    if session is not None:
        return opened(session, config)
    from turnlog.cli.stored import store
    from turnlog.store.insight.touched import touchers

    with store(config) as index:
        found = [item for name in (*names(file), file) for item in touchers(index.db, name)]
    if not found:
        raise NotFound(f"{file}: no session touched such a file; `turnlog files` lists those of one session")
    newest = max(found, key=lambda item: item.last or "")
    remark(f"From the newest session that touched it: {newest.path}")
    return opened(newest.path, config)


def told(chosen: Chosen) -> str:
    """What a version is, where it comes from, and how sure it is."""
    version = chosen.version
    made = f"{_MADE[version.action]} {version.source}"
    turn = f" in turn {version.turn}" if version.turn else ""
    later = ", seen only later" if chosen.later else ""
    notes = f" ({version.note})" if version.note else ""
    return f"{version.sure}, {made}{turn}{later}, {_size(version)}{_lines(version)}{notes}"


def _size(version: Version) -> str:
    if version.absent:
        return "no file"
    return "?" if version.size is None else when.size(version.size)


def _lines(version: Version) -> str:
    if version.lines is None:
        return ""
    first, last, total = version.lines
    return f", lines {first}–{last}" + (f" of {total}" if total else "")


def listing(session: Session, path: str, known: list[Version], config: Config, *, as_json: bool) -> None:
    """Print the versions of a file."""
    if as_json:
        dump(document(session, path, known))
        return
    show = screen(config.color)
    head = ("version", "turn", "time", "size", "sha256", "how sure", "where from")
    say([show.paint(line(path), "bold")])
    say(rows(head, map(_cells, known), show, numbers=range(4)))
    say(show.prose(_DEFINITION, "dim"))


def _cells(version: Version) -> tuple[str, ...]:
    turn = f"{version.turn}" if version.turn else "–"
    agent = f" in sub-agent {version.agent_id}" if version.agent_id else ""
    note = f" ({version.note})" if version.note else ""
    source = f"{_MADE[version.action]} {version.source}{agent}{_lines(version)}{note}"
    return (
        f"{version.number}",
        turn,
        when.local(version.time),
        _size(version),
        (version.sha256 or "–")[:12],
        version.sure,
        line(source),
    )


def document(session: Session, path: str, known: list[Version]) -> dict[str, Any]:
    """The versions of a file as a JSON document."""
    return {
        "session_id": session.session_id,
        "path": path,
        "versions": [to_builtins(version) for version in known],
    }
