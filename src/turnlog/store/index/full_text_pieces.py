"""The pieces of the full-text tables: each commit adds one, every search asks all, FTS5 merges them bit by bit."""

from __future__ import annotations

import apsw

from turnlog.store.file_lock import open_write_transaction

FULL_TEXT_TABLES = ("said", "done")
MAX_PIECES = 16
"""So many of about the same size wait before they are merged. Twice as many make a search a fifth slower; with half as
many, the pieces of a large build are merged at once, by whoever comes with a few new lines."""
# Large pieces in memory, few merges: a merge of everything, which 16 pieces would force, takes seconds.
_TABLE_OPTIONS = (("hashsize", 48 << 20), ("automerge", MAX_PIECES), ("crisismerge", 500))


def prepare_full_text(db: apsw.Connection) -> None:
    """Set up new tables."""
    for table in FULL_TEXT_TABLES:
        for option, value in _TABLE_OPTIONS:
            _set_table_option(db, table, option, value)


def set_piece_merging(db: apsw.Connection, *, is_on: bool) -> None:
    """Say whether the tables shall merge their pieces while they are written."""
    wanted = MAX_PIECES if is_on else 0
    for table in FULL_TEXT_TABLES:
        if db.execute(f"SELECT v FROM {table}_config WHERE k = 'automerge'").get != wanted:
            _set_table_option(db, table, "automerge", wanted)


def join_said_pieces(db: apsw.Connection) -> None:
    """Make one piece of what people said: it is asked first, by every search, and is small."""
    with open_write_transaction(db):
        db.execute("INSERT INTO said (said) VALUES ('optimize')")


def _set_table_option(db: apsw.Connection, table: str, option: str, value: int) -> None:
    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (option, value))
