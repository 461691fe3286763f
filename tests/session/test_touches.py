"""Every touch of a file, in order, with its turn and who did it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import SESSION, Build, find_recording, stamp, use
from turnlog.session.files.touches import (
    AgentTurns,
    Touch,
    find_turn_at,
    group_touches_by_file,
    list_touches,
    read_changed_files,
    resolve_touched_path,
)
from turnlog.session.session import Session

Open = Callable[[Path], Session]


def short(found: list[Touch]) -> list[tuple[str, str, str, int | None]]:
    return [(item.path, item.action, item.outcome, item.turn.number if item.turn else None) for item in found]


def test_calls_touch_files_in_the_turn_that_made_them() -> None:
    build = Build()
    build.prompt("first")
    build.call("c1", "Read", {"file_path": "/a"})
    build.result("c1")
    build.prompt("second")
    build.call("c2", "Write", {"file_path": "/b"})
    build.result("c2")
    build.call("c3", "NotebookEdit", {"notebook_path": "/n"})
    build.result("c3")
    assert short(list_touches(build.session())) == [
        ("/a", "read", "done", 1),
        ("/b", "write", "done", 2),
        ("/n", "edit", "done", 2),
    ]


@pytest.mark.parametrize(
    ("content", "error", "outcome"),
    [
        ("no such file", True, "failed"),
        ("The user doesn't want to proceed with this tool use.", True, "denied"),
        ("[Request interrupted by user for tool use]", True, "interrupted"),
        (None, None, "unanswered"),
    ],
)
def test_failures_are_told_apart(content: str | None, error: bool | None, outcome: str) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Edit", {"file_path": "/a"})
    if content is not None:
        build.result("c1", content, error=error)
    (item,) = group_touches_by_file(list_touches(build.session()))
    assert [touch.outcome for touch in item.failures] == [outcome]
    assert item.count_touches("edit") == 0


@pytest.mark.parametrize("given", [{}, {"file_path": 5}, "x"])
def test_calls_without_a_path_touch_nothing(given: Any) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Read", given)
    build.result("c1")
    assert list_touches(build.session()) == []


@pytest.mark.parametrize(
    ("kind", "fields", "action"),
    [
        ("file", {"filename": "/a"}, "attach"),
        ("already_read_file", {"filename": "/a"}, "attach"),
        ("nested_memory", {"path": "/a"}, "attach"),
        ("edited_text_file", {"filename": "/a"}, "change"),
    ],
)
def test_attachments_name_files(kind: str, fields: dict[str, Any], action: str) -> None:
    build = Build()
    build.prompt()
    build.attachment(kind, **fields)
    assert short(list_touches(build.session())) == [("/a", action, "done", 1)]


def test_attachments_of_other_kinds_or_without_a_name_touch_nothing() -> None:
    build = Build()
    build.prompt()
    build.attachment("file", filename=5, path="")
    build.attachment("queued_command", prompt="hi", filename="/a")
    build.row("attachment", attachment="x")
    build.row("attachment", attachment={"type": "file"}, parent=None)
    assert list_touches(build.session()) == []


def test_relative_paths_are_seen_from_the_working_folder() -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Read", {"file_path": "src/../a.py"})
    assert short(list_touches(build.session())) == [("/home/dana/webshop/a.py", "read", "unanswered", 1)]


@pytest.mark.parametrize(
    ("path", "cwd", "wanted"),
    [
        ("/a", "/x", "/a"),
        ("~/a", "/x", "~/a"),
        ("C:\\a", "/x", "C:\\a"),
        ("\\\\server\\a", "/x", "\\\\server\\a"),
        ("a", None, "a"),
        ("a\\b", "C:\\Users\\dana\\", "C:\\Users\\dana\\a\\b"),
        ("../a", "/x/y", "/x/a"),
    ],
)
def test_paths_of_any_system_are_resolved(path: str, cwd: str | None, wanted: str) -> None:
    assert resolve_touched_path(path, cwd) == wanted


def test_files_that_a_command_changed_are_told_where_the_client_watched() -> None:
    build = Build()
    build.prompt()
    for number, diff in enumerate([{"files": [{"filePath": "/a", "hunks": []}], "changedFiles": ["/a", "b", 5]}, "x"]):
        build.call(f"c{number}", "Bash")
        build.result(f"c{number}", toolUseResult={"bashEditDiff": diff})
    build.call("c3", "Bash")
    build.result("c3", toolUseResult={"stdout": "x"})
    build.call("c4", "Bash")
    assert short(list_touches(build.session())) == [
        ("/a", "edit", "done", 1),
        ("/home/dana/webshop/b", "edit", "done", 1),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"toolUseResult": 5},
        {"toolUseResult": {"bashEditDiff": {"files": 5, "changedFiles": 5}}},
        {"toolUseResult": {"bashEditDiff": {"files": [5, {}, {"filePath": ""}]}}},
    ],
)
def test_what_a_command_changed_may_be_of_any_type(body: dict[str, Any]) -> None:
    assert read_changed_files(body) == {}


# -- sub-agents


def with_agents(folder: Path) -> Path:
    """A session whose second turn starts a sub-agent, which starts another; and one that nobody started."""
    build = Build()
    build.prompt("first")
    build.answer("yes")
    build.prompt("second")
    build.call("t1", "Task", {"prompt": "look"})
    build.result("t1")
    path = build.write(folder)
    agents = folder / SESSION / "subagents"
    agents.mkdir(parents=True)
    _agent(agents, "a1", {"toolUseId": "t1"}, "/one", "c1")
    _agent(agents, "a2", {"parentAgentId": "a1", "toolUseId": "elsewhere"}, "/two", "c2")
    _agent(agents, "a3", {}, "/three", "c3")
    _agent(agents, "a4", {"toolUseId": "t1"}, "/one", "c1")
    return path


def _agent(folder: Path, name: str, meta: dict[str, Any], path: str, call: str) -> None:
    build = Build()
    build.wait(90)
    build.prompt("look", isSidechain=True)
    build.answer(use(call, "Read", {"file_path": path}), isSidechain=True)
    build.result(call, isSidechain=True)
    (folder / f"agent-{name}.jsonl").write_bytes(build.data())
    (folder / f"agent-{name}.meta.json").write_text(json.dumps({"agentType": "Explore", **meta}))


def test_sub_agents_are_named_and_belong_to_the_turn_that_started_them(tmp_path: Path, open_session: Open) -> None:
    found = list_touches(open_session(with_agents(tmp_path)))
    told = {
        (item.path, item.agent.agent_id if item.agent else None, item.turn.number if item.turn else None)
        for item in found
    }
    assert told == {("/one", "a1", 2), ("/two", "a2", 2), ("/three", "a3", 2)}


def test_a_call_that_two_files_hold_counts_once(tmp_path: Path, open_session: Open) -> None:
    found = list_touches(open_session(with_agents(tmp_path)))
    assert [item.path for item in found].count("/one") == 1


def test_sub_agents_that_start_each_other_in_a_circle_end_somewhere(tmp_path: Path, open_session: Open) -> None:
    build = Build()
    build.prompt()
    path = build.write(tmp_path)
    agents = tmp_path / SESSION / "subagents"
    agents.mkdir(parents=True)
    _agent(agents, "a1", {"parentAgentId": "a2"}, "/one", "c1")
    _agent(agents, "a2", {"parentAgentId": "a1"}, "/two", "c2")
    session = open_session(path)
    assert [AgentTurns(session).find_turn(agent) for agent in session.agents] == [None, None]


def test_before_the_first_turn_no_turn_is_at_work() -> None:
    build = Build()
    build.prompt()
    session = build.session()
    assert find_turn_at(session, 0) is None


def test_touches_keep_the_order_of_the_file_whatever_the_clock_says() -> None:
    build = Build()
    build.prompt()
    for number, seconds in enumerate([500, 100, 300]):
        build.call(f"c{number}", "Read", {"file_path": f"/{number}"}, timestamp=stamp(seconds))
        build.result(f"c{number}", timestamp=stamp(seconds))
    build.call("c3", "Read", {"file_path": "/3"}, timestamp=None)
    assert [item.path for item in list_touches(build.session())] == ["/0", "/1", "/2", "/3"]


def test_a_recorded_session_touched_the_files_of_its_script(open_session: Open) -> None:
    found = {
        item.path.rsplit("/", 1)[-1]: item
        for item in group_touches_by_file(list_touches(open_session(find_recording("2.1.325/tui_edge"))))
    }
    assert (found["cart.py"].count_touches("read"), found["cart.py"].count_touches("edit")) == (1, 2)
    assert [touch.turn.number for touch in found["cart.py"].touches if touch.turn] == [1, 1, 2]
    assert found["denied.txt"].touches[0].tool == "Bash"
