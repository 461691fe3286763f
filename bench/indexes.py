"""Indexes of collections by turnlog, made in this run by this source tree."""

from __future__ import annotations

import shutil
from pathlib import Path

from .measure import Program, run
from .report import TURNLOG

_made: set[Path] = set()


def home(collection: Path) -> Path:
    """The data folder of turnlog that belongs to a collection."""
    return collection.with_name(f"{collection.name}.index")


def command(collection: Path, *words: str) -> Program:
    """A command of turnlog, for a collection and its index."""
    place = str(home(collection))
    environ = {"CLAUDE_CONFIG_DIR": str(collection), "TURNLOG_HOME": place, "HOME": place, "USERPROFILE": place}
    return Program([*TURNLOG, *words], {**environ, "TZ": "UTC"})


def building(collection: Path) -> Program:
    """The command that makes an index where there is none."""

    def prepare() -> None:
        shutil.rmtree(home(collection), ignore_errors=True)
        _made.add(home(collection))

    return command(collection, "index", "--json")._replace(prepare=prepare)


def indexed(collection: Path) -> Path:
    """The file with an index of a collection, made if it is not yet."""
    if home(collection) not in _made:
        run(building(collection))
    return next(home(collection).glob("index*.db"))


def forget(collection: Path) -> None:
    """Remove a collection and its index."""
    _made.discard(home(collection))
    for folder in (collection, home(collection)):
        shutil.rmtree(folder, ignore_errors=True)


def size(place: Path) -> int:
    """The bytes of an index, with what is not yet merged into the file."""
    return sum(path.stat().st_size for path in place.glob("index*.db*"))
