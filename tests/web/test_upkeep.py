"""The index while the server runs: it follows the files, and no page waits for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders
from turnlog.errors import NotFound, TurnlogError
from turnlog.store.index.file_changes import ChangedFile
from turnlog.web.background import upkeep
from turnlog.web.background.errand import Errand, ErrandProcess
from turnlog.web.background.upkeep import IndexUpkeep
from turnlog.web.machine import IndexState, Machine

pytestmark = pytest.mark.slow

NEW = "0a0a0a0a-0000-4000-8000-00000000000{}"


def session(prompts: int, size: int = 20) -> bytes:
    build = Build()
    for number in range(prompts):
        build.prompt(f"question {number} " + "x" * size)
        build.answer(f"answer {number}")
    return build.data()


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


def is_known(place: Machine, ref: str) -> bool:
    try:
        return bool(place.find_session(ref))
    except NotFound:
        return False


@contextmanager
def run_upkeep(place: Machine) -> Iterator[list[str]]:
    """A place that is looked after, with somebody at a page."""
    told: list[str] = []
    place.visited = time.monotonic() + 1000
    with IndexUpkeep(place, told.append):
        yield told


def test_a_new_session_comes_into_the_index_while_the_server_runs(place: Machine, folders: Folders) -> None:
    with run_upkeep(place) as told:
        until(lambda: place.state.phase == "idle")
        before = place.state.generation
        folders.add(NEW.format(1), session(2))
        until(lambda: is_known(place, NEW.format(1)))
        until(lambda: place.state.generation > before)
    assert told == []


def test_a_session_that_is_deleted_is_known_to_be_gone(place: Machine, folders: Folders) -> None:
    path = folders.add(NEW.format(1), session(2))
    place.store.refresh(place.config_dirs)
    with run_upkeep(place):
        path.unlink()
        until(lambda: place.find_session(NEW.format(1)).is_gone)


def test_much_is_read_by_a_child_while_pages_are_answered(place: Machine, client: TestClient, folders: Folders) -> None:
    for number in range(4):
        folders.add(NEW.format(number), session(4000, 300))
    phases = set()
    with run_upkeep(place) as told:
        while place.state.phase == "idle" or place.state.is_busy:
            answer = client.get("/api/state")
            phases.add(answer.json()["phase"])
            if is_known(place, NEW.format(3)) and place.find_session(NEW.format(3)).title:
                break
        until(lambda: not place.state.is_busy)
    assert "indexing" in phases
    assert told == []
    assert place.store.db.execute("SELECT count(*) FROM file WHERE path LIKE '%0a0a0a0a%' AND offset = size").get == 4


def test_the_timelines_of_large_sessions_are_made_ahead(
    place: Machine, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LARGE_SESSION_BYTES", 40_000)
    large = [
        Path(path)
        for (path,) in place.store.db.execute("SELECT path FROM file WHERE size > 40000 AND kind = 'session'")
    ]
    assert large
    with run_upkeep(place):
        until(lambda: all(place.timelines.has(path) for path in large))


def test_a_session_that_is_being_written_is_not_made_ahead_again_and_again(
    place: Machine, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LARGE_SESSION_BYTES", 0)
    path = folders.add(NEW.format(1), session(2))
    place.store.refresh(place.config_dirs)
    keeper = IndexUpkeep(place, str)
    assert path in keeper._find_cold_sessions(place.store)
    path.write_bytes(session(3))
    place.store.refresh(place.config_dirs)
    assert path not in keeper._find_cold_sessions(place.store)
    old = time.time() - 3600
    os.utime(path, (old, old))
    place.store.refresh(place.config_dirs)
    assert path in keeper._find_cold_sessions(place.store)


def test_a_file_that_can_not_be_read_is_tried_a_few_times_and_again_when_it_has_changed(place: Machine) -> None:
    looked_after = IndexUpkeep(place, str)
    locked, other = ChangedFile(1, 10, 100, 100), ChangedFile(2, 10, 100, 100)
    assert [len(looked_after.skip_hopeless_files([locked])) for _ in range(6)] == [1, 1, 1, 1, 0, 0]
    assert looked_after.skip_hopeless_files([locked, other]) == [other]
    changed = locked._replace(mtime_ns=11)
    assert looked_after.skip_hopeless_files([changed]) == [changed]


def test_the_child_ends_with_the_server(place: Machine, folders: Folders) -> None:
    for number in range(4):
        folders.add(NEW.format(number), session(6_000, 500))
    looked_after = IndexUpkeep(place, str)
    with looked_after:
        until(lambda: place.state.is_busy and place.state.done > 0)
    assert not looked_after._thread.is_alive()
    child = looked_after._child
    assert child is not None
    assert child._process.returncode is not None


def test_a_child_ends_when_we_are_gone(place: Machine, folders: Folders) -> None:
    for number in range(4):
        folders.add(NEW.format(number), session(6_000, 500))
    child = subprocess.Popen(
        [sys.executable, "-m", "turnlog.web.background.errand_runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(msgspec.json.encode(Errand.from_machine(place, refreshes=True)) + b"\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["phase"] == "indexing"
        child.stdin.close()
        child.wait(60)
    place.store.refresh(place.config_dirs)  # and what it left can be gone on with
    assert is_known(place, NEW.format(3))


def test_an_index_that_can_not_be_opened_any_more_is_told_once_and_shown(place: Machine, client: TestClient) -> None:
    place.index.with_suffix(".lock").unlink()
    place.index.with_suffix(".lock").mkdir()
    with run_upkeep(place) as told:
        until(lambda: place.state.phase == "failed")
        assert client.get("/api/state").json()["words"].startswith("not up to date: ")
    assert len(told) == 1
    with pytest.raises(TurnlogError, match="can no longer be opened"):
        list(ErrandProcess(Errand.from_machine(place, refreshes=True)).read_progress())


def test_a_child_that_breaks_is_told(place: Machine) -> None:
    child = ErrandProcess(Errand.from_machine(place, refreshes=True))
    child._process.kill()
    with pytest.raises(TurnlogError, match=r"ended with exit status (-9|1)"):
        list(child.read_progress())


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (IndexState(), ""),
        (IndexState("indexing"), "indexing"),
        (IndexState("indexing", 34, 100), "indexing 34 %"),
        (IndexState("indexing", 200, 100), "indexing 99 %"),
        (IndexState("timelines", 1, 2), ""),
        (IndexState("failed", failure="the disk is full"), "not up to date: the disk is full"),
    ],
)
def test_the_state_is_told_in_a_few_words(state: IndexState, words: str) -> None:
    assert state.words == words
