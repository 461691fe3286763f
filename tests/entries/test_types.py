"""The registry of the format: what is known fits, what is unknown is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.entries.samples import ALL, bodies, genuine, lines
from turnlog.entries import types
from turnlog.entries.types import attachments, blocks, conversation, metadata, progress, system
from turnlog.entries.types import base as part
from turnlog.entries.types.results import RESULT_FIELDS


def test_an_entry_becomes_its_class() -> None:
    entry = types.convert_entry({"type": "custom-title", "customTitle": "Prices", "sessionId": "s"})
    assert entry == metadata.CustomTitle(session_id="s", custom_title="Prices")


def test_names_that_no_rule_gives_are_as_in_the_file() -> None:
    body = {"type": "user", "session_id": "a", "sessionId": "b", "sourceToolAssistantUUID": "c"}
    entry = types.convert_entry(body)
    assert isinstance(entry, conversation.User)
    assert (entry.snake_session_id, entry.session_id, entry.source_tool_assistant_uuid) == ("a", "b", "c")


def test_a_system_entry_is_told_apart_by_its_subtype() -> None:
    entry = types.convert_entry({"type": "system", "subtype": "turn_duration", "durationMs": 12})
    assert isinstance(entry, system.TurnDuration)
    assert entry.duration_ms == 12


def test_a_system_entry_of_old_versions_has_no_subtype() -> None:
    assert isinstance(types.convert_entry({"type": "system", "content": "hello"}), system.PlainSystem)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": None},
        {"type": ["user"]},
        {"type": "brand-new"},
        {"type": "system", "subtype": "brand_new"},
        {"type": "system", "subtype": {}},
    ],
)
def test_an_unknown_type_has_no_class(body: dict[str, Any]) -> None:
    assert types.find_entry_class(body) is None
    assert types.convert_entry(body) is None


@pytest.mark.parametrize(
    "body",
    [
        {"type": "user", "message": "hello"},
        {"type": "user", "message": {"content": 5}},
        {"type": "assistant", "message": {"usage": {"input_tokens": "many"}}},
        {"type": "mode", "mode": 1},
        {"type": "mode", "\ud800": 1},
    ],
)
def test_what_does_not_fit_its_class_is_none(body: dict[str, Any]) -> None:
    assert types.convert_entry(body) is None


def test_blocks_become_their_classes_and_unknown_ones_stay() -> None:
    content = [
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "text", "text": "a"}, {"type": "new"}, 1],
        },
        {"type": "new", "x": 1},
        "bare",
    ]
    entry = types.convert_entry({"type": "user", "message": {"role": "user", "content": content}})
    assert isinstance(entry, conversation.User)
    assert entry.message is not None
    result = blocks.ToolResult(tool_use_id="t", content=[blocks.TextBlock(text="a"), {"type": "new"}, 1])
    assert entry.message.content == [result, {"type": "new", "x": 1}, "bare"]


@pytest.mark.parametrize("content", ["hello", None])
def test_content_that_is_no_list_stays(content: str | None) -> None:
    entry = types.convert_entry({"type": "assistant", "message": {"content": content}})
    assert isinstance(entry, conversation.Assistant)
    assert entry.message == conversation.AssistantMessage(content=content)


def test_an_entry_without_a_message_is_still_an_entry() -> None:
    assert types.convert_entry({"type": "user"}) == conversation.User()


def test_attachments_become_their_classes_and_unknown_ones_stay() -> None:
    known = types.convert_entry({"type": "attachment", "attachment": {"type": "date", "date": "2026-01-01"}})
    new = types.convert_entry({"type": "attachment", "attachment": {"type": "new"}})
    assert isinstance(known, attachments.AttachmentEntry)
    assert known.attachment == types.context.Date(date="2026-01-01")
    assert isinstance(new, attachments.AttachmentEntry)
    assert new.attachment == {"type": "new"}


def test_progress_reports_become_their_classes() -> None:
    entry = types.convert_entry({"type": "progress", "data": {"type": "query_update", "query": "q"}})
    assert isinstance(entry, progress.ProgressEntry)
    assert entry.data == progress.QueryUpdate(query="q")


@given(bodies)
def test_typing_never_raises(body: dict[str, Any]) -> None:
    entry = types.convert_entry(body)
    assert entry is None or isinstance(entry, types.FormatObject)
    types.convert_block(body)


def test_endless_nesting_does_not_fit() -> None:
    body: dict[str, Any] = {}
    body |= {"type": "user", "forkedFrom": body, "message": {"content": [body]}, "snake": body}
    types.convert_entry(body)


@pytest.mark.parametrize("name", ALL)
def test_every_kind_says_what_it_is_and_demands_nothing(name: str) -> None:
    cls = ALL[name]
    assert (cls.__doc__ or "").strip().endswith((".", ")"))
    assert cls() == cls()


def test_every_class_with_versions_can_be_found_by_its_tag() -> None:
    """Two classes with one tag would hide each other."""

    def concrete(base: type[part.FormatObject]) -> Iterator[type[part.FormatObject]]:
        for cls in base.__subclasses__():
            if "seen" in vars(cls):
                yield cls
            yield from concrete(cls)

    assert Counter(concrete(part.FormatObject)) == Counter(ALL.values())


def test_versions_are_in_order() -> None:
    def number(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    for first, last in types.SEEN_VERSIONS.values():
        assert number(first) <= number(last or types.NEWEST_CLIENT_VERSION) <= number(types.NEWEST_CLIENT_VERSION)


def test_what_was_never_seen_has_no_versions() -> None:
    assert "block/text" in types.SEEN_VERSIONS
    assert "tag" in types.ENTRY_CLASSES
    assert "tag" not in types.SEEN_VERSIONS


@pytest.mark.corpus
def test_every_genuine_line_fits_its_class(corpus: Path) -> None:
    misfits = [
        f"{line.path.relative_to(corpus)}:{line.number}"
        for line in lines(genuine(corpus))
        if types.find_entry_class(line.body) is not None and types.convert_entry(line.body) is None
    ]
    assert misfits == []


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
                    unlisted.update(f"{tool}.{name}" for name in result.keys() - RESULT_FIELDS[tool].keys())
    assert not unlisted


def parts(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = (body.get("message") or {}).get("content")
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []
