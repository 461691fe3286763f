"""The conversation of large changes is indexed first; a background process reads the rest and gives way to others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.conftest import ROOT
from tests.session.build import Build
from tests.store.index_build import ONE, SLUG, TWO, Desk, content, main, recorded_lines
from turnlog.store.file_lock import try_lock_file
from turnlog.store.fill_process import run_filler
from turnlog.store.filler import (
    STOPPED_BY_USER,
    pause_filler,
    read_pause_reason,
    resume_filler,
    start_filler,
    stop_filler,
)
from turnlog.store.index import refresh, refresh_work
from turnlog.store.index.coverage import needs_filling, read_coverage
from turnlog.store.index.fill_lock import get_filler_place, is_filler_running
from turnlog.store.index.refresh import fill_index, ignore_progress
from turnlog.store.index.upkeep import list_index_faults
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME
from turnlog.store.store import Store

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL and fork")
OUTPUT = f"projects/{SLUG}/{ONE}/tool-results/call1.txt"


@pytest.fixture(autouse=True)
def treat_all_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as a large one."""
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", -1)


@pytest.fixture
def store(desk: Desk) -> Iterator[Store]:
    """An index with only the conversation of a few sessions."""
    fill(desk)
    with desk.open() as store:
        store.refresh([desk.config], is_whole=False)
        yield store


def fill(desk: Desk) -> None:
    lines = recorded_lines()
    for number, name in enumerate((ONE, TWO)):
        desk.write(main(name), b"".join(lines[number * 150 : number * 150 + 150]))
    build = Build()
    build.prompt("please find the teapot")
    build.call("call9", "Bash", {"command": "grep kettle"})
    build.result("call9", "a samovar")
    build.answer("found the teacup")
    desk.write(main("cccccccc-0000-4000-8000-000000000003"), build.data())
    desk.write(OUTPUT, b"a large result about saucers\nwithout a last line end")
    desk.settle()


def count(db: apsw.Connection, word: str) -> int:
    return sum(
        int(db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (word,)).get)
        for table in ("said", "done")
    )


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < until, "it did not happen within two minutes"
        time.sleep(0.02)


def assert_whole(desk: Desk, scratch: Path) -> None:
    with desk.open() as store:
        assert read_coverage(store.db).share == 1
        assert list(list_index_faults(store.db)) == []
        found = content(store.db)
    assert found == desk.scratch(scratch)


def test_what_was_said_can_be_found_first(store: Store) -> None:
    assert [count(store.db, word) for word in ("teapot", "teacup")] == [1, 1]
    assert [count(store.db, word) for word in ("kettle", "samovar", "saucers")] == [0, 0, 0]
    assert read_coverage(store.db).share == 0
    fill_index(store.db, ignore_progress)
    assert [count(store.db, word) for word in ("kettle", "samovar", "saucers")] == [1, 1, 1]
    assert read_coverage(store.db) == (0, 0)


def test_usage_is_exact_before_the_rest_is_read(store: Store, desk: Desk, tmp_path: Path) -> None:
    fresh = desk.scratch(tmp_path / "scratch")
    found = content(store.db)
    assert found.spend == fresh.spend
    assert {path: (file.file, file.answers) for path, file in found.there.items()} == {
        path: (file.file, file.answers) for path, file in fresh.there.items()
    }


def test_newer_files_are_filled_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_work, "MAX_STEP_BYTES", -1)
    newest = store.db.execute("SELECT path FROM file ORDER BY mtime_ns DESC LIMIT 1").get
    pieces = iter(range(10))
    fill_index(store.db, ignore_progress, lambda: next(pieces) >= 1)
    filled = [path for (path,) in store.db.execute("SELECT path FROM file WHERE filled > 0")]
    assert filled == [newest]


def test_a_filler_reads_the_rest_and_ends(store: Store, desk: Desk, tmp_path: Path) -> None:
    run_filler(store.path, [desk.config])
    assert not is_filler_running(store.lock)
    assert_whole(desk, tmp_path / "scratch")


def test_a_filler_also_indexes_what_is_new(desk: Desk, tmp_path: Path) -> None:
    fill(desk)
    desk.data.mkdir()
    run_filler(desk.data / DEFAULT_INDEX_NAME, [desk.config])
    assert_whole(desk, tmp_path / "scratch")


def test_a_process_of_its_own_fills_the_index(store: Store, desk: Desk, tmp_path: Path) -> None:
    assert start_filler(store.path, [desk.config])
    wait_until(lambda: not needs_filling(store.db) and not is_filler_running(store.lock))
    assert_whole(desk, tmp_path / "scratch")


def test_there_is_one_filler_at_a_time(store: Store, desk: Desk) -> None:
    with try_lock_file(get_filler_place(store.lock)) as is_ours:
        assert is_ours
        assert not start_filler(store.path, [desk.config])
    assert needs_filling(store.db)


