"""Files that are to appear in a config folder all together, or not at all.

Everything is written, flushed, into a hidden folder of the config folder first. Then each file gets its name by a
second link, which never takes the place of another file; transcripts come last, so that nothing is seen before all is
there.

    <config>/.turnlog-unpack-<random>/<number>     the new files
                                     /plan.json    where each goes; on the disk before the first of them has its name
                                     /ready        all but the transcripts are in their places

Who is killed leaves that folder behind. The next run finds it: with `ready` it finishes the work, else it takes back
what has a name already. Any other failure takes everything back at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from turnlog.edit.trash.file_move import hash_file_content
from turnlog.entries.atomic_file import flush_folder, lock_file, read_whole_file, replace_file, resolve_inside
from turnlog.entries.file_ends import split_lines
from turnlog.entries.path_escapes import escape_path, is_safe_path, unescape_path
from turnlog.entries.writer import append_lines, replace_session_file
from turnlog.errors import Changed, TurnlogError

_STAGING_FOLDER_PREFIX = ".turnlog-unpack-"
_PLAN_FILE_NAME = "plan.json"
_READY_FILE_NAME = "ready"
_HISTORY_FILE_NAME = "history.jsonl"
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class StagedFile(msgspec.Struct, frozen=True):
    """A new file."""

    number: int
    place: str
    """Below the config folder, written as in a package."""
    sha256: str
    is_last: bool
    """A transcript: it appears when all else is there."""


class StagingPlan(msgspec.Struct, frozen=True):
    """What is to appear."""

    items: tuple[StagedFile, ...]
    folders: tuple[str, ...]
    """Folders that are made for them, the outer ones first."""
    history: int | None = None
    """The number of the file with lines for `history.jsonl`."""


class StagingArea:
    """New files of a config folder that are not in their places yet."""

    def __init__(self, config_dir: Path) -> None:
        self._config = config_dir
        self.folder = config_dir / f"{_STAGING_FOLDER_PREFIX}{secrets.token_hex(6)}"
        self.folder.mkdir(mode=0o700)
        self._items: list[StagedFile] = []
        self._history: int | None = None
        self._count = 0

    def add_file(self, goal: Path, pieces: Iterable[bytes], mode: int, *, is_last: bool = False) -> None:
        """Write a file that will appear at a place below the config folder."""
        digest = self._write_staged(pieces, mode)
        place = escape_path(goal.relative_to(self._config).as_posix())
        self._items.append(StagedFile(self._count, place, digest, is_last))

    def add_history(self, data: bytes) -> None:
        """Keep lines that will be added to the history, unless they are in it."""
        self._write_staged([data], 0o600)
        self._history = self._count

    def _write_staged(self, pieces: Iterable[bytes], mode: int) -> str:
        self._count += 1
        running = hashlib.sha256()
        with os.fdopen(os.open(self.folder / str(self._count), _CREATE_FLAGS, 0o600), "wb") as file:
            for piece in pieces:
                running.update(piece)
                file.write(piece)
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        return running.hexdigest()

    def publish_files(self) -> None:
        """Give all files their names; whatever fails, nothing of it stays."""
        items = tuple(sorted(self._items, key=lambda item: (item.is_last, item.place)))
        plan = StagingPlan(items, tuple(self._list_missing_folders(items)), self._history)
        for item in items:
            resolve_inside(self._config / unescape_path(item.place), self._config)
        replace_file(self.folder / _PLAN_FILE_NAME, msgspec.json.encode(plan), root=self.folder)
        flush_folder(self._config)
        _carry_out_plan(self.folder, plan)

    def discard(self) -> None:
        """Remove what was written, as long as no file has its name: else the plan is needed to take that back."""
        if not (self.folder / _PLAN_FILE_NAME).exists():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _list_missing_folders(self, items: tuple[StagedFile, ...]) -> Iterator[str]:
        found: set[str] = set()
        for item in items:
            parts = item.place.split("/")
            found.update("/".join(parts[:count]) for count in range(1, len(parts)))
        yield from (place for place in sorted(found) if not (self._config / unescape_path(place)).exists())


def _carry_out_plan(folder: Path, plan: StagingPlan) -> None:
    config, lines = folder.parent, b""
    try:
        for place in plan.folders:
            (config / unescape_path(place)).mkdir(mode=0o700, exist_ok=True)
        for item in plan.items:
            if not item.is_last:
                _name_file(folder / str(item.number), config / unescape_path(item.place))
        _sync_folders(config, plan)
        (folder / _READY_FILE_NAME).touch()
        flush_folder(folder)
        lines = _append_history(folder, plan)
        _publish_transcripts(folder, plan)
    except BaseException:
        _take_back_files(folder, plan)
        _take_history_back(config / _HISTORY_FILE_NAME, lines)
        raise
    _remove_staging(folder)


def _publish_transcripts(folder: Path, plan: StagingPlan) -> None:
    """Let the transcripts appear; the staged name of one that did goes, so that it never appears twice."""
    config = folder.parent
    for item in plan.items:
        staged = folder / str(item.number)
        if item.is_last and staged.exists():
            goal = config / unescape_path(item.place)
            if not _is_same_file(staged, goal):
                _name_file(staged, goal)
    _sync_folders(config, plan)
    for item in plan.items:
        if item.is_last:
            (folder / str(item.number)).unlink(missing_ok=True)


def _name_file(staged: Path, goal: Path) -> None:
    """Give a file its name; what stands there stays."""
    try:
        try:
            os.link(staged, goal)
        except FileExistsError:
            raise
        except OSError:  # a disk where files can't have two names
            if os.path.lexists(goal):
                raise FileExistsError from None
            staged.rename(goal)
    except FileExistsError:
        raise Changed(f"{goal}: appeared while it was being unpacked; nothing was written") from None


def _append_history(folder: Path, plan: StagingPlan) -> bytes:
    """Add those lines to the history that it lacks; gives what was added."""
    if plan.history is None or not (folder / str(plan.history)).exists():
        return b""
    path = folder.parent / _HISTORY_FILE_NAME
    try:
        known = {line.rstrip() for line in split_lines(read_whole_file(path).data)}
    except FileNotFoundError:
        os.close(os.open(path, _CREATE_FLAGS, 0o600))
        known = set()
    lines = (line.rstrip() for line in split_lines((folder / str(plan.history)).read_bytes()))
    new = b"".join(line + b"\n" for line in lines if line and line not in known)
    if new:
        append_lines(path, new, root=folder.parent)
    return new


def _take_history_back(path: Path, lines: bytes) -> None:
    if lines:
        whole = read_whole_file(path)
        if whole.data.endswith(lines):  # else somebody has typed since, and they do no harm
            replace_session_file(path, whole.data[: -len(lines)], root=path.parent, expected=whole.checkpoint)


def _take_back_files(folder: Path, plan: StagingPlan) -> None:
    """Remove what has its name already, as long as it is what was written; then the folders that were made for it."""
    config = folder.parent
    for item in plan.items:
        staged, goal = folder / str(item.number), config / unescape_path(item.place)
        is_ours = _is_same_file(staged, goal) if staged.exists() else _has_hash(goal, item.sha256)
        if is_ours:
            goal.unlink()
    for place in reversed(plan.folders):
        with contextlib.suppress(OSError):  # somebody else has put something into it
            (config / unescape_path(place)).rmdir()
    _remove_staging(folder)


def _is_same_file(staged: Path, goal: Path) -> bool:
    try:
        return os.path.samestat(staged.lstat(), goal.lstat())
    except OSError:
        return False


def _has_hash(goal: Path, wanted: str) -> bool:
    return goal.is_file() and not goal.is_symlink() and hash_file_content(goal) == wanted


def _remove_staging(folder: Path) -> None:
    """Remove a folder whose files are all in their places, or none; its plan goes first, so that it is not followed."""
    (folder / _PLAN_FILE_NAME).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _sync_folders(config: Path, plan: StagingPlan) -> None:
    for folder in sorted({(config / unescape_path(item.place)).parent for item in plan.items}):
        flush_folder(folder)


def settle_unpacking(config_dir: Path) -> None:
    """Finish or take back what killed runs left in a config folder; only for who holds its lock."""
    for folder in sorted(config_dir.glob(f"{_STAGING_FOLDER_PREFIX}*")):
        plan = _read_plan(folder / _PLAN_FILE_NAME)
        if plan is None:
            shutil.rmtree(folder, ignore_errors=True)
        elif (folder / _READY_FILE_NAME).exists():
            _finish_or_take_back(folder, plan)
        else:
            _take_back_files(folder, plan)


def _finish_or_take_back(folder: Path, plan: StagingPlan) -> None:
    try:
        _append_history(folder, plan)
        _publish_transcripts(folder, plan)
    except Changed:  # the place of a transcript was taken since
        _take_back_files(folder, plan)
    else:
        _remove_staging(folder)


def _read_plan(path: Path) -> StagingPlan | None:
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=StagingPlan)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise TurnlogError(f"{path}: an interrupted unpacking can't be read ({error}); remove that folder") from error
    safe = all(is_safe_path(place) for place in (*plan.folders, *(item.place for item in plan.items)))
    return plan if safe else None


@contextlib.contextmanager
def lock_unpacking(config_dir: Path) -> Iterator[None]:
    """Let one turnlog at a time unpack into a config folder."""
    if os.name == "nt":  # folders can't be locked there
        yield
        return
    fd = os.open(config_dir, os.O_RDONLY)
    try:
        lock_file(fd)
        yield
    finally:
        os.close(fd)
