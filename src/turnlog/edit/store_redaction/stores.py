"""Lists the stores that hold transcripts, or what was said and shown in them.

Everything in a config folder counts, except what the client needs as it is (settings, credentials, plugins) and what
people wrote for it (skills, commands): a store that a newer client adds is included from the start.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HISTORY_FILE_NAME = "history.jsonl"
_OTHER_FOLDERS = frozenset(
    "agents cache chrome commands hooks ide local node_modules output-styles plugins rules sessions skills statsig"
    " themes workflows".split()
)
"""Folders of a config folder that hold settings, programs or what people wrote."""
_SETTINGS_NAMES = (".claude.json", ".credentials.json", "settings.json", "settings.local.json")
_OWN_STORES = ("archive", "trash", "undo", "trace")
"""Folders of turnlog's data folder that are stores of their own."""
_DATABASE_SUFFIXES = (".db", ".db-wal", ".db-shm", ".db-journal")


class TextStore(NamedTuple):
    """A folder or file whose content is searched file by file."""

    name: str
    root: Path
    """The folder that no file of the store may lead out of."""
    files: tuple[Path, ...]


def list_config_stores(config_dir: Path) -> Iterator[TextStore]:
    """List the stores in a config folder of the client."""
    history = config_dir / HISTORY_FILE_NAME
    if _is_regular_file(history):
        yield TextStore(HISTORY_FILE_NAME, config_dir, (history,))
    for folder in _list_folders(config_dir):
        if folder.name not in _OTHER_FOLDERS and (files := tuple(_walk_files(folder))):
            yield TextStore(folder.name, config_dir, files)


def list_own_stores(data_dir: Path) -> Iterator[TextStore]:
    """List the stores in turnlog's data folder whose files can be changed one by one."""
    for folder in _list_folders(data_dir):
        if folder.name not in _OWN_STORES and (files := tuple(_walk_files(folder))):
            yield TextStore(f"turnlog {folder.name}", data_dir, files)
    trace = tuple(file for file in _walk_files(data_dir / "trace") if not file.name.endswith(_DATABASE_SUFFIXES))
    if trace:
        yield TextStore("turnlog trace", data_dir, trace)


def list_kept_originals(data_dir: Path) -> Iterator[TextStore]:
    """List where turnlog keeps what was deleted or changed, which only their own commands may change."""
    for name in ("trash", "undo"):
        if files := tuple(_walk_files(data_dir / name)):
            yield TextStore(f"turnlog {name}", data_dir, files)


def list_indexes(data_dir: Path) -> list[Path]:
    """List the index files with the logs and shards beside them."""
    return sorted(path for path in data_dir.glob("index*.db*") if _is_regular_file(path))


def _list_folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as items:
            return sorted(Path(item.path) for item in items if item.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _walk_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder; links are not followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(_SETTINGS_NAMES) and not name.startswith(".turnlog-") and _is_regular_file(path):
                yield path


def _is_regular_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
