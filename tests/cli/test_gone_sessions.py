"""Names of sessions that are no longer on disk: every command says where a whole copy is, and how to restore it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import SESSION, base
from turnlog.agent.session_opening import find_resumed_session
from turnlog.agent.start_options import StartOptions
from turnlog.errors import NotFound

OTHER = SESSION.replace("1", "2")


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))


@pytest.fixture
def archive_copy(turnlog: Turnlog, machine: Machine) -> Path:
    """A session that is in the archive and no longer on disk, beside one that is still there."""
    path = machine.add(SESSION, base().data())
    turnlog("rename", SESSION, "Volume discounts")
    turnlog("archive", "run")
    path.unlink()
    machine.add(OTHER, base().data())
    return path


@pytest.mark.parametrize("command", ["show", "files", "export", "clone", "repair", "check", "context", "delete"])
def test_every_command_names_the_command_that_restores_it(turnlog: Turnlog, archive_copy: Path, command: str) -> None:
    for name in (SESSION[:8], "volume  Discounts", str(archive_copy)):
        done = turnlog(command, name)
        assert done.status == 1
        assert f"`turnlog archive restore {SESSION}` restores all of it" in done.err


def test_the_console_client_names_it_too(archive_copy: Path, machine: Machine, tmp_path: Path) -> None:
    environ = {"CLAUDE_CONFIG_DIR": str(machine.folder)}
    with pytest.raises(NotFound, match=f"`turnlog archive restore {SESSION}` restores all of it"):
        find_resumed_session(StartOptions(resume=SESSION), tmp_path, environ)


def test_the_named_command_works(turnlog: Turnlog, archive_copy: Path) -> None:
    named = turnlog("show", SESSION[:8]).err.split("`")[1]
    assert turnlog(*shlex.split(named)[1:]).status == 0
    assert archive_copy.exists()
    assert turnlog("show", SESSION[:8]).status == 0


def test_the_trash_is_looked_at_too(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, base().data(), mtime=1_700_000_000)
    machine.add(OTHER, base().data())
    turnlog("delete", SESSION, "--yes")
    named = turnlog("show", SESSION).err.split("`")[1]
    assert named == f"turnlog undelete {SESSION}"
    assert turnlog(*shlex.split(named)[1:]).status == 0
    assert path.exists()


def test_several_copies_with_one_name_are_listed(turnlog: Turnlog, machine: Machine) -> None:
    names = [SESSION[:-1] + str(number) for number in range(7)]
    paths = [machine.add(name, base().data()) for name in names]
    machine.add(OTHER, base().data())
    turnlog("archive", "run")
    for path in paths:
        path.unlink()
    done = turnlog("show", SESSION[:8])
    assert "matches 7 sessions that are no longer on disk" in done.err
    assert f"`turnlog archive restore {names[0]}`" in done.err
    assert names[6] not in done.err


def test_a_session_of_two_projects_is_restored_by_its_name_in_the_archive(turnlog: Turnlog, machine: Machine) -> None:
    paths = [machine.add(SESSION, base().data(), slug=slug) for slug in ("-home-dana", "-home-dana-shop")]
    machine.add(OTHER, base().data())
    turnlog("archive", "run")
    for path in paths:
        path.unlink()
    named = turnlog("show", SESSION).err.split("`")[1]
    assert turnlog(*shlex.split(named)[1:]).status == 0
    assert sum(path.exists() for path in paths) == 1


def test_a_name_that_no_copy_has_is_not_found_as_before(turnlog: Turnlog, archive_copy: Path) -> None:
    assert "no session is called 'Invoices'" in turnlog("show", "Invoices").err
    assert "no session is called ''" in turnlog("show", "").err
