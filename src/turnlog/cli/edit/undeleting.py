"""What `turnlog undelete` does and says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from turnlog.cli import when
from turnlog.cli.output import remark, say
from turnlog.cli.rows import titled_rows
from turnlog.cli.terminal import Screen, line
from turnlog.edit.trash.trash import Entry, Listed, Trash
from turnlog.edit.trash.undelete import called, newest
from turnlog.render.figures import count
from turnlog.session.clock import iso

_LONGEST = 200


def bring_back(name: str | None, trash: Trash, *, force: bool = False) -> int:
    """Restore the session that a name means, or the one that was deleted last; 1 if not all of it was there."""
    entries = trash.listed().entries
    entry = newest(entries) if name is None else called(name, entries)
    done = trash.restore(entry, force=force)
    for path in done.joined:
        remark(f"{path}: a client went on with it; what it wrote since follows the original.")
    for path in done.aside:
        remark(f"{path}: stood in the way, and was set aside there.")
    for place in done.altered:
        remark(f"{place}: changed while it was in the trash; brought back as it is now.")
    for place in done.lost:
        remark(f"{place}: is not in the trash any more.")
    files = len(entry.manifest.files) - len(done.lost)
    say([line(f"Brought back {entry.manifest.session_id}  {_title(entry)}  ({count(files, 'file')})")])
    return 1 if done.lost else 0


def table(found: Listed, screen: Screen) -> Iterator[str]:
    """The deleted sessions as lines, the newest first."""
    yield from titled_rows([_cells(entry) for entry in found.entries], screen, {3}, {2: 8}, spare=(3, 1))
    for words in found.unreadable:
        remark(f"Not listed: {words}")
    if not found.entries:
        remark("The trash is empty.")


def _cells(entry: Entry) -> tuple[str, str, str, str, str]:
    deleted = when.absolute(datetime.fromisoformat(entry.manifest.deleted).timestamp())
    project = line((entry.manifest.project or "–").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    title = line(_title(entry)) + ("" if entry.is_complete else "  [interrupted: some of it is still in its place]")
    return line(entry.manifest.session_id), deleted, project, when.size(entry.manifest.size), title


def _title(entry: Entry) -> str:
    return (entry.manifest.title or "(no title)")[:_LONGEST]


def document(found: Listed) -> dict[str, Any]:
    """The deleted sessions as a JSON document."""
    return {"deleted": [_described(entry) for entry in found.entries], "unreadable": found.unreadable}


def _described(entry: Entry) -> dict[str, Any]:
    known = entry.manifest
    return {
        "name": entry.name,
        "session_id": known.session_id,
        "title": known.title,
        "project": known.project,
        "config_dir": known.config_dir,
        "deleted": iso(datetime.fromisoformat(known.deleted)),
        "files": len(known.files),
        "size": known.size,
        "history_lines": known.history_lines,
        "complete": entry.is_complete,
        "path": str(entry.folder),
    }
