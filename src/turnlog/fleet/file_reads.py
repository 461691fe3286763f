"""Reads source files on an engine, and turns what workers return into changes.

Small files are read together; the entries of a huge file are read in parts, at the same time as the rest of it. A file
becomes part of the lake as a whole: if any of its tasks fails, none of its rows are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from turnlog.fleet.catalog import CatalogRow, FileToRead
from turnlog.fleet.commit import LakeChange
from turnlog.fleet.engines import LakeEngine, TaskOutcome, WorkerDied
from turnlog.fleet.part_writer import BuiltPart
from turnlog.fleet.redacted_file import KnownSecrets
from turnlog.fleet.settings import BuildSettings
from turnlog.fleet.task import FileFailure, FindSecretsTask, LakeTask, ReadEntriesTask, ReadFilesTask, TaskResult
from turnlog.redact.secret_rule import SecretFinding

_MAX_FILES_PER_TASK = 2_000
_DEAD_WORKER = "the worker was killed {attempts} times while reading it; it may need more memory"


class ReadUnit(NamedTuple):
    """Files whose rows are committed together, and what was written for them."""

    files: tuple[FileToRead, ...]
    parts: tuple[BuiltPart, ...]
    failures: tuple[FileFailure, ...]
    replaced: int = 0

    @property
    def size(self) -> int:
        return sum(file.source.size for file in self.files)


class FileReader:
    """Reads files for one build."""

    def __init__(self, engine: LakeEngine, settings: BuildSettings, source_number: int) -> None:
        self._engine, self._settings, self._source_number = engine, settings, source_number

    def iter_units(self, files: Iterable[FileToRead]) -> Iterator[ReadUnit]:
        """Read files, and yield what was written, in any order."""
        huge: list[FileToRead] = []
        yield from self._read_batches(self._iter_batches(files, huge.append))
        for file in huge:
            yield self._read_huge_file(file)

    def _iter_batches(
        self, files: Iterable[FileToRead], put_aside: Callable[[FileToRead], None]
    ) -> Iterator[tuple[FileToRead, ...]]:
        batch: list[FileToRead] = []
        size = 0
        for file in files:
            if file.source.size >= self._settings.split_bytes:
                put_aside(file)
                continue
            if batch and (size + file.source.size > self._settings.task_bytes or len(batch) >= _MAX_FILES_PER_TASK):
                yield tuple(batch)
                batch, size = [], 0
            batch.append(file)
            size += file.source.size
        if batch:
            yield tuple(batch)

    def _read_batches(self, batches: Iterable[tuple[FileToRead, ...]]) -> Iterator[ReadUnit]:
        known: dict[int, FileToRead] = {}
        deadly: list[ReadFilesTask] = []

        def iter_tasks() -> Iterator[LakeTask]:
            for batch in batches:
                known.update((file.source.file, file) for file in batch)
                yield ReadFilesTask(self._settings, tuple(file.source for file in batch))

        def iter_single_tasks() -> Iterator[LakeTask]:
            for task in deadly:
                yield from (ReadFilesTask(self._settings, (file,)) for file in task.files)

        for task, result in self._engine.iter_outcomes(iter_tasks()):
            if not isinstance(task, ReadFilesTask):
                continue
            if isinstance(result, WorkerDied) and len(task.files) > 1:
                deadly.append(task)  # one by one, the other files don't suffer
            else:
                yield _build_unit([known.pop(file.file) for file in task.files], [result])
        for outcome in self._engine.iter_outcomes(iter_single_tasks()) if deadly else ():
            if isinstance(outcome.task, ReadFilesTask):
                yield _build_unit([known.pop(outcome.task.files[0].file)], [outcome.result])

    def _read_huge_file(self, file: FileToRead) -> ReadUnit:
        source, step = file.source, self._settings.split_bytes
        ranges = [(start, min(start + step, source.size)) for start in range(0, source.size, step)]
        secrets: KnownSecrets = ()
        if self._settings.is_redacted:
            tasks = [FindSecretsTask(self._settings, source, start, end) for start, end in ranges]
            outcomes = list(self._engine.iter_outcomes(tasks))
            if any(isinstance(outcome.result, WorkerDied) or outcome.result.failures for outcome in outcomes):
                return _build_unit([file], [outcome.result for outcome in outcomes])
            secrets = _join_secrets(outcomes)
        tasks_of_file: list[LakeTask] = [
            ReadFilesTask(self._settings, (source,), secrets),
            *(ReadEntriesTask(self._settings, source, start, end, secrets) for start, end in ranges),
        ]
        return _build_unit([file], [outcome.result for outcome in self._engine.iter_outcomes(tasks_of_file)])

    def build_change(self, unit: ReadUnit) -> LakeChange:
        """Turn what was written into a change; failed files keep the parts that contain their earlier version."""
        reasons = {failure.file: failure.reason for failure in unit.failures}
        rows = (self._build_row(file, unit, reasons.get(file.source.file)) for file in unit.files)
        return LakeChange(tuple(rows), tuple(built.part for built in unit.parts))

    def _build_row(self, file: FileToRead, unit: ReadUnit, reason: str | None) -> CatalogRow:
        source = file.source
        own = [built.part.id for built in unit.parts if source.file in built.files]
        parts = file.old_parts if reason is not None else own
        status = "live" if reason is None else "failed"
        return CatalogRow(
            source.file,
            self._source_number,
            source.version,
            source.size,
            status,
            reason,
            source.person,
            " ".join(parts),
            0,
            "",
        )


def _build_unit(files: list[FileToRead], results: list[TaskResult | WorkerDied]) -> ReadUnit:
    failures: list[FileFailure] = []
    parts: list[BuiltPart] = []
    replaced = 0
    for result in results:
        if isinstance(result, WorkerDied):
            reason = _DEAD_WORKER.format(attempts=result.attempts)
            failures += [FileFailure(file.source.file, reason) for file in files]
        else:
            failures += result.failures
            parts += result.parts
            replaced += result.replaced
    if failures and len(files) == 1:
        return ReadUnit(tuple(files), (), tuple(failures[:1]), 0)
    return ReadUnit(tuple(files), tuple(parts), tuple(failures), replaced)


def _join_secrets(outcomes: list[TaskOutcome]) -> KnownSecrets:
    """Join the secrets of all parts of a file, in the order of the file."""
    parts = sorted(
        (outcome.task.start, outcome.result.secrets)
        for outcome in outcomes
        if isinstance(outcome.task, FindSecretsTask) and isinstance(outcome.result, TaskResult)
    )
    joined: dict[str, SecretFinding] = {}
    for _, secrets in parts:
        for finding in secrets:
            joined.setdefault(finding.secret, finding)
    return tuple(joined.values())
