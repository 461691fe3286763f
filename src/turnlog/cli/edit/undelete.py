"""`turnlog undelete`: bring a session back out of the trash."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from turnlog.cli import time_format
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.edit.trash.entry import TrashEntry, find_newest_entry, find_trash_entry
from turnlog.edit.trash.trash import Trash, TrashListing
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time


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
    from turnlog.api.config import load_config
    from turnlog.cli.edit.delete import open_trash
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if sum((session is not None, last, listing)) > 1 or (as_json and (last or session is not None)):
        raise UsageError("give a session, --last or --list, only one of them; --json goes with --list")
    if force and session is None and not last:
        raise UsageError("--force goes with a session or --last")
    if session is not None or last:
        return restore_deleted_session(session, open_trash(), force=force)
    found = open_trash().list_entries()
    if as_json:
        print_json(to_trash_document(found))
    else:
        print_lines(render_trash_table(found, detect_screen(load_config().color)))
    return 0


_MAX_TITLE_CHARS = 200


def restore_deleted_session(name: str | None, trash: Trash, *, force: bool = False) -> int:
    """Restore the session that a name means, or the one that was deleted last; 1 if not all of it was there."""
    entries = trash.list_entries().entries
    entry = find_newest_entry(entries) if name is None else find_trash_entry(name, entries)
    done = trash.restore(entry, force=force)
    for path in done.joined:
        print_remark(f"{path}: a client went on with it; what it wrote since follows the original.")
    for path in done.aside:
        print_remark(f"{path}: stood in the way, and was set aside there.")
    for place in done.altered:
        print_remark(f"{place}: changed while it was in the trash; brought back as it is now.")
    for place in done.lost:
        print_remark(f"{place}: is not in the trash any more.")
    files = len(entry.manifest.files) - len(done.lost)
    print_lines(
        [
            to_visible_line(
                f"Brought back {entry.manifest.session_id}  {_shorten_title(entry)}  ({format_count(files, 'file')})"
            )
        ]
    )
    return 1 if done.lost else 0


def render_trash_table(found: TrashListing, screen: TerminalScreen) -> Iterator[str]:
    """The deleted sessions as lines, the newest first."""
    yield from render_titled_rows([_build_cells(entry) for entry in found.entries], screen, {3}, {2: 8}, spare=(3, 1))
    for words in found.unreadable:
        print_remark(f"Not listed: {words}")
    if not found.entries:
        print_remark("The trash is empty.")


def _build_cells(entry: TrashEntry) -> tuple[str, str, str, str, str]:
    deleted = time_format.format_epoch_time(datetime.fromisoformat(entry.manifest.deleted).timestamp())
    project = to_visible_line((entry.manifest.project or "–").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    title = to_visible_line(_shorten_title(entry)) + (
        "" if entry.is_complete else "  [interrupted: some of it is still in its place]"
    )
    return (
        to_visible_line(entry.manifest.session_id),
        deleted,
        project,
        time_format.format_size(entry.manifest.size),
        title,
    )


def _shorten_title(entry: TrashEntry) -> str:
    return (entry.manifest.title or "(no title)")[:_MAX_TITLE_CHARS]


def to_trash_document(found: TrashListing) -> dict[str, Any]:
    """The deleted sessions as a JSON document."""
    return {"deleted": [_to_entry_document(entry) for entry in found.entries], "unreadable": found.unreadable}


def _to_entry_document(entry: TrashEntry) -> dict[str, Any]:
    known = entry.manifest
    return {
        "name": entry.name,
        "session_id": known.session_id,
        "title": known.title,
        "project": known.project,
        "config_dir": known.config_dir,
        "deleted": to_iso_time(datetime.fromisoformat(known.deleted)),
        "files": len(known.files),
        "size": known.size,
        "history_lines": known.history_lines,
        "complete": entry.is_complete,
        "path": str(entry.folder),
    }
