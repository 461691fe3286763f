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

from turnlog.edit.trash.moving import sha256
from turnlog.entries.spelling import escaped, is_safe, unescaped
from turnlog.entries.window import lines_of
from turnlog.entries.writer import append, inside, lock, read_whole, replace, sync_folder
from turnlog.errors import Changed, TurnlogError

_PREFIX = ".turnlog-unpack-"
_PLAN = "plan.json"
_READY = "ready"
_HISTORY = "history.jsonl"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Item(msgspec.Struct, frozen=True):
    """A new file."""

    number: int
    place: str
    """Below the config folder, written as in a package."""
    sha256: str
    is_last: bool
    """A transcript: it appears when all else is there."""


class Plan(msgspec.Struct, frozen=True):
    """What is to appear."""

    items: tuple[Item, ...]
    folders: tuple[str, ...]
    """Folders that are made for them, the outer ones first."""
    history: int | None = None
    """The number of the file with lines for `history.jsonl`."""


class Staging:
    """New files of a config folder that are not in their places yet."""

    def __init__(self, config_dir: Path) -> None:
        self._config = config_dir
        self.folder = config_dir / f"{_PREFIX}{secrets.token_hex(6)}"
        self.folder.mkdir(mode=0o700)
        self._items: list[Item] = []
        self._history: int | None = None
        self._count = 0

    def add(self, goal: Path, pieces: Iterable[bytes], mode: int, *, is_last: bool = False) -> None:
        """Write a file that will appear at a place below the config folder."""
        digest = self._written(pieces, mode)
        place = escaped(goal.relative_to(self._config).as_posix())
        self._items.append(Item(self._count, place, digest, is_last))

    def add_history(self, data: bytes) -> None:
        """Keep lines that will be added to the history, unless they are in it."""
        self._written([data], 0o600)
        self._history = self._count

    def _written(self, pieces: Iterable[bytes], mode: int) -> str:
        self._count += 1
        running = hashlib.sha256()
        with os.fdopen(os.open(self.folder / str(self._count), _CREATE, 0o600), "wb") as file:
            for piece in pieces:
                running.update(piece)
                file.write(piece)
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        return running.hexdigest()

    def appear(self) -> None:
        """Give all files their names; whatever fails, nothing of it stays."""
        items = tuple(sorted(self._items, key=lambda item: (item.is_last, item.place)))
        plan = Plan(items, tuple(self._missing(items)), self._history)
        for item in items:
            inside(self._config / unescaped(item.place), self._config)
        replace(self.folder / _PLAN, msgspec.json.encode(plan), root=self.folder)
        sync_folder(self._config)
        _carry_out(self.folder, plan)

    def discard(self) -> None:
        """Remove what was written, as long as no file has its name: else the plan is needed to take that back."""
        if not (self.folder / _PLAN).exists():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _missing(self, items: tuple[Item, ...]) -> Iterator[str]:
        found: set[str] = set()
        for item in items:
            parts = item.place.split("/")
            found.update("/".join(parts[:count]) for count in range(1, len(parts)))
        yield from (place for place in sorted(found) if not (self._config / unescaped(place)).exists())


def _carry_out(folder: Path, plan: Plan) -> None:
    config, lines = folder.parent, b""
    try:
        for place in plan.folders:
            (config / unescaped(place)).mkdir(mode=0o700, exist_ok=True)
        for item in plan.items:
            if not item.is_last:
                _name(folder / str(item.number), config / unescaped(item.place))
        _sync(config, plan)
        (folder / _READY).touch()
        sync_folder(folder)
        lines = _add_history(folder, plan)
        _finish(folder, plan)
    except BaseException:
        _take_back(folder, plan)
        _take_history_back(config / _HISTORY, lines)
        raise
    _forget(folder)


