"""Entries and scraps as values."""

from __future__ import annotations

import pytest

from turnlog.entries.entry import FLAW_DESCRIPTIONS, SCRAP_DESCRIPTIONS, BlockHead, Entry, MessageHead, Scrap
from turnlog.entries.line_decoder import decode_entry


def test_a_line_becomes_an_entry_with_the_fields_that_structure_needs() -> None:
    entry = decode_entry(
        b'{"parentUuid":"p","isSidechain":false,"type":"assistant","uuid":"u","sessionId":"s","gitBranch":"main",'
        b'"requestId":"r","isApiErrorMessage":true,"message":{"id":"m","model":"x","stop_reason":"end_turn",'
        b'"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"a":1}}],'
        b'"usage":{"input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2},'
        b'"server_tool_use":{"web_search_requests":3}}}}'
    )
    assert (entry.parent_uuid, entry.uuid, entry.session_id, entry.git_branch) == ("p", "u", "s", "main")
    assert (entry.is_sidechain, entry.is_api_error_message, entry.request_id) == (False, True, "r")
    assert entry.message is not None
    assert entry.message.blocks == [BlockHead("tool_use", id="t", name="Bash")]
    assert entry.message.usage is not None
    assert entry.message.usage.cache_creation is not None
    assert entry.message.usage.cache_creation.ephemeral_1h_input_tokens == 2
    assert entry.message.usage.server_tool_use is not None
    assert entry.message.usage.server_tool_use.web_search_requests == 3


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (None, []),
        ([], []),
        ("hello", [BlockHead("text")]),
        ("", [BlockHead("text")]),
        ([BlockHead("image")], [BlockHead("image")]),
    ],
)
def test_content_is_blocks_and_a_string_is_one_text_block(
    content: str | list[BlockHead] | None, blocks: list[BlockHead]
) -> None:
    assert MessageHead(content=content).blocks == blocks


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (Entry(type="user"), "user"),
        (Entry(type="system", subtype="turn_duration"), "system/turn_duration"),
        (Entry(), "(no type)"),
        (Entry(type=""), "(no type)"),
        (Entry(subtype="x"), "(no type)/x"),
    ],
)
def test_the_name_of_an_entry_is_its_type_with_the_subtype(entry: Entry, name: str) -> None:
    assert entry.name == name


def test_only_what_stands_behind_something_else_or_is_terse_is_lost_for_the_client() -> None:
    assert [flaw for flaw in [None, *FLAW_DESCRIPTIONS] if Entry(flaw=flaw).is_lost] == ["terse", "behind"]


def test_entries_and_scraps_know_where_they_end() -> None:
    assert Entry(offset=3, size=4).end == 7
    assert Scrap(3, 4, "blank", SCRAP_DESCRIPTIONS["blank"]).end == 7
