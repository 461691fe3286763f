"""`turnlog restore`: a version of a file, out of the client's copies or the transcript."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from turnlog.cli import time_format
from turnlog.cli.named_sessions import open_named_session
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.rows import render_table_rows
from turnlog.cli.terminal import detect_screen, to_visible_line
from turnlog.errors import NotFound
from turnlog.session.files.versions import ChosenVersion, FileVersion

if TYPE_CHECKING:
    from turnlog.session.files.versions import ChosenVersion, FileVersion
    from turnlog.session.session import Session
if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.session.session import Session


@click.command()
@click.argument("file")
@click.option("--at", type=click.IntRange(1), metavar="TURN", help="As it was after this turn.")
@click.option("--before", type=click.IntRange(1), metavar="TURN", help="As it was before this turn changed it.")
@click.option("-l", "--list", "listed", is_flag=True, help="List all versions that are known, and write nothing.")
@click.option("-s", "--session", metavar="SESSION", help="Out of this session; else the newest that touched the file.")
@click.option("-o", "--output", metavar="PLACE", help="Where to write it; - for standard output.")
@click.option("--force", is_flag=True, help="Replace a file that is there; a copy of it is kept beside it.")
@click.option("--partial", is_flag=True, help="Also when only some lines of it are known.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def restore(
    file: str,
    at: int | None,
    before: int | None,
    listed: bool,
    session: str | None,
    output: str | None,
    force: bool,
    partial: bool,
    as_json: bool,
) -> None:
    """Write a version of a file that a session knows of, to a place that you name.

    FILE is a path, the end of one, or a name that fits one file. Turns are numbered as in `turnlog show`. A
    version comes from the copies that the client keeps (file-history), or from what was read, written and edited;
    how sure it is, is said (docs/files.md). The file itself is never written to, unless PLACE names it, with --force.

    \b
    Examples:
      turnlog restore cart.py --list
      turnlog restore cart.py --before 3 -o cart-before.py
      turnlog restore src/shop/cart.py --at 2 --session bee7dbd3 -o - | diff - src/shop/cart.py
    """
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError
    from turnlog.session.files.versions import find_file_path, list_file_versions

    if sum((at is not None, before is not None, listed)) != 1:
        raise UsageError("give one of --at TURN, --before TURN and --list")
    if not listed and output is None:
        raise UsageError("-o PLACE says where to write it; -o - writes to standard output")
    config = load_config()
    with open_touching_session(file, session, config) as found:
        path = find_file_path(found, file, list_name_spellings(file))
        known = list_file_versions(found, path)
        if listed:
            print_versions(found, path, known, config, as_json=as_json)
            return
        _write_version(
            found, path, _choose_version(found, known, path, at, before), output or "", force=force, partial=partial
        )


def _choose_version(
    session: Session, known: list[FileVersion], path: str, at: int | None, before: int | None
) -> ChosenVersion:
    from turnlog.errors import NotFound, UsageError
    from turnlog.session.files.versions import find_version_after_turn, find_version_before_turn

    turn = at or before or 0
    if turn > len(session.turns):
        raise UsageError(f"turn {turn}: the session has {len(session.turns)}")
    chosen = find_version_after_turn(known, turn) if before is None else find_version_before_turn(known, turn)
    if chosen is None:
        raise NotFound(f"{path}: what it held then is not known; --list shows what is")
    if chosen.version.absent:
        raise NotFound(f"{path}: there was no such file then; --list shows when there was")
    return chosen


def _write_version(
    session: Session, path: str, chosen: ChosenVersion, output: str, *, force: bool, partial: bool
) -> None:
    from pathlib import Path

    from turnlog.cli.output import print_remark, write_raw
    from turnlog.edit.restore_file import restore_file
    from turnlog.errors import UsageError
    from turnlog.session.files.versions import recreate_version

    version = chosen.version
    if not version.is_whole and not partial:
        raise UsageError(f"{path}: {describe_version(chosen)}; --partial writes that")
    data = recreate_version(session, path, version)
    if output == "-":
        write_raw([data])
    else:
        written = restore_file(Path(output).expanduser(), data, force=force)
        kept = f"; what was there is kept in {written.kept.name}" if written.kept else ""
        print_remark(f"Written: {written.place}{kept}.")
    print_remark(f"{path}: {describe_version(chosen)}.")


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
    from turnlog.cli.fresh_index import open_fresh_index
    from turnlog.store.insight.touched_files import find_touching_sessions

    with open_fresh_index(config) as index:
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
    return "?" if version.size is None else time_format.format_size(version.size)


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
        time_format.format_client_time(version.time),
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
