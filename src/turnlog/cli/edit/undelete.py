"""`turnlog undelete`: bring a session back from the trash."""

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
@click.option("--last", is_flag=True, help="The session that was deleted last.")
@click.option("--force", is_flag=True, help="Set files aside that stand in the way.")
@click.option("--list", "listing", is_flag=True, help="List the deleted sessions.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def undelete(session: str | None, last: bool, force: bool, listing: bool, as_json: bool) -> int:
    """Bring back a deleted session with everything that belonged to it, exactly as it was.

    SESSION is an id or the start of one, a title, or the name that --list shows. Nothing is overwritten. Lines that a
    client went on to write in the old place follow the original; another file there is set aside with --force, else
    nothing is brought back. Without a word, the deleted sessions are listed.

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
        raise UsageError("give a session, --last or --list, only one of them; --json goes with --list")
    if force and session is None and not last:
        raise UsageError("--force goes with a session or --last")
    if session is not None or last:
        return _print_undeletion(undelete_session(session, force=force))
    found = list_trash()
    if as_json:
        print_json(to_document(found))
        return 0
    print_lines(_render_trash_table(found.deleted))
    for words in found.unreadable:
        print_remark(f"Not listed: {words}")
    if not found.deleted:
        print_remark("The trash is empty.")
    return 0


def _print_undeletion(done: Undeletion) -> int:
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    for path in done.joined:
        print_remark(f"{path}: a client went on with it; what it wrote since follows the original.")
    for path in done.aside:
        print_remark(f"{path}: stood in the way, and was set aside there.")
    for place in done.altered:
        print_remark(f"{place}: changed while it was in the trash; brought back as it is now.")
    for place in done.lost:
        print_remark(f"{place}: is not in the trash any more.")
    files = format_count(done.files, "file")
    print_lines([to_visible_line(f"Brought back {done.session.session_id}  {_shorten_title(done.session)}  ({files})")])
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
    mark = "" if item.complete else "  [interrupted: some of it is still in its place]"
    return (
        to_visible_line(item.session_id),
        time_format.format_client_time(item.deleted),
        project,
        time_format.format_size(item.size),
        to_visible_line(_shorten_title(item)) + mark,
    )


def _shorten_title(item: TrashedSession) -> str:
    return (item.title or "(no title)")[:_MAX_TITLE_CHARS]
