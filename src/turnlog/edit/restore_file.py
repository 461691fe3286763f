"""Writing a version of a file to a place that the user named, never over anything without keeping it."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.atomic_file import replace_file
from turnlog.errors import UsageError

_KEPT_SUFFIX = ".before-restore"


class RestoredFile(NamedTuple):
    """What was written."""

    place: Path
    kept: Path | None
    """The copy of what was there before."""


def write_restored_file(place: Path, data: bytes, *, force: bool = False) -> RestoredFile:
    """Write a file; one that is there is only replaced by force, and a copy of it stays beside it."""
    real = Path(os.path.realpath(place))
    if real.is_dir():
        raise UsageError(f"{place}: is a folder; name the file to write")
    if not real.parent.is_dir():
        raise UsageError(f"{place}: there is no folder {real.parent}; make it first")
    there = os.path.lexists(real)
    if there and not real.is_file():
        raise UsageError(f"{place}: is no plain file; name another place")
    if there and not force:
        raise UsageError(f"{place}: is there already; --force replaces it and keeps a copy")
    kept = _keep_copy(real) if there else None
    replace_file(real, data, root=real.parent, mode=0o644)
    return RestoredFile(place, kept)


def _keep_copy(place: Path) -> Path:
    """Copy a file to a free name beside it."""
    for number in count():
        copy = place.with_name(f"{place.name}{_KEPT_SUFFIX}{f'-{number}' if number else ''}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            continue
        try:
            with place.open("rb") as source, os.fdopen(descriptor, "wb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())
            shutil.copystat(place, copy)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        return copy
    raise AssertionError("unreachable: `count` does not end")
