"""The archive in words and as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from turnlog.cli import when
from turnlog.cli.archive.run import last
from turnlog.cli.named import short_ids
from turnlog.cli.rows import titled_rows
from turnlog.cli.terminal import Screen, line, visible
from turnlog.entries.cleanup import cleanup_days, deleted_after
from turnlog.entries.layout import session_files
from turnlog.entries.spelling import unescaped
from turnlog.render.figures import count
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import Manifest, name_of
from turnlog.store.archive.prune import is_gone
from turnlog.store.archive.schedule import due, hours

if TYPE_CHECKING:
    from turnlog.store.archive.prune import Plan
    from turnlog.store.archive.verify import Verified

_WEEK = 7 * 86400
_MOST = 20


def status_document(data_dir: Path, config_dirs: list[Path]) -> dict[str, Any]:
    """What the archive holds, what it lacks, and what the client will delete."""
    archive = Archive(data_dir)
    sessions = archive.sessions()
    sizes = [size for _, size in archive.blobs.sizes()]
    on_disk = [item for folder in config_dirs for item in session_files(folder)]
    kept = {manifest.name: file.size for manifest in sessions if (file := manifest.file(manifest.main))}
    days = {folder: cleanup_days(folder) for folder in config_dirs}
    missing = [item for item in on_disk if kept.get(name_of(item)) != item.size]
    ends = [end for item in missing if (end := deleted_after(item.mtime_ns, days[item.config_dir])) is not None]
    soon = [end for end in ends if end - time.time() < _WEEK]
    ran, next_due, every = last(archive.folder), due(data_dir), hours(data_dir)
    return {
        "folder": str(archive.folder),
        "on": every is not None,
        "every_hours": every,
        "due": when.stamp(next_due) if next_due else None,
        "last_run": ran.get("ended"),
        "last_error": ran.get("error"),
        "sessions": len(sessions),
        "gone": sum(1 for manifest in sessions if is_gone(manifest)),
        "bytes": sum(manifest.size for manifest in sessions),
        "bytes_stored": sum(sizes),
        "blobs": len(sizes),
        "on_disk": len(on_disk),
        "not_archived": len(missing),
        "cleanup": [{"config_dir": str(folder), "days": value} for folder, value in days.items()],
        "deleted_soon": len(soon),
        "deleted_from": when.stamp(min(soon)) if soon else None,
    }


def status_lines(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    if found["on"]:
        yield f"The archive is on: every {found['every_hours']} hours, beside other commands."
    else:
        yield "The archive is off; `turnlog archive on` turns it on."
    amount = f"{when.size(found['bytes'])} in {when.size(found['bytes_stored'])}"
    yield f"Holds {count(found['sessions'], 'session')}, {found['gone']} of them no longer on disk: {amount}."
    yield f"On disk: {count(found['on_disk'], 'session')}; not archived as they are now: {found['not_archived']}."
    for row in found["cleanup"]:
        days = (
            "deletes no session"
            if row["days"] is None
            else f"deletes sessions {row['days']:g} days after the last write"
        )
        yield f"The client {days} ({visible(row['config_dir'])}, cleanupPeriodDays)."
    if found["deleted_soon"]:
        is_late = found["deleted_from"] < when.stamp(time.time())
        begin = "the client's next start" if is_late else when.local(found["deleted_from"])
        many = count(found["deleted_soon"], "session")
        yield f"Not archived, and deleted within a week: {many}, from {begin} on."
    if found["last_run"]:
        yield f"The last run ended {when.local(found['last_run'])}" + (
            f": {line(str(found['last_error']))}" if found["last_error"] else "."
        )
    yield f"It lies in {visible(found['folder'])}"


def run_lines(found: dict[str, Any]) -> Iterator[str]:
    """What a run did."""
    if not found["sessions"]:
        yield "There are no Claude Code sessions on this machine; there is nothing to archive."
        return
    yield (
        f"{found['archived']} of {found['sessions']} sessions were new or had changed: "
        f"{when.size(found['bytes_read'])} read, {when.size(found['bytes_stored'])} added to the archive."
    )
    if found["generations"]:
        yield f"{found['generations']} of them had been rewritten; what they were before is kept as a generation."


def list_document(archive: Archive, only_gone: bool) -> dict[str, Any]:
    """The archived sessions, newest first."""
    labels = archive.manifests.labels()
    rows = [_row(manifest, labels[manifest.name]) for manifest in archive.sessions()]
    shown = [row for row in rows if row["gone"] or not only_gone]
    newest = sorted(shown, key=lambda row: (row["ended"] or "", row["archived"], row["name"]), reverse=True)
    return {"sessions": newest}


def _row(manifest: Manifest, generations: list[int]) -> dict[str, Any]:
    return {
        "session_id": manifest.session_id,
        "name": manifest.name,
        "path": str(Path(unescaped(manifest.config_dir), unescaped(manifest.main))),
        "title": manifest.title,
        "cwd": manifest.cwd,
        "ended": manifest.ended,
        "archived": when.stamp(manifest.changed_ns / 1e9),
        "files": len(manifest.files),
        "files_gone": sum(1 for file in manifest.files if file.gone_ns),
        "size": manifest.size,
        "generations": generations,
        "gone": is_gone(manifest),
    }


def list_lines(found: dict[str, Any], screen: Screen) -> Iterator[str]:
    """The same as lines: id, last word, project, size, title."""
    rows = found["sessions"]
    ids = short_ids([row["session_id"] for row in rows])
    cells = [
        (
            ids[row["session_id"]],
            when.local(row["ended"]),
            line((row["cwd"] or "–").rstrip("/\\").replace("\\", "/").rpartition("/")[2]),
            when.size(row["size"]),
            "gone" if row["gone"] else "on disk",
            _title(row),
        )
        for row in rows
    ]
    yield from titled_rows(cells, screen, texts={2: 8}, spare=(3, 4))


def _title(row: dict[str, Any]) -> str:
    versions = f"[{len(row['generations'])} generations] " if len(row["generations"]) > 1 else ""
    return versions + (line(row["title"] or "") or "(no title)")


def restore_lines(sessions: list[dict[str, Any]], elsewhere: str | None = None) -> Iterator[str]:
    """What was put back, and how to go on; elsewhere: a config folder that was named for it."""
    for session in sessions:
        what = [file["what"] for file in session["files"]]
        counts = {"written": "written", "same": "there already", "replaced": "replaced"}
        told = ", ".join(f"{what.count(word)} {words}" for word, words in counts.items() if word in what)
        yield f"{session['session_id']}: {told} ({count(len(what), 'file')})"
        for file in session["files"]:
            if file["copy"]:
                yield f"  {visible(file['path'])} was replaced; it is kept as {visible(file['copy'])}"
        folder = f"cd {visible(quote(session['cwd']))} && " if session["cwd"] else ""
        place = f"CLAUDE_CONFIG_DIR={visible(quote(elsewhere))} " if elsewhere else ""
        yield f"  {folder}{place}claude --resume {session['session_id']}"


def verify_document(found: Verified, mended: list[str]) -> dict[str, Any]:
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


def verify_lines(found: Verified) -> Iterator[str]:
    """The same in words."""
    amount = f"{when.size(found.bytes)} read again from {found.blobs} blobs"
    yield f"{found.manifests} generations, {found.files} files, {amount}."
    for reason in found.manifests_damaged:
        yield f"damaged: {line(reason)}"
    for item in found.damaged[:_MOST]:
        yield f"damaged: {item.session_id} (generation {item.generation}) {line(item.path)}: {line(item.reason)}"
    if len(found.damaged) > _MOST:
        yield f"… and {len(found.damaged) - _MOST} more; --json lists all"
    if found.is_sound:
        yield "Everything is as it was archived."
    else:
        yield (
            "`turnlog archive verify --repair` rebuilds manifests; with `turnlog archive run` it stores anew what is"
            " still on disk."
        )


def prune_document(found: Plan, is_done: bool) -> dict[str, Any]:
    """What is dropped, or would be."""
    return {
        "done": is_done,
        "dropped": [
            {
                "session_id": item.session_id,
                "generation": item.generation,
                "archived": when.stamp(item.changed_ns / 1e9),
                "gone": is_gone(item),
            }
            for item in found.drop
        ],
        "bytes_freed": found.freed,
        "bytes_left": found.left,
    }


def prune_lines(found: Plan, is_done: bool) -> Iterator[str]:
    """The same in words."""
    for item in found.drop:
        where = "no longer on disk" if is_gone(item) else "on disk"
        archived = when.absolute(item.changed_ns / 1e9)
        title = line(item.title or "") or "(no title)"
        yield f"{item.session_id} generation {item.generation}, archived {archived}, {where}: {title}"
    would = "Dropped" if is_done else "Would drop"
    yield f"{would} {len(found.drop)} generations, {when.size(found.freed)}; {when.size(found.left)} stay."
    if not is_done and (found.drop or found.freed):
        yield "Nothing was done; --yes does it."
