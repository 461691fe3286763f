"""How much work is lost when it is stopped, and what each file costs."""

from __future__ import annotations

import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.session.build import Build
from tests.store.index_build import Content, Desk, content, main
from turnlog.entries.tail import Checkpoint
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.session.usage.message_counts import MessageCounts
from turnlog.store.index.batch_reader import IndexBatch
from turnlog.store.index.file_changes import find_index_changes
from turnlog.store.index.refresh import ignore_progress
from turnlog.store.index.refresh_work import CommitLimits, RefreshWork, _CommitRest
from turnlog.store.store import Store

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def fill(desk: Desk, count: int, first: int = 0) -> None:
    """So many small sessions, each with an answer of its own."""
    for number in range(first, first + count):
        build = Build()
        build.prompt(f"question {number}")
        build.answer("reply", id=f"m{number}", usage={"input_tokens": 3, "output_tokens": 4})
        desk.write(main(f"{number:08x}-0000-4000-8000-000000000001", f"-p{number % 50}"), build.data())


def work(desk: Desk, limits: CommitLimits) -> tuple[int, Content]:
    """How many commits it takes to read everything, and what the index holds then."""
    commits: list[int] = []

    def note_commit() -> bool:
        commits.append(1)
        return False

    with Store.open(desk.data) as store:
        found = find_index_changes(store.db, [desk.config])
        store.db.set_commit_hook(note_commit)
        RefreshWork(store.db, ignore_progress, sum(item.more for item in found.files), limits).run(found.files)
        return len(commits), content(store.db)


def test_it_commits_after_so_many_files(desk: Desk) -> None:
    fill(desk, 90)
    commits, _ = work(desk, CommitLimits(files=10))
    assert commits >= 9


def test_it_commits_after_so_much_time(desk: Desk) -> None:
    fill(desk, 20)
    commits, _ = work(desk, CommitLimits(seconds=1e-9))
    assert commits >= 2


@pytest.mark.parametrize("files", [1, 7])
def test_how_often_it_commits_makes_no_difference(desk: Desk, tmp_path: Path, files: int) -> None:
    fill(desk, 30)
    desk.settle()
    assert work(desk, CommitLimits(files=files))[1] == desk.scratch(tmp_path / "scratch")


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_what_was_read_is_kept_when_the_program_is_ended(desk: Desk, tmp_path: Path, name: str) -> None:
    fill(desk, 40)
    desk.settle()
    words = [sys.executable, "-m", "tests.store.index_work", str(desk.config), str(desk.data), f"{name}:15"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.Signals[name], done.stderr.decode()
    with desk.open() as store:
        status = store.status()
    assert status.files - status.unread == 15
    assert desk.refresh().files == 25
    assert desk.content() == desk.scratch(tmp_path / "scratch")


@posix
def test_a_signal_that_the_program_ignores_does_not_stop_it(desk: Desk) -> None:
    fill(desk, 20)
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from tests.store.index_work import run; "
    program += f"run({str(desk.config)!r}, {str(desk.data)!r}, 'SIGHUP:5')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done 20 False 0"), done.stderr


def instructions(desk: Desk) -> int:
    """What a refresh costs, in hundreds of SQLite's instructions."""
    count = 0

    def step() -> bool:
        nonlocal count
        count += 1
        return False

    with Store.open(desk.data) as store:
        store.db.set_progress_handler(step, 100)
        store.refresh([desk.config])
    return count


def test_a_first_index_costs_as_much_per_file_however_many_there_are(tmp_path: Path) -> None:
    few, many = Desk(tmp_path / "few"), Desk(tmp_path / "many")
    fill(few, 100)
    fill(many, 800)
    assert instructions(many) < 1.5 * 8 * instructions(few)


@pytest.fixture
def large(desk: Desk) -> Iterator[_CommitRest]:
    """What is to be written at the end of a step with very many messages."""
    with desk.open() as store:
        rest = _CommitRest(store.db, {})
        rest.add_batch(batch(200_000), is_fork=False)
        yield rest


def batch(messages: int) -> IndexBatch:
    answers = {f"m{number}": MessageCounts(None, "", "") for number in range(messages)}
    return IndexBatch(1, 1, None, Checkpoint(), TranscriptOutline(), [], answers, {}, [], [], [], [])


def test_one_more_file_does_not_copy_what_was_noted_of_the_others(large: _CommitRest) -> None:
    more = batch(1)
    tracemalloc.start()
    try:
        large.add_batch(more, is_fork=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000, "a copy takes megabytes"
