"""Slash commands that show the state of a session, or keep something of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.agent.test_slash import Room
from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.editor import edit_file
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "CLAUDE.md").write_text("Use tabs.\n")
    config = tmp_path / "config"
    config.mkdir()
    (config / "agents").mkdir()
    (config / "agents" / "tester.md").write_text("---\nname: tester\ndescription: Runs the tests.\n---\nTest.\n")
    rules = {"allow": ["Bash(make:*)"], "deny": ["Read(secret/**)"]}
    (config / "settings.json").write_text(json.dumps({"permissions": rules}))
    return Room(tmp_path, "One.")


def test_status_tells_where_the_session_is_and_how_it_works(room: Room) -> None:
    shown = room.run_command("/status")
    assert "created with the first prompt" in shown
    assert room.loop.record.session_id in shown
    assert "1 file (/memory)" in shown
    assert "2 rules (/permissions)" in shown
    room.loop.run_turn("hi", Cancel())
    assert str(room.loop.record.path) in room.run_command("/status")


def test_permissions_lists_rules_with_their_sources_and_deny_first(room: Room) -> None:
    lines = room.run_command("/permissions").splitlines()
    assert "Mode: default" in lines[0]
    assert [line.strip() for line in lines[1:3]] == [
        "Read(secret/**) (deny, user settings)",
        "Bash(make:*) (allow, user settings)",
    ]


def test_memory_lists_the_files_that_were_sent(room: Room) -> None:
    assert "CLAUDE.md" in room.run_command("/memory")
    assert "project" in room.run_command("/memory")


def test_memory_names_the_file_to_write_where_there_is_none(tmp_path: Path) -> None:
    assert f"There are none. Write instructions for this project to {tmp_path}/CLAUDE.md" in Room(tmp_path).run_command(
        "/memory"
    )


def test_agents_lists_built_in_types_and_those_of_files(room: Room) -> None:
    shown = room.run_command("/agents")
    assert "general-purpose" in shown
    assert "Runs the tests." in shown


def test_tasks_lists_and_stops_background_commands(room: Room) -> None:
    assert room.run_command("/tasks") == "Nothing is running in the background."
    shells = room.loop.shared.shells
    shell = shells.start_shell("sleep 600", call="c1", cwd=room.loop.setup.place.cwd, environ={}, description="Nap")
    shells.keep_in_background(shell, 600)
    try:
        assert f"{shell.id}  command: Nap" in room.run_command("/tasks")
        assert room.run_command(f"/tasks stop {shell.id}") == f"Stopped {shell.id}."
        assert shell.process.ended.wait(60)
        assert room.run_command("/tasks") == "Nothing is running in the background."
        with pytest.raises(TurnlogError, match="no such background task"):
            room.run_command("/tasks stop nope")
    finally:
        shells.close()


def test_rename_gives_a_title_that_lists_show(room: Room) -> None:
    room.loop.run_turn("hi", Cancel())
    assert room.run_command("/rename The  shop") == "The session is called The shop."
    assert '"customTitle":"The shop"' in room.loop.record.path.read_text().replace('": "', '":"')


@pytest.mark.parametrize("title", ["", "   ", "x" * 201])
def test_rename_refuses_what_is_no_title(room: Room, title: str) -> None:
    with pytest.raises(TurnlogError, match="/rename requires a title"):
        room.run_command(f"/rename {title}")


def test_export_writes_a_new_file_and_never_replaces_one(room: Room) -> None:
    with pytest.raises(TurnlogError, match="nothing to export yet"):
        room.run_command("/export")
    room.loop.run_turn("hi", Cancel())
    assert "Exported to" in room.run_command("/export talk.md")
    path = room.loop.setup.place.root / "talk.md"
    assert "One." in path.read_text()
    with pytest.raises(TurnlogError, match="exists"):
        room.run_command("/export talk.md")


def test_hostile_names_reach_no_terminal(tmp_path: Path) -> None:
    config, hostile = (
        tmp_path / "config",
        HOSTILE.encode("utf-8", "ignore").decode(),
    )  # settings hold no lone surrogates
    (config / "agents").mkdir(parents=True)
    text = f"---\nname: odd\ndescription: {json.dumps(hostile)}\n---\nx\n"
    (config / "agents" / "odd.md").write_text(text)
    (config / "settings.json").write_text(json.dumps({"permissions": {"allow": [f"Bash({hostile})"]}}))
    room = Room(tmp_path)
    for command in ("/status", "/permissions", "/memory", "/agents", "/tasks"):
        assert harmful(room.run_command(command).replace("\n", "")) == set()


# -- one sub-agent, one instruction file, the hooks


def test_agents_shows_one_with_its_tools_model_and_prompt(room: Room) -> None:
    shown = room.run_command("/agents tester")
    assert ("Runs the tests." in shown, "that of the session" in shown, "Test." in shown) == (True, True, True)
    with pytest.raises(TurnlogError, match="no such sub-agent"):
        room.run_command("/agents nobody")


def test_memory_opens_a_file_by_its_number(room: Room) -> None:
    assert "Edited" in room.run_command("/memory 1")
    assert room.asked == ["edit CLAUDE.md"]


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "1 2", "CLAUDE.md"])
def test_memory_refuses_what_is_no_number_of_a_file(room: Room, number: str) -> None:
    with pytest.raises(TurnlogError, match="no such file"):
        room.run_command(f"/memory {number}")
    assert room.asked == []


def test_hooks_lists_what_runs_and_where_it_comes_from(tmp_path: Path) -> None:
    assert "no hooks" in Room(tmp_path).run_command("/hooks")
    hook = {"type": "command", "command": "check \x1b[2J"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    (tmp_path / "config" / "settings.json").write_text(json.dumps(settings))
    shown = Room(tmp_path).run_command("/hooks")
    assert "PreToolUse [Bash]: check \\x1b[2J" in shown
    assert "settings.json" in shown


# -- the editor


@pytest.mark.parametrize("value", [{}, {"EDITOR": ""}, {"EDITOR": "  "}, {"VISUAL": " ", "EDITOR": "''"}])
def test_without_an_editor_the_file_itself_never_runs(tmp_path: Path, value: dict[str, str]) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_text("#!/bin/sh\ntouch ran\n")
    path.chmod(0o755)
    with pytest.raises(TurnlogError, match="names no editor"):
        edit_file(path, {**os.environ, "VISUAL": "", "EDITOR": "", **value})
    assert not (tmp_path / "ran").exists()


def test_an_editor_with_arguments_gets_the_path_as_one_word(tmp_path: Path) -> None:
    path, saw = tmp_path / "a b;c.md", tmp_path / "saw"
    program = f"import sys; open({str(saw)!r}, 'w').write(repr(sys.argv[1:]))"
    edit_file(path, {**os.environ, "VISUAL": "", "EDITOR": f'{sys.executable} -c "{program}" --wait'})
    assert saw.read_text() == repr(["--wait", str(path)])


@pytest.mark.parametrize(
    ("editor", "problem"), [("/nope/editor", "No such file"), ("false", "exit code 1"), ("'", "can't be read")]
)
def test_an_editor_that_fails_is_reported(tmp_path: Path, editor: str, problem: str) -> None:
    with pytest.raises(TurnlogError, match=problem):
        edit_file(tmp_path / "x", {**os.environ, "VISUAL": "", "EDITOR": editor})
