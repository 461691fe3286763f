"""`turnlog fork`: a new session beside the old one, which stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, describe_resumed, find_recording
from turnlog.session.session import Session


@pytest.fixture
def session(machine: Machine) -> Path:
    """Two turns with a compaction between them."""
    build = Build()
    build.prompt("one", "10000000-0000-4000-8000-000000000001")
    build.answer("ONE", uuid="10000000-0000-4000-8000-000000000002")
    build.boundary("10000000-0000-4000-8000-000000000003")
    build.summary("SUM", "10000000-0000-4000-8000-000000000004")
    build.prompt("two", "10000000-0000-4000-8000-000000000005")
    build.answer("TWO", uuid="10000000-0000-4000-8000-000000000006")
    return machine.add(SESSION, build.data(), mtime=1_700_000_000)


def list_forks(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.jsonl") if path.stem != SESSION]


def test_a_fork_is_a_new_session_and_the_old_one_stays_byte_for_byte(turnlog: Turnlog, session: Path) -> None:
    before = session.read_bytes(), session.stat().st_mtime_ns
    done = turnlog("fork", SESSION, "--at", "compaction:1")
    assert done.status == 0, done.err
    (new,) = list_forks(session.parent)
    assert done.lines[-1] == f"Resume it with: cd /home/dana/webshop && claude --resume {new.stem}"
    assert done.lines[0] == "The fork continues just before compaction 1 of 1."
    assert (session.read_bytes(), session.stat().st_mtime_ns) == before
    with Session.open(new) as found:
        assert describe_resumed(found) == ["U one", "A ONE"]
        assert found.title == "Fork of one"
        assert {entry.session_id for entry in found.entries if entry.session_id} == {new.stem}
        assert not any(entry.uuid and entry.uuid.startswith("10000000") for entry in found.entries)


def test_json_says_what_was_made_and_where_it_goes_on(turnlog: Turnlog, session: Path) -> None:
    found = turnlog("fork", SESSION, "--at", "1", "--title", "Again", "--json").json
    assert (found["made"]["title"], found["point"]) == ("Again", "after turn 1")
    assert found["at"] == "10000000-0000-4000-8000-000000000002"
    assert Path(found["made"]["path"]) in list_forks(session.parent)


def test_a_dry_run_says_where_it_would_go_on_and_writes_nothing(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("fork", SESSION, "--at", "1", "--dry-run")
    assert done.lines == ["The fork would continue after turn 1.", "Nothing was written: this was a dry run."]
    assert turnlog("fork", SESSION, "--at", "1", "-n", "--json").json["made"] is None
    assert not list_forks(session.parent)


def test_a_portable_fork_is_one_line_of_entries(turnlog: Turnlog, session: Path) -> None:
    assert turnlog("fork", SESSION, "--at", "2", "--portable").status == 0
    (new,) = list_forks(session.parent)
    with Session.open(new) as found:
        assert describe_resumed(found) == ["U SUM + two", "A TWO"]
        assert len(found.graph.rows) == 4


def test_the_tree_shows_what_was_forked_from_what(turnlog: Turnlog, session: Path) -> None:
    turnlog("fork", SESSION, "--at", "1")
    assert f"fork of {SESSION[:8]}" in turnlog("tree").out


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--at", "7"], 2, "this session has turns 1 to 2"),
        (["--at", "compaction:2"], 2, "this session has only compaction 1"),
        (
            ["--at", "10000000-0000-4000-8000-00000000000"],
            2,
            "6 entries have a uuid with this prefix; use more of the uuid",
        ),
        (["--at", "20000000-0000-4000-8000-000000000001"], 2, "closest matches: 10000000-0000-4000-8000-000000000001"),
        (["--at", HOSTILE], 2, "no entry in this session has a uuid with this prefix"),
        ([], 2, "--at"),
    ],
)
def test_a_point_that_is_not_there_is_a_mistake_in_the_call(
    words: list[str], status: int, told: str, turnlog: Turnlog, session: Path
) -> None:
    done = turnlog("fork", SESSION, *words)
    assert (done.status, told in done.err) == (status, True), done.err
    assert not harmful(done.err)
    assert list_forks(session.parent) == []


def test_a_file_that_is_no_session_is_said_to_be_none(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, b"no session\n")
    done = turnlog("fork", path, "--at", "1")
    assert done.status == 1
    assert "none of its lines is a Claude Code entry" in done.err


def test_the_demo_is_not_written_into(turnlog: Turnlog, machine: Machine) -> None:
    assert turnlog("fork", "last", "--at", "1").status == 2


def test_what_belongs_to_a_session_goes_along(turnlog: Turnlog, machine: Machine) -> None:
    source = find_recording("2.1.325/agents")
    path = machine.add(source.stem, source.read_bytes(), mtime=1_700_000_000)
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    for agent in (source.with_suffix("") / "subagents").glob("agent-*"):
        (agents / agent.name).write_bytes(agent.read_bytes())
        os.utime(agents / agent.name, (1_700_000_000, 1_700_000_000))
    found = turnlog("fork", source.stem, "--at", "leaf:1", "--json").json
    assert found["made"]["files"] == len(list(agents.iterdir())) > 0
