"""Builds a lake: reads what is new or changed in a source, and commits it in steps.

Files without rows in the lake are committed in waves, so that an interrupted build loses little. Files that changed
are committed in one step, together with new versions of the parts that contain their old rows: a reader sees either
all old rows of a file or all new ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, structs

from turnlog.errors import TurnlogError, UsageError
from turnlog.fleet.catalog import FileToRead, SourceComparison
from turnlog.fleet.commit import LakeChange, LakeCommitter
from turnlog.fleet.engines import LakeEngine
from turnlog.fleet.file_reads import FileReader, ReadUnit
from turnlog.fleet.people import PersonRules, PseudonymKey
from turnlog.fleet.rewrite import RewritePartsTask, move_to_new_parts, run_rewrites
from turnlog.fleet.settings import BuildSettings
from turnlog.fleet.source import SourceListing
from turnlog.fleet.upkeep import compact_lake, delete_abandoned_files, expire_snapshots
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import Snapshot, load_snapshot

MAX_ROUNDS = 10
"""How often a build starts over because other builds were faster."""
_WAVE_UNITS = 64
_WAVE_BYTES = 4 << 30
_MAX_REPORTED_FAILURES = 1000
BuildProgress = Callable[[int, int], object]
"""Called with the number of bytes that were read and the total."""


class FailedFile(Struct, frozen=True):
    """A source file that could not be read; the next build tries again."""

    path: str
    reason: str


class LakeBuild(Struct, frozen=True):
    """What a build did."""

    lake: str
    snapshot: int
    files_read: int
    bytes_read: int
    files_unchanged: int
    files_deleted: int
    """Files that the source no longer has; their rows are kept."""
    secrets_replaced: int
    rows: dict[str, int]
    """The rows of the lake by table."""
    parts: int
    rounds: int
    """1, unless another build was at work on the same files."""
    failed: list[FailedFile]


class BuildRequest(Struct, frozen=True):
    """What to build, from what."""

    settings: BuildSettings
    key: PseudonymKey
    rules: PersonRules
    reads_again: bool = False
    """Whether to read files again that didn't change."""


def run_build(request: BuildRequest, engine: LakeEngine, progress: BuildProgress | None = None) -> LakeBuild:
    """Bring a lake up to date with a source."""
    run = _BuildRun(request, engine, progress or _ignore_progress)
    rounds = 1
    while not run.run_round():
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise TurnlogError(f"{run.lake.location}: other builds kept changing the same files; try again")
    compact_lake(run.lake, engine)
    expire_snapshots(run.lake)
    if run.has_committed:  # a build without news should cost next to nothing
        delete_abandoned_files(run.lake)
    return run.summarize(rounds)


