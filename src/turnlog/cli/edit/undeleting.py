"""What `turnlog undelete` does and says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from turnlog.cli import when
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.edit.trash.trash import Trash, TrashEntry, TrashListing
from turnlog.edit.trash.undelete import find_newest_entry, find_trash_entry
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time

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
    deleted = when.format_epoch_time(datetime.fromisoformat(entry.manifest.deleted).timestamp())
    project = to_visible_line((entry.manifest.project or "–").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    title = to_visible_line(_shorten_title(entry)) + (
        "" if entry.is_complete else "  [interrupted: some of it is still in its place]"
    )
    return to_visible_line(entry.manifest.session_id), deleted, project, when.format_size(entry.manifest.size), title


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
