"""The archive in words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from turnlog.api.lookup import shorten_ids
from turnlog.cli import time_format
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, make_visible, to_visible_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.archive_upkeep import ArchivePruning, ArchiveVerification
    from turnlog.api.archives import ArchivedSession, ArchiveList, ArchiveRun, ArchiveStatus, RestoredSessions

_MAX_LISTED = 20


def render_archive_status(found: ArchiveStatus) -> Iterator[str]:
    """The same in words."""
    if found.on:
        yield f"The archive is on: every {found.every_hours} hours, beside other commands."
    else:
        yield "The archive is off; `turnlog archive on` turns it on."
    amount = f"{time_format.format_size(found.bytes)} in {time_format.format_size(found.bytes_stored)}"
    yield f"Holds {format_count(found.sessions, 'session')}, {found.gone} of them no longer on disk: {amount}."
    yield (f"On disk: {format_count(found.on_disk, 'session')}; not archived as they are now: {found.not_archived}.")
    for row in found.cleanup:
        days = "deletes no session" if row.days is None else f"deletes sessions {row.days:g} days after the last write"
        yield f"The client {days} ({make_visible(str(row.config_dir))}, cleanupPeriodDays)."
    if found.deleted_from is not None:
        is_late = found.deleted_from < (time_format.to_json_time(time.time()) or "")
        begin = "the client's next start" if is_late else time_format.format_client_time(found.deleted_from)
        many = format_count(found.deleted_soon, "session")
        yield f"Not archived, and deleted within a week: {many}, from {begin} on."
    if found.last_run:
        yield f"The last run ended {time_format.format_client_time(found.last_run)}" + (
            f": {to_visible_line(str(found.last_error))}" if found.last_error else "."
        )
    yield f"It lies in {make_visible(str(found.folder))}"


def render_archive_run(found: ArchiveRun) -> Iterator[str]:
    """What a run did."""
    if not found.sessions:
        yield "There are no Claude Code sessions on this machine; there is nothing to archive."
        return
    yield (
        f"{found.archived} of {found.sessions} sessions were new or had changed: "
        f"{time_format.format_size(found.bytes_read)} read, {time_format.format_size(found.bytes_stored)} "
        f"added to the archive."
    )
    if found.generations:
        yield f"{found.generations} of them had been rewritten; what they were before is kept as a generation."


def render_archive_list(found: ArchiveList, screen: TerminalScreen) -> Iterator[str]:
    """The same as lines: id, last word, project, size, title."""
    rows = found.sessions
    ids = shorten_ids([row.session_id for row in rows])
    cells = [
        (
            ids[row.session_id],
            time_format.format_client_time(row.ended),
            to_visible_line((row.cwd or "–").rstrip("/\\").replace("\\", "/").rpartition("/")[2]),
            time_format.format_size(row.size),
            "gone" if row.gone else "on disk",
            _format_title(row),
        )
        for row in rows
    ]
    yield from render_titled_rows(cells, screen, texts={2: 8}, spare=(3, 4))


def _format_title(row: ArchivedSession) -> str:
    versions = f"[{len(row.generations)} generations] " if len(row.generations) > 1 else ""
    return versions + (to_visible_line(row.title or "") or "(no title)")


def render_restored_sessions(done: RestoredSessions, elsewhere: str | None = None) -> Iterator[str]:
    """What was put back, and how to go on; elsewhere: a config folder that was named for it."""
    for session in done.sessions:
        what = [file.what for file in session.files]
        counts = {"written": "written", "same": "there already", "replaced": "replaced"}
        told = ", ".join(f"{what.count(word)} {words}" for word, words in counts.items() if word in what)
        yield f"{session.session_id}: {told} ({format_count(len(what), 'file')})"
        for file in session.files:
            if file.copy:
                yield f"  {make_visible(str(file.path))} was replaced; it is kept as {make_visible(str(file.copy))}"
        folder = f"cd {make_visible(quote(session.cwd))} && " if session.cwd else ""
        place = f"CLAUDE_CONFIG_DIR={make_visible(quote(elsewhere))} " if elsewhere else ""
        yield f"  {folder}{place}claude --resume {session.session_id}"


def render_verification(found: ArchiveVerification) -> Iterator[str]:
    """The same in words."""
    amount = f"{time_format.format_size(found.bytes)} read again from {found.blobs} blobs"
    yield f"{found.manifests} generations, {found.files} files, {amount}."
    for reason in found.manifests_damaged:
        yield f"damaged: {to_visible_line(reason)}"
    for item in found.damaged[:_MAX_LISTED]:
        yield (
            f"damaged: {item.session_id} (generation {item.generation}) {to_visible_line(item.path)}: "
            f"{to_visible_line(item.reason)}"
        )
    if len(found.damaged) > _MAX_LISTED:
        yield f"… and {len(found.damaged) - _MAX_LISTED} more; --json lists all"
    if found.sound:
        yield "Everything is as it was archived."
    else:
        yield (
            "`turnlog archive verify --repair` rebuilds manifests; with `turnlog archive run` it stores anew what is"
            " still on disk."
        )


def render_pruning(done: ArchivePruning) -> Iterator[str]:
    """Say what was dropped, or would be."""
    for item in done.dropped:
        where = "no longer on disk" if item.gone else "on disk"
        archived = time_format.format_client_time(item.archived)
        title = to_visible_line(item.title or "") or "(no title)"
        yield f"{item.session_id} generation {item.generation}, archived {archived}, {where}: {title}"
    verb = "Dropped" if done.done else "Would drop"
    freed, left = time_format.format_size(done.bytes_freed), time_format.format_size(done.bytes_left)
    yield f"{verb} {len(done.dropped)} generations, {freed}; {left} stay."
    if not done.done and (done.dropped or done.bytes_freed):
        yield "Nothing was done; --yes does it."
