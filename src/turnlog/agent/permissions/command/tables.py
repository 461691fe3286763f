"""Knowledge about programs and bash, from `tables.toml`. Anything that is not in the tables requires permission."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def read_table(table: str) -> dict[str, list[str]]:
    """Return the names in a table, each with its words."""
    words_by_name: dict[str, list[str]] = {}
    for names, words in _load_tables()[table].items():
        for name in names.split():
            words_by_name.setdefault(name, []).extend(words.split())
    return words_by_name


def is_in_tables(name: str, *tables: str) -> bool:
    return any(name in read_table(table) for table in tables)


@cache
def build_table_pattern(table: str, name: str) -> str:
    """Return the words for a name as a single pattern; if there are none, the pattern never matches."""
    return "|".join(read_table(table).get(name, ())) or "(?!)"


@cache
def _load_tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
