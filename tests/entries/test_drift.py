"""News in a file is named once, counted, and never gets in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.entries.samples import FAMILIES, REGISTRY, bodies, genuine, lines
from turnlog.entries.drift import MAX_UNKNOWN_ITEMS, Drift, UnknownItem, load_shapes


def unknown(*bodies: dict[str, Any]) -> dict[str, str]:
    drift = Drift()
    for body in bodies:
        drift.add_entry(body)
    return {found.path: found.kind for found in drift}


@pytest.mark.parametrize(
    ("body", "path", "kind"),
    [
        ({"type": "brand-new"}, "brand-new", "type"),
        ({}, "(no type)", "type"),
        ({"type": 7}, "(no type)", "type"),
        ({"type": "system", "subtype": "brand_new"}, "system/brand_new", "subtype"),
        ({"type": "system", "subtype": 7}, "system/(no type)", "subtype"),
        ({"type": "attachment", "attachment": {"type": "new"}}, "attachment/new", "attachment"),
        ({"type": "progress", "data": {"type": "new"}}, "progress/new", "progress"),
        ({"type": "progress", "data": {}}, "progress/(no type)", "progress"),
        ({"type": "user", "message": {"content": [{"type": "new"}]}}, "block/new", "block"),
        ({"type": "user", "origin": {"kind": "new"}}, 'user.origin.kind = "new"', "value"),
        (
            {"type": "attachment", "attachment": {"type": "queued_command", "origin": {"kind": "new"}}},
            'attachment/queued_command.origin.kind = "new"',
            "value",
        ),
        ({"type": "queue-operation", "operation": "new"}, 'queue-operation.operation = "new"', "value"),
        (
            {"type": "assistant", "message": {"stop_reason": "tired"}},
            'assistant.message.stop_reason = "tired"',
            "value",
        ),
        ({"type": "mode", "new": 1}, "mode.new", "field"),
        ({"type": "system", "subtype": "turn_duration", "new": 1}, "system/turn_duration.new", "field"),
        ({"type": "user", "message": {"new": 1}}, "user.message.new", "field"),
        (
            {"type": "assistant", "message": {"usage": {"cache_creation": {"new": 1}}}},
            "assistant.message.usage.cache_creation.new",
            "field",
        ),
        (
            {"type": "assistant", "message": {"usage": {"iterations": [{"new": 1}, None]}}},
            "assistant.message.usage.iterations.new",
            "field",
        ),
        ({"type": "cost-state", "modelUsage": {"m": {"new": 1}}}, "cost-state.modelUsage.new", "field"),
        ({"type": "attachment", "attachment": {"type": "date", "new": 1}}, "attachment/date.new", "field"),
        (
            {"type": "progress", "data": {"type": "query_update", "new": 1}},
            "progress/query_update.new",
            "field",
        ),
        (
            {"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"type": "new"}]}]}},
            "block/new",
            "block",
        ),
    ],
)
def test_news_is_named(body: dict[str, Any], path: str, kind: str) -> None:
    assert unknown(body) == {path: kind}


@pytest.mark.parametrize(
    "body",
    [
        {"type": "user", "message": "no object"},
        {"type": "user", "message": {"content": [None, 1, "x"]}},
        {"type": "attachment", "attachment": None},
        {"type": "assistant", "message": {"stop_reason": None, "usage": []}},
        {"type": "queue-operation", "operation": ["enqueue"]},
        {"type": "cost-state", "modelUsage": {"any model": {"inputTokens": 1}}},
        {"type": "system", "content": "of old versions"},
    ],
)
def test_what_is_known_is_no_news_even_where_values_are_odd(body: dict[str, Any]) -> None:
    assert unknown(body) == {}


def test_news_is_counted_with_its_first_version_and_place() -> None:
    drift = Drift()
    drift.add_entry({"type": "mode"}, "2.1.400", 1)
    drift.add_entry({"type": "new"}, None, 2)
    drift.add_entry({"type": "new"}, "2.1.401", 3)
    assert list(drift) == [UnknownItem("type", "new", 2, "2.1.400", 2)]
    assert drift


def test_a_file_without_news_has_no_drift() -> None:
    drift = Drift()
    drift.add_entry({"type": "mode", "mode": "normal", "sessionId": "s"})
    assert not drift


def test_a_hostile_file_cannot_fill_the_memory_with_names() -> None:
    drift = Drift()
    for number in range(MAX_UNKNOWN_ITEMS + 5):
        drift.add_entry({"type": f"{number}" + "x" * 1000})
    assert len(list(drift)) == MAX_UNKNOWN_ITEMS
    assert drift.unnamed == 5
    assert max(len(found.path) for found in drift) < 200


def test_blocks_nested_without_end_are_harmless() -> None:
    block: dict[str, Any] = {"type": "tool_result"}
    block["content"] = [block]
    assert unknown({"type": "user", "message": {"content": [block]}}) == {}


@given(bodies)
def test_drift_never_raises(body: dict[str, Any]) -> None:
    Drift().add_entry(body)


@pytest.mark.parametrize("prefix", FAMILIES)
def test_an_object_with_all_known_fields_is_no_news(prefix: str) -> None:
    for tag, kind in FAMILIES[prefix].items():
        known: dict[str, Any] = dict.fromkeys(REGISTRY.list_fields(kind))
        body = {
            "": {**known, "type": tag},
            "system/": {**known, "type": "system", "subtype": tag},
            "attachment/": {"type": "attachment", "attachment": {**known, "type": tag}},
            "progress/": {"type": "progress", "data": {**known, "type": tag}},
            "block/": {"type": "assistant", "message": {"content": [{**known, "type": tag}]}},
        }[prefix]
        assert unknown(body) == {}


def test_a_type_that_reads_like_a_system_entry_is_none() -> None:
    assert unknown({"type": "system/turn_duration"}) == {"system/turn_duration": "subtype"}


def test_the_fields_to_look_into_hold_objects_or_have_known_values() -> None:
    assert [name for name, _ in load_shapes()["objects"]["snapshot"].inner] == ["trackedFileBackups"]
    assert [name for name, _ in load_shapes()["entries"]["queue-operation"].inner] == ["operation"]


@pytest.mark.corpus
def test_the_corpus_of_genuine_sessions_holds_no_news(corpus: Path) -> None:
    drift = Drift()
    for line in lines(genuine(corpus)):
        drift.add_entry(line.body, line.version, line.number)
    assert list(drift) == []
