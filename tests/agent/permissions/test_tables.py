"""The tables that commands are judged by."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from turnlog.agent.permissions.command import judge, tables

TABLES = tomllib.loads(Path(tables.__file__).with_name("tables.toml").read_text(encoding="utf-8"))
SOURCES = [path.read_text(encoding="utf-8") for path in Path(judge.__file__).parent.glob("*.py")]


@pytest.mark.parametrize("table", ["files", "changing"])
def test_what_makes_a_program_do_more_is_an_option(table: str) -> None:
    found = {word for words in tables.read_table(table).values() for word in words}
    assert [word for word in found if not re.fullmatch(r"-[a-zA-Z]+|--[a-z0-9-]+", word)] == []


def test_every_other_word_on_the_right_can_be_read_as_a_pattern() -> None:
    for table in TABLES.keys() - {"files", "changing"}:
        for name in tables.read_table(table):
            assert re.compile(tables.build_table_pattern(table, name)).pattern, (table, name)


def test_no_table_is_without_use() -> None:
    used = {name for text in SOURCES for name in re.findall(r'"(\w+)"', text)}
    assert TABLES.keys() <= used


def test_names_may_stand_in_several_rows() -> None:
    assert tables.read_table("files")["du"] == ["--files0-from", "-XL", "--exclude-from", "--dereference"]
    assert not tables.is_in_tables("evil", *TABLES)
    assert re.fullmatch(tables.build_table_pattern("printing", "evil"), "") is None
