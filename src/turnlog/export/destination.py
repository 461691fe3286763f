"""Export destinations: files and folders are written completely or not at all, and never replace unrelated files."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.entries.atomic_file import create_file, replace_file
from turnlog.errors import TurnlogError, UsageError

FOLDER_MARK = ".turnlog-export"
"""The name of a file in every folder that an export created; only folders that contain it may be replaced."""
_WORD = re.compile(r"[^\W_]+")
_MAX_NAME_CHARS = 60


def build_file_name(title: str, session_id: str | None) -> str:
    """Build a file name for a session, without an extension: words from its title and the start of its id."""
    words = "-".join(_WORD.findall(title.lower()))[:_MAX_NAME_CHARS].strip("-")
    name = "".join(_WORD.findall(session_id or ""))[:8]
    return "-".join(filter(None, (words if words != name else "", name))) or "session"


class FileNames:
    """Chooses the names of files that are written to one folder one after the other, so that each name is unique."""

    def __init__(self, folder: Path, ending: str, reserved: Collection[str] = ()) -> None:
        self._folder = folder
        self._ending = ending
        self._reserved = reserved
        self._last: dict[str, int] = {}
        """The number that was last added to each name, so that a common name is not counted from one each time."""

    def choose_name(self, name: str) -> str:
        """Return the name with the ending of its file, and with a number if the name is not free."""
        number = self._last.get(name, 0) + 1
        while not self._is_free(file := f"{name}-{number}{self._ending}" if number > 1 else name + self._ending):
            number += 1
        self._last[name] = number
        return file

    def _is_free(self, file: str) -> bool:
        return file not in self._reserved and not (self._folder / file).exists()


def check_destination(goal: Path, *, force: bool, option: str = "--output") -> None:
    """Refuse a destination that already exists, or whose folder does not exist; `option` is the flag that names it."""
    if not goal.absolute().parent.is_dir():
        raise UsageError(f"{goal.parent}: no such folder; create it first")
    if not os.path.lexists(goal):
        return
    if not force:
        raise UsageError(f"{goal}: this path already exists; choose a different name with {option}, or use --force")
    if goal.is_dir() and not (goal / FOLDER_MARK).is_file():
        raise UsageError(f"{goal}: a folder that was not written by turnlog; choose a different name with {option}")


def write_export_file(goal: Path, pieces: Iterable[bytes], *, force: bool = False) -> int:
    """Write a file and return its size in bytes."""
    check_destination(goal, force=force)
    if goal.is_dir():
        raise UsageError(f"{goal}: a folder, not a file; choose a different name with --output")
    parent = goal.absolute().parent
    try:
        if force:
            replace_file(goal, pieces, root=parent)
        else:
            create_file(goal, pieces, root=parent)
    except FileExistsError:
        raise TurnlogError(f"{goal}: the file already exists; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from error
    return goal.stat().st_size


@contextmanager
def open_export_folder(goal: Path, *, force: bool = False) -> Iterator[Path]:
    """Provide a temporary folder to write into, and give it its final name once everything is written."""
    check_destination(goal, force=force)
    if goal.exists() and not goal.is_dir():
        raise UsageError(f"{goal}: a file, not a folder; choose a different name with --output")
    parent = goal.absolute().parent
    temporary = Path(tempfile.mkdtemp(prefix=".turnlog-", dir=parent))
    try:
        (temporary / FOLDER_MARK).write_text(
            "turnlog export wrote this folder, and may replace it.\n", encoding="utf-8"
        )
        yield temporary
        replace_folder(temporary, goal)
    except OSError as error:
        raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_folder(temporary: Path, goal: Path) -> None:
    """Give a folder its final name, replacing any folder that already has that name."""
    if not goal.exists():
        temporary.rename(goal)
        return
    old = Path(tempfile.mkdtemp(prefix=".turnlog-", dir=temporary.parent)) / "old"
    goal.rename(old)
    try:
        temporary.rename(goal)
    except BaseException:
        old.rename(goal)
        raise
    shutil.rmtree(old.parent, ignore_errors=True)


def measure_export_size(place: Path) -> int:
    """Return the size of a file, or of all files in a folder, in bytes."""
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
