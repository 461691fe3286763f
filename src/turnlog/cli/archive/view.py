"""The archive in words and as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from turnlog.api.lookup import shorten_ids
from turnlog.cli import time_format
from turnlog.cli.archive.archive_run import read_last_run
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, make_visible, to_visible_line
from turnlog.entries.cleanup import compute_deletion_time, read_cleanup_days
from turnlog.entries.layout import list_session_files
from turnlog.entries.path_escapes import unescape_path
from turnlog.render.figures import format_count
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import SessionManifest, build_archive_name
from turnlog.store.archive.prune import is_session_gone
from turnlog.store.archive.schedule import read_archive_hours, read_next_run_time

if TYPE_CHECKING:
    from turnlog.store.archive.prune import PrunePlan
    from turnlog.store.archive.verify import VerifyReport

_WEEK_SECONDS = 7 * 86400
_MAX_LISTED = 20


def to_archive_status_document(data_dir: Path, config_dirs: list[Path]) -> dict[str, Any]:
    """What the archive holds, what it lacks, and what the client will delete."""
    archive = Archive(data_dir)
    sessions = archive.list_sessions()
    sizes = [size for _, size in archive.blobs.iter_sizes()]
    on_disk = [item for folder in config_dirs for item in list_session_files(folder)]
    kept = {manifest.name: file.size for manifest in sessions if (file := manifest.find_file(manifest.main))}
    days = {folder: read_cleanup_days(folder) for folder in config_dirs}
    missing = [item for item in on_disk if kept.get(build_archive_name(item)) != item.size]
    ends = [end for item in missing if (end := compute_deletion_time(item.mtime_ns, days[item.config_dir])) is not None]
    soon = [end for end in ends if end - time.time() < _WEEK_SECONDS]
    ran, next_due, every = read_last_run(archive.folder), read_next_run_time(data_dir), read_archive_hours(data_dir)
    return {
        "folder": str(archive.folder),
        "on": every is not None,
        "every_hours": every,
        "due": time_format.to_json_time(next_due) if next_due else None,
        "last_run": ran.get("ended"),
        "last_error": ran.get("error"),
        "sessions": len(sessions),
        "gone": sum(1 for manifest in sessions if is_session_gone(manifest)),
        "bytes": sum(manifest.size for manifest in sessions),
        "bytes_stored": sum(sizes),
        "blobs": len(sizes),
        "on_disk": len(on_disk),
        "not_archived": len(missing),
        "cleanup": [{"config_dir": str(folder), "days": value} for folder, value in days.items()],
        "deleted_soon": len(soon),
        "deleted_from": time_format.to_json_time(min(soon)) if soon else None,
    }


def render_archive_status(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    if found["on"]:
        yield f"The archive is on: every {found['every_hours']} hours, beside other commands."
    else:
        yield "The archive is off; `turnlog archive on` turns it on."
    amount = f"{time_format.format_size(found['bytes'])} in {time_format.format_size(found['bytes_stored'])}"
    yield f"Holds {format_count(found['sessions'], 'session')}, {found['gone']} of them no longer on disk: {amount}."
    yield (
        f"On disk: {format_count(found['on_disk'], 'session')}; not archived as they are now: {found['not_archived']}."
    )
    for row in found["cleanup"]:
        days = (
            "deletes no session"
            if row["days"] is None
            else f"deletes sessions {row['days']:g} days after the last write"
        )
        yield f"The client {days} ({make_visible(row['config_dir'])}, cleanupPeriodDays)."
    if found["deleted_soon"]:
        is_late = found["deleted_from"] < time_format.to_json_time(time.time())
        begin = "the client's next start" if is_late else time_format.format_client_time(found["deleted_from"])
        many = format_count(found["deleted_soon"], "session")
        yield f"Not archived, and deleted within a week: {many}, from {begin} on."
    if found["last_run"]:
        yield f"The last run ended {time_format.format_client_time(found['last_run'])}" + (
            f": {to_visible_line(str(found['last_error']))}" if found["last_error"] else "."
        )
    yield f"It lies in {make_visible(found['folder'])}"


def render_archive_run(found: dict[str, Any]) -> Iterator[str]:
    """What a run did."""
    if not found["sessions"]:
        yield "There are no Claude Code sessions on this machine; there is nothing to archive."
        return
    yield (
        f"{found['archived']} of {found['sessions']} sessions were new or had changed: "
        f"{time_format.format_size(found['bytes_read'])} read, {time_format.format_size(found['bytes_stored'])} "
        f"added to the archive."
    )
    if found["generations"]:
        yield f"{found['generations']} of them had been rewritten; what they were before is kept as a generation."


def to_archive_list_document(archive: Archive, only_gone: bool) -> dict[str, Any]:
    """The archived sessions, newest first."""
    labels = archive.manifests.list_generations()
    rows = [_to_row_document(manifest, labels[manifest.name]) for manifest in archive.list_sessions()]
    shown = [row for row in rows if row["gone"] or not only_gone]
    newest = sorted(shown, key=lambda row: (row["ended"] or "", row["archived"], row["name"]), reverse=True)
    return {"sessions": newest}


def _to_row_document(manifest: SessionManifest, generations: list[int]) -> dict[str, Any]:
    return {
        "session_id": manifest.session_id,
        "name": manifest.name,
        "path": str(Path(unescape_path(manifest.config_dir), unescape_path(manifest.main))),
        "title": manifest.title,
        "cwd": manifest.cwd,
        "ended": manifest.ended,
        "archived": time_format.to_json_time(manifest.changed_ns / 1e9),
        "files": len(manifest.files),
        "files_gone": sum(1 for file in manifest.files if file.gone_ns),
        "size": manifest.size,
        "generations": generations,
        "gone": is_session_gone(manifest),
    }


def render_archive_list(found: dict[str, Any], screen: TerminalScreen) -> Iterator[str]:
    """The same as lines: id, last word, project, size, title."""
    rows = found["sessions"]
    ids = shorten_ids([row["session_id"] for row in rows])
    cells = [
        (
            ids[row["session_id"]],
            time_format.format_client_time(row["ended"]),
            to_visible_line((row["cwd"] or "–").rstrip("/\\").replace("\\", "/").rpartition("/")[2]),
            time_format.format_size(row["size"]),
            "gone" if row["gone"] else "on disk",
            _format_title(row),
        )
        for row in rows
    ]
    yield from render_titled_rows(cells, screen, texts={2: 8}, spare=(3, 4))


def _format_title(row: dict[str, Any]) -> str:
    versions = f"[{len(row['generations'])} generations] " if len(row["generations"]) > 1 else ""
    return versions + (to_visible_line(row["title"] or "") or "(no title)")


def render_restored_sessions(sessions: list[dict[str, Any]], elsewhere: str | None = None) -> Iterator[str]:
    """What was put back, and how to go on; elsewhere: a config folder that was named for it."""
    for session in sessions:
        what = [file["what"] for file in session["files"]]
        counts = {"written": "written", "same": "there already", "replaced": "replaced"}
        told = ", ".join(f"{what.count(word)} {words}" for word, words in counts.items() if word in what)
        yield f"{session['session_id']}: {told} ({format_count(len(what), 'file')})"
        for file in session["files"]:
            if file["copy"]:
                yield f"  {make_visible(file['path'])} was replaced; it is kept as {make_visible(file['copy'])}"
        folder = f"cd {make_visible(quote(session['cwd']))} && " if session["cwd"] else ""
        place = f"CLAUDE_CONFIG_DIR={make_visible(quote(elsewhere))} " if elsewhere else ""
        yield f"  {folder}{place}claude --resume {session['session_id']}"


def to_verify_document(found: VerifyReport, mended: list[str]) -> dict[str, Any]:
    """What was read again, and what is damaged."""
    return {
        "sound": found.is_sound,
        "manifests": found.manifests,
        "files": found.files,
        "bytes": found.bytes,
        "blobs": found.blobs,
        "unused_blobs": found.unused,
        "damaged": [
            {"session_id": item.session_id, "generation": item.generation, "path": item.path, "reason": item.reason}
            for item in found.damaged
        ],
        "manifests_damaged": found.manifests_damaged,
        "mended": mended,
    }


def render_verification(found: VerifyReport) -> Iterator[str]:
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
    if found.is_sound:
        yield "Everything is as it was archived."
    else:
        yield (
            "`turnlog archive verify --repair` rebuilds manifests; with `turnlog archive run` it stores anew what is"
            " still on disk."
        )


def to_prune_document(found: PrunePlan, is_done: bool) -> dict[str, Any]:
    """What is dropped, or would be."""
    return {
        "done": is_done,
        "dropped": [
            {
                "session_id": item.session_id,
                "generation": item.generation,
                "archived": time_format.to_json_time(item.changed_ns / 1e9),
                "gone": is_session_gone(item),
            }
            for item in found.drop
        ],
        "bytes_freed": found.freed,
        "bytes_left": found.left,
    }


def render_prune_plan(found: PrunePlan, is_done: bool) -> Iterator[str]:
    """The same in words."""
    for item in found.drop:
        where = "no longer on disk" if is_session_gone(item) else "on disk"
        archived = time_format.format_epoch_time(item.changed_ns / 1e9)
        title = to_visible_line(item.title or "") or "(no title)"
        yield f"{item.session_id} generation {item.generation}, archived {archived}, {where}: {title}"
    would = "Dropped" if is_done else "Would drop"
    yield (
        f"{would} {len(found.drop)} generations, {time_format.format_size(found.freed)}; "
        f"{time_format.format_size(found.left)} stay."
    )
    if not is_done and (found.drop or found.freed):
        yield "Nothing was done; --yes does it."
