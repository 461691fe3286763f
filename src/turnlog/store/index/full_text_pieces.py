"""The pieces of the full-text tables: a commit adds one, a search reads them all, and FTS5 gradually merges them."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from turnlog.store.file_lock import open_write_transaction

FULL_TEXT_TABLES = ("said", "done")
MAX_PIECES = 16
"""How many pieces of similar size wait before they are merged. With twice as many, a search is a fifth slower; with
half as many, the next small refresh after a large build has to merge all pieces of that build.
"""
# Large pieces in memory and few merges, because merging everything, which 16 pieces would force, takes seconds.
_TABLE_OPTIONS = (("hashsize", 48 << 20), ("automerge", MAX_PIECES), ("crisismerge", 500))


def prepare_full_text(db: apsw.Connection, tables: Iterable[str] = FULL_TEXT_TABLES) -> None:
    """Set the options for new tables."""
    for table in tables:
        for option, value in _TABLE_OPTIONS:
            _set_table_option(db, table, option, value)


def set_piece_merging(db: apsw.Connection, *, is_on: bool, tables: Iterable[str] = FULL_TEXT_TABLES) -> None:
    """Set whether the tables merge their pieces while they are written."""
    wanted = MAX_PIECES if is_on else 0
    for table in tables:
        if db.execute(f"SELECT v FROM main.{table}_config WHERE k = 'automerge'").get != wanted:
            _set_table_option(db, table, "automerge", wanted)


def join_said_pieces(db: apsw.Connection) -> None:
    """Merge the pieces of the conversation text, which are small and which every search reads first."""
    with open_write_transaction(db):
        db.execute("INSERT INTO main.said (said) VALUES ('optimize')")


def _set_table_option(db: apsw.Connection, table: str, option: str, value: int) -> None:
    db.execute(f"INSERT INTO main.{table} ({table}, rank) VALUES (?, ?)", (option, value))
