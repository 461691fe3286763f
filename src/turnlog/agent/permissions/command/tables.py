"""What is known of programs and of bash: the tables of `tables.toml`. What is not known is asked about."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def read_table(table: str) -> dict[str, list[str]]:
    """The names of a table, and the words that go for each."""
    found: dict[str, list[str]] = {}
    for names, words in _load_tables()[table].items():
        for name in names.split():
            found.setdefault(name, []).extend(words.split())
    return found


def is_in_tables(name: str, *tables: str) -> bool:
    """Whether a name is in any of some tables."""
    return any(name in read_table(table) for table in tables)


@cache
def build_table_pattern(table: str, name: str) -> str:
    """The words that go for a name of a table, as one pattern; one that nothing fits if there are none."""
    return "|".join(read_table(table).get(name, ())) or "(?!)"


@cache
def _load_tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
