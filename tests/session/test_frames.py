"""The words that the newest client puts around what did not start a turn as a person's prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.build import DATA, Build, base
from turnlog.session.resume.frames import frame_queued

RECORDED = json.loads((DATA / "queued_frames.json").read_text("utf-8"))
"""What 2.1.325 sent for queued prompts of all origins (`tests/interop/frames.py` records it anew)."""
SCHEDULED = {"kind": "task-notification", "subkind": "scheduled-trigger"}


def list_user_blocks(build: Build) -> list[Any]:
    messages = build.session().conversation(as_sent=True).messages
    return [block for message in messages if message["role"] == "user" for block in message["content"]]


@pytest.mark.parametrize("case", RECORDED, ids=range(len(RECORDED)))
def test_a_queued_message_is_sent_as_the_client_sends_it(case: dict[str, Any]) -> None:
    build = base()
    build.attachment(**{"kind": "queued_command", **{k: v for k, v in case["attachment"].items() if k != "type"}})
    assert list_user_blocks(build)[-1] == {"type": "text", "text": case["sent"]}


def test_pictures_follow_the_framed_text() -> None:
    picture = {"type": "image", "source": {}}
    blocks: list[dict[str, Any]] = [picture, {"type": "text", "text": "look"}]
    framed = frame_queued(blocks, {"origin": {"kind": "peer"}})
    assert [block["type"] for block in framed] == ["text", "image"]
    assert frame_queued([picture], {}) == [picture]


@pytest.mark.parametrize("name", [None, 5, "", "a\nb", "x" * 5 + " {}"])
def test_a_plugin_with_an_odd_name_is_unnamed(name: Any) -> None:
    (framed,) = frame_queued([{"type": "text", "text": "hi"}], {"origin": {"kind": "plugin", "name": name}})
    assert "The unnamed plugin sent a message" in framed["text"]


def test_a_prompt_of_a_schedule_says_so() -> None:
    build = Build()
    build.prompt("make the report", origin=SCHEDULED)
    assert list_user_blocks(build)[0]["text"].startswith("[SCHEDULED TASK - AUTOMATED FIRING OF A CONFIGURED PROMPT]\n")


def test_a_peers_message_that_started_a_turn_is_sent_as_it_stands() -> None:
    build = Build()
    build.prompt("Another Claude session sent a message:\nhi", isMeta=True, origin={"kind": "peer", "from": "a"})
    assert list_user_blocks(build)[0]["text"] == "Another Claude session sent a message:\nhi"
