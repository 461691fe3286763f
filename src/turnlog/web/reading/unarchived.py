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
from turnlog.store.archive.manifest import Manifest
from turnlog.store.archive.restore import restore, target
from turnlog.web.place import Known, Place

KEPT = 4
_lock = threading.Lock()


def laid_out(place: Place, known: Known) -> Path:
    """The copy of a session that is gone; raises NotFound where the archive has none."""
    archive = Archive(place.data_dir)
    manifest = _manifest(archive, known)
    if manifest is None:
        raise NotFound(f"{known.uuid} was deleted, and the archive does not have it")
    folder = place.index.parent / "opened" / f"{manifest.name}-{manifest.generation}"
    path = target(folder, manifest.main)
    with _lock:
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            restore(archive, manifest, folder, keep_times=True)
            _forget_others(folder)
    return path


def _manifest(archive: Archive, known: Known) -> Manifest | None:
    fitting = [item for item in archive.sessions() if item.session_id == known.uuid]
    exact = (item for item in fitting for file in item.files if item.absolute(file) == str(known.path))
    return next(exact, fitting[0] if fitting else None)


def _forget_others(newest: Path) -> None:
    """Remove copies that were laid out long ago."""
    others = sorted((path for path in newest.parent.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
    for path in others[: max(len(others) - KEPT + 1, 0)]:
        shutil.rmtree(path, ignore_errors=True)
