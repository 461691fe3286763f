"""How much of the files an index contains: their conversation is read first, the rest later (store.index.fill)."""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from turnlog.store.index.file_changes import ChangedFile
from turnlog.store.index.shards import get_schema_name, list_attached_shards


class IndexCoverage(NamedTuple):
    """The part of the files whose texts are all in the index."""

    left: int = 0
    """Bytes of which only the conversation has been read."""
    total: int = 0

    @property
    def share(self) -> float:
        """The part of the bytes that has been read completely, from 0 to 1."""
        return 1 - self.left / self.total if self.left else 1.0


def read_coverage(db: apsw.Connection) -> IndexCoverage:
    """Measure how much of an index is complete; this is quick if all of it is."""
    left: Any = db.execute(
        "SELECT coalesce(sum(offset - filled), 0) FROM file WHERE filled < offset AND gone IS NULL"
    ).get
    total: Any = db.execute("SELECT sum(offset) FROM file WHERE gone IS NULL").get if left else 0
    return IndexCoverage(left, total)


def needs_identifiers(db: apsw.Connection) -> bool:
    """Return whether there are texts whose identifiers can't be found by their parts yet."""
    query = "SELECT EXISTS (SELECT 1 FROM {name}.fill WHERE named < filled)"
    return any(db.execute(query.format(name=get_schema_name(number))).get for number in list_attached_shards(db))


def list_unfilled_files(db: apsw.Connection, *, includes_failed: bool = False) -> list[ChangedFile]:
    """List the files whose rest is to be read, oldest first; by default, without those that could not be read."""
    bound = "" if includes_failed else "AND room > 0"
    rows: list[Any] = db.execute(
        f"SELECT id, offset, offset - filled FROM file WHERE filled < offset AND gone IS NULL {bound} ORDER BY room, id"
    ).fetchall()
    # Their texts are numbered, so their order is fixed, whatever time the files have by now.
    return [ChangedFile(file, place, size, left) for place, (file, size, left) in enumerate(rows)]


def needs_filling(db: apsw.Connection) -> bool:
    """Return whether there is a file whose rest can be read."""
    return bool(
        db.execute("SELECT EXISTS (SELECT 1 FROM file WHERE filled < offset AND gone IS NULL AND room > 0)").get
    )
