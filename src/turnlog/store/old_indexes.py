"""Indexes that other versions of turnlog left in the data folder.

Up to version 13, the name of an index did not contain its version. Such an index is renamed if this version can use it,
because it may have data about sessions that were deleted. Indexes of earlier versions are removed once nothing has used
them for a while.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

import apsw

from turnlog.store.file_lock import try_lock_file
from turnlog.store.index.shards import list_shard_files
from turnlog.store.index_file_name import INDEX_VERSION

_VERSION_IN_NAME = re.compile(r"-v(\d+)")
_MAX_UNUSED_DAYS = 90


def adopt_old_index(index: Path) -> None:
    """Take over an index without a version in its name, if there is no other yet; remove those that nobody uses."""
    if index.exists():
        return
    old = index.with_name(_VERSION_IN_NAME.sub("", index.name, count=1))
    if old != index and old.is_file() and _read_version(old) == INDEX_VERSION:
        with try_lock_file(old.with_suffix(".lock")) as is_ours:
            if is_ours:
                _rename_index(old, index)
    _remove_unused_indexes(index)


def _read_version(index: Path) -> int | None:
    with suppress(apsw.Error):
        db = apsw.Connection(str(index), apsw.SQLITE_OPEN_READONLY)
        try:
            return int(db.pragma("user_version"))
        finally:
            db.close()
    return None


def _list_parts(index: Path) -> list[Path]:
    """List the files of an index, its logs and its shards."""
    whole = (index, *list_shard_files(index))
    parts = (path.with_name(path.name + ending) for path in whole for ending in ("", "-wal", "-shm", "-journal"))
    return [path for path in parts if path.is_file()]


def _rename_index(old: Path, new: Path) -> None:
    """Rename the files of an index, itself last: until then, nothing refers to the others."""
    for path in reversed(_list_parts(old)):
        path.rename(path.with_name(new.stem + path.name.removeprefix(old.stem)))


def _remove_unused_indexes(index: Path) -> None:
    """Remove the indexes of earlier versions with the same folders that nobody has used for a long time."""
    pattern = _VERSION_IN_NAME.sub("-v*", index.name, count=1)
    for other in index.parent.glob(pattern):
        version = _VERSION_IN_NAME.search(other.name)
        with suppress(OSError):
            unused_days = (time.time() - other.stat().st_mtime) / 86400
            if version and int(version[1]) < INDEX_VERSION and unused_days > _MAX_UNUSED_DAYS:
                for path in _list_parts(other):
                    os.unlink(path)  # noqa: PTH108
