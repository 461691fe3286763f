"""Brings the archive up to date with the files on disk."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from turnlog.entries.agents import AgentsBySession, list_loose_agents
from turnlog.entries.layout import (
    SessionFile,
    Survey,
    is_dir,
    is_missing,
    is_session_id,
    list_project_folders,
    list_project_sessions,
    scan_folder,
)
from turnlog.entries.path_escapes import escape_path, unescape_path
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.errors import Changed, Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.blobs import Blobs
from turnlog.store.archive.intake import CutSizes, FileIntake, TakenFile, to_fingerprint
from turnlog.store.archive.manifest import KeptFile, SessionManifest, build_archive_name

_SESSION_ID_CHARS = 36
_PLAN_SLUG = re.compile(rb'"slug"\s*:\s*"([A-Za-z0-9_][A-Za-z0-9_-]{0,199})"')
_SEPARATE_FOLDERS = {"projects", "plans"}


class SessionOnDisk(NamedTuple):
    file: SessionFile
    paths: tuple[str, ...]
    """Everything that belongs to it, its own file first."""


def collect_sessions(
    config_dir: Path, only: Set[str] | None = None, survey: Survey | None = None
) -> Iterator[SessionOnDisk]:
    """Yield all or some of the sessions in a config folder, with all files that belong to them."""
    survey = survey or Survey()
    elsewhere = _group_files_by_id(config_dir, survey)
    for project_dir in list_project_folders(config_dir, survey):
        listed = list_project_sessions(project_dir, config_dir, survey)
        files = [item for item in listed if only is None or item.session_id in only]
        loose = list_loose_agents(project_dir) if files else {}
        for item in files:
            folder = os.path.join(project_dir, item.session_id)  # noqa: PTH118
            own_files = [*_list_files_below(folder, survey), *_list_loose_agent_paths(loose, item.session_id)]
            paths = [item.file, *own_files, *elsewhere.get(item.session_id, ())]
            yield SessionOnDisk(item, tuple(dict.fromkeys(paths)))


def find_named_plans(data: bytes, config_dir: Path) -> set[str]:
    """Find the plans in the config folder that are mentioned in the given lines of a session."""
    names = {name.decode() for name in _PLAN_SLUG.findall(data)}
    paths = (os.path.join(config_dir, "plans", f"{name}.md") for name in names)  # noqa: PTH118
    return {path for path in paths if _is_file(path)}


def _group_files_by_id(config_dir: Path, survey: Survey) -> dict[str, list[str]]:
    """Group the files outside `projects` whose names start with a session's id."""
    paths_by_id: dict[str, list[str]] = {}
    for folder in scan_folder(config_dir, survey):
        if folder.name in _SEPARATE_FOLDERS or not is_dir(folder, survey, follow_links=False):
            continue
        for item in scan_folder(folder.path, survey):
            name = item.name[:_SESSION_ID_CHARS]
            if is_session_id(name) and item.name[_SESSION_ID_CHARS : _SESSION_ID_CHARS + 1] in ("", ".", "-"):
                paths_by_id.setdefault(name, []).extend(_list_files([item], survey))
    return {name: sorted(paths) for name, paths in paths_by_id.items()}


def _list_files_below(folder: str, survey: Survey) -> list[str]:
    # Strings are several times as fast as paths.
    return [] if os.path.islink(folder) else _list_files(scan_folder(folder, survey), survey)  # noqa: PTH114


def _list_files(items: Iterable[os.DirEntry[str]], survey: Survey) -> list[str]:
    """List the files among the given folder entries and in the folders below them."""
    paths = []
    for item in sorted(items, key=lambda item: item.name):
        if is_dir(item, survey, follow_links=False):
            paths += _list_files(scan_folder(item.path, survey), survey)
        elif not item.is_symlink() and item.is_file(follow_symlinks=False):
            paths.append(item.path)
    return paths


def _list_loose_agent_paths(agents: AgentsBySession, session_id: str) -> list[str]:
    paths = [path for agent in agents.get(session_id, []) for path in (agent.path, agent.meta_path)]
    return [str(path) for path in paths if path and not path.is_symlink()]


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114


