"""`--project`, which means the same to every command that takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog, harmful
from tests.session.build import SESSION, Build

OTHER = "99999999-2222-4333-8444-555555555555"
COMMANDS = ["ls", "tools", "tree", "files", "usage", "export"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder, and a place to export to, of this test alone."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def talk(folder: str) -> bytes:
    build = Build()
    build.prompt()
    build.call("c1", "Read", {"file_path": "a.py"})
    build.result("c1", "x = 1")
    build.answer("done")
    return build.data().replace(b"/home/dana/webshop", folder.encode())


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_project_that_no_session_has_is_one_line_with_the_closest_and_status_2(
    turnlog: Turnlog, machine: Machine, command: str, as_json: list[str]
) -> None:
    machine.add(SESSION, talk("/home/dana/webshop"))
    machine.add(OTHER, talk("/home/dana/notes"), slug="-n")
    done = turnlog(command, "--project", "webshp", *as_json)
    assert (done.status, done.out) == (2, "")
    assert done.err == "turnlog: --project 'webshp': no session has this project; closest matches: webshop\n"


@pytest.mark.parametrize("command", COMMANDS[:5])
def test_on_a_machine_without_sessions_a_project_is_empty_and_no_mistake(
    turnlog: Turnlog, machine: Machine, command: str
) -> None:
    done = turnlog(command, "--project", "nope", "--json")
    assert done.status == 0
    assert "demo" in done.err
    assert not any(done.json.get(name) for name in ("sessions", "tools", "projects", "files", "rows"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_project_whose_name_is_near_by_and_hostile_does_no_harm(
    turnlog: Turnlog, machine: Machine, command: str
) -> None:
    machine.add(SESSION, talk("/home/dana/web\\u001b[2Jshop"))
    done = turnlog(command, "--project", "web[2Jshp")
    assert done.status == 2
    assert "closest matches: " in done.err
    assert not harmful(done.err)


def test_a_project_whose_sessions_hold_no_conversation_is_known(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.note("summary", summary="only a title", cwd="/home/dana/webshop")
    machine.add(SESSION, build.data())
    machine.add(OTHER, talk("/home/dana/notes"), slug="-n")
    for command in ("ls", "tree"):
        done = turnlog(command, "--project", "webshop")
        assert (done.status, done.out) == (0, "")
        assert done.err == "1 file without a conversation is hidden; --all shows it.\n"
