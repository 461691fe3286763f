"""Finds the secrets in all stores; writes copies without them, or removes them in place so that it can be undone.

Everything is read twice: a secret that a rule finds in one store is replaced in all of them. New content is written to
a private folder first; files are changed only when all of it is there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.open_signs import find_open_writer
from turnlog.edit.redaction import redact_name
from turnlog.edit.store_redaction.new_content import (
    NewContent,
    ProblemList,
    list_pieces,
    plan_file_changes,
    plan_rewritten_file,
    read_checkpoint,
    read_pieces,
    write_content,
)
from turnlog.edit.store_redaction.redacted_content import iterate_redacted, learn_file, redact_blob
from turnlog.edit.store_redaction.stores import (
    TextStore,
    list_config_stores,
    list_indexes,
    list_kept_originals,
    list_own_stores,
)
from turnlog.edit.undo.touched_sessions import find_touched_targets, refuse_open_sessions
from turnlog.edit.undo.undo import CreateChange, FileChange, RemoveChange, RenameChange, RewriteChange, Undo, UndoRecord
from turnlog.entries.atomic_file import create_file
from turnlog.errors import Busy, TurnlogError
from turnlog.redact.redaction_report import RedactionReport
from turnlog.redact.redactor import Redactor
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.manifest import KeptFile
from turnlog.store.archive.rewrite import ArchiveRewrite, plan_rewrite
from turnlog.store.database_texts import copy_with_changed_texts, has_log, merge_log, visit_texts

_OUTBOX_NAME = "outbox.db"
_PIECE_BYTES = 1 << 20
StoreProgress = Callable[[int, int], object]


class StoreFinding(NamedTuple):
    """What was found in one store."""

    name: str
    root: Path
    files: int
    report: RedactionReport
    problems: tuple[str, ...]
    """Files that could not be read."""


class StoreRedaction:
    """The redaction of all stores of some config folders and of turnlog's data folder."""

    def __init__(self, config_dirs: Sequence[Path], data_dir: Path, redactor: Redactor) -> None:
        self.config_dirs = [folder for folder in config_dirs if folder.is_dir()]
        self.data_dir = data_dir
        self.findings: list[StoreFinding] = []
        self._redactor = redactor
        self._stores = [store for folder in self.config_dirs for store in list_config_stores(folder)]
        self._stores += list_own_stores(data_dir)
        self._originals = [*list_kept_originals(data_dir)]
        self._archive = Archive(data_dir)
        self._outbox = data_dir / "trace" / _OUTBOX_NAME
        self._indexes = list_indexes(data_dir)

    def learn_secrets(self, progress: StoreProgress | None = None) -> None:
        """Read everything once, to know every secret before anything is replaced."""
        files = [path for store in (*self._stores, *self._originals) for path in store.files]
        for number, path in enumerate(files):
            if progress:
                progress(number, 2 * len(files))
            with ProblemList() as _:
                learn_file(path, self._redactor)
        with ProblemList() as _:
            self._plan_archive(self._redactor.make_rehearsal())
        for database in self._list_databases():
            with ProblemList() as _:
                _visit_database(database, self._redactor.make_rehearsal())

    def write_report(self, progress: StoreProgress | None = None) -> None:
        """Fill `findings` without writing anything."""
        with tempfile.TemporaryDirectory() as folder:
            for _ in self._redact_files(Path(folder), progress, is_kept=False):
                pass
        self._report_rest()

    def write_copies(self, goal: Path, progress: StoreProgress | None = None) -> None:
        """Write all stores without their secrets into a new folder."""
        if goal.exists() and (not goal.is_dir() or any(goal.iterdir())):
            raise TurnlogError(f"{goal}: not an empty folder; nothing was written")
        goal.mkdir(parents=True, exist_ok=True, mode=0o700)
        homes = {folder: goal / f"config-{number}" for number, folder in enumerate(self.config_dirs, 1)}
        homes[self.data_dir] = goal / "turnlog"
        with tempfile.TemporaryDirectory(dir=goal.parent) as folder:
            for new in self._redact_files(Path(folder), progress, stores=self._stores):
                parts = new.path.relative_to(new.store.root).parts[:-1]
                place = homes[new.store.root].joinpath(
                    *(redact_name(part, self._redactor.make_rehearsal()) for part in parts)
                )
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                create_file(place / new.new_name, read_pieces(new.content), root=goal)
                new.content.unlink()
            self._copy_archive(homes[self.data_dir] / "archive")
            if self._outbox.exists():
                copy = Path(folder, _OUTBOX_NAME)
                self._copy_outbox(copy)
                place = homes[self.data_dir] / "trace"
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                create_file(place / _OUTBOX_NAME, read_pieces(copy), root=goal)
        self._report_rest(archive=False, outbox=False)

    def change_in_place(
        self, undo: Undo, progress: StoreProgress | None = None, *, force: bool = False
    ) -> UndoRecord | None:
        """Replace the secrets in the stores; return the change that `undo` reverses, or None if there was nothing."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as held:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(dir=self.data_dir, prefix=".redact-")))
            changes: list[FileChange] = []
            for new in self._redact_files(folder, progress, stores=self._stores):
                changes += plan_file_changes(new)
            if self._archive.folder.exists():
                held.enter_context(lock_archive(self._archive.folder))
                changes += self._plan_archive_changes()
            if self._outbox.exists():
                changes += self._plan_outbox_changes(folder / _OUTBOX_NAME)
            self._report_rest(archive=False, outbox=False)
            if not changes and not self._has_finding("turnlog index"):
                return None
            changes += [RemoveChange(path, self.data_dir) for path in list_indexes(self.data_dir)]
            self._refuse_busy(changes, force=force)
            return undo.carry_out("redact", "secrets removed from all stores", changes)

    # -- files

    def _redact_files(
        self,
        folder: Path,
        progress: StoreProgress | None,
        *,
        stores: Iterable[TextStore] | None = None,
        is_kept: bool = True,
    ) -> Iterator[NewContent]:
        chosen = [*(self._stores if stores is None else stores)]
        total = sum(len(store.files) for store in chosen)
        number = 0
        for store in chosen:
            redactor, problems = self._redactor.make_rehearsal(), ProblemList()
            for path in store.files:
                number += 1
                if progress:
                    progress(total + number, 2 * total)
                with problems:
                    new = write_content(store, path, folder / str(number), redactor)
                    yield new
                    if not is_kept:
                        new.content.unlink()
            self._add_finding(store.name, store.root, len(store.files), redactor, problems)

    # -- archive, outbox, index, originals

    def _plan_archive(self, redactor: Redactor) -> ArchiveRewrite:
        with tempfile.TemporaryDirectory() as folder:

            def change(file: KeptFile, data: bytes) -> bytes:
                path = Path(folder, file.path.rsplit("/", 1)[-1] or "file")
                path.write_bytes(data)
                return b"".join(iterate_redacted(path, redactor))

            return plan_rewrite(self._archive, change, redactor.redact_text)

    def _plan_archive_changes(self) -> Iterator[FileChange]:
        redactor, root = self._redactor.make_rehearsal(), self._archive.folder
        plan = self._plan_archive(redactor)
        self._add_finding("turnlog archive", root, len(plan.replaced), redactor, ProblemList())
        for path, data in plan.created.items():
            yield CreateChange(path, partial(list_pieces, data), root)
        for path, data in plan.replaced.items():
            yield RewriteChange(path, partial(list_pieces, data), root)
        for path in plan.removed:
            yield RemoveChange(path, root)

    def _copy_archive(self, goal: Path) -> None:
        if not self._archive.folder.exists():
            return
        redactor, problems = self._redactor.make_rehearsal(), ProblemList()
        with problems, lock_archive(self._archive.folder):
            plan = self._plan_archive(redactor)
            kept = [
                path
                for folder in (self._archive.blobs.folder, self._archive.manifests.folder)
                for path in folder.rglob("*.zst")
                if path not in plan.replaced and path not in plan.removed
            ]
            contents = {**plan.created, **plan.replaced}
            for path in (*kept, *contents):
                place = goal / path.relative_to(self._archive.folder)
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                create_file(place, contents[path] if path in contents else read_pieces(path), root=goal)
        self._add_finding("turnlog archive", self._archive.folder, len(self._archive.list_ids()), redactor, problems)

    def _copy_outbox(self, goal: Path) -> bool:
        redactor = self._redactor.make_rehearsal()
        is_changed = copy_with_changed_texts(
            self._outbox, goal, redactor.redact_text, lambda data: redact_blob(data, redactor)
        )
        self._add_finding("turnlog outbox", self._outbox, 1, redactor, ProblemList())
        return is_changed

    def _plan_outbox_changes(self, copy: Path) -> Iterator[FileChange]:
        if has_log(self._outbox) and not merge_log(self._outbox):
            raise Busy(f"{self._outbox}: another process has it open; wait until the traces are sent, then try again")
        checkpoint = read_checkpoint(self._outbox)
        if self._copy_outbox(copy):
            yield plan_rewritten_file(self._outbox, copy, self.data_dir, checkpoint)

    def _report_rest(self, *, archive: bool = True, outbox: bool = True) -> None:
        if archive and self._archive.folder.exists():
            redactor, problems = self._redactor.make_rehearsal(), ProblemList()
            with problems:
                self._plan_archive(redactor)
            self._add_finding(
                "turnlog archive", self._archive.folder, len(self._archive.list_ids()), redactor, problems
            )
        if outbox and self._outbox.exists():
            self._report_databases("turnlog outbox", self._outbox, [self._outbox])
        databases = [path for path in self._indexes if path.suffix == ".db"]
        if databases:
            self._report_databases("turnlog index", self.data_dir, databases)
        for store in self._originals:
            redactor, problems = self._redactor.make_rehearsal(), ProblemList()
            for path in store.files:
                with problems:
                    for _ in iterate_redacted(path, redactor):
                        pass
            self._add_finding(
                store.name, store.root / store.name.rpartition(" ")[2], len(store.files), redactor, problems
            )

    def _report_databases(self, name: str, root: Path, paths: list[Path]) -> None:
        redactor, problems = self._redactor.make_rehearsal(), ProblemList()
        for path in paths:
            with problems:
                _visit_database(path, redactor)
        self._add_finding(name, root, len(paths), redactor, problems)

    def _list_databases(self) -> list[Path]:
        return [path for path in (self._outbox, *self._indexes) if path.suffix == ".db" and path.exists()]

    # -- findings and refusals

    def _add_finding(self, name: str, root: Path, files: int, redactor: Redactor, problems: ProblemList) -> None:
        self.findings.append(StoreFinding(name, root, files, redactor.build_report(), tuple(problems.words)))

    def _has_finding(self, name: str) -> bool:
        return any(item.name == name and item.report.replacement_count for item in self.findings)

    def _refuse_busy(self, changes: Iterable[FileChange], *, force: bool) -> None:
        paths = [change.old if isinstance(change, RenameChange) else change.path for change in changes]
        if (found := find_open_writer(paths)) is not None:
            raise Busy(f"{found[0]}: process {found[1]} has it open for writing; end that process first")
        refuse_open_sessions(find_touched_targets(paths), growth=True, force=force)


def _visit_database(path: Path, redactor: Redactor) -> None:
    visit_texts(path, redactor.redact_text, lambda data: redact_blob(data, redactor))
