"""Putting an archived session back, byte for byte.

Nothing is written before everything was looked at. The session's own file comes last, so the client never sees a
session without what belongs to it. A file gets the time of its restoring: the client deletes by that time, and would
delete an old session again when it starts next.
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
    """What became of one file."""

    path: Path
    what: str
    """`written`, `same` (it was there already), `replaced` (with `--force`; the old one is kept)."""
    copy: Path | None = None
    """Where the replaced file is now."""


def find_generation(archive: Archive, session: SessionManifest, at: int | datetime | None) -> SessionManifest:
    """A generation of a session by its number, or the one that was current at a time; else the newest."""
    if at is None:
        return session
    found = archive.list_generations(session.name)
    if isinstance(at, int):
        fitting = [item for item in found if item.generation == at]
        words = f"generation {at}"
    else:
        fitting = [item for item in found if item.made_ns <= at.timestamp() * 1e9]
        words = f"state of {at:%Y-%m-%d %H:%M}"
    if not fitting:
        numbers = ", ".join(str(item.generation) for item in found)
        raise NotFound(f"{session.session_id}: the archive holds no {words}; it has the generations {numbers}")
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
    """Write the files of a session below a config folder; refuses to touch a file that differs, unless forced."""
    files = [file for file in manifest.files if with_gone or not file.gone_ns]
    files.sort(key=lambda file: (file.path == manifest.main, file.path))
    plan = [(file, resolve_restore_path(to, file.path)) for file in files]
    states = [_compare_file(file, path) for file, path in plan]
    differing = [path for (_, path), state in zip(plan, states, strict=True) if state == "differs"]
    if differing and not force:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        remedy = "--force replaces it and keeps a copy, --to DIR writes elsewhere"
        raise Changed(f"{differing[0]}{more}: is there with other content; {remedy}")
    aside = archive.folder / "replaced" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    done = []
    for (file, path), state in zip(plan, states, strict=True):
        copy = _copy_aside(path, aside / unescape_path(file.path)) if state == "differs" else None
        if state != "same":
            _write_file(archive, file, path, keep_times, may_replace=state == "differs")
        elif not keep_times:
            _touch_file(path)
        done.append(RestoreOutcome(path, "replaced" if copy else "same" if state == "same" else "written", copy))
    return done


def resolve_restore_path(to: Path, path: str) -> Path:
    """Where a path of a manifest leads; never out of the folder."""
    if not is_safe_path(path):
        raise TurnlogError(f"{path!r}: a path in the archive leads out of the config folder; it was not restored")
    found = to
    for part in unescape_path(path).split("/"):
        found = found / part
        if found.is_symlink():
            raise TurnlogError(f"{found}: is a link; restoring could write elsewhere, use --to DIR")
    return found


def _compare_file(file: KeptFile, path: Path) -> str:
    try:
        with path.open("rb") as there:
            if os.fstat(there.fileno()).st_size != file.size:
                return "differs"
            running = sha256()
            while block := there.read(_READ_BLOCK_BYTES):
                running.update(block)
    except FileNotFoundError:
        return "missing"
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise Unreadable(f"{path}: {error.strerror}; it is in the way of a restored file") from error
    return "same" if running.hexdigest() == file.digest else "differs"


def _copy_aside(path: Path, copy: Path) -> Path:
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copy)
    return copy


def _write_file(archive: Archive, file: KeptFile, path: Path, keep_times: bool, may_replace: bool) -> None:
    with durable_write.open_temporary_file(path.parent) as (temporary, fd):
        for part in archive.iter_chunks(file):  # raises at the end if a byte is not what it was
            durable_write.write_all_bytes(fd, part)
        os.fsync(fd)
        os.close(fd)
        temporary.chmod(file.mode & 0o777)
        if keep_times:
            os.utime(temporary, ns=(file.mtime_ns, file.mtime_ns))
        _rename_finished(temporary, path, may_replace)
        durable_write.sync_folder(path.parent)


def _rename_finished(temporary: Path, path: Path, may_replace: bool) -> None:
    """Give a finished file its name; one that appeared there meanwhile is not written over."""
    try:
        place_session_file(temporary, path, may_replace=may_replace)
    except FileExistsError:
        raise Changed(f"{path}: appeared while it was being restored; nothing was written over") from None


def _touch_file(path: Path) -> None:
    """Make a file that is there already as young as the restored ones, so that the client keeps all of them."""
    with contextlib.suppress(OSError):
        os.utime(path)
