"""turnlog's indexes of the collections, built in this run from this source tree."""

from __future__ import annotations

import json
import shutil
import time
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


def build_first_stage_command(collection: Path) -> Program:
    """Build the command that reads what an overview of a collection needs, from scratch."""
    command = build_command(collection, "tree", "--json")
    return command._replace(prepare=lambda: delete_index(collection, is_paused=True))


def delete_index(collection: Path, *, is_paused: bool = False) -> None:
    """Stop the background process, if there is one, and delete the index; optionally, keep others from starting."""
    _indexed_folders.discard(find_data_folder(collection))
    stop_filler(collection)
    shutil.rmtree(find_data_folder(collection), ignore_errors=True)
    if is_paused:
        run_program(build_command(collection, "index", "stop"))


def wait_for_filler(collection: Path) -> None:
    """Wait until the background process has ended, which reads what `index --wait` leaves: parts of identifiers."""
    status = build_command(collection, "index", "status", "--json")
    while json.loads(run_program(status).output)["filling"]:
        time.sleep(0.2)


def stop_filler(collection: Path) -> None:
    """Stop the background process, so that it doesn't work during other measurements."""
    if find_data_folder(collection).exists():
        run_program(build_command(collection, "index", "stop"))


def build_complete_index_command(collection: Path) -> Program:
    """Build the command that indexes a collection from scratch and leaves nothing to a background process."""
    command = build_index_command(collection)
    settings = find_data_folder(collection).with_suffix(".toml")

    def prepare() -> None:
        command.prepare()
        settings.write_text("index_in_background = false\n", "utf-8")

    return command._replace(prepare=prepare, environ={**command.environ, "TURNLOG_CONFIG": str(settings)})


def ensure_index(collection: Path) -> Path:
    """Return the index file of a collection; build the index if this run hasn't yet."""
    if find_data_folder(collection) not in _indexed_folders:
        run_program(build_index_command(collection))
        wait_for_filler(collection)
    return next(find_data_folder(collection).glob("index*.db"))


def remove_collection(collection: Path) -> None:
    """Remove a collection and its index."""
    _indexed_folders.discard(find_data_folder(collection))
    for folder in (collection, find_data_folder(collection)):
        shutil.rmtree(folder, ignore_errors=True)


def measure_size(place: Path) -> int:
    """Return the size of an index in bytes, including its shards and their write-ahead logs."""
    return sum(path.stat().st_size for ending in ("db", "shard") for path in place.glob(f"index*.{ending}*"))
