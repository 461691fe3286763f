"""What `turnlog archive run` and `restore` do, as documents."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnlog.cli.config import data_dir, load
from turnlog.cli.named import folders
from turnlog.cli.progress import progress
from turnlog.entries.layout import is_session_id, session_files
from turnlog.entries.spelling import unescaped
from turnlog.errors import Ambiguous, NotFound, TurnlogError, UsageError
from turnlog.session.clock import iso
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import Manifest

_HOOK = 1 << 20


def once(names: tuple[str, ...], hooked_id: str | None, *, background: bool, watched: bool) -> dict[str, Any]:
    """Archive what is new, and note how it ended."""
    from turnlog.store.archive.prune import sweep_now_and_then
    from turnlog.store.archive.run import run

    if background and hasattr(os, "nice"):
        os.nice(10)
    archive, config_dirs = Archive(data_dir()), folders(load())
    only = _ids(names, config_dirs) if names else None
    if hooked_id is not None:  # a session in which nothing was said has no file
        only = (only or set()) | {hooked_id}
    began = datetime.now(UTC)
    try:
        report = run(archive, config_dirs, only, progress("archiving {done:,} of {total:,} …") if watched else None)
        if only is None:
            sweep_now_and_then(archive)
    except TurnlogError as error:
        if only is None:
            _note(archive.folder, {"started": iso(began), "ended": iso(datetime.now(UTC)), "error": str(error)})
        raise
    found = {
        "started": iso(began),
        "ended": iso(datetime.now(UTC)),
        "sessions": report.sessions,
        "archived": report.archived,
        "generations": report.generations,
        "files": report.files,
        "bytes_read": report.read,
        "bytes_stored": report.stored,
        "troubles": report.troubles,
    }
    if only is None:
        _note(archive.folder, {**found, "error": report.troubles[0] if report.troubles else None})
    return found


def last(folder: Path) -> dict[str, Any]:
    """How the last run ended, as far as it was noted."""
    import msgspec

    try:
        found = msgspec.json.decode((folder / "last.json").read_bytes())
    except (OSError, msgspec.MsgspecError):
        return {}
    return found if isinstance(found, dict) else {}


def hooked() -> str | None:
    """The session that the client names to its hooks on standard input."""
    import msgspec

    text = sys.stdin.buffer.read(_HOOK) if sys.stdin is not None else b""
    try:
        found = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise UsageError("--hook: standard input holds no JSON; it is for hooks of the client") from None
    name = found.get("session_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and is_session_id(name) else None


def put_back(
    names: tuple[str, ...],
    *,
    to: str | None,
    at: int | datetime | None,
    force: bool,
    keep_times: bool,
    with_gone: bool,
) -> list[dict[str, Any]]:
    """Restore sessions one after the other; all names are looked up before the first is written."""
    from turnlog.store.archive.restore import generation, restore

    archive = Archive(data_dir())
    chosen = [generation(archive, archive.named(name), at) for name in names]
    targets = [_folder(manifest, to) for manifest in chosen]
    found = []
    for manifest, folder in zip(chosen, targets, strict=True):
        files = restore(archive, manifest, folder, force=force, keep_times=keep_times, with_gone=with_gone)
        found.append(
            {
                "session_id": manifest.session_id,
                "generation": manifest.generation,
                "path": str(folder / unescaped(manifest.main)),
                "cwd": manifest.cwd,
                "files": [
                    {"path": str(file.path), "what": file.what, "copy": str(file.copy) if file.copy else None}
                    for file in files
                ],
            }
        )
    return found


def _folder(manifest: Manifest, to: str | None) -> Path:
    """The config folder to restore into: the one that is named, or the one it came from if this machine has it."""
    if to is not None:
        return Path(to).expanduser().absolute()
    came_from = unescaped(manifest.config_dir)
    for folder in folders(load()):
        if os.path.realpath(folder) == came_from:
            return folder
    raise NotFound(
        f"{came_from}: the config folder that the session came from is not in use here; name one with --to DIR"
    )


def _ids(names: tuple[str, ...], config_dirs: list[Path]) -> set[str]:
    there = {item.session_id for folder in config_dirs for item in session_files(folder)}
    found = set()
    for name in names:
        fitting = {session_id for session_id in there if name and session_id.lower().startswith(name.lower())}
        if not fitting:
            raise NotFound(f"no session on disk has the id {name!r}")
        if len(fitting) > 1:
            raise Ambiguous(f"{name!r} fits {len(fitting)} sessions; give more of the id")
        found |= fitting
    return found


def _note(folder: Path, found: dict[str, Any]) -> None:
    import msgspec

    from turnlog.store.archive import durable

    kept = {name: value for name, value in found.items() if name != "troubles"}
    with suppress(TurnlogError):  # a full disk is told already
        durable.write(folder / "last.json", msgspec.json.encode(kept) + b"\n")
