"""`turnlog undelete`: restore a session from the trash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.trash import TrashedSession, Undeletion

_MAX_TITLE_CHARS = 200


@click.command()
@click.argument("session", required=False)
@click.option("--last", is_flag=True, help="Restore the most recently deleted session.")
@click.option("--force", is_flag=True, help="Move existing files aside if they are in the way.")
@click.option("--list", "listing", is_flag=True, help="List the deleted sessions.")
@click.option("--json", "as_json", is_flag=True, help="With --list, print JSON (see docs/json.md).")
def undelete(session: str | None, last: bool, force: bool, listing: bool, as_json: bool) -> int:
    """Restore a deleted session and everything that belonged to it, exactly as it was.

    Nothing is overwritten. If Claude Code continued the session after you deleted it, the new lines are kept after the
    original ones. If a different file is in the way, nothing is restored unless you use --force, which moves that file
    aside. SESSION is an id, an id prefix, a title, or a name that --list shows. Without arguments, the command lists
    the deleted sessions.

    \b
    Examples:
      turnlog undelete --list
      turnlog undelete bee7dbd3
      turnlog undelete --last
    """
    from turnlog.api.documents import to_document
    from turnlog.api.trash import list_trash, undelete_session
    from turnlog.cli.output import print_json, print_lines, print_remark

    if sum((session is not None, last, listing)) > 1 or (as_json and (last or session is not None)):
        raise UsageError("use only one of SESSION, --last and --list; --json requires --list")
    if force and session is None and not last:
        raise UsageError("--force requires a session or --last")
    if session is not None or last:
        return _print_undeletion(undelete_session(session, force=force))
    found = list_trash()
    if as_json:
        print_json(to_document(found))
        return 0
    print_lines(_render_trash_table(found.deleted))
    for reason in found.unreadable:
        print_remark(f"Not listed: {reason}")
    if not found.deleted:
        print_remark("The trash is empty.")
    return 0


def _print_undeletion(done: Undeletion) -> int:
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    for path in done.joined:
        print_remark(f"{path}: Claude Code continued this session; the new lines follow the original ones.")
    for path in done.aside:
        print_remark(f"A file that was in the way was moved to {path}.")
    for place in done.altered:
        print_remark(f"{place}: modified in the trash; restored with its current content.")
    for place in done.lost:
        print_remark(f"{place}: no longer in the trash.")
    files = format_count(done.files, "file")
    print_lines([to_visible_line(f"Restored {done.session.session_id}  {_shorten_title(done.session)}  ({files})")])
    return 1 if done.lost else 0


def _render_trash_table(sessions: tuple[TrashedSession, ...]) -> Iterator[str]:
    from turnlog.api.config import load_config
    from turnlog.cli.rows import render_titled_rows
    from turnlog.cli.terminal import detect_screen

    screen = detect_screen(load_config().color)
    yield from render_titled_rows([_build_cells(item) for item in sessions], screen, {3}, {2: 8}, spare=(3, 1))


def _build_cells(item: TrashedSession) -> tuple[str, str, str, str, str]:
    from turnlog.cli import time_format
    from turnlog.cli.terminal import to_visible_line

    project = to_visible_line((item.project or "–").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    mark = "" if item.complete else "  [interrupted: some files were not deleted]"
    return (
        to_visible_line(item.session_id),
        time_format.format_client_time(item.deleted),
        project,
        time_format.format_size(item.size),
        to_visible_line(_shorten_title(item)) + mark,
    )


def _shorten_title(item: TrashedSession) -> str:
    return (item.title or "(no title)")[:_MAX_TITLE_CHARS]