def _finish(folder: Path, plan: Plan) -> None:
    """Let the transcripts appear; the staged name of one that did goes, so that it never appears twice."""
    config = folder.parent
    for item in plan.items:
        staged = folder / str(item.number)
        if item.is_last and staged.exists():
            goal = config / unescaped(item.place)
            if not _is_same(staged, goal):
                _name(staged, goal)
    _sync(config, plan)
    for item in plan.items:
        if item.is_last:
            (folder / str(item.number)).unlink(missing_ok=True)


def _name(staged: Path, goal: Path) -> None:
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


def _add_history(folder: Path, plan: Plan) -> bytes:
    """Add those lines to the history that it lacks; gives what was added."""
    if plan.history is None or not (folder / str(plan.history)).exists():
        return b""
    path = folder.parent / _HISTORY
    try:
        known = {line.rstrip() for line in lines_of(read_whole(path).data)}
    except FileNotFoundError:
        os.close(os.open(path, _CREATE, 0o600))
        known = set()
    lines = (line.rstrip() for line in lines_of((folder / str(plan.history)).read_bytes()))
    new = b"".join(line + b"\n" for line in lines if line and line not in known)
    if new:
        append(path, new, root=folder.parent)
    return new


def _take_history_back(path: Path, lines: bytes) -> None:
    if lines:
        whole = read_whole(path)
        if whole.data.endswith(lines):  # else somebody has typed since, and they do no harm
            replace(path, whole.data[: -len(lines)], root=path.parent, expected=whole.checkpoint)


def _take_back(folder: Path, plan: Plan) -> None:
    """Remove what has its name already, as long as it is what was written; then the folders that were made for it."""
    config = folder.parent
    for item in plan.items:
        staged, goal = folder / str(item.number), config / unescaped(item.place)
        is_ours = _is_same(staged, goal) if staged.exists() else _has_hash(goal, item.sha256)
        if is_ours:
            goal.unlink()
    for place in reversed(plan.folders):
        with contextlib.suppress(OSError):  # somebody else has put something into it
            (config / unescaped(place)).rmdir()
    _forget(folder)


def _is_same(staged: Path, goal: Path) -> bool:
    try:
        return os.path.samestat(staged.lstat(), goal.lstat())
    except OSError:
        return False


def _has_hash(goal: Path, wanted: str) -> bool:
    return goal.is_file() and not goal.is_symlink() and sha256(goal) == wanted


def _forget(folder: Path) -> None:
    """Remove a folder whose files are all in their places, or none; its plan goes first, so that it is not followed."""
    (folder / _PLAN).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _sync(config: Path, plan: Plan) -> None:
    for folder in sorted({(config / unescaped(item.place)).parent for item in plan.items}):
        sync_folder(folder)


def settle(config_dir: Path) -> None:
    """Finish or take back what killed runs left in a config folder; only for who holds its lock."""
    for folder in sorted(config_dir.glob(f"{_PREFIX}*")):
        plan = _read(folder / _PLAN)
        if plan is None:
            shutil.rmtree(folder, ignore_errors=True)
        elif (folder / _READY).exists():
            _finish_or_take_back(folder, plan)
        else:
            _take_back(folder, plan)


def _finish_or_take_back(folder: Path, plan: Plan) -> None:
    try:
        _add_history(folder, plan)
        _finish(folder, plan)
    except Changed:  # the place of a transcript was taken since
        _take_back(folder, plan)
    else:
        _forget(folder)


def _read(path: Path) -> Plan | None:
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise TurnlogError(f"{path}: an interrupted unpacking can't be read ({error}); remove that folder") from error
    safe = all(is_safe(place) for place in (*plan.folders, *(item.place for item in plan.items)))
    return plan if safe else None


@contextlib.contextmanager
def locked(config_dir: Path) -> Iterator[None]:
    """Let one turnlog at a time unpack into a config folder."""
    if os.name == "nt":  # folders can't be locked there
        yield
        return
    fd = os.open(config_dir, os.O_RDONLY)
    try:
        lock(fd)
        yield
    finally:
        os.close(fd)
