"""The mark of a compressed session: the real client neither sends it nor stops at it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.edit.test_compress_mark import compress_and_mark, conversation
from tests.interop.clients import NEWEST, OLD, client
from tests.interop.resume import resume
from tests.session.build import SESSION

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("version", [NEWEST, OLD])
def test_all_turns_of_a_compressed_session_are_sent_without_its_mark(version: str, tmp_path: Path) -> None:
    _, draft = compress_and_mark(conversation().session())
    data = b"".join(draft.iterate_lines())
    assert b"turnlog compressed the conversation above" in data
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(data)
    got = resume(client(version), path, limit=60)
    assert got.outcome == "sent"
    text = json.dumps(got.messages)
    assert [number for number in range(4) if f"prompt {number}" in text] == [0, 1, 2, 3]
    assert "turnlog compressed" not in text
