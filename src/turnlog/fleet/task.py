"""The tasks of a build. A worker runs a task without knowing anything else; running it twice changes nothing.

A task writes parts under new names and returns what they contain. Nobody reads them until the build commits, and a
build commits the result of each task once, however often the task was started.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from turnlog.entries.agents import read_agent_owner
from turnlog.entries.entry import Entry, EntryOrScrap
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.peek import Peek, peek_file
from turnlog.entries.reader import scan_lines
from turnlog.errors import NotFound, TurnlogError
from turnlog.export.file_facts import FileFacts, drop_torn_line
from turnlog.export.redaction import redact_scrap
from turnlog.export.table_columns import ENTRY_TABLE, TableRow
from turnlog.export.tables import FileIdentity, iter_entry_rows, iter_file_rows
from turnlog.fleet.part_writer import BuiltPart, LakeStamp, PartPlace, PartSet
from turnlog.fleet.project_names import build_project_key, name_project
from turnlog.fleet.redacted_file import (
    KnownSecrets,
    find_secrets,
    make_redactor,
    redact_raw_entry,
)
from turnlog.fleet.settings import BuildSettings
from turnlog.fleet.source import SourceFile
from turnlog.redact.redactor import Redactor
from turnlog.session.session import Session
from turnlog.store.lake.lake_files import LakeFiles

_FILE_ERRORS = (TurnlogError, OSError, ValueError, RecursionError)
"""What can go wrong with a single file, so that all others are still read."""


class FileFailure(NamedTuple):
    """A source file that could not be read."""

    file: int
    reason: str


class TaskResult(NamedTuple):
    """What a task wrote."""

    parts: tuple[BuiltPart, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    secrets: KnownSecrets = ()
    """What a search for secrets found."""
    replaced: int = 0
    """How many secrets were replaced."""


class LakeTask(Protocol):
    """A unit of work that can run on any machine that reaches the source and the lake."""

    def run(self) -> TaskResult:
        """Do the work."""


class ReadFilesTask(NamedTuple):
    """Reads whole files, and writes their rows in all tables."""

    settings: BuildSettings
    files: tuple[SourceFile, ...]
    secrets: KnownSecrets | None = None
    """The secrets of a single file that is read in parts; None to search for them."""

    def run(self) -> TaskResult:
        failures: dict[int, FileFailure] = {}
        while True:
            todo = [file for file in self.files if file.file not in failures]
            try:
                return self._read_files(todo)._replace(failures=tuple(failures.values()))
            except _UnreadableFile as error:
                # Its rows so far are in the same files as those of others, so all are written again without it.
                failures[error.file] = FileFailure(error.file, error.reason)

    def _read_files(self, todo: list[SourceFile]) -> TaskResult:
        with tempfile.TemporaryDirectory(prefix="turnlog-fleet-") as folder:
            work = _FileWork(self.settings, Path(folder))
            try:
                for file in todo:
                    try:
                        work.add_file(file, self.secrets)
                    except _FILE_ERRORS as error:
                        raise _UnreadableFile(file.file, _describe_error(error)) from error
                parts = tuple(work.parts.iter_finished(work.lake))
            except BaseException:
                work.parts.discard()
                raise
            return TaskResult(parts, replaced=work.replaced)


class FindSecretsTask(NamedTuple):
    """Finds the secrets in a part of a huge file."""

    settings: BuildSettings
    file: SourceFile
    start: int
    end: int

    def run(self) -> TaskResult:
        source = LakeFiles(self.settings.source)
        try:
            return TaskResult(secrets=find_secrets(iter_part_lines(source, self.file, self.start, self.end)))
        except _FILE_ERRORS as error:
            return TaskResult(failures=(FileFailure(self.file.file, _describe_error(error)),))


class ReadEntriesTask(NamedTuple):
    """Writes the rows of a part of a huge file in the table with one row for each entry."""

    settings: BuildSettings
    file: SourceFile
    start: int
    end: int
    secrets: KnownSecrets

    def run(self) -> TaskResult:
        with tempfile.TemporaryDirectory(prefix="turnlog-fleet-") as folder:
            work = _FileWork(self.settings, Path(folder))
            try:
                work.add_entries(self.file, self.start, self.end, make_redactor(self.secrets))
                return TaskResult(tuple(work.parts.iter_finished(work.lake)))
            except _FILE_ERRORS as error:
                work.parts.discard()
                return TaskResult(failures=(FileFailure(self.file.file, _describe_error(error)),))
            except BaseException:
                work.parts.discard()
                raise


class _UnreadableFile(Exception):
    def __init__(self, file: int, reason: str) -> None:
        super().__init__(reason)
        self.file, self.reason = file, reason


class _FileWork:
    """Reads source files one by one into the parts of a task."""

    def __init__(self, settings: BuildSettings, folder: Path) -> None:
        self.settings = settings
        self.source = LakeFiles(settings.source)
        self.lake = LakeFiles(settings.lake, create=True)
        self.parts = PartSet(folder / "parts", has_text=settings.has_text)
        self.replaced = 0
        self._folder = folder
        self._peeks: dict[str, Peek | None] = {}

    def add_file(self, file: SourceFile, secrets: KnownSecrets | None) -> None:
        """Add the rows of a file in all tables, except for the entries of a file that is read in parts."""
        original = self._fetch(file)
        has_entries = secrets is None
        if secrets is None:
            secrets = find_secrets(_iter_local_lines(original, file.size)) if self.settings.is_redacted else ()
        redactor = make_redactor(secrets)
        file = self._name_session(file, original)
        stamp = self._build_stamp(file, original, redactor)
        writer = self.parts.get_writer(PartPlace(stamp.month, build_project_key(stamp.project)))
        # The copy is alone in its folder, so that its rows depend on nothing else.
        copy = self._folder / f"copy-{file.file}" / Path(file.file_name).name
        copy.parent.mkdir()
        with copy.open("wb") as out:
            for line in self._iter_clean_lines(_iter_local_lines(original, file.size), 0, redactor):
                out.write(line.raw)
                if has_entries:
                    for row in self._iter_entry_rows(line, file):
                        writer.add_row(ENTRY_TABLE, stamp, row)
        counted = FileFacts.read(_iter_local_lines(original, file.size), str(file.file))
        with Session.open(copy) as session:
            copy.unlink()
            for table, row in iter_file_rows(session, _identify(file), counted=counted, with_entries=False):
                if table == "sessions":
                    row["size"] = file.size
                writer.add_row(table, stamp, row)
        self.replaced += redactor.build_report().replacement_count
        if self.source.is_remote:
            original.unlink()

    def add_entries(self, file: SourceFile, start: int, end: int, redactor: Redactor) -> None:
        """Add the entries of a part of a file."""
        head = self._folder / "head.jsonl"
        head.write_bytes(self.source.read_range(file.path, 0, min(file.size, MAX_END_BYTES)))
        file = self._name_session(file, head)
        stamp = self._build_stamp(file, head, redactor)
        writer = self.parts.get_writer(PartPlace(stamp.month, build_project_key(stamp.project)))
        first = find_part_start(self.source, file, start)
        lines = iter_part_lines(self.source, file, start, end)
        for line in self._iter_clean_lines(lines, first, redactor):
            for row in self._iter_entry_rows(line, file):
                writer.add_row(ENTRY_TABLE, stamp, row)

    def _fetch(self, file: SourceFile) -> Path:
        if not self.source.is_remote:
            return Path(self.source.location) / file.path
        target = self._folder / "download.jsonl"
        self.source.download(file.path, target)
        return target

    def _name_session(self, file: SourceFile, original: Path) -> SourceFile:
        """Complete a loose sub-agent, whose entries name its session."""
        return file if file.session_id else file._replace(session_id=read_agent_owner(original).session_id)

    def _build_stamp(self, file: SourceFile, original: Path, redactor: Redactor) -> LakeStamp:
        peek = self._peek_main_file(file) or peek_file(original)
        project = name_project(peek.cwd, file.folder_path.rpartition("/")[2])
        if self.settings.is_redacted:
            project = redactor.make_rehearsal().redact_text(project)
        month = (peek.started or "")[:7]
        is_month = len(month) == 7 and month[4] == "-" and (month[:4] + month[5:]).isdecimal()
        key = hashlib.sha256(f"{file.folder}\0{file.session_id}".encode("utf-8", "replace")).hexdigest()
        return LakeStamp(
            file.file, int(key[:16], 16) >> 1, file.person, file.team, project, month if is_month else "unknown"
        )

    def _peek_main_file(self, file: SourceFile) -> Peek | None:
        """Describe the session that a sub-agent belongs to, so that both are in the same partition."""
        if file.agent_id is None or not file.session_id:
            return None
        path = f"{file.folder_path}/{file.session_id}.jsonl"
        if path not in self._peeks:
            head = self._folder / "main.jsonl"
            try:
                head.write_bytes(self.source.read_head(path, MAX_END_BYTES))
                self._peeks[path] = peek_file(head)
            except NotFound:
                self._peeks[path] = None
        return self._peeks[path]

    def _iter_clean_lines(self, lines: Iterator[bytes], offset: int, redactor: Redactor) -> Iterator[_CleanLine]:
        """Yield each entry and scrap, redacted unless the lake isn't."""
        for item, raw in scan_lines(lines, offset):
            if self.settings.is_redacted:
                is_entry = isinstance(item, Entry)
                raw = redact_raw_entry(raw, redactor) if is_entry else redact_scrap(raw, redactor)
            yield _CleanLine(item, raw)

    def _iter_entry_rows(self, line: _CleanLine, file: SourceFile) -> Iterator[TableRow]:
        """Yield the row of an entry, with its place in the original file."""
        if isinstance(line.item, Entry):
            for row in iter_entry_rows([line.raw], _identify(file)):
                yield row | {"offset": line.item.offset, "size": line.item.size}