def test_no_filler_starts_while_it_is_stopped(store: Store, desk: Desk) -> None:
    assert stop_filler(store.path)
    assert not start_filler(store.path, [desk.config])
    run_filler(store.path, [desk.config])
    assert needs_filling(store.db)
    resume_filler(store.path)
    assert read_pause_reason(store.path) is None
    run_filler(store.path, [desk.config])
    assert not needs_filling(store.db)


def test_a_full_disk_stops_it_and_is_reported(store: Store, desk: Desk) -> None:
    pause_filler(store.path, "the disk is full")
    assert read_pause_reason(store.path) == "the disk is full"
    assert not start_filler(store.path, [desk.config])


@pytest.mark.parametrize(("reason", "is_kept"), [("malformed", False), (STOPPED_BY_USER, True)])
def test_a_failure_does_not_stop_the_fillers_of_a_new_index(
    store: Store, desk: Desk, reason: str, is_kept: bool
) -> None:
    pause_filler(store.path, reason)
    store.close()
    store.path.write_bytes(b"no database" * 1000)
    with desk.open() as again:
        assert read_pause_reason(again.path) == (reason if is_kept else None)


def test_a_disk_too_full_for_the_reason_is_reported(store: Store, desk: Desk) -> None:
    store.path.with_suffix(".paused").touch()
    assert read_pause_reason(store.path) == "the disk is full"
    assert not start_filler(store.path, [desk.config])


_ENDLESS = """
import sys, time
from pathlib import Path
from turnlog.store.file_lock import try_lock_file
from turnlog.store.index.fill_lock import get_filler_place, is_index_wanted
from turnlog.store.index.refresh import fill_index, ignore_progress
from turnlog.store.store import Store

def is_stopped():
    while not is_index_wanted(store.lock):  # as if each piece took long
        time.sleep(0.01)
    return True

with Store.open(Path(sys.argv[1])) as store, try_lock_file(get_filler_place(store.lock)):
    with try_lock_file(store.lock):
        print("filling", flush=True)
        print(fill_index(store.db, ignore_progress, is_stopped), flush=True)
    time.sleep(600)
"""


def test_a_filler_gives_way_to_a_command_that_has_something_to_read(store: Store, desk: Desk, tmp_path: Path) -> None:
    words = [sys.executable, "-c", _ENDLESS, str(desk.data)]
    filler = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with filler:
        assert filler.stdin
        assert filler.stdout
        try:
            assert filler.stdout.readline() == "filling\n"
            desk.append(main(ONE), b"".join(recorded_lines()[300:320]))
            done = store.refresh([desk.config], is_whole=False)
            assert (done.is_busy, done.files) == (False, 1)
            assert int(filler.stdout.readline()) > 0
        finally:
            filler.kill()
    desk.refresh()
    assert_whole(desk, tmp_path / "scratch")


def test_a_command_without_anything_to_read_does_not_disturb_it(store: Store, desk: Desk) -> None:
    with try_lock_file(get_filler_place(store.lock)), try_lock_file(store.lock):
        done = store.refresh([desk.config], is_whole=False)
    assert (done.is_busy, done.files, done.known) == (False, 0, 4)


def test_a_file_that_changed_meanwhile_is_left_to_the_next_refresh(store: Store, desk: Desk, tmp_path: Path) -> None:
    desk.write(main(TWO), b"".join(recorded_lines()[300:330]))
    (desk.config / OUTPUT).unlink()
    assert fill_index(store.db, ignore_progress) == 0
    assert not needs_filling(store.db)
    assert read_coverage(store.db).left > 0
    desk.refresh()
    with desk.open() as again:
        found, fresh = content(again.db), desk.scratch(tmp_path / "scratch")
    assert found.there == fresh.there


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions")
def test_a_file_that_can_not_be_read_is_read_when_it_can(store: Store, desk: Desk, tmp_path: Path) -> None:
    (desk.config / main(TWO)).chmod(0)
    fill_index(store.db, ignore_progress)
    assert not needs_filling(store.db)
    (desk.config / main(TWO)).chmod(0o600)
    desk.refresh()
    assert_whole(desk, tmp_path / "scratch")


@posix
@pytest.mark.parametrize("when", ["fill:1", "fill:3", "fill:6"])
def test_filling_goes_on_after_a_kill(desk: Desk, tmp_path: Path, when: str) -> None:
    fill(desk)
    words = [sys.executable, "-m", "tests.store.index_work", str(desk.config), str(desk.data), when]
    assert subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode == -signal.SIGKILL
    desk.refresh()
    assert_whole(desk, tmp_path / "scratch")


@posix
@pytest.mark.slow
def test_an_index_survives_200_kills_while_others_read_it(desk: Desk, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.store.kill_rounds", str(desk.config), str(desk.data), "200"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= 20, "hardly any process was killed at work"
    desk.refresh()
    with desk.open() as store:
        assert list(list_index_faults(store.db)) == []
        found = content(store.db)
    assert found.there == desk.scratch(tmp_path / "scratch").there
