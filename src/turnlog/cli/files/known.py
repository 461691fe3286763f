"""The known versions of a file in words, and the session to take them from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from turnlog.cli import when
from turnlog.cli.named import open_named_session
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.rows import render_table_rows
from turnlog.cli.terminal import detect_screen, to_visible_line
from turnlog.errors import NotFound
from turnlog.session.files.versions import ChosenVersion, FileVersion

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.session.session import Session

_DEFINITION = (
    "exact: a copy, or a text that was written whole. text: shown whole; line ends and byte order mark are as the"
    " client shows them. rebuilt: changes applied to what was known. partial: some lines. unknown: changed, and nobody"
    " recorded to what. A version that only confirms the one before it is not listed."
)
_ACTION_WORDS = {
    "read": "shown by",
    "attach": "shown by the client:",
    "write": "written by",
    "edit": "edited by",
    "found": "found by",
    "change": "changed by somebody else:",
    "copy": "the client's copy:",
}


def list_name_spellings(file: str) -> list[str]:
    """Other spellings of a file's name: as seen from here, and where it leads."""
    expanded = os.path.expanduser(file)  # noqa: PTH111 - Path raises for ~nobody
    return [os.path.abspath(expanded), os.path.realpath(expanded)]  # noqa: PTH100


def open_touching_session(file: str, session: str | None, config: Config) -> Session:
    """The session that is named, or else the newest that touched a file."""
    if session is not None:
        return open_named_session(session, config)
    from turnlog.cli.stored import open_index
    from turnlog.store.insight.touched import find_touching_sessions

    with open_index(config) as index:
        found = [item for name in (*list_name_spellings(file), file) for item in find_touching_sessions(index.db, name)]
    if not found:
        raise NotFound(f"{file}: no session touched such a file; `turnlog files` lists those of one session")
    newest = max(found, key=lambda item: item.last or "")
    print_remark(f"From the newest session that touched it: {newest.path}")
    return open_named_session(newest.path, config)


def describe_version(chosen: ChosenVersion) -> str:
    """What a version is, where it comes from, and how sure it is."""
    version = chosen.version
    made = f"{_ACTION_WORDS[version.action]} {version.source}"
    turn = f" in turn {version.turn}" if version.turn else ""
    later = ", seen only later" if chosen.later else ""
    notes = f" ({version.note})" if version.note else ""
    return f"{version.sure}, {made}{turn}{later}, {_format_size(version)}{_format_line_range(version)}{notes}"


def _format_size(version: FileVersion) -> str:
    if version.absent:
        return "no file"
    return "?" if version.size is None else when.format_size(version.size)


def _format_line_range(version: FileVersion) -> str:
    if version.lines is None:
        return ""
    first, last, total = version.lines
    return f", lines {first}–{last}" + (f" of {total}" if total else "")


def print_versions(session: Session, path: str, known: list[FileVersion], config: Config, *, as_json: bool) -> None:
    """Print the versions of a file."""
    if as_json:
        print_json(to_versions_document(session, path, known))
        return
    show = detect_screen(config.color)
    head = ("version", "turn", "time", "size", "sha256", "how sure", "where from")
    print_lines([show.paint(to_visible_line(path), "bold")])
    print_lines(render_table_rows(head, map(_build_cells, known), show, numbers=range(4)))
    print_lines(show.wrap_prose(_DEFINITION, "dim"))


def _build_cells(version: FileVersion) -> tuple[str, ...]:
    turn = f"{version.turn}" if version.turn else "–"
    agent = f" in sub-agent {version.agent_id}" if version.agent_id else ""
    note = f" ({version.note})" if version.note else ""
    source = f"{_ACTION_WORDS[version.action]} {version.source}{agent}{_format_line_range(version)}{note}"
    return (
        f"{version.number}",
        turn,
        when.format_client_time(version.time),
        _format_size(version),
        (version.sha256 or "–")[:12],
        version.sure,
        to_visible_line(source),
    )


def to_versions_document(session: Session, path: str, known: list[FileVersion]) -> dict[str, Any]:
    """The versions of a file as a JSON document."""
    return {
        "session_id": session.session_id,
        "path": path,
        "versions": [to_builtins(version) for version in known],
    }
