"""`.jsonl` files whose names are no session's: counted, listed, shown and searched when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import Build

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def backup_file(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A session, and beside it a copy that somebody gave a name, and a file that holds no conversation."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    build = Build()
    build.prompt("a word about ordinary things")
    path = machine.add(ONE, build.data())
    other = Build()
    other.prompt("a word about peculiar things")
    other.answer("certainly")
    (path.parent / "backup of monday.jsonl").write_bytes(other.data())
    (path.parent / "empty.jsonl").write_bytes(b"")
    return path.parent / "backup of monday.jsonl"


def test_their_number_is_mentioned(turnlog: Turnlog, backup_file: Path) -> None:
    words = "2 .jsonl files have names that are not session ids; `turnlog ls --other` lists them."
    for command in ("ls", "tree"):
        assert words in turnlog(command).err, command
    assert "2 .jsonl files not in it: the name is not a session id" in turnlog("index").out
    assert "2 .jsonl files not in it" in turnlog("index", "status").out
    assert turnlog("ls", "--json").json["others"] == 2
    assert turnlog("index", "--json").json["refreshed"]["others"] == 2


def test_they_are_listed_with_the_path_that_names_them(turnlog: Turnlog, backup_file: Path) -> None:
    done = turnlog("ls", "--other")
    assert done.out.startswith(f"{backup_file}  ")
    assert "a word about peculiar things" in done.out
    assert "1 file without a conversation is hidden" in done.err
    (found,) = turnlog("ls", "--other", "--json").json["sessions"]
    assert found["path"] == str(backup_file)
    assert ONE not in turnlog("ls", "--other", "--all", "--json").out


@pytest.mark.parametrize("command", ["show", "messages", "check", "context"])
def test_they_can_be_read_by_their_path(turnlog: Turnlog, backup_file: Path, command: str) -> None:
    assert turnlog(*command.split(), str(backup_file)).status == 0


def test_they_can_be_exported_by_their_path(turnlog: Turnlog, backup_file: Path, tmp_path: Path) -> None:
    assert turnlog("export", str(backup_file), "--format", "md", "-o", str(tmp_path / "out.md")).status == 0
    assert "peculiar things" in (tmp_path / "out.md").read_text()


def test_they_are_searched_when_asked_for_and_never_mixed_with_sessions(turnlog: Turnlog, backup_file: Path) -> None:
    assert turnlog("search", "peculiar", "--json").json["sessions"] == []
    (found,) = turnlog("search", "--other", "peculiar", "--json").json["sessions"]
    assert found["path"] == str(backup_file)
    assert turnlog("search", "--other", "peculiar").out.startswith(str(backup_file))
    assert turnlog("search", "--other", "ordinary", "--json").json["total"]["hits"] == 0
    (found,) = turnlog("search", "--other", "--substring", "eculiar th", "--json").json["sessions"]
    assert found["path"] == str(backup_file)
    assert turnlog("index", "--json").json["files"] == 1


def test_what_is_added_to_them_is_found(turnlog: Turnlog, backup_file: Path) -> None:
    turnlog("search", "--other", "peculiar")
    more = Build()
    more.prompt("later additions")
    backup_file.write_bytes(backup_file.read_bytes() + more.data())
    assert turnlog("search", "--other", "additions", "--json").json["total"]["hits"] >= 1
