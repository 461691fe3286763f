"""Runs tasks: in processes on this machine, or on a Dask cluster (docs/design/008-fleet.md).

An engine yields each task with its result as soon as it is known, in any order. If a worker dies, its task runs again
elsewhere; a task that keeps killing workers yields a `WorkerDied`.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, NamedTuple, Protocol

from turnlog.errors import TurnlogError, UsageError
from turnlog.fleet.task import LakeTask, TaskResult
from turnlog.store.lake.packages import import_package

MAX_ATTEMPTS = 3
"""How many workers a task may kill before it is given up."""
_WAITING_TASKS_PER_WORKER = 4
ENGINES = ("local", "dask")


class WorkerDied(NamedTuple):
    """The outcome of a task whose workers were killed, usually because they ran out of memory."""

    attempts: int


class TaskOutcome(NamedTuple):
    task: LakeTask
    result: TaskResult | WorkerDied


class LakeEngine(Protocol):
    """Where tasks run."""

    def iter_outcomes(self, tasks: Iterable[LakeTask]) -> Iterator[TaskOutcome]:
        """Run tasks, and yield each with its result; only a few tasks wait at a time."""

    def __enter__(self) -> LakeEngine:
        """Start the workers."""

    def __exit__(self, *_: object) -> None:
        """Stop the workers that this engine started."""


def open_engine(name: str, workers: int | None, scheduler: str | None) -> AbstractContextManager[LakeEngine]:
    """Create an engine by name."""
    if workers is not None and workers < 1:
        raise UsageError("workers must be 1 or more")
    if name == "local":
        if scheduler:
            raise UsageError("scheduler requires the engine dask")
        return LocalEngine(workers or count_usable_cores())
    if name == "dask":
        return DaskEngine(scheduler, workers)
    raise UsageError(f"unknown engine {name!r}; use one of {', '.join(ENGINES)}")


def count_usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_task(task: LakeTask) -> TaskResult:
    """Run a task in this process."""
    return task.run()


class LocalEngine:
    """Processes on this machine; with one worker, this process does everything."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def iter_outcomes(self, tasks: Iterable[LakeTask]) -> Iterator[TaskOutcome]:
        if self._workers == 1:
            for task in tasks:
                yield TaskOutcome(task, task.run())
            return
        coming = iter(tasks)
        running: dict[Future[TaskResult], _Attempt] = {}
        retries: list[_Attempt] = []
        while True:
            room = self._workers * _WAITING_TASKS_PER_WORKER - len(running)
            # After a death, tasks run one by one, so that only the guilty one is blamed.
            if retries:
                if not running:
                    self._submit(retries.pop(0), running)
            else:
                for task in islice(coming, room):
                    self._submit(_Attempt(task), running)
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                attempt = running.pop(future, None)
                if attempt is None:
                    continue
                try:
                    yield TaskOutcome(attempt.task, future.result())
                except BrokenProcessPool:
                    was_alone = not running and len(finished) == 1
                    self._pool = None
                    retries.append(attempt._replace(deaths=attempt.deaths + was_alone))
                    retries += running.values()
                    running.clear()
                    if retries[0].deaths >= MAX_ATTEMPTS:
                        yield TaskOutcome(retries[0].task, WorkerDied(MAX_ATTEMPTS))
                        retries.pop(0)

    def _submit(self, attempt: _Attempt, running: dict[Future[TaskResult], _Attempt]) -> None:
        for _ in range(MAX_ATTEMPTS):
            if self._pool is None:
                # Not fork: the parent may have threads, such as those of the object store.
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self._workers, mp_context=context)
            try:
                running[self._pool.submit(run_task, attempt.task)] = attempt
                return
            except BrokenProcessPool:
                self._pool = None
        raise TurnlogError("the worker processes end as soon as they start; try --workers 1")


class _Attempt(NamedTuple):
    task: LakeTask
    deaths: int = 0
    """How often a worker died while this task ran alone."""


class DaskEngine:
    """A Dask cluster: the one at the scheduler's address or, without an address, one of processes on this machine."""

    def __init__(self, scheduler: str | None, workers: int | None) -> None:
        self._distributed = import_package("distributed", "fleet-cluster")
        self._scheduler, self._workers = scheduler, workers
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> DaskEngine:
        address = self._scheduler
        if address is None:
            self._cluster = address = self._distributed.LocalCluster(
                n_workers=self._workers or count_usable_cores(),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
            )
        try:
            self._client = self._distributed.Client(address, timeout=30)
        except (OSError, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no answer"
            raise TurnlogError(f"{self._scheduler}: can't reach the scheduler ({reason})") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def iter_outcomes(self, tasks: Iterable[LakeTask]) -> Iterator[TaskOutcome]:
        coming = iter(tasks)
        running: dict[Any, LakeTask] = {}
        completed = self._distributed.as_completed()

        def submit_more() -> None:
            # Every worker has work while results travel, but a million tasks never wait at once.
            most = max(1, sum(self._client.nthreads().values())) * _WAITING_TASKS_PER_WORKER
            for task in islice(coming, most - len(running)):
                future = self._client.submit(run_task, task, pure=False)
                running[future] = task
                completed.add(future)

        submit_more()
        while running:
            future = next(completed)
            task = running.pop(future)
            try:
                outcome = TaskOutcome(task, future.result())
            except self._distributed.KilledWorker:
                outcome = TaskOutcome(task, WorkerDied(MAX_ATTEMPTS))
            future.release()
            submit_more()
            yield outcome
