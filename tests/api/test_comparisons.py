"""Two sessions or branches side by side: what they share, where they part, and how they differ after that."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.session.build import Build
from turnlog.errors import UsageError


def write(folder: Path, number: int, *more: str) -> Path:
    build = Build()
    build.prompt("Begin", uuid="p-0")
    build.call("c-0", "Read", {"file_path": "/shop/a.py"}, usage={"input_tokens": 9, "output_tokens": 9})
    build.result("c-0")
    build.answer("Begun.", usage={"input_tokens": 100, "output_tokens": 10})
    for place, text in enumerate(more, 1):
        build.prompt(text, uuid=f"p-{number}-{place}")
        call = f"c-{number}-{place}"
        build.call(call, "Write", {"file_path": f"/shop/{text}.py"}, usage={"input_tokens": 9, "output_tokens": 9})
        build.result(call, error=text == "bad")
        build.answer(f"{text} done.", usage={"input_tokens": 1000, "output_tokens": 100})
    path = folder / f"{number:08}-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(build.data())
    return path


def test_the_shared_beginning_is_left_out_of_the_figures(tmp_path: Path) -> None:
    found = turnlog.compare_sessions(write(tmp_path, 1, "good"), write(tmp_path, 2, "bad", "worse"))
    assert (found.shared_turns, found.parts_within) == (1, False)
    assert [turn.prompt for turn in found.left.own] == ["good"]
    assert [turn.prompt for turn in found.right.own] == ["bad", "worse"]
    assert (found.left.calls, found.left.failed) == (1, 0)
    assert (found.right.calls, found.right.failed) == (2, 1)
    assert found.right.cost_usd > found.left.cost_usd > 0
    files = {item.path: (item.left_writes, item.right_writes) for item in found.files}
    assert files == {"/shop/good.py": (1, 0), "/shop/worse.py": (0, 1), "/shop/bad.py": (0, 0)}


def test_the_same_prompt_with_different_answers_is_where_they_part(tmp_path: Path) -> None:
    found = turnlog.compare_sessions(write(tmp_path, 1, "again"), write(tmp_path, 2, "again"))
    assert (found.shared_turns, found.parts_within) == (1, True)


def test_a_copy_has_nothing_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, 1, "good")
    found = turnlog.compare_sessions(path, path)
    assert (found.shared_turns, found.left.own, found.right.own, found.files) == (2, [], [], [])


def test_one_session_needs_two_branches(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two branches"):
        turnlog.compare_sessions(write(tmp_path, 1), left_branch="1")


def test_the_report_of_a_background_task_is_told_in_short(tmp_path: Path) -> None:
    report = "<task-notification> <task-id>a1</task-id> <status>completed</status> <summary>Agent done</summary>"
    found = turnlog.compare_sessions(write(tmp_path, 1, f"{report} </task-notification>"), write(tmp_path, 2, "good"))
    assert [turn.prompt for turn in found.left.own] == ["Agent done"]
