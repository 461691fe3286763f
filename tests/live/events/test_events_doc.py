"""docs/events.md and the types agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from turnlog.live.events.categories import CATEGORY_WORDS, WEB_SERVERS, find_category
from turnlog.live.events.event import AnyEvent, Category, Event, Outcome, ThinkLevel
from turnlog.live.events.think_levels import LEVEL_PHRASES, LEVEL_TOKENS
from turnlog.session.calls import TOOL_FAMILIES

DOC = (Path(__file__).resolve().parents[3] / "docs" / "events.md").read_text(encoding="utf-8")
SHARED = [field.name for field in msgspec.structs.fields(Event)]
CLASSES = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyEvent)}


def read_table(heading: str) -> list[list[str]]:
    """Return the rows of the tables below a heading, without their own headings."""
    section = re.split(r"^##+ ", DOC.partition(f"## {heading}\n")[2], flags=re.MULTILINE)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    marks = [place for place, row in enumerate(rows) if set(row[0]) == {"-"}]
    return [row for place, row in enumerate(rows) if place not in marks and place + 1 not in marks]


def unquote(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_event_is_in_the_table_with_its_fields_in_their_order() -> None:
    documented = {unquote(row[0])[0]: unquote(row[1]) for row in read_table("All events")}
    assert documented == {
        tag: [field.name for field in msgspec.structs.fields(kind) if field.name not in SHARED]
        for tag, kind in CLASSES.items()
    }
    assert list(documented) == list(CLASSES)


def test_the_fields_of_all_events_are_documented() -> None:
    assert [unquote(row[0])[0] for row in read_table("Fields of all events")] == ["event", *SHARED]


@pytest.mark.parametrize("value", [*get_args(Outcome), *get_args(ThinkLevel)])
def test_every_value_of_an_outcome_or_level_is_documented(value: str) -> None:
    assert f"`{value}`" in DOC


def test_every_known_tool_is_documented_with_its_category() -> None:
    tables = read_table("Categories")
    tools = {unquote(row[0])[0]: row[1] for row in tables[: len(get_args(Category))]}
    assert set(tools) == set(get_args(Category))
    named = {name: category for category, cell in tools.items() for name in re.findall(r"\b[A-Z]\w+", cell)}
    assert {name for names in TOOL_FAMILIES.values() for name in names} <= set(named)
    assert {name: find_category(name) for name in named} == named


def test_the_words_that_classify_other_tools_are_documented() -> None:
    rows = read_table("Categories")[len(get_args(Category)) :]
    assert {unquote(row[0])[0]: set(row[1].split(", ")) for row in rows} == CATEGORY_WORDS
    assert all(word in DOC for word in WEB_SERVERS)


def test_the_levels_of_thinking_are_documented() -> None:
    rows = {unquote(row[0])[0]: row for row in read_table("Levels of thinking")}
    assert list(rows) == list(get_args(ThinkLevel))
    assert {level: tuple(rows[level][1].split(", ")) for level in LEVEL_PHRASES} == LEVEL_PHRASES
    assert {level: rows[level][2] for level in LEVEL_TOKENS} == {
        level: f"{tokens:,} or more" for level, tokens in LEVEL_TOKENS.items()
    }


@pytest.mark.parametrize(
    ("tool", "category"),
    [
        ("Task", "agent"),
        ("Agent", "agent"),
        ("mcp__github__create_pull_request", "write"),
        ("mcp__github__get_file_contents", "read"),
        ("mcp__db__execute_sql", "run"),
        ("mcp__fetch__fetch", "web"),
        ("mcp__playwright__click", "web"),
        ("mcp__brave__brave_web_search", "web"),
        ("mcp__notes__deletePage", "write"),
        ("mcp__x__frobnicate", "other"),
        ("readFile", "read"),
        ("run_command", "run"),
        ("mcp__", "other"),
        ("", "other"),
        ("x" * 100_000, "other"),
    ],
)
def test_the_name_of_a_tool_reveals_its_effect(tool: str, category: str) -> None:
    assert find_category(tool) == category
