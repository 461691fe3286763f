"""`turnlog tools`: calls by tool, of one session and of all."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, find_recording
from turnlog.api.tools import to_day_start
from turnlog.session.session import Session
from turnlog.session.tallies import list_all_calls


def cells(lines: list[str], name: str) -> list[str]:
    return next(line.split() for line in lines if line.startswith(name))


def build_tool_session(*outcomes: tuple[str, str, bool | None]) -> Build:
    """A session with calls of one second: (tool, what the result says, whether it is an error)."""
    build = Build(step=1)
    build.prompt()
    for number, (tool, words, error) in enumerate(outcomes):
        build.call(f"c{number}", tool, {"command": "ls"})
        if error is not None:
            build.result(f"c{number}", words, error=error)
    return build


MIXED = build_tool_session(
    ("Bash", "fine", False),
    ("Bash", "Exit code 1\nno /a/b", True),
    ("Bash", "The user doesn't want to proceed", True),
    ("Bash", "", None),
    ("mcp__git__log", "fine", False),
)


def test_calls_of_a_session_are_counted_by_tool_and_by_server(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("tools", machine.add(SESSION, MIXED.data()))
    assert cells(done.lines, "Bash")[1:7] == ["4", "80.0%", "1", "1", "·", "1"]
    assert cells(done.lines, "Bash")[7:11] == ["1.0", "s", "1.0", "s"]
    assert cells(done.lines, "git")[1:3] == ["1", "20.0%"]
    assert cells(done.lines, "all")[1] == "5"
    assert done.lines[-1].startswith("Calls: every call id once")
    assert "AskUserQuestion and ExitPlanMode wait for a person" in done.lines[-1]


def test_a_result_weeks_later_and_a_launch_are_no_durations(turnlog: Turnlog, machine: Machine) -> None:
    build = Build(step=0)
    for tool, seconds in (("Read", 141 * 86_400), ("Read", 2), ("Agent", 0.131)):
        key = build.call(f"{tool}{seconds}", name=tool)
        build.wait(seconds)
        structured = {"isAsync": True} if tool == "Agent" else {}
        build.result(f"{tool}{seconds}", parent=key, toolUseResult=structured)
    path = machine.add(SESSION, build.data())
    for words in (["tools"], ["tools", path]):
        tools = {tool["tool"]: tool for tool in turnlog(*map(str, words), "--json").json["tools"]}
        assert (tools["Read"]["calls"], tools["Read"]["total_ms"]) == (2, 2000)
        assert tools["Agent"]["median_ms"] is None


def test_calls_of_all_sessions_are_counted_once_over_copies(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, MIXED.data())
    machine.add("22222222" + SESSION[8:], MIXED.data())
    done = turnlog("tools")
    assert cells(done.lines, "Bash")[1:5] == ["4", "80.0%", "2", "1"]
    assert "which the index can't tell apart" in done.lines[-1]


def test_one_session_and_the_index_tell_the_same(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, find_recording("2.1.325/tools").read_bytes())
    one, everything = turnlog("tools", path, "--json").json, turnlog("tools", "--json").json
    same = ("tool", "calls", "unanswered", "median_ms", "p95_ms", "total_ms", "characters_in", "characters_out")
    assert [[tool[key] for key in same] for tool in one["tools"]] == [
        [tool[key] for key in same] for tool in everything["tools"]
    ]
    failures = [tool["failed"] + tool["denied"] + tool["interrupted"] for tool in one["tools"]]
    assert failures == [tool["failed"] for tool in everything["tools"]]
    with Session.open(path) as session:
        assert one["total"]["calls"] == len(list(list_all_calls(session)))


def test_failure_messages_of_a_session_are_counted(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("tools", machine.add(SESSION, MIXED.data()), "--failures")
    assert cells(done.lines, "Bash")[1:] == ["1", "failed", "Exit", "code", "1:", "no", "…"]


def test_failures_over_all_are_counted_by_tool(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, MIXED.data())
    assert cells(turnlog("tools", "--failures").lines, "Bash") == ["Bash", "2", "4", "50.0%"]


def test_a_session_without_calls_or_failures_says_so(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, build_tool_session().data())
    assert turnlog("tools", path).out == "No calls.\n"
    assert turnlog("tools", path, "--failures").out == "No call failed.\n"
    assert turnlog("tools", "--failures").out == "No call failed.\n"


def test_calls_of_a_project_and_since_a_day_are_chosen(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, MIXED.data())
    assert turnlog("tools", "--project", "webshop", "--json").json["total"]["calls"] == 5
    assert turnlog("tools", "--since", "2025-01-01", "--json").json["total"]["calls"] == 5
    assert turnlog("tools", "--since", "2027-01-01", "--json").json["total"]["calls"] == 0


@pytest.mark.parametrize("words", [["last", "--project", "x"], ["last", "--since", "30d"], ["--since", "soon"]])
def test_words_that_make_no_sense_are_refused(turnlog: Turnlog, machine: Machine, words: list[str]) -> None:
    machine.add(SESSION, MIXED.data())
    assert turnlog("tools", *words).status == 2


def test_a_day_begins_at_midnight_here() -> None:
    wanted = datetime(2026, 11, 3).astimezone().astimezone(UTC)
    assert to_day_start("2026-11-03") == wanted.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert to_day_start("0001-01-01").startswith("0001-01-01") or to_day_start("0001-01-01") == ""


def test_hostile_names_and_messages_do_not_reach_the_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = build_tool_session((HOSTILE, HOSTILE, True), (f"mcp__{HOSTILE}__x", HOSTILE, True), ("", "x", True))
    path = machine.add(SESSION, build.data())
    for words in (["tools", path], ["tools", path, "--failures"]):
        done = turnlog(*words)
        assert done.status == 0
        assert harmful(done.out) == set()
    assert "(no name)" in turnlog("tools", path).out


def test_hostile_names_in_the_index_do_not_reach_the_terminal(turnlog: Turnlog, machine: Machine) -> None:
    name = HOSTILE.replace("\ud800", "")
    machine.add(SESSION, build_tool_session((name, name, True), (f"mcp__{name}__x", name, True)).data())
    for words in (["tools"], ["tools", "--failures"]):
        done = turnlog(*words)
        assert done.status == 0
        assert harmful(done.out) == set()


def test_the_demo_has_calls(turnlog: Turnlog) -> None:
    done = turnlog("tools")
    assert cells(done.lines, "Edit")[0] == "Edit"
    assert "made-up" in done.err
