"""How turns end, each of them once."""

from __future__ import annotations

from typing import Any

from tests.live.events.event_list import list_events, list_kinds, read_events
from tests.session.build import Build, use


def build_thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


# -- errors of the API


def test_a_retry_says_which_attempt_failed() -> None:
    build = Build()
    build.prompt("go")
    error = {"message": "529 {…}", "formatted": "529 Overloaded"}
    build.system("api_error", error=error, retryAttempt=2, maxRetries=10)
    assert list_events(build, "error") == [
        {"event": "error", "source": "api", "text": "529 Overloaded", "call": None, "attempt": 2, "max_attempts": 10}
    ]


def test_a_request_that_is_sent_again_without_an_answer_is_a_retry() -> None:
    build = Build()
    build.prompt("go")
    for digest in ("d1", "d1", "d1"):
        build.note("api-request", requestDigest=digest)
    build.answer(use("c1"), stop="tool_use")
    build.note("api-request", requestDigest="d2")
    events = [event for event in read_events(build.data()) if event.__struct_config__.tag == "error"]
    assert [(event.attempt, event.confidence) for event in events] == [(1, "inferred"), (2, "inferred")]  # type: ignore[union-attr]


def test_a_retry_that_the_client_reports_counts_once() -> None:
    build = Build()
    build.prompt("go")
    build.note("api-request", requestDigest="d1")
    build.system("api_error", error={"formatted": "529"}, retryAttempt=1, maxRetries=10)
    build.note("api-request", requestDigest="d1")
    assert len(list_events(build, "error")) == 1


def test_the_requests_of_sub_agents_are_not_those_of_the_session() -> None:
    build = Build()
    build.prompt("go")
    for _ in range(2):
        build.note("api-request", requestDigest="d1", agentId="a1")
    assert list_events(build, "error") == []


def test_an_error_that_ends_the_turn_is_no_answer() -> None:
    build = Build()
    build.prompt("go")
    build.answer("API Error: 529 Overloaded", model="<synthetic>", stop="stop_sequence", isApiErrorMessage=True)
    build.system("turn_duration", durationMs=900)
    assert list_kinds(build) == ["prompt", "error"]
    assert list_events(build, "error")[0]["text"] == "API Error: 529 Overloaded"


def test_the_placeholder_of_a_resumed_session_is_no_answer() -> None:
    build = Build()
    build.prompt("go")
    build.answer("No response requested.", model="<synthetic>", stop="stop_sequence")
    assert list_kinds(build) == ["prompt"]


# -- the end of a turn


def test_a_turn_finishes_once() -> None:
    build = Build(step=5)
    build.prompt("go")
    build.answer(build_thinking("hm"), id="m1")
    build.answer("done", id="m1")
    build.system("turn_duration", durationMs=9000)
    assert list_kinds(build) == ["prompt", "think", "text", "turn-finish"]
    assert list_events(build, "turn-finish") == [{"event": "turn-finish", "seconds": 10.0}]


def test_the_duration_finishes_a_turn_without_a_stop_reason() -> None:
    build = Build("2.1.29")
    build.prompt("go")
    build.answer("done", stop=None)
    build.system("turn_duration", durationMs=9000)
    build.prompt("more")
    assert list_events(build, "turn-finish") == [{"event": "turn-finish", "seconds": 9.0}]


def test_the_next_prompt_shows_that_a_turn_finished_which_no_entry_ends() -> None:
    build = Build("2.1.29")
    build.prompt("go")
    build.answer("done", uuid="a1", stop=None)
    build.prompt("more")
    finish = read_events(build.data())[-2]
    assert (finish.__struct_config__.tag, finish.entry, finish.confidence) == ("turn-finish", "a1", "inferred")
    assert finish.time == "2026-01-01T10:02:00.000Z"


def test_a_turn_that_ended_with_a_call_did_not_finish() -> None:
    build = Build("2.1.29")
    build.prompt("go")
    build.answer("I look.", id="m1", stop=None)
    build.call("c1", id="m1")
    build.prompt("more")
    assert list_events(build, "turn-finish") == []


def test_an_answer_that_continues_after_a_hook_finishes_again() -> None:
    build = Build()
    build.prompt("go")
    build.answer("done")
    build.system("stop_hook_summary")
    build.prompt("Stop hook feedback:\nupdate the changelog", isMeta=True)
    build.answer("updated")
    assert list_kinds(build) == ["prompt", "text", "turn-finish", "text", "turn-finish"]


def test_a_prompt_that_is_written_after_its_answer_starts_no_second_turn() -> None:
    build = Build("2.1.45")
    build.answer("done", uuid="a1", parent="h1", stop="end_turn")
    build.progress("h1", parent="u1")
    build.prompt("go", "u1", parent=None)
    build.system("turn_duration", durationMs=100)
    assert list_kinds(build) == ["text", "turn-finish", "prompt"]


def test_a_duration_that_is_written_after_the_next_prompt_does_not_finish_that() -> None:
    build = Build()
    build.prompt("go")
    build.answer("done")
    build.prompt("more")
    build.system("turn_duration", durationMs=9000)
    assert list_kinds(build) == ["prompt", "text", "turn-finish", "prompt"]


def test_a_command_asks_for_a_level_of_thinking_too() -> None:
    build = Build()
    build.prompt("<command-name>/review</command-name><command-args>ultrathink</command-args>")
    build.answer(build_thinking("hm"), stop=None)
    build.answer("done")
    assert list_kinds(build) == ["think", "text", "turn-finish"]
    assert [event["level"] for event in list_events(build, "think")] == ["ultra"]


def test_a_local_command_finishes_nothing() -> None:
    build = Build()
    build.prompt("<command-name>/model</command-name>")
    build.prompt("<local-command-stdout>done</local-command-stdout>")
    build.system("turn_duration", durationMs=1)
    assert list_kinds(build) == []


def test_an_interrupt_ends_the_turn_once_and_unfinished() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1")
    build.result("c1", "The user doesn't want to proceed", error=True, toolUseResult="User rejected tool use")
    build.interrupt()
    build.interrupt()
    build.system("turn_duration", durationMs=1)
    assert list_kinds(build) == ["prompt", "call", "result", "interrupt"]
