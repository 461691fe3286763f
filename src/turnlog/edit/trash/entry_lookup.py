"""Finding a deleted session in the trash by what a person calls it."""

from __future__ import annotations

from turnlog.edit.trash.trash import TrashEntry
from turnlog.errors import Ambiguous, NotFound


def find_trash_entry(name: str, entries: list[TrashEntry]) -> TrashEntry:
    """The one deleted session that an id or its start, a title, or a name in the trash means."""
    wanted = " ".join(name.split()).casefold()
    found = [entry for entry in entries if wanted and _fits_entry(wanted, entry)]
    if not found:
        raise NotFound(f"no deleted session is called {name!r}; `turnlog undelete --list` lists them")
    if len(found) > 1:
        names = ", ".join(entry.name for entry in found[:5])
        raise Ambiguous(f"{name!r} fits {len(found)} deleted sessions: {names}; give that name")
    return found[0]


def find_newest_entry(entries: list[TrashEntry]) -> TrashEntry:
    """The session that was deleted last."""
    if not entries:
        raise NotFound("the trash is empty")
    return entries[0]


def _fits_entry(wanted: str, entry: TrashEntry) -> bool:
    title = " ".join((entry.manifest.title or "").split()).casefold()
    ids = entry.manifest.session_id.lower(), entry.name.lower()
    return title == wanted or any(text.startswith(wanted) for text in ids)
