"""Calls by tool: counts, outcomes, times and sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import Build, find_recording, stamp, use
from tests.session.test_touches import with_agents
from turnlog.session.session import Session
from turnlog.session.tallies import (
    ToolTally,
    count_calls_by_tool,
    count_failure_messages,
    count_letters,
    list_all_calls,
    normalise_error_text,
    parse_mcp_server,
    sum_tallies,
    sum_tallies_by_server,
)

Open = Callable[[Path], Session]


def test_calls_are_counted_by_tool_with_how_they_ended() -> None:
    build = Build()
    build.prompt()
    for number, (content, error) in enumerate(
        [
            ("fine", None),
            ("bad", True),
            ("The user doesn't want to proceed", True),
            ("[Request interrupted by user", True),
        ]
    ):
        build.call(f"c{number}", "Bash", {"command": "ls -l"})
        build.result(f"c{number}", content, error=error)
    build.call("c9", "Bash")
    build.call("r1", "Read", {"file_path": "/a"})
    build.result("r1", [{"type": "text", "text": "1234"}])
    bash, read = count_calls_by_tool(build.session())
    counts = (bash.calls, bash.failed, bash.denied, bash.interrupted, bash.unanswered, bash.failures)
    assert (bash.name, *counts) == ("Bash", 5, 1, 1, 1, 1, 3)
    assert (read.calls, read.given, read.got, read.tokens_in, read.tokens_out) == (1, len("Read\n/a"), 4, 2, 1)


def test_the_time_of_a_call_is_that_until_its_result() -> None:
    build = Build(step=0)
    build.prompt()
    for number, seconds in enumerate([1, 2, 3, 10]):
        build.call(f"c{number}")
        build.wait(seconds)
        build.result(f"c{number}")
    (found,) = count_calls_by_tool(build.session())
    assert (found.median, found.p95, sum(found.times)) == (2500, 10000, 16000)


@pytest.mark.parametrize(("started", "ended"), [(None, stamp(5)), (stamp(5), None), (stamp(5), stamp(1)), ("x", "y")])
def test_a_call_without_sound_times_has_no_time(started: Any, ended: Any) -> None:
    build = Build()
    build.prompt()
    build.call("c1", timestamp=started)
    build.result("c1", timestamp=ended)
    (found,) = count_calls_by_tool(build.session())
    assert (found.median, found.p95) == (None, None)


def test_sub_agents_count_and_copies_do_not(tmp_path: Path, open_session: Open) -> None:
    found = {item.name: item.calls for item in count_calls_by_tool(open_session(with_agents(tmp_path)))}
    assert found == {"Read": 3, "Task": 1}


def test_calls_without_an_id_count_each() -> None:
    build = Build()
    build.prompt()
    build.answer(use(None, "Read"))
    build.answer(use(None, "Read"))
    assert len(list(list_all_calls(build.session()))) == 2


def test_tools_of_a_server_are_counted_together() -> None:
    tools = [
        ToolTally("mcp__git__log", 2, failed=1, times=[5.0], given=4, got=8),
        ToolTally("mcp__git__diff", 1, times=[1.0], denied=1, interrupted=1, unanswered=1),
        ToolTally("mcp__other__x", 1, denied=None, interrupted=None),
        ToolTally("Read", 9),
    ]
    git, other = sum_tallies_by_server(tools)
    assert (git.name, git.calls, git.failed, git.denied, git.interrupted, git.unanswered) == ("git", 3, 1, 1, 1, 1)
    assert (git.times, git.given, git.got) == ([5.0, 1.0], 4, 8)
    assert (other.denied, other.interrupted, other.failures) == (None, None, 0)
    assert sum_tallies(tools).calls == 13


@pytest.mark.parametrize(
    ("tool", "server"),
    [("mcp__a__b", "a"), ("mcp__a", "a"), ("mcp____x", None), ("Read", None), ("mcp__a_b__c__d", "a_b")],
)
def test_the_server_is_the_middle_part_of_the_name(tool: str, server: str | None) -> None:
    assert parse_mcp_server(tool) == server


def test_tools_that_wait_for_a_person_are_known() -> None:
    assert [ToolTally(name).waits_for_person for name in ("AskUserQuestion", "ExitPlanMode", "Bash")] == [
        True,
        True,
        False,
    ]


def test_letters_are_counted_in_any_value() -> None:
    assert [count_letters(value) for value in ("abc", ["ab", {"x": "c"}], None, 5)] == [3, 4, 0, 0]


def test_the_messages_of_failed_calls_are_counted() -> None:
    build = Build()
    build.prompt()
    for number, words in enumerate(["no /a/b.py", "no /c/d/e.py", "other"]):
        build.call(f"c{number}")
        build.result(f"c{number}", words, error=True)
    build.call("fine")
    build.result("fine")
    assert count_failure_messages(build.session()) == [("Bash", "failed", "no …", 2), ("Bash", "failed", "other", 1)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("\n  \n", ""),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "File has not been read yet."),
        ("Exit code 1", "Exit code 1"),
        ("Exit code 2\n\nls: cannot access '/tmp/x': none\nmore", "Exit code 2: ls: cannot access …: none"),
        ("line 12 of C:\\a\\b\\c.py\nmore", "line N of …"),
        ('String "abc def" not found', "String … not found"),
        ("id 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed gone", "id … gone"),
        ("x" * 500, "x" * 200),
    ],
)
def test_messages_are_reduced_to_what_they_have_in_common(text: str, wanted: str) -> None:
    assert normalise_error_text(text) == wanted


def test_a_recorded_session_has_the_failures_of_its_script(open_session: Open) -> None:
    found = {item.name: item for item in count_calls_by_tool(open_session(find_recording("2.1.325/tools")))}
    assert found["Edit"].failed == 1
    assert found["Bash"].calls > 1
