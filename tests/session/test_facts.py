"""A session as one JSON document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.build import Build, to_session_document
from turnlog.errors import Refused
from turnlog.session.check import check
from turnlog.session.session import Session

NOTICE = (
    "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n"
    "<summary>done</summary>\n</task-notification>"
)


def test_turns_are_numbered_from_one_as_people_count() -> None:
    built = Build()
    for text in ("one", "two"):
        built.prompt(text)
        built.answer("yes")
    assert [(turn["index"], turn["text"]) for turn in to_session_document(built.session())["turns"]] == [
        (1, "one"),
        (2, "two"),
    ]


def test_a_call_that_went_on_in_the_background_tells_how_it_ended() -> None:
    built = Build()
    built.prompt("start it")
    built.call("c1", "Bash")
    built.result("c1", "running", toolUseResult={"backgroundTaskId": "b1"})
    built.answer("It runs.")
    built.prompt(NOTICE.format(task="b1", call="c1", status="completed"))
    built.answer("It is done.")
    first, second = to_session_document(built.session())["turns"]
    assert first["calls"][0]["reported"] == "completed"
    assert second["kind"] == "notification"
    assert second["origin"] == {"task_id": "b1", "call_id": "c1", "status": "completed", "summary": "done"}


def test_a_sub_agent_is_reported_under_its_own_name() -> None:
    built = Build()
    built.prompt("send one")
    built.call("c1", "Agent", {"prompt": "look", "subagent_type": "Explore"})
    built.result("c1", "launched", toolUseResult={"isAsync": True, "agentId": "a1"})
    built.answer("Sent.")
    built.prompt(NOTICE.format(task="a1", call="", status="failed"))
    built.answer("It failed.")
    call = to_session_document(built.session())["turns"][0]["calls"][0]
    assert (call["agent_id"], call["reported"]) == ("a1", "failed")


def test_the_context_window_is_told_at_the_end_and_at_its_fullest() -> None:
    built = Build()
    built.prompt()
    for read in (500, 900, 100):
        built.answer("x", usage={"input_tokens": 1, "cache_read_input_tokens": read, "output_tokens": 3})
    assert to_session_document(built.session())["context"] == {"tokens": 101, "window": 1_000_000, "peak": 901}


def test_a_session_without_usage_has_no_context() -> None:
    built = Build()
    built.prompt()
    assert to_session_document(built.session())["context"] == {"tokens": None, "window": None, "peak": None}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("overloaded", "overloaded"),
        ({"message": "529 Overloaded", "status": 529}, "529 Overloaded"),
        ({"error": {"error": {"message": "inner"}}}, "inner"),
        ({"status": 529}, '{"status": 529}'),
        (7, None),
    ],
)
def test_an_error_of_the_api_is_told_in_its_own_words(error: Any, text: str | None) -> None:
    built = Build()
    built.prompt()
    built.system("api_error", error=error)
    assert [found["text"] for found in to_session_document(built.session())["api_errors"]] == [text]


def test_files_modes_and_pull_requests_are_listed() -> None:
    built = Build()
    built.note("permission-mode", permissionMode="plan")
    built.prompt(permissionMode="default")
    built.call("c1", "Edit", {"file_path": "/home/dana/webshop/cart.py"})
    built.result("c1")
    built.note("pr-link", prUrl="https://example.com/pull/1", prNumber=1)
    found = to_session_document(built.session())
    assert [(file["path"], file["writes"]) for file in found["files"]] == [("/home/dana/webshop/cart.py", 1)]
    assert [event["mode"] for event in found["permission_modes"]] == ["plan", "default"]
    assert found["pull_requests"] == ["https://example.com/pull/1"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"system","subtype":"compact_boundary","parentUuid":"a","uuid":"a"}\n',
        b'{"type":"system","subtype":"compact_boundary","timestamp":"2026-01-01T10:00:00.000Z"}\n',
    ],
)
def test_a_lone_compaction_ends_every_view(line: bytes) -> None:
    """Found by fuzzing: one did not end, the other raised."""
    session = Session.from_bytes(line)
    assert json.dumps(to_session_document(session))
    assert check(session)
    with pytest.raises(Refused):
        session.conversation()
