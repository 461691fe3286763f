"""`turnlog tree`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, base

FORK = "22222222-2222-4333-8444-555555555555"
THIRD = "33333333-2222-4333-8444-555555555555"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def fork() -> Build:
    build = base()
    build.prompt("and now", forkedFrom={"sessionId": SESSION, "messageUuid": "a3"})
    build.answer("else")
    build.note("tag", tag="side")
    return build


def elsewhere(cwd: str) -> bytes:
    build = Build()
    build.prompt("elsewhere", cwd=cwd)
    build.answer("yes", cwd=cwd, id="other")
    return build.data()


def test_a_fork_hangs_below_its_origin(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data())
    machine.add(FORK, fork().data())
    done = turnlog("tree")
    assert done.status == 0
    assert done.lines[0] == "/home/dana/webshop  2 sessions"
    assert done.lines[1].startswith("└─ 11111111  2026-01-01 ")
    assert done.lines[1].endswith("3 prompts  u1 text")
    assert done.lines[2].startswith("   └─ 22222222")
    assert done.lines[2].endswith("u1 text  [fork of 11111111, 3 shared]  [#side]")
    assert done.lines[-1].startswith("Newest first. Prompts: ")


def test_worktrees_stand_with_their_repository(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data())
    machine.add(FORK, elsewhere("/home/dana/webshop/.claude/worktrees/fix-tax/src"), slug="-w")
    done = turnlog("tree")
    assert done.lines[0] == "/home/dana/webshop  2 sessions, 1 worktree"
    assert [line for line in done.lines if "[worktree fix-tax]" in line]


def test_a_project_can_be_chosen(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data())
    machine.add(FORK, elsewhere("/home/dana/notes"), slug="-n")
    found = turnlog("tree", "--project", "notes", "--json").json
    assert [project["path"] for project in found["projects"]] == ["/home/dana/notes"]


def test_deleted_sessions_are_marked(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, base().data(), mtime=1_700_000_000)
    machine.add(THIRD, elsewhere("/home/dana/webshop"))
    turnlog("tree")
    assert turnlog("delete", path, "--yes").status == 0
    (line,) = [line for line in turnlog("tree").lines if "11111111" in line]
    assert line.endswith("[deleted]")
    (project,) = turnlog("tree", "--json").json["projects"]
    assert {node["session_id"]: node["gone"] for node in project["sessions"]} == {SESSION: True, THIRD: False}


def test_files_without_a_conversation_are_counted_and_shown_when_asked_for(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data())
    machine.add(THIRD, b"")
    done = turnlog("tree")
    assert "33333333" not in done.out
    assert "1 file without a conversation is hidden" in done.err
    assert "33333333" in turnlog("tree", "--all").out


def test_a_machine_without_sessions_shows_the_demo(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("tree")
    assert "showing a made-up demo" in done.err
    assert "138b775a" in done.out


def test_nothing_in_a_session_acts_on_the_terminal(turnlog: Turnlog, machine: Machine) -> None:
    bad = HOSTILE.replace("\ud800", "")
    build = Build()
    build.prompt(bad, cwd=bad, forkedFrom={"sessionId": bad})
    build.answer("x")
    build.note("tag", tag=bad)
    machine.add(SESSION, build.data())
    machine.add(FORK, elsewhere(f"/r/.claude/worktrees/{bad}"))
    done = turnlog("tree")
    assert done.status == 0
    assert not harmful(done.out + done.err)