class _BuildRun:
    def __init__(self, request: BuildRequest, engine: LakeEngine, progress: BuildProgress) -> None:
        self._request, self._engine, self._progress = request, engine, progress
        self._source = SourceListing(request.settings.source, request.key, request.rules)
        _check_apart(self._source.files.location, request.settings.lake)
        self.lake = LakeFiles(request.settings.lake, create=True)
        self._reader = FileReader(engine, request.settings, self._source.number)
        self._reads_again = request.reads_again
        self._unchanged = 0
        self._deleted = 0
        self._read: dict[int, int] = {}
        """The sizes of the files that were read and committed."""
        self._replaced = 0
        self._failed: dict[str, str] = {}
        self._done = self._total = 0

    @property
    def has_committed(self) -> bool:
        """Whether the lake has changed."""
        return bool(self._read or self._deleted)

    def run_round(self) -> bool:
        """Plan, read and commit once; return whether nothing is left to do."""
        base = self._load_base()
        comparison = SourceComparison(self.lake, base, self._source.number, reads_again=self._reads_again)
        try:
            comparison.add_listing(self._source)
            self._unchanged = comparison.count_unchanged()
            self._done, (_, self._total) = 0, comparison.measure_new(base.forgotten)
            committer = LakeCommitter(self.lake, base)
            if not self._commit_deleted(committer, comparison):
                return False
            forgotten = base.forgotten
            fresh = comparison.iter_changes(forgotten, with_old_rows=False)
            changed = comparison.iter_changes(forgotten, with_old_rows=True)
            is_complete = self._read_new_files(committer, fresh)
            is_complete &= self._read_changed_files(committer, comparison, changed)
            self._reads_again &= not is_complete
            return is_complete
        finally:
            comparison.close()
            self._progress(self._total, self._total)

    def _load_base(self) -> Snapshot:
        base, settings = load_snapshot(self.lake), self._request.settings
        key_id = self._request.key.key_id
        if not base.number:
            return structs.replace(base, key_id=key_id, is_redacted=settings.is_redacted)
        if base.key_id != key_id:
            raise UsageError(f"{self.lake.location}: built with another key; use --key FILE with the key of this lake")
        if base.is_redacted != settings.is_redacted:
            flag, state = ("--redact", "is") if base.is_redacted else ("--no-redact", "is not")
            raise UsageError(f"{self.lake.location}: this lake {state} redacted; use {flag}, or build another lake")
        return base

    def _commit_deleted(self, committer: LakeCommitter, comparison: SourceComparison) -> bool:
        rows = tuple(comparison.iter_deleted())
        if not rows:
            return True
        done = committer.commit([LakeChange((row,)) for row in rows], "build")
        self._deleted += len(rows) - done.dropped
        return done.dropped == 0

    def _read_new_files(self, committer: LakeCommitter, files: Iterable[FileToRead]) -> bool:
        is_complete = True
        for wave in _iter_waves(self._reader.iter_units(files), self._count_read):
            done = committer.commit([self._reader.build_change(unit) for unit in wave], "build")
            is_complete &= done.dropped == 0
            self._note_wave(wave)
        return is_complete

    def _read_changed_files(
        self, committer: LakeCommitter, comparison: SourceComparison, files: Iterable[FileToRead]
    ) -> bool:
        units = []
        for unit in self._reader.iter_units(files):
            units.append(unit)
            self._count_read(unit)
        if not units:
            return True
        change = self._replace_old_rows(units, committer.base, comparison)
        done = committer.commit([change], "build")
        self._note_wave(units)
        return done.dropped == 0

    def _replace_old_rows(self, units: list[ReadUnit], base: Snapshot, comparison: SourceComparison) -> LakeChange:
        """Write the parts with old rows again, without the files that were read anew."""
        changes = [self._reader.build_change(unit) for unit in units]
        rows = {row.file: row for change in changes for row in change.rows}
        replaced: dict[str, set[int]] = defaultdict(set)
        for unit in units:
            for file in unit.files:
                if rows[file.source.file].status == "live":
                    for part in file.old_parts:
                        replaced[part].add(file.source.file)
        known = {part.id: part for part in base.parts}
        tasks = [
            RewritePartsTask(self._request.settings.lake, (known[part],), tuple(files))
            for part, files in replaced.items()
            if part in known
        ]
        added, moves = run_rewrites(self._engine, tasks)
        for row in comparison.find_files_in_parts(replaced):
            rows.setdefault(row.file, move_to_new_parts(row, moves))
        parts = (*(part for change in changes for part in change.added), *added)
        return LakeChange(tuple(rows.values()), parts, frozenset(moves))

    def _count_read(self, unit: ReadUnit) -> None:
        self._done += unit.size
        self._progress(min(self._done, self._total - 1), self._total)

    def _note_wave(self, wave: Iterable[ReadUnit]) -> None:
        for unit in wave:
            reasons = {failure.file: failure.reason for failure in unit.failures}
            self._replaced += unit.replaced
            for file in unit.files:
                if (reason := reasons.get(file.source.file)) is None:
                    self._read[file.source.file] = file.source.size
                    self._failed.pop(file.source.path, None)
                elif len(self._failed) < _MAX_REPORTED_FAILURES:
                    self._failed[file.source.path] = reason

    def summarize(self, rounds: int) -> LakeBuild:
        snapshot = load_snapshot(self.lake)
        rows: dict[str, int] = dict.fromkeys(snapshot.schemas, 0)
        for part in snapshot.parts:
            for table, count in part.rows.items():
                rows[table] = rows.get(table, 0) + count
        return LakeBuild(
            self.lake.location,
            snapshot.number,
            len(self._read),
            sum(self._read.values()),
            self._unchanged,
            self._deleted,
            self._replaced,
            rows,
            len(snapshot.parts),
            rounds,
            [FailedFile(path, reason) for path, reason in sorted(self._failed.items())],
        )


def _iter_waves(units: Iterator[ReadUnit], note: Callable[[ReadUnit], None]) -> Iterator[list[ReadUnit]]:
    """Group units into commits."""
    wave: list[ReadUnit] = []
    size = 0
    for unit in units:
        note(unit)
        wave.append(unit)
        size += unit.size
        if len(wave) >= _WAVE_UNITS or size >= _WAVE_BYTES:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def _check_apart(source: str, lake: str) -> None:
    if f"{lake}/".startswith(f"{source}/"):
        raise UsageError(f"{lake}: the lake must not be inside the source")


def _ignore_progress(done: int, total: int) -> None:
    """The default progress callback, which does nothing."""
