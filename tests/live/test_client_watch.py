"""Which client has which session open, told by registrations and processes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.live.clock import ManualClock, build_now
from turnlog.entries.layout import list_session_files
from turnlog.entries.slug import make_slug
from turnlog.live.client_watch import ClientSign, ClientWatch
from turnlog.live.hook_reports import SPOOL_FOLDER_NAME, HookReports
from turnlog.live.processes import ChildProcess, ClientProcess, ProcessActivity
from turnlog.trace.hook import build_report

ONE, TWO = "00000001-2222-4333-8444-555555555555", "00000002-2222-4333-8444-555555555555"


class ScriptedProcesses:
    """Processes that a test starts and ends."""

    process_space = 1

    def __init__(self) -> None:
        self.clients: dict[int, ClientProcess] = {}
        self.written: dict[int, int] = {}
        self.children: list[ChildProcess] = []

    def start(self, pid: int, folder: Path, start: str = "1", **fields: object) -> None:
        started = time.time() - 60
        self.clients[pid] = ClientProcess(pid, 1, start, started, str(folder), **fields)  # type: ignore[arg-type]

    def is_alive(self, pid: int, start: object) -> bool:
        client = self.clients.get(pid)
        return client is not None and (not isinstance(start, str) or start == client.start)

    def find_clients(self) -> list[ClientProcess] | None:
        return list(self.clients.values())

    def list_children(self, pid: int) -> list[ChildProcess] | None:
        return self.children

    def read_activity(self, pid: int) -> ProcessActivity | None:
        return ProcessActivity(0, 0, self.written.get(pid, 1))


class World:
    """A config folder with its clients."""

    def __init__(self, base: Path) -> None:
        self.config, self.folder = base / "config", base / "shop"
        self.project = self.config / "projects" / make_slug(str(self.folder))
        self.project.mkdir(parents=True)
        (self.config / "sessions").mkdir()
        self.clock, self.processes = ManualClock(), ScriptedProcesses()
        self.data = base / "data"
        self.watch = ClientWatch([self.config], self.clock, self.processes, HookReports(self.data))

    def register(self, pid: int, session_id: str, **fields: object) -> Path:
        path = self.config / "sessions" / f"{pid}.json"
        path.write_text(json.dumps({"pid": pid, "sessionId": session_id, "procStart": "1", **fields}))
        return path

    def write(self, session_id: str, words: str = "hello") -> Path:
        path = self.project / f"{session_id}.jsonl"
        build = build_now()
        build.prompt(words)
        with path.open("ab") as file:
            file.write(build.data())
        return path

    def report(self, event: str, session_id: str, pid: int, start: int = 1, space: int = 1, **fields: str) -> None:
        """Report what a hook received that a shell of a client started."""
        given = {"hook_event_name": event, "session_id": session_id, **fields}
        line = build_report(dict(given), self.clock.now(), [(pid + 1000, start + 5), (pid, start)], space)
        folder = self.data / SPOOL_FOLDER_NAME
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "2026-01-01.jsonl").open("ab") as file:
            file.write((line or b"") + b"\n")

    def look(self, session_id: str, seconds: float = 1.0, age: float = 100.0) -> ClientSign:
        """What is known after a while about a session that was last active so many seconds ago."""
        self.clock.skip(seconds)
        self.watch.poll()
        files = {file.session_id: file for file in list_session_files(self.config)}
        return self.watch.find_client(files[session_id], self.clock.now() - age, has_unseen_writer=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.write(ONE)
    return found


def test_a_registered_client_has_its_session_open_until_it_removes_the_registration(world: World) -> None:
    world.processes.start(7, world.folder)
    path = world.register(7, ONE, status="busy", statusUpdatedAt=5000)
    found = world.look(ONE)
    assert (found.presence, found.is_sure, found.pid) == ("open", True, 7)
    assert found.client is not None
    assert (found.client.status, found.client.status_time) == ("busy", 5.0)
    path.unlink()
    del world.processes.clients[7]
    assert world.look(ONE)[:2] == ("ended", True)


def test_a_client_that_removed_its_registration_has_a_few_seconds_to_exit(world: World) -> None:
    world.processes.start(7, world.folder)
    path = world.register(7, ONE)
    world.look(ONE)
    path.unlink()
    assert world.look(ONE).presence == "open"
    assert world.look(ONE, seconds=10).presence == "ended"


def test_a_client_has_the_session_open_that_its_arguments_name(world: World) -> None:
    world.processes.start(7, world.folder)
    world.look(ONE)
    del world.processes.clients[7]
    assert world.look(ONE).presence == "ended"
    world.processes.start(8, world.folder, start="2", session_id=ONE)
    found = world.look(ONE)
    assert (found.presence, found.pid, found.started) == ("open", 8, world.processes.clients[8].started)


def test_a_new_session_belongs_to_the_only_client_even_while_its_file_is_empty(world: World) -> None:
    world.processes.start(7, world.folder)
    os.utime(world.project / f"{ONE}.jsonl", (1, 1))
    (world.project / f"{TWO}.jsonl").touch()
    assert world.look(TWO).pid == 7


def test_a_killed_client_leaves_a_registration_behind_and_has_ended(world: World) -> None:
    world.register(7, ONE, status="busy")
    assert world.look(ONE)[:2] == ("ended", True)


def test_another_process_with_the_same_number_is_not_the_client(world: World) -> None:
    world.processes.start(7, world.folder, start="2")
    world.register(7, ONE, status="busy")
    assert world.look(ONE)[:2] == ("ended", True)


def test_a_client_that_names_another_session_has_left_the_first(world: World) -> None:
    world.processes.start(7, world.folder)
    world.register(7, ONE)
    assert world.look(ONE).presence == "open"
    world.write(TWO)
    world.register(7, TWO)
    assert world.look(ONE)[:2] == ("left", True)
    assert world.look(TWO).presence == "open"


def test_of_two_clients_on_one_session_the_one_that_is_left_counts(world: World) -> None:
    world.processes.start(7, world.folder)
    world.register(7, ONE, status="idle")
    world.register(8, ONE, status="waiting")  # killed
    found = world.look(ONE)
    assert (found.presence, found.pid) == ("open", 7)


def test_an_old_client_has_the_session_open_that_was_written_in_its_folder(world: World) -> None:
    world.processes.start(7, world.folder)
    assert world.look(ONE)[:2] == ("open", False)
    del world.processes.clients[7]
    assert world.look(ONE)[:2] == ("ended", False)


def test_an_old_client_that_writes_a_new_session_has_left_the_first(world: World) -> None:
    world.processes.start(7, world.folder)
    assert world.look(ONE).presence == "open"
    world.write(TWO)
    assert world.look(ONE)[:2] == ("left", False)
    assert world.look(TWO).presence == "open"


def test_a_file_without_a_message_does_not_take_the_place_of_a_resumed_session(world: World) -> None:
    os.utime(world.project / f"{ONE}.jsonl", (1, 1))
    world.processes.start(7, world.folder, session_id=ONE)
    assert world.look(ONE).presence == "open"
    (world.project / f"{TWO}.jsonl").write_text('{"type":"file-history-snapshot"}\n')
    assert world.look(ONE).presence == "open"


def test_a_file_without_a_message_replaces_a_session_in_which_the_client_has_worked(world: World) -> None:
    world.processes.start(7, world.folder)
    assert world.look(ONE).presence == "open"
    (world.project / f"{TWO}.jsonl").write_text('{"type":"file-history-snapshot"}\n')
    assert (world.look(TWO).presence, world.look(ONE).presence) == ("open", "left")


def test_two_old_clients_in_one_folder_are_told_apart_by_how_much_they_write(world: World) -> None:
    world.processes.start(7, world.folder, start="1")
    world.processes.start(8, world.folder, start="2")
    world.write(TWO)
    world.look(ONE)
    pids = {world.look(name).pid for name in (ONE, TWO)}
    assert pids == {7, 8}
    world.processes.written = {7: 100_000, 8: 2}
    world.write(TWO, "x" * 5000)
    assert (world.look(TWO).pid, world.look(ONE).pid) == (7, 8)


def test_the_last_words_of_a_client_do_not_reopen_its_session(world: World) -> None:
    world.processes.start(7, world.folder)
    world.processes.start(8, world.folder, start="2")
    world.write(TWO)
    assert {world.look(name).presence for name in (ONE, TWO)} == {"open"}
    pid = world.look(ONE).pid
    assert pid is not None
    del world.processes.clients[pid]
    world.write(ONE, "bye")
    assert world.look(ONE).presence == "ended"
    assert world.look(TWO).presence == "open"


def test_clients_of_other_folders_and_config_folders_do_not_count(world: World, tmp_path: Path) -> None:
    world.processes.start(7, tmp_path)
    world.processes.start(8, world.folder, config_dir=tmp_path / "other")
    assert world.look(ONE)[:2] == ("ended", False)


def test_a_linked_config_folder_is_the_same_folder(world: World, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(world.config)
    world.processes.start(7, world.folder, config_dir=tmp_path / "link")
    assert world.look(ONE).presence == "open"


def test_a_session_that_was_written_just_now_may_have_a_client_that_is_not_visible(world: World) -> None:
    assert world.look(ONE, age=1).presence == "unknown"
    assert world.look(ONE, age=60)[:2] == ("ended", False)


def test_a_clock_that_goes_back_does_no_harm(world: World) -> None:
    world.processes.start(7, world.folder)
    assert world.look(ONE).presence == "open"
    world.clock.turn_back(86400)
    assert world.look(ONE).presence == "open"
    del world.processes.clients[7]
    assert world.look(ONE).presence == "ended"


def test_a_spinner_is_seen_and_typing_is_not(world: World) -> None:
    class Counting(ScriptedProcesses):
        steps = (0, 0, 0)
        counts = ProcessActivity(0, 0, 0)

        def read_activity(self, pid: int) -> ProcessActivity:
            self.counts = ProcessActivity(*(old + new for old, new in zip(self.counts, self.steps, strict=True)))
            return self.counts

    processes = Counting()
    watch = ClientWatch([world.config], world.clock, processes)

    def look(*steps: int) -> tuple[bool, bool]:
        processes.steps = steps  # type: ignore[assignment]
        world.clock.skip(0.4)
        sign = watch.activities.read_screen(7)
        assert sign is not None
        return sign.is_drawing, sign.is_known

    assert look(1, 1, 8) == (False, False)
    assert [look(4, 4, 200) for _ in range(3)] == [(False, False)] * 3  # typing
    assert [look(1, 5, 300) for _ in range(2)] == [(False, False), (True, True)]  # a spinner
    assert look(900, 300, 90_000) == (True, True)  # files are read: nothing is known
    assert look(1, 1, 8) == (False, True)


@pytest.mark.skipif(os.name == "nt", reason="needs names that are no text")
def test_hostile_registrations_do_no_harm(world: World) -> None:
    for number, text in enumerate(["[]", "{", '{"pid": 1e99, "sessionId": "x"}', '{"pid": 7, "sessionId": {}}']):
        (world.config / "sessions" / f"{number}.json").write_text(text)
    (world.config / "sessions" / "9.json").write_text(
        json.dumps({"pid": 7, "sessionId": ONE, "status": [], "statusUpdatedAt": 10**40, "cwd": 5, "procStart": {}})
    )
    world.processes.start(7, world.folder)
    found = world.look(ONE)
    assert found.client is not None
    assert (found.client.status, found.client.status_time, found.client.cwd) == (None, None, None)


def test_hooks_tell_two_old_clients_of_one_folder_apart(world: World) -> None:
    world.write(TWO)
    world.processes.start(7, world.folder)
    world.processes.start(8, world.folder)
    world.report("UserPromptSubmit", ONE, 8)
    world.report("UserPromptSubmit", TWO, 7)
    found = {session: world.look(session) for session in (ONE, TWO)}
    assert [(sign.presence, sign.is_sure, sign.pid) for sign in found.values()] == [
        ("open", True, 8),
        ("open", True, 7),
    ]
    for words in ("one", "two"):  # what is written later changes nothing
        world.write(TWO, words)
        world.write(ONE, words)
        assert (world.look(ONE).pid, world.look(TWO).pid) == (8, 7)
    del world.processes.clients[8]
    assert (world.look(ONE)[:2], world.look(TWO).pid) == (("ended", False), 7)


def test_a_client_that_continues_with_a_new_session_leaves_the_one_that_its_hooks_named(world: World) -> None:
    world.processes.start(7, world.folder)
    world.processes.start(8, world.folder)
    world.report("UserPromptSubmit", ONE, 7)
    assert world.look(ONE).pid == 7
    world.write(TWO)
    world.report("SessionEnd", ONE, 7, reason="clear")
    world.report("SessionStart", TWO, 7, source="clear")
    assert (world.look(TWO).pid, world.look(ONE).presence) == (7, "left")


def test_the_new_session_that_a_resuming_client_reports_first_is_not_the_one_that_it_has_open(world: World) -> None:
    world.processes.start(7, world.folder, session_id=ONE)
    world.report("SessionStart", TWO, 7, source="startup")
    assert world.look(ONE).presence == "open"
    world.report("SessionStart", ONE, 7, source="resume")
    assert world.look(ONE)[:2] == ("open", True)


def test_a_session_whose_hooks_run_in_a_container_belongs_to_no_client_outside(world: World) -> None:
    world.processes.start(7, world.folder)
    world.report("UserPromptSubmit", ONE, 7, space=2)
    assert world.look(ONE).presence == "unknown"
    world.write(TWO)
    assert (world.look(TWO).pid, world.look(ONE).presence) == (7, "unknown")


def test_a_reused_process_number_is_not_the_client_that_ran_a_hook(world: World) -> None:
    world.write(TWO)
    world.processes.start(7, world.folder, start="2")
    world.report("UserPromptSubmit", ONE, 7, start=1)
    os.utime(world.project / f"{TWO}.jsonl", (time.time() + 1, time.time() + 1))
    assert (world.look(TWO).pid, world.look(ONE).pid) == (7, None)


def test_a_client_without_hooks_still_gets_a_new_session_of_its_folder(world: World) -> None:
    world.processes.start(7, world.folder)
    world.report("UserPromptSubmit", ONE, 7)
    assert world.look(ONE).pid == 7
    world.write(TWO)
    assert (world.look(TWO).pid, world.look(ONE).presence) == (7, "left")
