"""Whether a call failed, also where nobody wrote `is_error`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build, find_recording, outcome
from turnlog.session.failures import has_failed, to_result_text
from turnlog.session.session import Session

TAGGED = "<tool_use_error>File has not been read yet.</tool_use_error>"
FAILED = ["Exit code 1", "Exit code 127\nsh: nope", "Error: Exit code 2\r\nx", TAGGED, f"{TAGGED}\nand a hook's words"]
FINE = [
    "Exit code 0",
    "Exit code 1 is what a failed test gives",
    "exit code 1",
    "Exit code 1000",
    " Exit code 1",
    "1\tExit code 1",
    "ok\nExit code 1",
    "the tag <tool_use_error> is explained here </tool_use_error>",
    "<tool_use_error> without an end",
    "",
]


@pytest.mark.parametrize("text", FAILED)
def test_the_clients_words_for_a_failure_tell_it_where_nothing_is_stated(text: str) -> None:
    assert has_failed(None, text, None)


@pytest.mark.parametrize("text", FINE)
def test_words_that_only_look_like_a_failure_are_none(text: str) -> None:
    assert not has_failed(None, text, None)


@pytest.mark.parametrize("text", [*FAILED, *FINE])
def test_what_is_stated_counts_whatever_the_text_says(text: str) -> None:
    assert has_failed(True, text, {"stdout": text})
    assert not has_failed(False, text, "Error: Exit code 1")


@pytest.mark.parametrize("text", FAILED)
@pytest.mark.parametrize("record", [{"stdout": "Exit code 1"}, [{"type": "text", "text": "Exit code 1"}]])
def test_a_record_of_a_success_is_believed_before_the_text(text: str, record: Any) -> None:
    assert not has_failed(None, text, record)


def test_the_record_of_a_failed_command_begins_with_error_and_that_of_another_tool_does_not() -> None:
    assert has_failed(None, "Exit code 1\nx", "Error: Exit code 1\nx")
    assert not has_failed(None, "Exit code 1\nx", "Exit code 1\nx")
    assert has_failed(None, TAGGED, "InputValidationError: [ ]")


@given(st.text(), st.none() | st.booleans(), st.none() | st.text() | st.dictionaries(st.text(), st.text(), max_size=1))
def test_any_text_and_record_are_judged(text: str, stated: bool | None, record: object) -> None:
    assert has_failed(stated, text, record) in (True, False)


def build_failing_session(*texts: Any, **fields: Any) -> Session:
    build = Build()
    build.prompt()
    for place, text in enumerate(texts):
        build.call(f"c{place}")
        build.result(f"c{place}", text, **fields)
    return build.session()


def test_calls_without_is_error_count_as_failed_by_their_text() -> None:
    session = build_failing_session("Exit code 1\nno", "fine", TAGGED, [{"type": "text", "text": "Exit code 3"}])
    assert [call.is_error for call in session.calls] == [True, False, True, True]
    assert [session.read_detail(call).outcome for call in session.calls] == ["error", "answered", "error", "error"]


def test_a_result_before_its_call_is_judged_too() -> None:
    build = Build()
    build.result("c1", "Exit code 1")
    build.call("c1")
    assert [call.is_error for call in build.session().calls] == [True]


def test_of_several_results_in_one_entry_each_is_judged_by_its_own_text() -> None:
    build = Build()
    build.call("c1")
    build.call("c2")
    build.prompt([outcome("c1", "Exit code 1"), outcome("c2", "I saw Exit code 1")])
    assert [call.is_error for call in build.session().calls] == [True, False]


def test_an_entry_that_only_mentions_the_words_elsewhere_has_not_failed() -> None:
    session = build_failing_session("done", toolUseResult={"stdout": "Exit code 1"})
    assert [call.is_error for call in session.calls] == [False]


@pytest.mark.parametrize("start", ["Exit code 1\n", "Error: Exit code 1\n", TAGGED, "fine", "", "\u00e9", "Ex", "<"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("place", [{"cwd": "/a{b"}, {"cwd": "/" + "x" * 3000}, {}])
def test_the_first_words_of_a_result_decide(start: str, nested: bool, place: dict[str, str]) -> None:
    text = start + "said Exit code 1 and tool_use_error " * 100
    session = build_failing_session([{"type": "text", "text": text}] if nested else text, **place)
    assert [call.is_error for call in session.calls] == [has_failed(None, text, None)]


def test_the_head_of_another_calls_result_decides_nothing() -> None:
    build = Build()
    build.call("c1")
    build.call("c2")
    build.prompt([outcome("c1", "fine"), outcome("c2", "Exit code 1")])
    assert [call.is_error for call in build.session().calls] == [False, True]


@pytest.mark.parametrize("name", ["2.1.325/tools", "2.0.76/tools", "1.0.128/tools"])
def test_no_success_that_the_client_recorded_looks_like_a_failure(name: str) -> None:
    with Session.open(find_recording(name)) as session:
        for call in session.calls:
            if call.result is not None and not call.is_error:
                record = session.read_body(call.result).get("toolUseResult")
                assert not has_failed(None, to_result_text(session.read_detail(call).result), record)
