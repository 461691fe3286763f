"""Snapshots: what a lake consists of at one moment.

    _turnlog/snapshots/0000000007.json.zst       the parts of all tables and the catalog of source files
    _turnlog/catalog/<id>.parquet                which version of which source file is in which parts
    <table>/month=2026-11/project_key=…/<part>.parquet

A snapshot is written once, under the next number, with an operation that fails if the number is taken. So commits are
atomic for all tables together, and of two writers one must look again at what the other did.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
import zstandard
from msgspec import Struct

from turnlog.errors import NotFound, TurnlogError
from turnlog.store.lake.lake_files import LakeFiles

LAKE_FORMAT = 1
SNAPSHOT_FOLDER = "_turnlog/snapshots"
CATALOG_FOLDER = "_turnlog/catalog"
_SNAPSHOT_NAME = re.compile(rf"{SNAPSHOT_FOLDER}/(\d{{10}})\.json\.zst")
_MAX_SNAPSHOT_BYTES = 4 << 30


class LakePart(Struct, frozen=True):
    """Parquet files with the rows of some source files of one month and project: at most one file per table."""

    id: str
    month: str
    """The month in which the sessions started, such as `2026-11`; `unknown` if no entry has a time."""
    project_key: str
    rows: dict[str, int]
    """The number of rows by table; tables without rows have no file."""
    size: int
    """The bytes of all its files."""
    files: int
    """How many source files it contains."""
    people: tuple[str, ...] = ()
    """The pseudonyms of the people whose rows it contains."""

    def list_paths(self) -> list[str]:
        return [self.get_path(table) for table in self.rows]

    def get_path(self, table: str) -> str:
        return f"{table}/month={self.month}/project_key={self.project_key}/{self.id}.parquet"


class Snapshot(Struct, frozen=True):
    """The content of a lake after one commit."""

    number: int = 0
    """0 for a lake that doesn't exist yet."""
    format: int = LAKE_FORMAT
    created: str = ""
    turnlog: str = ""
    """The version that wrote it."""
    action: str = ""
    """What was done: build, compact, forget."""
    key_id: str = ""
    """Identifies the key of the pseudonyms without revealing it."""
    epoch: int = 0
    """Increases when people are forgotten; work that was planned before must be thrown away."""
    is_redacted: bool = True
    schemas: dict[str, dict[str, str]] = {}
    """The columns of each table."""
    parts: tuple[LakePart, ...] = ()
    catalogs: tuple[str, ...] = ()
    """The files of the catalog, oldest first; a later row of the same source file replaces an earlier one."""
    forgotten: tuple[str, ...] = ()
    """The pseudonyms of people whose files must not be read again."""

    def list_table_paths(self, table: str) -> list[str]:
        return [part.get_path(table) for part in self.parts if table in part.rows]


class SnapshotEntry(NamedTuple):
    number: int
    name: str


def list_snapshots(files: LakeFiles) -> list[SnapshotEntry]:
    """List the snapshots of a lake, oldest first."""
    return sorted(
        SnapshotEntry(int(match[1]), item.name)
        for item in files.iter_listing(SNAPSHOT_FOLDER)
        if (match := _SNAPSHOT_NAME.fullmatch(item.name))
    )


def load_snapshot(files: LakeFiles, number: int | None = None) -> Snapshot:
    """Load the newest snapshot, or the one with this number; a lake without snapshots gives an empty one."""
    known = list_snapshots(files)
    if number is not None and number not in {entry.number for entry in known}:
        numbers = f"{known[0].number} to {known[-1].number}" if known else "none"
        raise NotFound(f"{files.location}: no snapshot {number}; this lake has {numbers}")
    if not known:
        return Snapshot()
    name = next(entry.name for entry in reversed(known) if number is None or entry.number == number)
    try:
        data = zstandard.ZstdDecompressor().decompress(files.read(name), max_output_size=_MAX_SNAPSHOT_BYTES)
        found = msgspec.json.decode(data, type=Snapshot)
    except (zstandard.ZstdError, msgspec.DecodeError) as error:
        raise TurnlogError(f"{files.join(name)}: damaged ({error}); use an older snapshot with --snapshot") from None
    if found.format > LAKE_FORMAT:
        raise TurnlogError(f"{files.location}: written by turnlog {found.turnlog}; update turnlog to read it")
    return found


def commit_snapshot(files: LakeFiles, snapshot: Snapshot) -> None:
    """Write a snapshot; raise `FileExistsError` if another process has committed its number."""
    data = zstandard.ZstdCompressor(level=9).compress(msgspec.json.encode(snapshot))
    files.write_new(f"{SNAPSHOT_FOLDER}/{snapshot.number:010}.json.zst", data)
