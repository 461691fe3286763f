"""Sessions that are gone, read from the archive: their copies are laid out in turnlog's own folder, a few at a time.

    <data folder>/opened/<name of the archived session>-<generation>/projects/…

The client's folders are not touched; `turnlog archive restore` is what brings a session back.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from turnlog.errors import NotFound
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import SessionManifest
from turnlog.store.archive.restore import resolve_restore_path, restore_generation
from turnlog.web.place import IndexedSession, Machine

MAX_COPIES = 4
_copy_lock = threading.Lock()


def restore_archived_copy(place: Machine, known: IndexedSession) -> Path:
    """The copy of a session that is gone; raises NotFound where the archive has none."""
    archive = Archive(place.data_dir)
    manifest = _find_manifest(archive, known)
    if manifest is None:
        raise NotFound(f"{known.uuid} was deleted, and the archive does not have it")
    folder = place.index.parent / "opened" / f"{manifest.name}-{manifest.generation}"
    path = resolve_restore_path(folder, manifest.main)
    with _copy_lock:
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            restore_generation(archive, manifest, folder, keep_times=True)
            _remove_old_copies(folder)
    return path


def _find_manifest(archive: Archive, known: IndexedSession) -> SessionManifest | None:
    fitting = [item for item in archive.list_sessions() if item.session_id == known.uuid]
    exact = (item for item in fitting for file in item.files if item.to_absolute_path(file) == str(known.path))
    return next(exact, fitting[0] if fitting else None)


def _remove_old_copies(newest: Path) -> None:
    """Remove copies that were laid out long ago."""
    others = sorted((path for path in newest.parent.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
    for path in others[: max(len(others) - MAX_COPIES + 1, 0)]:
        shutil.rmtree(path, ignore_errors=True)
