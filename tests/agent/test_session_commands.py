"""Slash commands that show the state of a session, or keep something of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.test_slash import Room
from tests.cli.conftest import HOSTILE, harmful
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
    shown = room.told("/status")
    assert "created with the first prompt" in shown
    assert room.loop.record.session_id in shown
    assert "1 file (/memory)" in shown
    assert "2 rules (/permissions)" in shown
    room.loop.run_turn("hi", Cancel())
    assert str(room.loop.record.path) in room.told("/status")


def test_permissions_lists_rules_with_their_sources_and_deny_first(room: Room) -> None:
    lines = room.told("/permissions").splitlines()
    assert "Mode: default" in lines[0]
    assert [line.strip() for line in lines[1:3]] == [
        "Read(secret/**) (deny, user settings)",
        "Bash(make:*) (allow, user settings)",
    ]


def test_memory_lists_the_files_that_were_sent(room: Room) -> None:
    assert "CLAUDE.md" in room.told("/memory")
    assert "project" in room.told("/memory")


def test_memory_names_the_file_to_write_where_there_is_none(tmp_path: Path) -> None:
    assert f"There are none. Write instructions for this project to {tmp_path}/CLAUDE.md" in Room(tmp_path).told(
        "/memory"
    )


def test_agents_lists_built_in_types_and_those_of_files(room: Room) -> None:
    shown = room.told("/agents")
    assert "general-purpose" in shown
    assert "Runs the tests." in shown


def test_tasks_lists_and_stops_background_commands(room: Room) -> None:
    assert room.told("/tasks") == "No commands are running in the background."
    shells = room.loop.shared.shells
    shell = shells.start_shell("sleep 600", call="c1", cwd=room.loop.setup.place.cwd, environ={}, description="Nap")
    shells.keep_in_background(shell, 600)
    try:
        assert f"{shell.id}  Nap" in room.told("/tasks")
        assert room.told(f"/tasks stop {shell.id}") == f"Stopped {shell.id}."
        assert shell.process.ended.wait(60)
        assert room.told("/tasks") == "No commands are running in the background."
        with pytest.raises(TurnlogError, match="no such background command"):
            room.told("/tasks stop nope")
    finally:
        shells.close()


def test_rename_gives_a_title_that_lists_show(room: Room) -> None:
    room.loop.run_turn("hi", Cancel())
    assert room.told("/rename The  shop") == "The session is called The shop."
    assert '"customTitle":"The shop"' in room.loop.record.path.read_text().replace('": "', '":"')


@pytest.mark.parametrize("title", ["", "   ", "x" * 201])
def test_rename_refuses_what_is_no_title(room: Room, title: str) -> None:
    with pytest.raises(TurnlogError, match="/rename requires a title"):
        room.told(f"/rename {title}")


def test_export_writes_a_new_file_and_never_replaces_one(room: Room) -> None:
    with pytest.raises(TurnlogError, match="nothing to export yet"):
        room.told("/export")
    room.loop.run_turn("hi", Cancel())
    assert "Exported to" in room.told("/export talk.md")
    path = room.loop.setup.place.root / "talk.md"
    assert "One." in path.read_text()
    with pytest.raises(TurnlogError, match="exists"):
        room.told("/export talk.md")


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
        assert harmful(room.told(command).replace("\n", "")) == set()
