"""Tool calls with their results."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, genuine, open_variant, outcome, use
from turnlog.entries.reader import BytesSource
from turnlog.session.calls import TOOL_FAMILIES, CallDetail, find_tool_family, pair_calls, read_call_inputs
from turnlog.session.failures import to_result_text
from turnlog.session.session import Session


def detail(session: Session, number: int = 0) -> CallDetail:
    return session.read_detail(session.calls[number])


def one(content: Any = "done", error: bool | None = None, structured: Any = None, **fields: Any) -> CallDetail:
    """The detail of one call with such a result."""
    build = Build()
    build.prompt()
    build.call()
    build.result("c1", content, error=error, toolUseResult=structured, **fields)
    return detail(build.session())


class CountingSource(BytesSource):
    """A transcript in memory that counts how often it is read."""

    reads = 0

    def read(self, offset: int, size: int) -> bytes:
        self.reads += 1
        return super().read(offset, size)


def test_a_line_with_many_calls_is_read_once_for_all_their_inputs() -> None:
    build = Build()
    build.prompt()
    build.answer(*(use(f"c{number}", "Read", {"file_path": f"/{number}"}) for number in range(100)))
    build.answer(use("last", "Read", {"file_path": "/last"}))
    session = build.session()
    source = session.file.source = CountingSource(build.data())
    inputs = list(read_call_inputs(session.file, session.calls))
    assert inputs == [{"file_path": f"/{name}"} for name in (*range(100), "last")]
    assert source.reads == 2
    assert list(read_call_inputs(session.file, [session.calls[3], session.calls[-1]])) == [inputs[3], inputs[-1]]


def test_a_call_and_its_result_are_paired_by_id() -> None:
    build = Build()
    build.call("c1", "Read", {"file_path": "/x"})
    build.call("c2", "Bash")
    build.result("c2", "two")
    build.result("c1", "one")
    session = build.session()
    assert [(call.id, call.name, call.is_error) for call in session.calls] == [
        ("c1", "Read", False),
        ("c2", "Bash", False),
    ]
    assert [detail(session, number).result for number in (0, 1)] == ["one", "two"]
    assert detail(session).input == {"file_path": "/x"}


def test_a_result_may_stand_before_its_call() -> None:
    build = Build()
    build.result("c1")
    build.call("c1")
    (call,) = build.session().calls
    assert call.result is not None
    assert build.session().orphans == []


def test_of_several_results_the_first_counts_wherever_the_call_stands() -> None:
    build = Build()
    build.result("c1", "first", error=True)
    build.result("c1", "second")
    build.call("c1")
    build.result("c1", "third")
    session = build.session()
    assert (session.calls[0].is_error, detail(session).result) == (True, "first")
    assert session.orphans == []


def test_a_call_lasts_from_its_line_to_its_result() -> None:
    build = Build()
    build.call()
    build.call("c2")
    build.result("c1")
    first, second = build.session().calls
    assert (first.started_at, first.ended_at) == ("2026-01-01T10:01:00.000Z", "2026-01-01T10:03:00.000Z")
    assert second.ended_at is None


def test_a_call_without_a_result_is_unanswered() -> None:
    build = Build()
    build.call(given={"command": "sleep"})
    session = build.session()
    assert [call.is_error for call in session.calls] == [None]
    assert detail(session) == CallDetail({"command": "sleep"}, None, None, "unanswered", None, None)


def test_unanswered_and_failed_calls_are_listed() -> None:
    build = Build()
    for name in ("c1", "c2", "c3"):
        build.call(name)
    build.result("c1")
    build.result("c2", error=True)
    session = build.session()
    found = pair_calls(session.entries, session.file)
    assert [call.id for call in found.unanswered_calls] == ["c3"]
    assert [call.id for call in found.errors] == ["c2"]


def test_a_result_without_its_call_is_an_orphan() -> None:
    build = Build()
    build.call("c1")
    build.result("c1")
    build.result("c9", uuid="lost")
    session = build.session()
    assert [entry.uuid for entry in session.orphans] == ["lost"]
    assert len(session.calls) == 1


def test_results_whose_calls_were_removed_are_orphans() -> None:
    assert len(open_variant("tool-use-removed-results-left-orphans").orphans) > 0
    assert open_variant("tool-results-removed-tool-use-left").calls[0].result is None


def test_a_call_that_is_written_twice_is_one_call_and_its_first_result_counts() -> None:
    build = Build()
    build.call("c1", id="m")
    build.call("c1", id="m")
    build.result("c1", "first")
    build.result("c1", "second", error=True)
    session = build.session()
    assert len(session.calls) == 1
    assert session.orphans == []
    assert detail(session).result == "first"
    assert session.calls[0].is_error is False


def test_several_calls_and_results_may_share_a_line() -> None:
    build = Build()
    build.answer("both", use("c1"), use("c2"))
    build.prompt([outcome("c1", "one"), outcome("c2", "two", error=True)])
    session = build.session()
    assert [call.is_error for call in session.calls] == [False, True]
    assert [detail(session, number).result for number in (0, 1)] == ["one", "two"]


def test_calls_without_an_id_are_calls_nevertheless() -> None:
    build = Build()
    build.answer(use(None), id=None)
    build.result("", "whose?")
    session = build.session()
    assert len(session.calls) == 1
    assert session.calls[0].id.startswith("@")
    assert len(session.orphans) == 1


def test_blocks_on_the_wrong_side_are_neither_calls_nor_results() -> None:
    build = Build()
    build.prompt([use("c1")])
    build.answer(outcome("c1"))
    assert build.session().calls == []
    assert build.session().orphans == []


def test_a_call_names_the_message_that_it_is_part_of() -> None:
    build = Build()
    build.call("c1", id="m1")
    build.call("c2", id=None, uuid="x2")
    assert [call.message for call in build.session().calls] == ["m1", "x2"]


OUTCOMES: list[tuple[Any, bool | None, Any, dict[str, Any], str]] = [
    ("fine", None, {"stdout": "fine"}, {}, "answered"),
    ("fine", False, None, {}, "answered"),
    ("Exit code 1", True, "Error: Exit code 1", {}, "error"),
    ("The user doesn't want to proceed with this tool use.", True, "User rejected tool use", {}, "denied"),
    ("The user doesn't want to take this action right now.", True, None, {}, "denied"),
    ("Permission refused by a hook", True, None, {"toolDenialKind": "permission-rule"}, "denied"),
    ("Exit code 137\n[Request interrupted by user for tool use]", True, None, {}, "interrupted"),
    ([{"type": "text", "text": "[Tool call interrupted: …"}], True, None, {}, "interrupted"),
    ("half", None, {"interrupted": True}, {}, "interrupted"),
    ("launched", None, {"isAsync": True, "status": "async_launched"}, {}, "launched"),
    ("running", None, {"backgroundTaskId": "b1"}, {}, "launched"),
    ("User rejected the offer, says the log", None, {"stdout": "User rejected the offer"}, {}, "answered"),
    ("[Request interrupted by user] is in the log", None, {"stdout": "[Request"}, {}, "answered"),
]


@pytest.mark.parametrize(("content", "error", "structured", "fields", "expected"), OUTCOMES)
def test_how_a_call_ended(
    content: Any, error: bool | None, structured: Any, fields: dict[str, Any], expected: str
) -> None:
    found = one(content, error, structured, **fields)
    assert found.outcome == expected
    assert found.structured == structured


def test_a_background_call_names_its_task() -> None:
    assert one(structured={"backgroundTaskId": "b1"}).background_id == "b1"
    assert one(structured={"backgroundTaskId": 5}).background_id is None


def test_a_result_that_was_too_large_names_the_file_that_holds_it() -> None:
    assert one(structured={"persistedOutputPath": "/a/b.txt"}).persisted == "/a/b.txt"
    text = "<persisted-output>\nToo large (50 KB). Full output saved to: /a/c.txt\n\nPreview:\nx\n</persisted-output>"
    assert one(text).persisted == "/a/c.txt"
    assert one("short").persisted is None


def test_the_plain_text_of_a_result_says_what_else_is_in_it() -> None:
    assert to_result_text([{"type": "text", "text": "a"}, {"type": "image"}, "x", {"type": "text"}]) == "a\n[image]\n"
    assert to_result_text("a") == "a"
    assert to_result_text(None) == to_result_text(5) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Read", "reading"), ("Edit", "writing"), ("Bash", "running"), ("WebFetch", "web"), ("TodoWrite", "planning"),
     ("AskUserQuestion", "asking"), ("Task", "agents"), ("Agent", "agents"), ("Skill", "skills"),
     ("mcp__github__search", "mcp"), ("NoSuchTool", "other"), ("", "other")],
)  # fmt: skip
def test_every_tool_has_a_family(name: str, expected: str) -> None:
    assert find_tool_family(name) == expected


def test_no_tool_is_in_two_families() -> None:
    names = [name for tools in TOOL_FAMILIES.values() for name in tools]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_all_recorded_versions_answered_every_call_of_the_scripted_session(version: str) -> None:
    session = genuine(f"{version}/tools")
    assert len(session.calls) == 11
    assert all(call.result for call in session.calls)
    assert [call.name for call in session.calls if call.is_error][:3] == ["Bash", "Read", "Edit"]


def test_recorded_denials_interruptions_and_background_tasks_are_seen() -> None:
    for version in ("2.0.76", "2.1.45"):
        session = genuine(f"{version}/tui_edge")
        found = [session.read_detail(call).outcome for call in session.calls]
        assert {"interrupted", "denied", "launched", "answered"} == set(found)
    session = genuine("2.1.325/hooks")
    assert [session.read_detail(call).outcome for call in session.calls] == ["answered", "denied", "answered"]


def test_a_recorded_large_output_names_its_file() -> None:
    session = genuine("2.1.325/misc")
    assert [call.name for call in session.calls if session.read_detail(call).persisted] == ["Bash"]


def test_a_recorded_async_agent_is_launched_and_named() -> None:
    session = genuine("2.1.325/agents")
    assert [session.read_detail(call).outcome for call in session.calls] == ["launched", "launched"]
    assert all(call.agent_id for call in session.calls)
