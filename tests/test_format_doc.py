"""The published specification says what the code knows, and what it says holds for real sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import generate_format_doc as document
import pytest

from tests.entries.samples import ALL, genuine, lines
from turnlog.entries import types
from turnlog.entries.drift import ClassMark, build_object_shape
from turnlog.entries.types import base as part
from turnlog.entries.types.base import FormatObject, KindMark, SeenVersions
from turnlog.entries.types.results import RESULT_FIELDS

ROOT = document.DOCUMENT.parent.parent
TEXT = document.DOCUMENT.read_text(encoding="utf-8")
HELD = {"blocks": types.BLOCK_CLASSES, "attachment": types.ATTACHMENT_CLASSES, "progress": types.PROGRESS_CLASSES}


def test_the_tables_are_those_of_the_classes() -> None:
    """If not: python scripts/generate_format_doc.py."""
    assert document.renewed(TEXT) == TEXT


def test_a_stale_table_is_noticed() -> None:
    stale = TEXT.replace("`customTitle` |", "`title` |")
    assert stale != TEXT
    assert document.renewed(stale) == TEXT


def test_every_table_stands_in_the_document_once() -> None:
    assert Counter(found["name"] for found in document.MARKED.finditer(TEXT)) == Counter([*document.TABLES])


@pytest.mark.parametrize("name", ALL)
def test_every_kind_is_told(name: str) -> None:
    assert f"| `{name.removeprefix('block/').removeprefix('attachment/').removeprefix('progress/')}` |" in TEXT


def test_the_tests_that_it_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", TEXT))
    assert len(named) > 5
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_every_note_about_versions_can_be_read() -> None:
    def classes(base: type[FormatObject]) -> Iterator[type[FormatObject]]:
        for cls in base.__subclasses__():
            yield cls
            yield from classes(cls)

    fields = [field for cls in classes(part.FormatObject) for field in document.fields(cls)]
    assert not [field for field in fields if field.meaning.startswith("[")]
    assert not [field for field in fields if field.seen and not in_order(field.seen)]


@pytest.mark.corpus
def test_the_versions_hold_for_every_genuine_line(corpus: Path) -> None:
    wrong = Counter[str]()
    for path in genuine(corpus):
        found = list(lines([path]))
        versions = {line.body["version"] for line in found if "version" in line.body}
        for line in found:
            # A line without a version may be of another version than the lines around it.
            version = line.body.get("version") or (versions.copy().pop() if len(versions) == 1 else None)
            if version and (cls := types.find_entry_class(line.body)):
                wrong.update(anachronisms(line.body, cls, version))
    assert not wrong


@pytest.mark.corpus
def test_the_versions_of_tool_results_hold(corpus: Path) -> None:
    wrong = Counter[str]()
    for path in genuine(corpus):
        found = [line.body for line in lines([path])]
        tools = {block["id"]: block["name"] for body in found for block in blocks(body, "tool_use")}
        for body in found:
            result = body.get("toolUseResult")
            for block in blocks(body, "tool_result"):
                notes = RESULT_FIELDS.get(tools.get(block["tool_use_id"], ""), {})
                for name in result if isinstance(result, dict) else ():
                    seen = document.versions(notes.get(name, ""))[0]
                    if seen and not within(body["version"], seen):
                        wrong[f"{tools[block['tool_use_id']]}.{name} {body['version']}"] += 1
    assert not wrong


def anachronisms(body: dict[str, Any], cls: type[FormatObject], version: str) -> Iterator[str]:
    """What stands in an object although its version is said not to write it."""
    if "seen" in vars(cls) and not within(version, cls.seen):
        yield f"{cls.__name__} {version}"
    for name in body.keys() & spans(cls).keys():
        if not within(version, spans(cls)[name]):
            yield f"{cls.__name__}.{name} {version}"
    for name, look in build_object_shape(cls).inner:
        value = body.get(name)
        if isinstance(look, ClassMark) and look.many and isinstance(value, dict):
            value = list(value.values())
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                if isinstance(look, ClassMark):
                    yield from anachronisms(inner, look.cls, version)
                elif isinstance(look, KindMark):
                    yield from anachronisms(inner, HELD[look.what][inner["type"]], version)


@cache
def spans(cls: type[FormatObject]) -> dict[str, SeenVersions]:
    return {field.name: field.seen for field in document.fields(cls) if field.seen}


def within(version: str, seen: SeenVersions | None) -> bool:
    return seen is not None and number(seen[0]) <= number(version) <= number(seen[1] or types.NEWEST_CLIENT_VERSION)


def in_order(seen: SeenVersions) -> bool:
    return within(seen[1] or types.NEWEST_CLIENT_VERSION, seen)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = (body.get("message") or {}).get("content")
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []
