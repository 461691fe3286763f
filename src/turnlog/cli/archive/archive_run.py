"""What `turnlog archive run` and `restore` do, as documents."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnlog.api.config import data_dir, load_config
from turnlog.api.lookup import list_config_folders
from turnlog.cli.progress import show_progress
from turnlog.entries.layout import is_session_id, list_session_files
from turnlog.entries.path_escapes import unescape_path
from turnlog.errors import Ambiguous, NotFound, TurnlogError, UsageError
from turnlog.session.clock import to_iso_time
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import SessionManifest

_MAX_HOOK_INPUT_BYTES = 1 << 20


def archive_once(names: tuple[str, ...], hooked_id: str | None, *, background: bool, watched: bool) -> dict[str, Any]:
    """Archive what is new, and note how it ended."""
    from turnlog.store.archive.archive_run import run_archive
    from turnlog.store.archive.prune import sweep_unused_blobs

    if background and hasattr(os, "nice"):
        os.nice(10)
    archive, config_dirs = Archive(data_dir()), list_config_folders(load_config())
    only = _find_session_ids(names, config_dirs) if names else None
    if hooked_id is not None:  # a session in which nothing was said has no file
        only = (only or set()) | {hooked_id}
    began = datetime.now(UTC)
    try:
        report = run_archive(
            archive, config_dirs, only, show_progress("archiving {done:,} of {total:,} …") if watched else None
        )
        if only is None:
            sweep_unused_blobs(archive)
    except TurnlogError as error:
        if only is None:
            _write_last_run(
                archive.folder,
                {"started": to_iso_time(began), "ended": to_iso_time(datetime.now(UTC)), "error": str(error)},
            )
        raise
    found = {
        "started": to_iso_time(began),
        "ended": to_iso_time(datetime.now(UTC)),
        "sessions": report.sessions,
        "archived": report.archived,
        "generations": report.generations,
        "files": report.files,
        "bytes_read": report.read,
        "bytes_stored": report.stored,
        "troubles": report.troubles,
    }
    if only is None:
        _write_last_run(archive.folder, {**found, "error": report.troubles[0] if report.troubles else None})
    return found


def read_last_run(folder: Path) -> dict[str, Any]:
    """How the last run ended, as far as it was noted."""
    import msgspec

    try:
        found = msgspec.json.decode((folder / "last.json").read_bytes())
    except (OSError, msgspec.MsgspecError):
        return {}
    return found if isinstance(found, dict) else {}


def read_hook_session_id() -> str | None:
    """The session that the client names to its hooks on standard input."""
    import msgspec

    text = sys.stdin.buffer.read(_MAX_HOOK_INPUT_BYTES) if sys.stdin is not None else b""
    try:
        found = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise UsageError("--hook: standard input holds no JSON; it is for hooks of the client") from None
    name = found.get("session_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and is_session_id(name) else None


def restore_archived_sessions(
    names: tuple[str, ...],
    *,
    to: str | None,
    at: int | datetime | None,
    force: bool,
    keep_times: bool,
    with_gone: bool,
) -> list[dict[str, Any]]:
    """Restore sessions one after the other; all names are looked up before the first is written."""
    from turnlog.store.archive.restore import find_generation, restore_generation

    archive = Archive(data_dir())
    chosen = [find_generation(archive, archive.find_session(name), at) for name in names]
    targets = [_find_target_folder(manifest, to) for manifest in chosen]
    found = []
    for manifest, folder in zip(chosen, targets, strict=True):
        files = restore_generation(archive, manifest, folder, force=force, keep_times=keep_times, with_gone=with_gone)
        found.append(
            {
                "session_id": manifest.session_id,
                "generation": manifest.generation,
                "path": str(folder / unescape_path(manifest.main)),
                "cwd": manifest.cwd,
                "files": [
                    {"path": str(file.path), "what": file.what, "copy": str(file.copy) if file.copy else None}
                    for file in files
                ],
            }
        )
    return found


def _find_target_folder(manifest: SessionManifest, to: str | None) -> Path:
    """The config folder to restore into: the one that is named, or the one it came from if this machine has it."""
    if to is not None:
        return Path(to).expanduser().absolute()
    came_from = unescape_path(manifest.config_dir)
    for folder in list_config_folders(load_config()):
        if os.path.realpath(folder) == came_from:
            return folder
    raise NotFound(
        f"{came_from}: the config folder that the session came from is not in use here; name one with --to DIR"
    )


def _find_session_ids(names: tuple[str, ...], config_dirs: list[Path]) -> set[str]:
    there = {item.session_id for folder in config_dirs for item in list_session_files(folder)}
    found = set()
    for name in names:
        fitting = {session_id for session_id in there if name and session_id.lower().startswith(name.lower())}
        if not fitting:
            raise NotFound(f"no session on disk has the id {name!r}")
        if len(fitting) > 1:
            raise Ambiguous(f"{name!r} fits {len(fitting)} sessions; give more of the id")
        found |= fitting
    return found


def _write_last_run(folder: Path, found: dict[str, Any]) -> None:
    import msgspec

    from turnlog.store.archive import durable_write

    kept = {name: value for name, value in found.items() if name != "troubles"}
    with suppress(TurnlogError):  # a full disk is told already
        durable_write.write_durably(folder / "last.json", msgspec.json.encode(kept) + b"\n")
