"""`turnlog ls`: list the sessions on this machine, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, to_visible_line

if TYPE_CHECKING:
    from turnlog.api.sessions import SessionInfo, SessionList

MAX_TERMINAL_SESSIONS = 50
"""Default number of sessions per page on a terminal."""
_MAX_TITLE_CHARS = 1000
_MIN_PROJECT_CELLS, _MAX_PROJECT_CELLS = 8, 24
"""Minimum and maximum width of the project column on a terminal."""


@click.command()
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Include only sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option(
    "-n", "--limit", type=click.IntRange(0), metavar="N", help="Number of sessions per page; 0 lists all sessions."
)
@click.option("--page", "number", type=click.IntRange(1), default=1, metavar="N", help="Page to list (default: 1).")
@click.option(
    "-a", "--all", "everything", is_flag=True, help="List everything, including files without a conversation."
)
@click.option("--other", is_flag=True, help="Instead of sessions, list .jsonl files whose names are not session ids.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def ls(project: str | None, limit: int | None, number: int, everything: bool, other: bool, as_json: bool) -> None:
    """List the sessions on this machine, newest first.

    You can use the value in the first column as SESSION in other commands. Files without a conversation (empty, warm-up
    only or title only) are counted but not listed. On a terminal, the command lists 50 sessions per page. With --json,
    or if the output is not a terminal, it lists all sessions unless you use --limit. On a machine without sessions, it
    lists the demo sessions.

    The output also shows how many other .jsonl files the project folders contain; --other lists them. You can use the
    path of such a file as SESSION in every command, and `turnlog search --other` searches these files.

    \b
    Examples:
      turnlog ls
      turnlog ls --page 2
      turnlog ls --project .            sessions in this folder
      turnlog ls --project webshop      sessions in folders with this name
      turnlog ls --json | jq -r '.sessions[0].path'
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.sessions import list_sessions
    from turnlog.cli.output import mention_others, print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    screen = detect_screen(config.color)
    if limit is None and screen.width and not everything and not as_json:
        limit = MAX_TERMINAL_SESSIONS
    found = list_sessions(
        project,
        limit=limit,
        page=number,
        include_junk=everything,
        other_files=other,
        config=config,
        notify=print_remark,
    )
    if as_json:
        print_json(to_document(found))
        return
    print_lines(render_session_table(found, screen))
    for remark in _list_remarks(found):
        print_remark(remark)
    if not other:
        mention_others(found.others)


def _list_remarks(found: SessionList) -> Iterator[str]:
    """Describe what is not listed and how to see it."""
    from turnlog.cli.output import describe_hidden_files

    if len(found.sessions) < found.total:
        following = f"; --page {found.page + 1} lists the next" if found.page < found.pages else ""
        yield f"{len(found.sessions)} of {found.total} sessions{following}; --limit 0 lists all."
    if found.hidden:
        yield describe_hidden_files(found.hidden)


def render_session_table(found: SessionList, screen: TerminalScreen) -> Iterator[str]:
    """Render one line for each session; on a terminal, lines are cut to its width."""
    now = datetime.now(UTC)
    cells = [_build_cells(session, screen, now) for session in found.sessions]
    yield from render_titled_rows(cells, screen, numbers={3}, texts={2: _MIN_PROJECT_CELLS})


def _build_cells(session: SessionInfo, screen: TerminalScreen, now: datetime) -> tuple[str, str, str, str, str]:
    if screen.width:
        time = time_format.format_client_time_ago(session.active, now)
    else:
        time = time_format.format_client_time(session.active)
    project = to_visible_line(_read_folder_name(session.project)) if session.project else "–"
    title = to_visible_line((session.title or "")[:_MAX_TITLE_CHARS]) or "(no title)"
    if session.junk:
        title = f"[{session.junk}] {title if session.title else ''}".rstrip()
    return (
        session.short_id or to_visible_line(session.path),
        time,
        cut_to_cells(project, _MAX_PROJECT_CELLS) if screen.width else project,
        time_format.format_size(session.size),
        title,
    )


def _read_folder_name(path: str) -> str:
    """Return the last part of a path from any operating system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
