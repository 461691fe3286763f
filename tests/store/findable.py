"""A machine whose sessions are in an index: what the tests of the search stand on."""

from __future__ import annotations

import os
from pathlib import Path

from tests.session.build import Build
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import SearchOptions, SearchOutcome, search_index
from turnlog.store.store import Store

DAY = 86_400


def uuid(number: int) -> str:
    return f"{number:08x}-2222-4333-8444-555555555555"


def read(path: str, offset: int, whole: bool) -> bytes | None:
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            return file.read() if whole else file.readline()
    except OSError:
        return None


class Findable:
    """Sessions below a folder, and the index of them."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "claude"
        self.store = Store.open(folder / "home")

    def add(self, number: int, build: Build, project: str = "-home-dana-webshop") -> Path:
        """Write a session; higher numbers are newer."""
        path = self.config / "projects" / project / f"{uuid(number)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(build.data())
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        return path

    def refresh(self) -> None:
        self.store.refresh([self.config])

    def find(self, query: str, wish: SearchOptions | None = None) -> SearchOutcome:
        db = self.store.db
        return search_index(db, plan_search(db, parse_query(query)), wish or SearchOptions(), read)

    def ids(self, query: str, wish: SearchOptions | None = None) -> list[int]:
        """The numbers of the sessions that are found, in order."""
        groups = self.find(query, wish).groups
        uuids = dict(self.store.db.execute("SELECT id, uuid FROM session"))
        return [int(uuids[group.session][:8], 16) for group in groups]

    def kinds(self, query: str) -> list[str]:
        """The kinds of the hits that are found."""
        return sorted(hit.kind for group in self.find(query, SearchOptions(hits=50)).groups for hit in group.hits)
