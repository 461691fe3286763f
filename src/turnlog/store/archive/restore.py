"""Restores an archived session byte for byte.

Nothing is written before all files have been checked. The session's own file is written last, so Claude Code never sees
a session without the files that belong to it. A restored file gets the current time, because Claude Code deletes
sessions by file time and would delete an old session again at its next start.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.path_escapes import is_safe_path, unescape_path
from turnlog.entries.writer import place_session_file
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable
from turnlog.store.archive import durable_write
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import KeptFile, SessionManifest

_READ_BLOCK_BYTES = 1 << 20


class RestoreOutcome(NamedTuple):
    path: Path
    what: str
    """`written`, `same` (it already existed), or `replaced` (with `--force`; a copy of the old file is kept)."""
    copy: Path | None = None
    """The path of the copy of the replaced file."""


def find_generation(archive: Archive, session: SessionManifest, at: int | datetime | None) -> SessionManifest:
    """Return a generation by its number, or the one that was current at a given time; by default, the newest."""
    if at is None:
        return session
    generations = archive.list_generations(session.name)
    if isinstance(at, int):
        fitting = [item for item in generations if item.generation == at]
        label = f"generation {at}"
    else:
        fitting = [item for item in generations if item.made_ns <= at.timestamp() * 1e9]
        label = f"generation from before {at:%Y-%m-%d %H:%M}"
    if not fitting:
        numbers = ", ".join(str(item.generation) for item in generations)
        raise NotFound(f"{session.session_id}: the archive has no {label}; it contains generations {numbers}")
    return fitting[-1]


def restore_generation(
    archive: Archive,
    manifest: SessionManifest,
    to: Path,
    *,
    force: bool = False,
    keep_times: bool = False,
    with_gone: bool = True,
) -> list[RestoreOutcome]:
    """Write the files of a session below a config folder; without `force`, refuse to change a file that differs."""
    files = [file for file in manifest.files if with_gone or not file.gone_ns]
    files.sort(key=lambda file: (file.path == manifest.main, file.path))
    plan = [(file, resolve_restore_path(to, file.path)) for file in files]
    states = [_compare_file(file, path) for file, path in plan]
    differing = [path for (_, path), state in zip(plan, states, strict=True) if state == "differs"]
    if differing and not force:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        remedy = "use --force to replace it (a copy is kept), or --to DIR to write elsewhere"
        raise Changed(f"{differing[0]}{more}: already present with different content; {remedy}")
    aside = archive.folder / "replaced" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    outcomes = []
    for (file, path), state in zip(plan, states, strict=True):
        copy = _copy_aside(path, aside / unescape_path(file.path)) if state == "differs" else None
        if state != "same":
            _write_file(archive, file, path, keep_times, may_replace=state == "differs")
        elif not keep_times:
            _touch_file(path)
        outcomes.append(RestoreOutcome(path, "replaced" if copy else "same" if state == "same" else "written", copy))
    return outcomes


def resolve_restore_path(to: Path, path: str) -> Path:
    """Resolve a manifest's path below the folder; refuse a path outside it."""
    if not is_safe_path(path):
        raise TurnlogError(f"{path!r}: this path from the archive is outside the config folder; nothing was restored")
    target = to
    for part in unescape_path(path).split("/"):
        target = target / part
        if target.is_symlink():
            raise TurnlogError(
                f"{target}: a symbolic link, so files could be restored to a different folder; use --to DIR"
            )
    return target


def _compare_file(file: KeptFile, path: Path) -> str:
    try:
        with path.open("rb") as existing:
            if os.fstat(existing.fileno()).st_size != file.size:
                return "differs"
            running = sha256()
            while block := existing.read(_READ_BLOCK_BYTES):
                running.update(block)
    except FileNotFoundError:
        return "missing"
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise Unreadable(f"{path}: {error.strerror}; a file can't be restored to this path") from error
    return "same" if running.hexdigest() == file.digest else "differs"


def _copy_aside(path: Path, copy: Path) -> Path:
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copy)
    return copy


def _write_file(archive: Archive, file: KeptFile, path: Path, keep_times: bool, may_replace: bool) -> None:
    with durable_write.open_temporary_file(path.parent) as (temporary, fd):
        for part in archive.iter_chunks(file):  # raises at the end if any byte differs
            durable_write.write_all_bytes(fd, part)
        os.fsync(fd)
        os.close(fd)
        temporary.chmod(file.mode & 0o777)
        if keep_times:
            os.utime(temporary, ns=(file.mtime_ns, file.mtime_ns))
        _rename_finished(temporary, path, may_replace)
        durable_write.sync_folder(path.parent)


def _rename_finished(temporary: Path, path: Path, may_replace: bool) -> None:
    """Give a finished file its final name; never overwrite a file that appeared there in the meantime."""
    try:
        place_session_file(temporary, path, may_replace=may_replace)
    except FileExistsError:
        raise Changed(f"{path}: created by another process during the restore; not overwritten") from None


def _touch_file(path: Path) -> None:
    """Set the time of an existing file to match the restored files, so that Claude Code keeps all of them."""
    with contextlib.suppress(OSError):
        os.utime(path)
