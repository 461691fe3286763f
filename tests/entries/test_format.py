"""The registry of the format: it is complete in itself, and holds for the files of the real client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.entries.samples import ALL, HELD, REGISTRY, entry_kind, genuine, inner_objects, lines
from turnlog.entries.format import FieldFormat, ObjectFormat, load_format

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "map": (dict,),
    "object": (dict,),
    "any": (object,),
}
"""What the types of fields mean; every field may be null."""
EVERYTHING = [*ALL.values(), *REGISTRY.objects.values(), *REGISTRY.tool_results.values()]


def test_the_registry_is_read_once() -> None:
    assert load_format() is REGISTRY


def test_an_object_has_the_fields_of_its_base_before_its_own() -> None:
    names = [*REGISTRY.list_fields(REGISTRY.system["turn_duration"])]
    assert names[0] == "uuid"
    assert names.index("isMeta") < names.index("level") < names.index("durationMs")


def test_names_are_as_in_the_file() -> None:
    assert {"session_id", "sessionId", "sourceToolAssistantUUID"} <= REGISTRY.list_fields(
        REGISTRY.entries["user"]
    ).keys()


def test_a_system_entry_of_old_versions_has_no_subtype() -> None:
    assert "system" in REGISTRY.entries
    assert REGISTRY.entries.keys().isdisjoint(REGISTRY.system)


def test_no_type_of_entry_is_in_two_groups() -> None:
    groups = (REGISTRY.conversation, REGISTRY.metadata, REGISTRY.records, REGISTRY.rare)
    assert len(REGISTRY.entries) == sum(map(len, groups))


@pytest.mark.parametrize("name", [*ALL, *REGISTRY.objects])
def test_every_kind_says_what_it_is(name: str) -> None:
    assert (ALL | REGISTRY.objects)[name].about.endswith((".", ")"))


def test_every_base_and_every_held_object_exists_and_every_object_is_used() -> None:
    held = {field.holds for kind in EVERYTHING for field in kind.fields.values()} - {""}
    bases = {kind.base for kind in EVERYTHING} - {""}
    assert held - HELD.keys() | bases == REGISTRY.objects.keys()


def test_every_field_has_a_known_type() -> None:
    fields = [field for kind in EVERYTHING for field in kind.fields.values()]
    assert {part for field in fields for part in field.type.split(" or ")} <= JSON_TYPES.keys()


def test_versions_are_in_order() -> None:
    def number(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    for first, last in [kind.seen for kind in ALL.values() if kind.seen]:
        assert number(first) <= number(last or REGISTRY.newest_client) <= number(REGISTRY.newest_client)


def test_what_was_never_seen_has_no_versions() -> None:
    assert REGISTRY.blocks["text"].seen == ("1.0.17", None)
    assert REGISTRY.entries["tag"].seen is None
    assert not any(kind.seen for kind in REGISTRY.rare.values())


# -- the corpus


def fits(value: Any, field: FieldFormat) -> bool:
    allowed = tuple(kind for part in field.type.split(" or ") for kind in JSON_TYPES[part])
    is_flag = isinstance(value, bool) and not {bool, object} & set(allowed)
    return value is None or (isinstance(value, allowed) and not is_flag)


def misfits(body: dict[str, Any], kind: ObjectFormat) -> Iterator[str]:
    """The fields of an object, and of those in it, that have another type than the registry says."""
    for name, field in REGISTRY.list_fields(kind).items():
        if not fits(body.get(name), field):
            yield f"{name}: {field.type}"
    for inner, inner_kind in inner_objects(body, kind):
        yield from misfits(inner, inner_kind)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "user", "message": "hello"},
        {"type": "user", "message": {"content": 5}},
        {"type": "assistant", "message": {"usage": {"input_tokens": "many"}}},
        {"type": "assistant", "message": {"usage": {"input_tokens": True}}},
        {"type": "mode", "mode": 1},
    ],
)
def test_a_value_of_another_type_does_not_fit(body: dict[str, Any]) -> None:
    kind = entry_kind(body)
    assert kind is not None
    assert len([*misfits(body, kind)]) == 1


@pytest.mark.corpus
def test_every_genuine_line_fits_its_kind(corpus: Path) -> None:
    wrong = Counter[str]()
    for line in lines(genuine(corpus)):
        if kind := entry_kind(line.body):
            wrong.update(f"{line.path.relative_to(corpus)}: {text}" for text in misfits(line.body, kind))
    assert not wrong


@pytest.mark.corpus
def test_every_field_of_a_genuine_tool_result_is_listed(corpus: Path) -> None:
    unlisted = Counter[str]()
    for path in genuine(corpus):
        bodies = [line.body for line in lines([path])]
        tools = {block["id"]: block["name"] for body in bodies for block in parts(body, "tool_use")}
        for body in bodies:
            result = body.get("toolUseResult")
            for block in parts(body, "tool_result"):
                tool = tools.get(block["tool_use_id"])
                if tool and isinstance(result, dict) and not tool.startswith("mcp__"):
                    known = REGISTRY.list_fields(REGISTRY.tool_results[tool])
                    unlisted.update(f"{tool}.{name}" for name in result.keys() - known.keys())
    assert not unlisted


def parts(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = (body.get("message") or {}).get("content")
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []
