"""Bringing the archive up to date with what is on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from turnlog.entries.layout import Survey, is_missing
from turnlog.entries.peeks import complete_titles, look
from turnlog.entries.spelling import escaped, unescaped
from turnlog.errors import Changed, Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.blobs import Blobs
from turnlog.store.archive.collect import Found, collect, plans
from turnlog.store.archive.intake import Intake, Sizes, Taken, seen
from turnlog.store.archive.lock import locked
from turnlog.store.archive.manifest import KeptFile, Manifest, name_of

_TITLE = 200

Progress = Callable[[int, int], None]


@dataclass
class Report:
    """What a run did."""

    sessions: int = 0
    """How many there are on disk."""
    archived: int = 0
    """How many of them were new or had changed."""
    generations: int = 0
    """How many of those began a new generation: a file was rewritten or cut."""
    files: int = 0
    """Files that were read."""
    read: int = 0
    """Their bytes."""
    stored: int = 0
    """Bytes that were added to the archive, compressed."""
    troubles: list[str] = field(default_factory=list)
    """Files that could not be read, with the reason."""


def run(
    archive: Archive,
    config_dirs: Iterable[Path],
    only: Set[str] | None = None,
    progress: Progress | None = None,
    sizes: Sizes = Sizes(),  # noqa: B008 - it can't change
) -> Report:
    """Archive what is new; `only` some sessions, by their ids."""
    return _Run(archive, only, sizes).over(config_dirs, progress)


class _Run:
    def __init__(self, archive: Archive, only: Set[str] | None, sizes: Sizes) -> None:
        self.sizes = sizes
        self.archive = archive
        self.only = only
        self.report = Report()
        self.labels = archive.manifests.labels()
        self.blobs = archive.blobs.names()
        self.store = Blobs(archive.blobs.folder)

    def over(self, config_dirs: Iterable[Path], progress: Progress | None) -> Report:
        survey = Survey()
        found = [(item, folder) for folder in config_dirs for item in collect(folder, self.only, survey)]
        self.report.troubles += [f"{item} (can't be listed; nothing in it was archived)" for item in survey.unlisted]
        self.report.sessions = len(found)
        for number, (item, folder) in enumerate(found, 1):
            self._session(item, folder)
            if progress:
                progress(number, len(found))
        self.report.stored = self.store.stored
        return self.report

    def _session(self, item: Found, config_dir: Path) -> None:
        key = escaped(os.path.realpath(config_dir))
        name = name_of(item.file)
        known = self.labels.get(name, [0])[-1]
        before = self._before(name, known)
        if before is not None and self._is_unchanged(before, item, config_dir):
            return
        with locked(self.archive.folder):
            known = self.archive.manifests.last(name, known)  # another process may have been faster
            self._take(item, config_dir, key, known, self._before(name, known))

    def _before(self, name: str, number: int) -> Manifest | None:
        """A generation; None if it can't be read: then the next one begins, and it stays as it is."""
        try:
            return self.archive.manifests.read(name, number) if number else None
        except Unreadable:
            return None

    def _is_unchanged(self, before: Manifest, item: Found, config_dir: Path) -> bool:
        there = {file.path: file for file in before.files if not file.gone_ns}
        named = {_relative(path, config_dir) for path in item.paths}
        if not named <= there.keys() or not before.blobs() <= self.blobs:
            return False
        # Plans are found by reading the session: those that are known stay looked at.
        paths = [*item.paths, *(_absolute(path, config_dir) for path in there.keys() - named if _is_plan(path))]
        return len(paths) == len(there) and all(_looks_the_same(path, there, config_dir) for path in paths)

    def _take(self, item: Found, config_dir: Path, key: str, known: int, before: Manifest | None) -> None:
        old = {file.path: file for file in before.files} if before else {}
        main, taken = _relative(item.file.file, config_dir), dict[str, Taken]()
        named = set[str]()  # plans

        def watch(name: str, data: bytes) -> None:
            named.update(plans(data, config_dir) if name == main else ())

        intake = Intake(self.store, watch, self.sizes)
        names = [_relative(path, config_dir) for path in item.paths] + [path for path in old if _is_plan(path)]
        for name in names:
            if name not in taken and (got := self._file(intake, config_dir, name, old.get(name))):
                taken[name] = got
                names += sorted(_relative(path, config_dir) for path in named)
                named.clear()
        if main not in taken:
            return  # deleted or locked; there is no session without its file
        files = intake.close([*(got.file for got in taken.values()), *self._left(old, taken, config_dir)])
        is_replaced = before is None or any(got.is_replaced for got in taken.values())
        self._commit(item, key, before, tuple(sorted(files, key=lambda file: file.path)), known + is_replaced)

    def _file(self, intake: Intake, config_dir: Path, name: str, before: KeptFile | None) -> Taken | None:
        path = _absolute(name, config_dir)
        if (
            before
            and not before.gone_ns
            and self._is_kept(before)
            and _looks_the_same(path, {name: before}, config_dir)
        ):
            return Taken(before, is_replaced=False)
        try:
            got = intake.take(path, name, before)
        except FileNotFoundError:
            return None
        except (Changed, OSError) as error:
            self.report.troubles.append(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error))
            return None
        self.report.files += 1
        self.report.read += got.file.size
        return got

    def _is_kept(self, file: KeptFile) -> bool:
        return all(self.store.has(ref.blob) for ref in file.refs)

    def _left(self, old: dict[str, KeptFile], taken: dict[str, Taken], config_dir: Path) -> list[KeptFile]:
        """The files that were archived before and were not read now: most of them are gone."""
        now = time.time_ns()
        return [
            replace(file, gone_ns=now) if not file.gone_ns and is_missing(_absolute(path, config_dir)) else file
            for path, file in old.items()
            if path not in taken
        ]

    def _commit(
        self, item: Found, key: str, before: Manifest | None, files: tuple[KeptFile, ...], generation: int
    ) -> None:
        if before is not None and before.files == files:
            return
        now, ends = time.time_ns(), look(item.file.file)
        title = complete_titles(item.file.file, ends).best
        is_next = before is None or generation > before.generation
        is_news = before is None or _contents(before.files) != _contents(files)
        self.archive.manifests.write(
            Manifest(
                session_id=item.file.session_id,
                config_dir=key,
                project=escaped(item.file.project_dir.name),
                generation=generation,
                made_ns=now if is_next or before is None else before.made_ns,
                changed_ns=now if is_news or before is None else before.changed_ns,
                title=_clean(title[:_TITLE]) if title else None,
                cwd=_clean(ends.cwd) if ends.cwd else None,
                ended=ends.ended,
                files=files,
            )
        )
        self.report.archived += is_news
        self.report.generations += is_next and generation > 1
        self.blobs |= {ref.blob for file in files for ref in file.refs}


def _contents(files: tuple[KeptFile, ...]) -> list[tuple[str, str, int]]:
    return [(file.path, file.digest, file.gone_ns) for file in files]


def _clean(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON in UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode()


def _looks_the_same(path: str, files: dict[str, KeptFile], config_dir: Path) -> bool:
    try:
        return files[_relative(path, config_dir)].seen == seen(os.stat(path))  # noqa: PTH116 - thousands of them
    except OSError:
        return False


def _relative(path: str, config_dir: Path) -> str:
    return escaped(path[len(str(config_dir)) + 1 :].replace(os.sep, "/"))


def _absolute(name: str, config_dir: Path) -> str:
    return os.path.join(config_dir, *unescaped(name).split("/"))  # noqa: PTH118


def _is_plan(path: str) -> bool:
    return path.startswith("plans/")
