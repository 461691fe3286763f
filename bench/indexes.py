"""turnlog's indexes of the collections, built in this run from this source tree."""

from __future__ import annotations

import shutil
from pathlib import Path

from .measure import Program, run_program
from .report import TURNLOG

_indexed_folders: set[Path] = set()


def find_data_folder(collection: Path) -> Path:
    """Return turnlog's data folder for a collection."""
    return collection.with_name(f"{collection.name}.index")


def build_command(collection: Path, *arguments: str) -> Program:
    """Build a turnlog command that uses a collection and its index."""
    place = str(find_data_folder(collection))
    environ = {"CLAUDE_CONFIG_DIR": str(collection), "TURNLOG_HOME": place, "HOME": place, "USERPROFILE": place}
    return Program([*TURNLOG, *arguments], {**environ, "TZ": "UTC"})


def build_index_command(collection: Path) -> Program:
    """Build the command that indexes a collection from scratch."""

    def prepare() -> None:
        shutil.rmtree(find_data_folder(collection), ignore_errors=True)
        _indexed_folders.add(find_data_folder(collection))

    return build_command(collection, "index", "--wait", "--json")._replace(prepare=prepare)


def ensure_index(collection: Path) -> Path:
    """Return the index file of a collection; build the index if this run hasn't yet."""
    if find_data_folder(collection) not in _indexed_folders:
        run_program(build_index_command(collection))
    return next(find_data_folder(collection).glob("index*.db"))


def remove_collection(collection: Path) -> None:
    """Remove a collection and its index."""
    _indexed_folders.discard(find_data_folder(collection))
    for folder in (collection, find_data_folder(collection)):
        shutil.rmtree(folder, ignore_errors=True)


def measure_size(place: Path) -> int:
    """Return the size of an index in bytes, including its write-ahead log."""
    return sum(path.stat().st_size for path in place.glob("index*.db*"))
