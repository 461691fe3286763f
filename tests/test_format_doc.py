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

from tests.entries.samples import ALL, REGISTRY, entry_kind, genuine, inner_objects, lines
from turnlog.entries.format import ObjectFormat, SeenVersions

ROOT = document.DOCUMENT.parent.parent
TEXT = document.DOCUMENT.read_text(encoding="utf-8")
ALL_NAMES = {id(kind): name for name, kind in (REGISTRY.objects | ALL).items()}


def test_the_tables_are_those_of_the_registry() -> None:
    """If not: python scripts/generate_format_doc.py."""
    assert document.renew_document(TEXT) == TEXT


def test_a_stale_table_is_noticed() -> None:
    stale = TEXT.replace("`customTitle` |", "`title` |")
    assert stale != TEXT
    assert document.renew_document(stale) == TEXT


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
    kinds = [*ALL.values(), *REGISTRY.objects.values(), *REGISTRY.tool_results.values()]
    fields = [field for kind in kinds for field in document.list_fields(kind)]
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
            if version and (kind := entry_kind(line.body)):
                wrong.update(anachronisms(line.body, kind, version))
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
                kind = REGISTRY.tool_results.get(tools.get(block["tool_use_id"], ""), ObjectFormat())
                known = {field.name: field.seen for field in document.list_fields(kind)}
                for name in result if isinstance(result, dict) else ():
                    seen = known.get(name)
                    if seen and not within(body["version"], seen):
                        wrong[f"{tools[block['tool_use_id']]}.{name} {body['version']}"] += 1
    assert not wrong


def anachronisms(body: dict[str, Any], kind: ObjectFormat, version: str) -> Iterator[str]:
    """What an object holds although its version is said not to write it."""
    name = ALL_NAMES[id(kind)]
    if name in ALL and not within(version, kind.seen):
        yield f"{name} {version}"
    seen = spans(name)
    for field in body.keys() & seen.keys():
        if not within(version, seen[field]):
            yield f"{name}.{field} {version}"
    for inner, inner_kind in inner_objects(body, kind):
        yield from anachronisms(inner, inner_kind, version)


@cache
def spans(name: str) -> dict[str, SeenVersions]:
    kind = ALL.get(name) or REGISTRY.objects[name]
    return {field.name: field.seen for field in document.list_fields(kind) if field.seen}


def within(version: str, seen: SeenVersions | None) -> bool:
    return seen is not None and number(seen[0]) <= number(version) <= number(seen[1] or REGISTRY.newest_client)


def in_order(seen: SeenVersions) -> bool:
    return within(seen[1] or REGISTRY.newest_client, seen)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = (body.get("message") or {}).get("content")
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []
