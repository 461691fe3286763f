"""Every version of a file is in the lake exactly once, whatever happens to workers and builds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

import turnlog
from tests.fleet.lakes import add_session, build_session, read_rows
from turnlog.fleet.commit import LakeChange, LakeCommitter
from turnlog.fleet.engines import MAX_ATTEMPTS, LocalEngine, WorkerDied
from turnlog.fleet.task import TaskResult
from turnlog.fleet.upkeep import ABANDONED_SECONDS
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import LakePart, Snapshot, load_snapshot

PATIENCE_SECONDS = 180


class DeadlyTask(NamedTuple):
    """A task that kills its worker the first few times, and then counts itself."""

    folder: str
    name: str
    deaths: int

    def run(self) -> TaskResult:
        mark = Path(self.folder) / f"{self.name}-{time.monotonic_ns()}-{os.getpid()}"
        mark.touch()
        if len(list(Path(self.folder).glob(f"{self.name}-*"))) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return TaskResult(replaced=1)


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


@needs_signals
def test_a_task_whose_worker_was_killed_runs_again(tmp_path: Path) -> None:
    tasks = [DeadlyTask(str(tmp_path), f"t{number}", int(number == 1)) for number in range(5)]
    with LocalEngine(2) as engine:
        outcomes = list(engine.iter_outcomes(tasks))
    assert sorted(outcome.task for outcome in outcomes) == tasks  # type: ignore[type-var]
    assert all(isinstance(outcome.result, TaskResult) for outcome in outcomes)


@needs_signals
def test_a_task_that_always_kills_its_worker_is_given_up_alone(tmp_path: Path) -> None:
    tasks = [DeadlyTask(str(tmp_path), f"t{number}", 99 * (number == 1)) for number in range(4)]
    with LocalEngine(2) as engine:
        found = {outcome.task: outcome.result for outcome in engine.iter_outcomes(tasks)}
    assert found[tasks[1]] == WorkerDied(MAX_ATTEMPTS)
    assert [found[task] for task in tasks if task is not tasks[1]] == [TaskResult(replaced=1)] * 3


def start_build(source: Path, lake: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "turnlog", "fleet", "build", str(source), str(lake), "--workers", "2", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def finish(build: subprocess.Popen[bytes]) -> None:
    _, errors = build.communicate(timeout=PATIENCE_SECONDS)
    assert build.returncode == 0, errors.decode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for number in range(12):
        add_session(tmp_path / "src", build_session(30), slug=f"-home-dana-p{number % 4}")
    return tmp_path / "src"


@needs_signals
@pytest.mark.slow
def test_a_killed_build_leaves_nothing_that_counts(tmp_path: Path, source: Path, lake: Path) -> None:
    build = start_build(source, lake)
    end = time.monotonic() + PATIENCE_SECONDS
    while build.poll() is None and not list(lake.rglob("*.parquet")):
        assert time.monotonic() < end
    os.killpg(build.pid, signal.SIGKILL)
    build.communicate()
    turnlog.build_lake(source, lake, workers=1)
    turnlog.build_lake(source, tmp_path / "fresh", workers=1)
    assert read_rows(lake) == read_rows(tmp_path / "fresh")


@pytest.mark.slow
def test_two_builds_at_once_change_nothing(tmp_path: Path, source: Path, lake: Path) -> None:
    both = [start_build(source, lake), start_build(source, lake)]
    for build in both:
        finish(build)
    turnlog.build_lake(source, tmp_path / "fresh", workers=1)
    assert read_rows(lake) == read_rows(tmp_path / "fresh")
    assert turnlog.build_lake(source, lake, workers=1).files_read == 0


def load_changes(lake: Path) -> tuple[Snapshot, list[LakeChange]]:
    """The content of a lake as changes, one for each part."""
    from turnlog.fleet.catalog import SourceComparison

    files = LakeFiles(str(lake))
    snapshot = load_snapshot(files)
    comparison = SourceComparison(files, snapshot)
    try:
        rows = list(comparison.iter_known())
    finally:
        comparison.close()
    return snapshot, [
        LakeChange(tuple(row for row in rows if part.id in row.parts.split()), (part,)) for part in snapshot.parts
    ]


def test_of_two_commits_for_a_file_the_second_is_thrown_away(tmp_path: Path, source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1)
    before = read_rows(lake)
    snapshot, changes = load_changes(lake)
    late = [change._replace(added=tuple(rename_part(part) for part in change.added)) for change in changes]
    done = LakeCommitter(LakeFiles(str(lake)), Snapshot(key_id=snapshot.key_id)).commit(late, "build")
    assert (done.dropped, done.snapshot.number) == (len(late), snapshot.number)
    assert read_rows(lake) == before


def rename_part(part: LakePart) -> LakePart:
    return structs.replace(part, id="p-other")


def test_a_commit_that_was_planned_before_somebody_was_forgotten_is_thrown_away(
    tmp_path: Path, source: Path, lake: Path
) -> None:
    turnlog.build_lake(source, lake, workers=1, person="dana")
    base = load_snapshot(LakeFiles(str(lake)))
    turnlog.forget_person(lake, "somebody else")
    committer = LakeCommitter(LakeFiles(str(lake)), base)
    done = committer.commit([LakeChange(())], "build")
    assert (done.dropped, done.snapshot.epoch) == (1, 1)


def test_what_a_killed_build_left_is_deleted_when_no_build_can_need_it(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    for number in range(3):
        add_session(source, build_session(1 + number))
        turnlog.build_lake(source, lake, workers=1)
    month = next((lake / "usage").glob("month=*/project_key=*"))
    abandoned = [month / "p-old.parquet", lake / "_turnlog/catalog/old.parquet"]
    needed_by_another = month / "p-young.parquet"
    for path in (*abandoned, needed_by_another):
        path.write_bytes(b"a part of what a build wrote")
    listed = [path for path in lake.rglob("*.parquet") if path != needed_by_another]
    long_ago = time.time() - ABANDONED_SECONDS - 86400
    for path in listed:
        os.utime(path, (long_ago, long_ago))
    turnlog.build_lake(source, lake, workers=1)
    assert all(path.exists() for path in abandoned), "a build without news doesn't look"
    add_session(source, build_session(4))
    turnlog.build_lake(source, lake, workers=1)
    assert {path for path in listed if not path.exists()} == set(abandoned)
    assert needed_by_another.exists()
    assert [turnlog.report_lake(lake, snapshot=number).sessions for number in (1, 2, 3, 4)] == [1, 2, 3, 4]
