"""Writes a version of a file to a path chosen by the user, and keeps a copy of the file it replaces."""

from __future__ import annotations

import os
import shutil
import stat
from itertools import count
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.pinned_file import PinnedFile
from turnlog.errors import UsageError

_KEPT_SUFFIX = ".before-restore"


class RestoredFile(NamedTuple):
    """The file that was written, and the copy of the file it replaced."""

    place: Path
    kept: Path | None
    """The copy of the file that was there before."""


def write_restored_file(place: Path, data: bytes, *, force: bool = False) -> RestoredFile:
    """Write a file. An existing file is replaced only with `force`, and a copy of it is kept in the same folder."""
    file = PinnedFile(place)
    real = file.real
    if real.is_dir():
        raise UsageError(f"{place}: a folder, not a file; choose a different path")
    if not real.parent.is_dir():
        raise UsageError(f"{place}: the folder {real.parent} does not exist; create it first")
    exists = os.path.lexists(real)
    if exists and not real.is_file():
        raise UsageError(f"{place}: not a regular file; choose a different path")
    if exists and not force:
        raise UsageError(f"{place}: the file already exists; --force replaces it and keeps a copy")
    file.check()
    copy = _keep_copy(file) if exists else None
    file.replace(data, mode=stat.S_IMODE(file.stat().st_mode) if exists else 0o644)
    return RestoredFile(place, copy)


def _keep_copy(file: PinnedFile) -> Path:
    """Copy a file to an unused name in the same folder."""
    place = file.real
    for number in count():
        copy = place.with_name(f"{place.name}{_KEPT_SUFFIX}{f'-{number}' if number else ''}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(file.open(), "rb") as source, os.fdopen(descriptor, "wb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())
            shutil.copystat(place, copy)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        return copy
    raise AssertionError("unreachable: `count` never ends")
