"""Indexes of collections by turnlog, made in this run by this source tree."""

from __future__ import annotations

import shutil
from pathlib import Path

from .measure import Program, run_program
from .report import TURNLOG

_indexed_folders: set[Path] = set()


def find_data_folder(collection: Path) -> Path:
    """The data folder of turnlog that belongs to a collection."""
    return collection.with_name(f"{collection.name}.index")


def build_command(collection: Path, *arguments: str) -> Program:
    """A command of turnlog, for a collection and its index."""
    place = str(find_data_folder(collection))
    environ = {"CLAUDE_CONFIG_DIR": str(collection), "TURNLOG_HOME": place, "HOME": place, "USERPROFILE": place}
    return Program([*TURNLOG, *arguments], {**environ, "TZ": "UTC"})


def build_index_command(collection: Path) -> Program:
    """The command that makes an index where there is none."""

    def prepare() -> None:
        shutil.rmtree(find_data_folder(collection), ignore_errors=True)
        _indexed_folders.add(find_data_folder(collection))

    return build_command(collection, "index", "--json")._replace(prepare=prepare)


def ensure_index(collection: Path) -> Path:
    """The file with an index of a collection, made if it is not yet."""
    if find_data_folder(collection) not in _indexed_folders:
        run_program(build_index_command(collection))
    return next(find_data_folder(collection).glob("index*.db"))


def remove_collection(collection: Path) -> None:
    """Remove a collection and its index."""
    _indexed_folders.discard(find_data_folder(collection))
    for folder in (collection, find_data_folder(collection)):
        shutil.rmtree(folder, ignore_errors=True)


def measure_size(place: Path) -> int:
    """The bytes of an index, with what is not yet merged into the file."""
    return sum(path.stat().st_size for path in place.glob("index*.db*"))