_MAX_TITLE_CHARS = 200

ArchiveProgress = Callable[[int, int], None]


@dataclass
class ArchiveReport:
    sessions: int = 0
    """How many sessions are on disk."""
    archived: int = 0
    """How many sessions were new or had changed."""
    generations: int = 0
    """How many sessions started a new generation, because a file was rewritten or truncated."""
    files: int = 0
    """How many files were read."""
    read: int = 0
    """How many bytes were read."""
    stored: int = 0
    """How many compressed bytes were added to the archive."""
    troubles: list[str] = field(default_factory=list)
    """Files that could not be read, with the reason."""


def run_archive(
    archive: Archive,
    config_dirs: Iterable[Path],
    only: Set[str] | None = None,
    progress: ArchiveProgress | None = None,
    sizes: CutSizes = CutSizes(),  # noqa: B008 - it is immutable
) -> ArchiveReport:
    """Archive new data; with `only`, just from the sessions with these ids."""
    return _ArchiveRun(archive, only, sizes).archive_folders(config_dirs, progress)


class _ArchiveRun:
    def __init__(self, archive: Archive, only: Set[str] | None, sizes: CutSizes) -> None:
        self.sizes = sizes
        self.archive = archive
        self.only = only
        self.report = ArchiveReport()
        self.labels = archive.manifests.list_generations()
        self.blobs = archive.blobs.list_names()
        self.store = Blobs(archive.blobs.folder)

    def archive_folders(self, config_dirs: Iterable[Path], progress: ArchiveProgress | None) -> ArchiveReport:
        survey = Survey()
        sessions = [(item, folder) for folder in config_dirs for item in collect_sessions(folder, self.only, survey)]
        self.report.troubles += [f"{item} (can't be listed; nothing in it was archived)" for item in survey.unlisted]
        self.report.sessions = len(sessions)
        for number, (item, folder) in enumerate(sessions, 1):
            self._archive_session(item, folder)
            if progress:
                progress(number, len(sessions))
        self.report.stored = self.store.stored
        return self.report

    def _archive_session(self, item: SessionOnDisk, config_dir: Path) -> None:
        key = escape_path(os.path.realpath(config_dir))
        name = build_archive_name(item.file)
        known = self.labels.get(name, [0])[-1]
        before = self._read_generation(name, known)
        if before is not None and self._is_unchanged(before, item, config_dir):
            return
        with lock_archive(self.archive.folder):
            known = self.archive.manifests.find_last_generation(name, known)  # another process may have been faster
            self._take_session(item, config_dir, key, known, self._read_generation(name, known))

    def _read_generation(self, name: str, number: int) -> SessionManifest | None:
        """Read a generation; return None if it is unreadable: it is left unchanged, and a new generation starts."""
        try:
            return self.archive.manifests.read(name, number) if number else None
        except Unreadable:
            return None

    def _is_unchanged(self, before: SessionManifest, item: SessionOnDisk, config_dir: Path) -> bool:
        present = {file.path: file for file in before.files if not file.gone_ns}
        named = {_to_relative_path(path, config_dir) for path in item.paths}
        if not named <= present.keys() or not before.list_blobs() <= self.blobs:
            return False
        # Plans are found by reading the session; the known ones are still checked.
        paths = [
            *item.paths,
            *(_to_absolute_path(path, config_dir) for path in present.keys() - named if _is_plan(path)),
        ]
        return len(paths) == len(present) and all(_is_same_fingerprint(path, present, config_dir) for path in paths)

    def _take_session(
        self, item: SessionOnDisk, config_dir: Path, key: str, known: int, before: SessionManifest | None
    ) -> None:
        old = {file.path: file for file in before.files} if before else {}
        main, taken = _to_relative_path(item.file.file, config_dir), dict[str, TakenFile]()
        named = set[str]()  # plans

        def watch(name: str, data: bytes) -> None:
            named.update(find_named_plans(data, config_dir) if name == main else ())

        intake = FileIntake(self.store, watch, self.sizes)
        names = [_to_relative_path(path, config_dir) for path in item.paths] + [path for path in old if _is_plan(path)]
        for name in names:
            if name not in taken and (got := self._take_file(intake, config_dir, name, old.get(name))):
                taken[name] = got
                names += sorted(_to_relative_path(path, config_dir) for path in named)
                named.clear()
        if main not in taken:
            return  # deleted or locked; a session needs its own file
        files = intake.close([*(got.file for got in taken.values()), *self._list_left_files(old, taken, config_dir)])
        is_replaced = before is None or any(got.is_replaced for got in taken.values())
        self._commit_manifest(item, key, before, tuple(sorted(files, key=lambda file: file.path)), known + is_replaced)

    def _take_file(self, intake: FileIntake, config_dir: Path, name: str, before: KeptFile | None) -> TakenFile | None:
        path = _to_absolute_path(name, config_dir)
        if (
            before
            and not before.gone_ns
            and self._has_all_blobs(before)
            and _is_same_fingerprint(path, {name: before}, config_dir)
        ):
            return TakenFile(before, is_replaced=False)
        try:
            got = intake.take_file(path, name, before)
        except FileNotFoundError:
            return None
        except (Changed, OSError) as error:
            self.report.troubles.append(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error))
            return None
        self.report.files += 1
        self.report.read += got.file.size
        return got

    def _has_all_blobs(self, file: KeptFile) -> bool:
        return all(self.store.has(ref.blob) for ref in file.refs)

    def _list_left_files(
        self, old: dict[str, KeptFile], taken: dict[str, TakenFile], config_dir: Path
    ) -> list[KeptFile]:
        """List the files that were archived earlier but were not read in this run; most of them were deleted."""
        now = time.time_ns()
        return [
            replace(file, gone_ns=now) if not file.gone_ns and is_missing(_to_absolute_path(path, config_dir)) else file
            for path, file in old.items()
            if path not in taken
        ]

    def _commit_manifest(
        self,
        item: SessionOnDisk,
        key: str,
        before: SessionManifest | None,
        files: tuple[KeptFile, ...],
        generation: int,
    ) -> None:
        if before is not None and before.files == files:
            return
        now, ends = time.time_ns(), peek_safely(item.file.file)
        title = complete_titles(item.file.file, ends).best
        is_next = before is None or generation > before.generation
        is_news = before is None or _list_contents(before.files) != _list_contents(files)
        self.archive.manifests.write(
            SessionManifest(
                session_id=item.file.session_id,
                config_dir=key,
                project=escape_path(item.file.project_dir.name),
                generation=generation,
                made_ns=now if is_next or before is None else before.made_ns,
                changed_ns=now if is_news or before is None else before.changed_ns,
                title=_drop_surrogates(title[:_MAX_TITLE_CHARS]) if title else None,
                cwd=_drop_surrogates(ends.cwd) if ends.cwd else None,
                ended=ends.ended,
                files=files,
            )
        )
        self.report.archived += is_news
        self.report.generations += is_next and generation > 1
        self.blobs |= {ref.blob for file in files for ref in file.refs}


def _list_contents(files: tuple[KeptFile, ...]) -> list[tuple[str, str, int]]:
    return [(file.path, file.digest, file.gone_ns) for file in files]


def _drop_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON in UTF-8 can't represent."""
    return text.encode("utf-8", "replace").decode()


def _is_same_fingerprint(path: str, files: dict[str, KeptFile], config_dir: Path) -> bool:
    try:
        return files[_to_relative_path(path, config_dir)].seen == to_fingerprint(os.stat(path))  # noqa: PTH116 - thousands of them
    except OSError:
        return False


def _to_relative_path(path: str, config_dir: Path) -> str:
    return escape_path(path[len(str(config_dir)) + 1 :].replace(os.sep, "/"))


def _to_absolute_path(name: str, config_dir: Path) -> str:
    return os.path.join(config_dir, *unescape_path(name).split("/"))  # noqa: PTH118


def _is_plan(path: str) -> bool:
    return path.startswith("plans/")
