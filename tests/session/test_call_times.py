"""How long calls took, without the times in which nothing worked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build
from turnlog.session.call_times import find_working_time, is_launch, measure_call_ms
from turnlog.session.tallies import count_calls_by_tool

MINUTE = 60_000


def measure(name: str, seconds: float, **result: Any) -> float | None:
    """The duration of a call with a result after so many seconds."""
    build = Build(step=0)
    build.prompt("go")
    build.call("c1", name=name)
    build.wait(seconds)
    build.result("c1", **result)
    session = build.session()
    (call,) = session.calls
    (tally,) = count_calls_by_tool(session)
    took = measure_call_ms(call, session.read_detail(call))
    assert tally.times == ([] if took is None else [took])
    return took


@pytest.mark.parametrize(
    ("tool", "seconds", "is_work"),
    [
        ("Read", 4, True),
        ("Read", 141 * 86_400, False),
        ("Edit", 59, True),
        ("Edit", 61, False),
        ("Bash", 1800, True),
        ("Bash", 50_758, False),
        ("WebFetch", 216, True),
        ("mcp__db__query", 167, True),
        ("AskUserQuestion", 5871, True),
        ("Task", 4194, True),
    ],
)
def test_a_time_that_no_tool_of_the_kind_needs_is_a_wait(tool: str, seconds: float, is_work: bool) -> None:
    assert measure(tool, seconds) == (seconds * 1000 if is_work else None)


@pytest.mark.parametrize(("source", "is_work"), [("user_temporary", False), ("user", False), ("config", True)])
def test_a_call_that_a_person_permitted_has_no_duration(source: str, is_work: bool) -> None:
    took = measure("Bash", 5, permissionDecision={"decision": "accept", "source": source})
    assert took == (5000 if is_work else None)


def test_what_was_only_launched_has_no_duration() -> None:
    assert measure("Agent", 0.131, toolUseResult={"isAsync": True, "agentId": "a1"}) is None
    assert measure("Bash", 0.2, toolUseResult={"backgroundTaskId": "b1"}) is None


def test_the_duration_of_a_launched_agent_is_that_of_its_run() -> None:
    build = Build(step=0)
    build.prompt("go")
    build.call("c1", name="Agent")
    build.result("c1", toolUseResult={"isAsync": True})
    session = build.session()
    (call,) = session.calls
    run = ("2026-01-01T10:00:00Z", "2026-01-01T10:02:00Z")
    assert measure_call_ms(call, session.read_detail(call), run) == 2 * MINUTE
    assert measure_call_ms(call, session.read_detail(call), (run[1], run[0])) is None
    assert measure_call_ms(call, session.read_detail(call), (None, None)) is None


def test_without_the_file_the_time_alone_tells_a_launch() -> None:
    assert is_launch("Agent", 131)
    assert not is_launch("Agent", 2000)
    assert not is_launch("Read", 1)
    assert find_working_time("ExitPlanMode", 100 * MINUTE) == 100 * MINUTE
