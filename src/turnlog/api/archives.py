"""Keeps copies of sessions that Claude Code would delete, and restores them byte for byte."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from turnlog.api.archive_upkeep import open_archive, parse_generation, to_time_text
from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import list_config_folders
from turnlog.entries.cleanup import compute_deletion_time, read_cleanup_days
from turnlog.entries.layout import list_session_files
from turnlog.entries.path_escapes import unescape_path
from turnlog.errors import Ambiguous, NotFound, TurnlogError
from turnlog.session.clock import to_iso_time
from turnlog.store.archive.manifest import SessionManifest, build_archive_name
from turnlog.store.archive.prune import is_session_gone
from turnlog.store.archive.schedule import read_archive_hours, read_next_run_time

if TYPE_CHECKING:
    from turnlog.api.index import Progress

_WEEK_SECONDS = 7 * 86400


# -- status


class CleanupRule(Struct, frozen=True):
    """The rule by which Claude Code deletes the sessions in a config folder."""

    config_dir: Path
    days: float | None
    """Days after the last write; None if sessions are never deleted."""


class ArchiveStatus(Struct, frozen=True):
    """What the archive contains, what it is missing, and what Claude Code will delete."""

    folder: Path
    on: bool
    every_hours: int | None
    due: str | None
    last_run: str | None
    last_error: str | None
    sessions: int
    gone: int
    """Archived sessions that are no longer on disk."""
    bytes: int
    bytes_stored: int
    blobs: int
    on_disk: int
    not_archived: int
    """Sessions on disk that are not archived, or have grown since they were archived."""
    cleanup: tuple[CleanupRule, ...]
    deleted_soon: int
    """Sessions that are not archived and that Claude Code will delete within a week."""
    deleted_from: str | None
    """When Claude Code will delete the first of these sessions."""


def read_archive_status(*, config: Config | None = None) -> ArchiveStatus:
    """Report what is in the archive and what Claude Code will delete."""
    archive, config_dirs = open_archive(), list_config_folders(config or load_config())
    sessions = archive.list_sessions()
    sizes = [size for _, size in archive.blobs.iter_sizes()]
    on_disk = [item for folder in config_dirs for item in list_session_files(folder)]
    archived_sizes = {manifest.name: file.size for manifest in sessions if (file := manifest.find_file(manifest.main))}
    days = {folder: read_cleanup_days(folder) for folder in config_dirs}
    missing = [item for item in on_disk if archived_sizes.get(build_archive_name(item)) != item.size]
    ends = [end for item in missing if (end := compute_deletion_time(item.mtime_ns, days[item.config_dir])) is not None]
    soon = [end for end in ends if end - time.time() < _WEEK_SECONDS]
    last, next_due, every = (
        _read_last_run(archive.folder),
        read_next_run_time(data_dir()),
        read_archive_hours(data_dir()),
    )
    return ArchiveStatus(
        folder=archive.folder,
        on=every is not None,
        every_hours=every,
        due=to_time_text(next_due) if next_due else None,
        last_run=last.get("ended"),
        last_error=last.get("error"),
        sessions=len(sessions),
        gone=sum(1 for manifest in sessions if is_session_gone(manifest)),
        bytes=sum(manifest.size for manifest in sessions),
        bytes_stored=sum(sizes),
        blobs=len(sizes),
        on_disk=len(on_disk),
        not_archived=len(missing),
        cleanup=tuple(CleanupRule(folder, value) for folder, value in days.items()),
        deleted_soon=len(soon),
        deleted_from=to_time_text(min(soon)) if soon else None,
    )


def schedule_archive(every_hours: int | None) -> None:
    """Archive everything now, and again at this interval whenever turnlog is used; None ends this schedule."""
    from turnlog.store.archive.schedule import maybe_start, turn_off_schedule, turn_on_schedule

    if every_hours is None:
        turn_off_schedule(data_dir())
        return
    turn_on_schedule(data_dir(), every_hours)
    maybe_start(data_dir())


# -- runs


class ArchiveRun(Struct, frozen=True):
    """The result of one archive run."""

    started: str
    ended: str
    sessions: int
    """Sessions that the run examined."""
    archived: int
    """Sessions that were new or had changed."""
    generations: int
    """Sessions that started a new generation."""
    files: int
    bytes_read: int
    bytes_stored: int
    troubles: list[str]
    """Files that could not be read, with the reason."""


def archive_sessions(
    sessions: Sequence[str] = (),
    *,
    ids: Collection[str] = (),
    config: Config | None = None,
    progress: Progress | None = None,
) -> ArchiveRun:
    """Archive new data from all sessions, or from those whose ids start with one of `sessions`.

    `ids` are complete ids; their sessions need not have a file.
    """
    from turnlog.store.archive.archive_run import run_archive
    from turnlog.store.archive.prune import sweep_unused_blobs

    archive, config_dirs = open_archive(), list_config_folders(config or load_config())
    only = {*_find_session_ids(sessions, config_dirs), *ids} or None
    started = _now()
    try:
        report = run_archive(archive, config_dirs, only, progress)
        if only is None:
            sweep_unused_blobs(archive)
    except TurnlogError as error:
        if only is None:
            _write_last_run(archive.folder, {"started": started, "ended": _now(), "error": str(error)})
        raise
    counts = report.sessions, report.archived, report.generations, report.files, report.read, report.stored
    done = ArchiveRun(started, _now(), *counts, report.troubles)
    if only is None:
        failure = report.troubles[0] if report.troubles else None
        _write_last_run(archive.folder, {**msgspec.structs.asdict(done), "error": failure})
    return done


def _find_session_ids(names: Sequence[str], config_dirs: list[Path]) -> set[str]:
    existing = {item.session_id for folder in config_dirs for item in list_session_files(folder)} if names else set()
    found = set()
    for name in names:
        matches = {session_id for session_id in existing if name and session_id.lower().startswith(name.lower())}
        if not matches:
            raise NotFound(f"no session on disk has the id {name!r}")
        if len(matches) > 1:
            raise Ambiguous(f"{name!r} matches {len(matches)} sessions; use more of the id")
        found |= matches
    return found


def _read_last_run(folder: Path) -> dict[str, Any]:
    """Read the record of the latest run; return an empty dict if there is none."""
    try:
        found = msgspec.json.decode((folder / "last.json").read_bytes())
    except (OSError, msgspec.MsgspecError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_last_run(folder: Path, facts: dict[str, Any]) -> None:
    from turnlog.store.archive import durable_write

    record = {name: value for name, value in facts.items() if name != "troubles"}
    with suppress(TurnlogError):  # a full disk was already reported
        durable_write.write_durably(folder / "last.json", msgspec.json.encode(record) + b"\n")


# -- contents


class ArchivedSession(Struct, frozen=True):
    """A session in the archive."""

    session_id: str
    name: str
    """The id with a suffix for its folder, which distinguishes two sessions with the same id."""
    path: Path
    title: str | None
    cwd: str | None
    ended: str | None
    archived: str
    """When data was last added to it."""
    files: int
    files_gone: int
    """Archived files that are no longer on disk."""
    size: int
    generations: list[int]
    gone: bool
    """Whether its file is no longer on disk."""


class ArchiveList(Struct, frozen=True):
    """The archived sessions, newest first."""

    sessions: tuple[ArchivedSession, ...]


def list_archive(*, only_gone: bool = False) -> ArchiveList:
    """List the archived sessions, newest first; `only_gone` leaves out those that are still on disk."""
    archive = open_archive()
    labels = archive.manifests.list_generations()
    rows = [_to_archived_session(manifest, labels[manifest.name]) for manifest in archive.list_sessions()]
    wanted = [row for row in rows if row.gone or not only_gone]
    return ArchiveList(tuple(sorted(wanted, key=lambda row: (row.ended or "", row.archived, row.name), reverse=True)))


def _to_archived_session(manifest: SessionManifest, generations: list[int]) -> ArchivedSession:
    return ArchivedSession(
        session_id=manifest.session_id,
        name=manifest.name,
        path=Path(unescape_path(manifest.config_dir), unescape_path(manifest.main)),
        title=manifest.title,
        cwd=manifest.cwd,
        ended=manifest.ended,
        archived=to_time_text(manifest.changed_ns / 1e9),
        files=len(manifest.files),
        files_gone=sum(1 for file in manifest.files if file.gone_ns),
        size=manifest.size,
        generations=generations,
        gone=is_session_gone(manifest),
    )


# -- restore


class ArchivedFile(Struct, frozen=True):
    """A restored file."""

    path: Path
    what: str
    """written, same (it already existed) or replaced."""
    copy: Path | None
    """Where the replaced file is kept."""


class RestoredSession(Struct, frozen=True):
    """A restored session."""

    session_id: str
    generation: int
    path: Path
    cwd: str | None
    files: tuple[ArchivedFile, ...]


class RestoredSessions(Struct, frozen=True):
    """The restored sessions, in the order in which they were requested."""

    sessions: tuple[RestoredSession, ...]


def restore_archived_session(
    name: str,
    *,
    to: str | Path | None = None,
    at: int | str | datetime | None = None,
    force: bool = False,
    keep_times: bool = False,
    with_gone: bool = True,
    config: Config | None = None,
) -> RestoredSession:
    """Restore an archived session byte for byte so that Claude Code can resume it.

    `to` is the config folder to restore into (default: the original one), and `at` is a generation number or a time. If
    a file exists with different content, the call fails; with `force`, the file is replaced and a copy is kept.
    `with_gone` also restores files that were deleted before the session itself was deleted.
    """
    done = restore_archived_sessions(
        [name], to=to, at=at, force=force, keep_times=keep_times, with_gone=with_gone, config=config
    )
    return done.sessions[0]


def restore_archived_sessions(
    names: Sequence[str],
    *,
    to: str | Path | None = None,
    at: int | str | datetime | None = None,
    force: bool = False,
    keep_times: bool = False,
    with_gone: bool = True,
    config: Config | None = None,
) -> RestoredSessions:
    """Restore archived sessions; all names are looked up before the first file is written."""
    from turnlog.store.archive.restore import find_generation, restore_generation

    when = parse_generation(at) if isinstance(at, str) else at
    archive = open_archive()
    chosen = [find_generation(archive, archive.find_session(name), when) for name in names]
    folders = [_find_target_folder(manifest, to, config or load_config()) for manifest in chosen]
    done = []
    for manifest, folder in zip(chosen, folders, strict=True):
        files = restore_generation(archive, manifest, folder, force=force, keep_times=keep_times, with_gone=with_gone)
        restored = tuple(ArchivedFile(file.path, file.what, file.copy) for file in files)
        path = folder / unescape_path(manifest.main)
        done.append(RestoredSession(manifest.session_id, manifest.generation, path, manifest.cwd, restored))
    return RestoredSessions(tuple(done))


def _find_target_folder(manifest: SessionManifest, to: str | Path | None, config: Config) -> Path:
    """Choose the config folder to restore into: `to`, or the original one if it is in use here."""
    if to is not None:
        return Path(to).expanduser().absolute()
    original = unescape_path(manifest.config_dir)
    for folder in list_config_folders(config):
        if os.path.realpath(folder) == original:
            return folder
    raise NotFound(
        f"{original}: the session's original config folder is not in use here; choose a folder with --to DIR"
    )


def _now() -> str:
    return to_iso_time(datetime.now(UTC)) or ""