class _CleanLine(NamedTuple):
    item: EntryOrScrap
    raw: bytes


def _identify(file: SourceFile) -> FileIdentity:
    return FileIdentity(file.session_id or None, file.agent_id, file.file_name, str(file.file))


def _describe_error(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _iter_local_lines(path: Path, size: int) -> Iterator[bytes]:
    """Yield the lines of the version that was listed; a session that is in use may have grown since."""
    with path.open("rb", buffering=1 << 20) as file:
        yield from drop_torn_line(_limit_lines(file, size))


def _limit_lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    left = size
    while left > 0 and (line := file.readline(left)):
        left -= len(line)
        yield line


_RANGE_BYTES = 4 << 20


def find_part_start(source: LakeFiles, file: SourceFile, start: int) -> int:
    """Return where the first line starts that begins at or after an offset."""
    at = start - 1
    if at < 0:
        return 0
    while at < file.size:
        data = source.read_range(file.path, at, min(at + _RANGE_BYTES, file.size))
        if length := data.find(b"\n") + 1:
            return at + length
        at += len(data)
    return file.size


def iter_part_lines(source: LakeFiles, file: SourceFile, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines that begin between two offsets, without a torn last line."""
    first, stop = find_part_start(source, file, start), find_part_start(source, file, end)
    return drop_torn_line(_iter_range_lines(source, file, first, stop))


def _iter_range_lines(source: LakeFiles, file: SourceFile, at: int, stop: int) -> Iterator[bytes]:
    rest = b""
    while at < stop:
        data = source.read_range(file.path, at, min(at + _RANGE_BYTES, stop))
        at += len(data)
        lines = _split_at_newlines(rest + data)
        rest = b"" if not lines or lines[-1].endswith(b"\n") else lines.pop()
        yield from lines
    if rest:
        yield rest


def _split_at_newlines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
