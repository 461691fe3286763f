"""The same build on a real cluster of processes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import turnlog
from tests.fleet.lakes import add_recorded, add_session, build_session, read_rows
from tests.fleet.test_once import DeadlyTask
from turnlog.fleet.engines import DaskEngine
from turnlog.fleet.task import TaskResult

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("distributed") is None, reason="no Dask; `make fleet-cluster` installs it"),
]


def test_a_lake_that_a_cluster_built_is_the_same(tmp_path: Path, lake: Path) -> None:
    source = add_recorded(tmp_path / "src/ana")
    add_session(source, build_session(30))
    done = turnlog.build_lake(tmp_path / "src", lake, engine="dask", workers=2, layout="{person}", split_bytes=30_000)
    assert done.failed == []
    turnlog.build_lake(tmp_path / "src", tmp_path / "fresh", workers=1, layout="{person}")
    assert read_rows(lake) == read_rows(tmp_path / "fresh")


def test_a_task_whose_worker_was_killed_runs_on_another(tmp_path: Path) -> None:
    tasks = [DeadlyTask(str(tmp_path), f"t{number}", int(number == 1)) for number in range(4)]
    with DaskEngine(None, 2) as engine:
        outcomes = list(engine.iter_outcomes(tasks))
    assert sorted(outcome.task.name for outcome in outcomes) == ["t0", "t1", "t2", "t3"]  # type: ignore[attr-defined]
    assert all(isinstance(outcome.result, TaskResult) for outcome in outcomes)
