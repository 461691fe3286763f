"""Human-readable output of the archive commands."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.api.lookup import shorten_ids
from turnlog.cli import time_format
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, make_visible, to_visible_line
from turnlog.entries.resume_command import build_resume_command
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.archive_upkeep import ArchivePruning, ArchiveVerification
    from turnlog.api.archives import ArchivedSession, ArchiveList, ArchiveRun, ArchiveStatus, RestoredSessions

_MAX_LISTED = 20


def render_archive_status(found: ArchiveStatus) -> Iterator[str]:
    if found.on:
        yield f"The archive is on and runs every {found.every_hours} hours when you use turnlog."
    else:
        yield "The archive is off; turn it on with `turnlog archive on`."
    amount = f"{time_format.format_size(found.bytes)} in {time_format.format_size(found.bytes_stored)}"
    yield f"Contains {format_count(found.sessions, 'session')}, {found.gone} of them no longer on disk: {amount}."
    yield (
        f"On disk: {format_count(found.on_disk, 'session')}; not archived in their current state: {found.not_archived}."
    )
    for row in found.cleanup:
        days = (
            "never deletes sessions" if row.days is None else f"deletes sessions {row.days:g} days after the last write"
        )
        yield f"Claude Code {days} ({make_visible(str(row.config_dir))}, cleanupPeriodDays)."
    if found.deleted_from is not None:
        is_late = found.deleted_from < (time_format.to_json_time(time.time()) or "")
        begin = (
            "the next time that Claude Code starts" if is_late else time_format.format_client_time(found.deleted_from)
        )
        many = format_count(found.deleted_soon, "session")
        yield f"Not archived and due to be deleted within a week: {many} (first: {begin})."
    if found.last_run:
        yield f"The latest run ended {time_format.format_client_time(found.last_run)}" + (
            f": {to_visible_line(str(found.last_error))}" if found.last_error else "."
        )
    yield f"Folder: {make_visible(str(found.folder))}"


def render_archive_run(found: ArchiveRun) -> Iterator[str]:
    if not found.sessions:
        yield "There are no Claude Code sessions on this machine, so there is nothing to archive."
        return
    yield (
        f"{found.archived} of {found.sessions} sessions were new or had changed: "
        f"{time_format.format_size(found.bytes_read)} read, {time_format.format_size(found.bytes_stored)} "
        f"added to the archive."
    )
    if found.generations:
        yield f"{found.generations} of them had been rewritten; their previous state is kept as a generation."


def render_archive_list(found: ArchiveList, screen: TerminalScreen) -> Iterator[str]:
    """Render one line per session: id, last activity, project, size, place and title."""
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
    """Render the restored files and the commands that resume them; `elsewhere` is the config folder from --to."""
    for session in done.sessions:
        states = [file.what for file in session.files]
        labels = {"written": "written", "same": "unchanged", "replaced": "replaced"}
        summary = ", ".join(f"{states.count(state)} {text}" for state, text in labels.items() if state in states)
        yield f"{session.session_id}: {summary} ({format_count(len(states), 'file')})"
        for file in session.files:
            if file.copy:
                yield f"  {make_visible(str(file.path))} was replaced; a copy is in {make_visible(str(file.copy))}"
        yield f"  {make_visible(build_resume_command(session.session_id, session.cwd, elsewhere))}"


def render_verification(found: ArchiveVerification) -> Iterator[str]:
    amount = f"{time_format.format_size(found.bytes)} read from {found.blobs} blobs"
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
        yield "Everything matches its hash."
    else:
        yield (
            "`turnlog archive verify --repair` rebuilds manifests; `turnlog archive run` then stores what is still on"
            " disk again."
        )


def render_pruning(done: ArchivePruning) -> Iterator[str]:
    """List what was (or would be) removed."""
    for item in done.dropped:
        where = "no longer on disk" if item.gone else "on disk"
        archived = time_format.format_client_time(item.archived)
        title = to_visible_line(item.title or "") or "(no title)"
        yield f"{item.session_id} generation {item.generation}, archived {archived}, {where}: {title}"
    verb = "Removed" if done.done else "Would remove"
    freed, left = time_format.format_size(done.bytes_freed), time_format.format_size(done.bytes_left)
    yield f"{verb} {len(done.dropped)} generations, {freed}; {left} remain."
    if not done.done and (done.dropped or done.bytes_freed):
        yield "Nothing was changed; use --yes to make the changes."
