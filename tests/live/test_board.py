"""The board: every session of a machine with what it is doing, however many there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.live.clock import ManualClock, recent, recent_lines
from tests.live.session_moves import agent_lines, append
from tests.session.build import Build
from turnlog.entries.clients import read_process_identity
from turnlog.live.board import Board, BoardRow
from turnlog.live.processes import NoProcesses, Processes, ProcFolder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "projects" / "-home-dana-webshop").mkdir(parents=True)
    return tmp_path


def add(config: Path, number: int, build: Build, age: float = 0) -> Path:
    path = recent(build, age).write(
        config / "projects" / "-home-dana-webshop", f"{number:08d}-2222-4333-8444-555555555555"
    )
    then = time.time() - age
    os.utime(path, (then, then))
    return path


_watchers: list[list[Path]] = []


@cache
def _hear() -> None:
    def heard(event: str, values: tuple[object, ...]) -> None:
        if _watchers and event in ("open", "os.scandir", "os.listdir") and isinstance(values[0], str | os.PathLike):
            _watchers[-1].append(Path(values[0]))

    sys.addaudithook(heard)


@contextmanager
def watch_files(folder: Path) -> Iterator[list[Path]]:
    """The files below a folder that are opened, and the folders that are listed."""
    _hear()
    paths: list[Path] = []
    _watchers.append(paths)
    try:
        yield paths
    finally:
        _watchers.remove(paths)
        paths[:] = [path for path in paths if path.is_relative_to(folder)]


def build_finished(words: str = "hello") -> Build:
    build = Build()
    build.prompt(words)
    build.answer("done")
    return build


def build_working(words: str = "hello") -> Build:
    build = Build()
    build.prompt(words)
    return build


def open_board(config: Path, processes: Processes | None = None) -> tuple[Board, ManualClock]:
    """A board that has looked once, without processes unless some are given."""
    clock = ManualClock()
    board = Board([config], clock, processes or NoProcesses())
    board.poll()
    return board, clock


def due(board: Board, clock: ManualClock) -> list[BoardRow | str]:
    """What a poll tells when everything is looked at again."""
    clock.skip(20)
    return board.poll()


def columns(board: Board) -> dict[str, str]:
    return {row.title: row.column for row in board.rows.values()}


def test_sessions_stand_where_they_belong(config: Path) -> None:
    asking = build_working("asking")
    asking.call("q", "AskUserQuestion", {})
    add(config, 1, asking)
    add(config, 2, build_working("at work"))
    add(config, 3, build_finished("done"))
    board, _ = open_board(config)
    assert columns(board) == {"asking": "needs", "at work": "working", "done": "idle"}


def test_what_ended_before_today_is_not_on_the_board(config: Path) -> None:
    add(config, 1, build_finished("old"), age=3 * 86400)
    board, _ = open_board(config)
    assert board.rows == {}
    assert board.size == 1


def test_only_what_has_changed_is_told(config: Path) -> None:
    path = add(config, 1, build_working())
    add(config, 2, build_finished())
    board, clock = open_board(config)
    assert len(board.rows) == 2
    assert due(board, clock) == []
    append(path, recent(build_finished()).data())
    (row,) = due(board, clock)
    assert isinstance(row, BoardRow)
    assert (row.path, row.state.kind) == (str(path), "finished")


def test_new_sessions_and_new_projects_appear_and_deleted_ones_go(config: Path) -> None:
    board, clock = open_board(config)
    assert board.rows == {}
    path = add(config, 1, build_working())
    clock.skip(1)
    assert [row.path for row in board.poll() if isinstance(row, BoardRow)] == [str(path)]
    other = config / "projects" / "-other"
    other.mkdir()
    second = recent(build_working()).write(other, "99999999-2222-4333-8444-555555555555")
    clock.skip(1)
    assert [row.path for row in board.poll() if isinstance(row, BoardRow)] == [str(second)]
    path.unlink()
    assert due(board, clock) == [str(path)]


def test_an_old_session_that_is_resumed_is_found_when_the_folders_are_listed(config: Path) -> None:
    path = add(config, 1, build_finished(), age=3 * 86400)
    board, clock = open_board(config)
    append(path, recent(build_working("again")).data())
    assert board.poll() == []
    (row,) = due(board, clock)
    assert isinstance(row, BoardRow)
    assert row.column == "working"


def test_a_file_that_was_replaced_is_read_anew(config: Path) -> None:
    path = add(config, 1, build_finished("first"))
    board, clock = open_board(config)
    new = path.with_suffix(".new")
    new.write_bytes(recent(build_working("second")).data())
    new.replace(path)
    (row,) = due(board, clock)
    assert isinstance(row, BoardRow)
    assert (row.title, row.column) == ("second", "working")


def test_junk_and_sub_agents_are_no_sessions(config: Path) -> None:
    folder = config / "projects" / "-home-dana-webshop"
    (folder / "00000001-2222-4333-8444-555555555555.jsonl").write_bytes(b'{"type":"summary","summary":"x"}\n')
    (folder / "00000002-2222-4333-8444-555555555555.jsonl").write_bytes(b"")
    (folder / "00000003-2222-4333-8444-555555555555.jsonl").write_bytes(agent_lines("a", 3))
    (folder / "00000004-2222-4333-8444-555555555555.jsonl").mkdir()
    board, _ = open_board(config)
    assert board.rows == {}


def test_a_client_that_runs_keeps_its_session_on_the_board_and_says_what_it_waits_for(config: Path) -> None:
    path = add(config, 1, build_finished("old"), age=3 * 86400)
    (config / "sessions").mkdir()
    row = {"sessionId": path.stem, "pid": os.getpid(), "status": "waiting", "waitingFor": "permission"}
    (config / "sessions" / "1.json").write_text(json.dumps(row))
    board, _ = open_board(config)
    (found,) = board.rows.values()
    assert (found.column, found.state.words, found.state.is_open) == ("needs", "waiting for permission", True)


def test_a_session_whose_sub_agent_writes_is_at_work(config: Path) -> None:
    build = build_working("explore")
    build.call("t", "Task", {"description": "look around"})
    path = add(config, 1, build, age=3600)
    board, clock = open_board(config)
    assert columns(board) in ({"explore": "ended"}, {})  # the latter in the first hour of a day
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(recent_lines(agent_lines("a1", 2)))
    due(board, clock)
    assert columns(board) == {"explore": "working"}


def test_a_compaction_is_told_by_the_clients_side_work(config: Path) -> None:
    path = add(config, 1, build_finished("long"), age=10)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-acompact-12ab.jsonl").write_bytes(agent_lines("x", 2))
    board, _ = open_board(config)
    (row,) = board.rows.values()
    assert (row.state.kind, row.column) == ("compacting", "working")


def test_a_last_line_longer_than_what_is_read_of_a_file_tells_all_the_same(config: Path) -> None:
    build = build_working("go")
    build.call("c", "Write", {"file_path": "big", "content": "x" * 900_000})
    add(config, 1, build)
    board, _ = open_board(config)
    (row,) = board.rows.values()
    assert row.state.tools == ("Write",)
    assert row.title == "go"


def test_old_files_are_not_opened_and_folders_not_listed_between_two_listings(config: Path) -> None:
    for number in range(300):
        add(config, number, build_finished(), age=9 * 86400)
    fresh = add(config, 5000, build_working())
    board, _ = open_board(config)
    with watch_files(config / "projects" / "-home-dana-webshop") as paths:
        board.poll()
    assert len(board.rows) == 1
    assert {path for path in paths if path.is_file()} <= {fresh}
    assert not any(path.name == "-home-dana-webshop" for path in paths)


# -- no session is missing, and none is shown that is over


def test_a_file_that_gets_its_first_message_later_becomes_a_session(config: Path) -> None:
    path = config / "projects" / "-home-dana-webshop" / "00000001-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(b'{"type":"mode","mode":"normal"}\n')
    board, clock = open_board(config)
    assert board.rows == {}
    append(path, recent(build_working("first words")).data())
    clock.skip(1)
    board.poll()
    assert columns(board) == {"first words": "working"}


def test_a_session_that_is_created_right_after_a_listing_is_found_although_the_folder_has_the_same_time(
    config: Path,
) -> None:
    folder = config / "projects" / "-home-dana-webshop"
    board, clock = open_board(config)
    add(config, 1, build_working("one"))
    clock.skip(1)
    board.poll()
    status = folder.stat()
    add(config, 2, build_working("two"))
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    clock.skip(1)
    board.poll()
    assert columns(board) == {"one": "working", "two": "working"}


def test_sessions_of_a_second_and_of_a_linked_config_folder_are_found(config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "projects" / "-home-dana-webshop").mkdir(parents=True)
    add(other, 2, build_working("second"))
    add(config, 1, build_working("first"))
    (tmp_path / "link").symlink_to(other)
    board = Board([config, tmp_path / "link"], ManualClock(), NoProcesses())
    board.poll()
    assert columns(board) == {"first": "working", "second": "working"}


def test_copied_sessions_are_as_old_as_their_last_entry(config: Path) -> None:
    for number, build in enumerate([build_working("a"), build_finished("b")]):
        path = add(config, number, build, age=18 * 86400)
        os.utime(path)
    board, clock = open_board(config)
    due(board, clock)
    assert board.rows == {}


def test_a_copied_sub_agent_does_not_revive_its_session(config: Path) -> None:
    build = build_working("explore")
    build.call("t", "Task", {"description": "look around"})
    path = add(config, 1, build, age=3600)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(recent_lines(agent_lines("a1", 2), age=3600))
    board, _ = open_board(config)
    assert columns(board) in ({"explore": "ended"}, {})  # the latter in the first hour of a day


@pytest.mark.parametrize("skew", [-600, 600, 40 * 86400])
def test_a_clock_that_differs_is_tolerated(config: Path, skew: float) -> None:
    path = add(config, 1, build_working("one"), age=-skew)
    os.utime(path)
    board, clock = open_board(config)
    clock.skip(5)
    board.poll()
    assert columns(board) == {"one": "working"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_client_that_is_killed_ends_its_session_at_once(config: Path) -> None:
    build = build_working("run it")
    build.call("c", "Bash", {"command": "make"})
    path = add(config, 1, build)
    (config / "sessions").mkdir()
    with subprocess.Popen(["sleep", "600"]) as process:
        row = {"sessionId": path.stem, "pid": process.pid, "status": "busy", **read_process_identity(process.pid)}
        (config / "sessions" / "1.json").write_text(json.dumps(row))
        board, clock = open_board(config, ProcFolder())
        assert columns(board) == {"run it": "working"}
        process.kill()
    for seconds in (1, 600):
        clock.skip(seconds)
        board.poll()
        (found,) = board.rows.values()
        assert (found.column, found.state.words, found.state.confidence) == (
            "ended",
            "ended while running Bash: make",
            "sure",
        )


def test_a_file_whose_end_is_old_is_read_only_there(config: Path) -> None:
    for number in range(50):
        os.utime(add(config, number, build_finished(), age=9 * 86400))
    board = Board([config], ManualClock(), NoProcesses())
    with watch_files(config / "projects") as paths:
        board.poll()
        board.poll()
    assert len([path for path in paths if path.suffix == ".jsonl"]) == 50
    assert board.rows == {}
