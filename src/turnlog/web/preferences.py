"""What the pages remember, such as the theme, columns and density: one JSON file in turnlog's data folder.

The browser can't keep it, because browser storage belongs to an address with a port, and the port may change.

    {"version": 1, "revision": 12, "values": {"theme": "dark", "density": "steps"}}

A change names only the values that it changes, so pages that are open at the same time, in one server or in several,
don't undo each other. A damaged file is set aside under another name when the next change is saved. A file that can't
be written, or that a newer turnlog wrote, is left alone: changes then last until the server stops.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from turnlog.entries.atomic_file import lock_file, replace_file
from turnlog.errors import TurnlogError, UsageError
from turnlog.render.json_bytes import to_json_bytes

PREFERENCES_FILE_NAME = "web-preferences.json"
_LOCK_FILE_NAME = "web-preferences.lock"
_FORMAT_VERSION = 1
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9.-]{0,63}", re.ASCII)
_MAX_FILE_BYTES = 256 << 10
MAX_VALUE_BYTES = 16 << 10
MAX_PREFERENCES = 200


class Preferences(NamedTuple):
    """The remembered values at one moment."""

    values: Mapping[str, Any] = {}
    revision: int = 0
    """Increases with every change that was saved."""
    notice: str = ""
    """Why changes are not saved, or what happened to the file; empty if all is well."""

    def read_choice(self, name: str, *choices: str) -> str:
        """Return a value if it is one of the choices, otherwise the first choice."""
        value = self.values.get(name)
        return value if isinstance(value, str) and value in choices else choices[0]

    def is_on(self, name: str, default: bool = False) -> bool:
        """Return a value that is true or false."""
        value = self.values.get(name)
        return value if isinstance(value, bool) else default


class PreferenceStore:
    """The preferences in a folder; shared by all threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / PREFERENCES_FILE_NAME
        self._guard = threading.Lock()
        self._unsaved: dict[str, Any] = {}
        """Values that could not be written; None marks one that was removed."""
        self._notice = ""
        self._known: tuple[object, Preferences] | None = None

    def load(self) -> Preferences:
        """Return the values; never fails, and never writes."""
        stamp = _read_stamp(self.path)
        known = self._known
        if known is None or known[0] != stamp:
            try:
                saved = _read_file(self.path)
            except _UnusableFileError as error:
                saved = Preferences(notice=str(error))
            self._known = known = stamp, saved
        saved = known[1]
        return saved._replace(values=_merge_values(saved.values, self._unsaved), notice=self._notice or saved.notice)

    def change(self, changes: Mapping[str, Any]) -> Preferences:
        """Save changed values, keeping all others; None removes a value."""
        for name, value in changes.items():
            _check_value(name, value)
        with self._guard:
            values = {**self._unsaved, **changes}
            try:
                self._save_values(values)
            except (OSError, TurnlogError) as error:
                if isinstance(error, UsageError):
                    raise
                self._unsaved = values
                self._notice = f"your choices last until turnlog stops: {error}"
            else:
                self._unsaved, self._notice = {}, ""
            return self.load()

    def _save_values(self, changes: Mapping[str, Any]) -> None:
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock_folder(folder):
            try:
                saved = _read_file(self.path)
            except _NewerFileError as error:
                raise TurnlogError(str(error)) from None
            except _UnusableFileError:
                _set_aside(self.path)
                saved = Preferences()
            values = _merge_values(saved.values, changes)
            if len(values) > MAX_PREFERENCES:
                raise UsageError(f"at most {MAX_PREFERENCES} preferences can be kept")
            document = {"version": _FORMAT_VERSION, "revision": saved.revision + 1, "values": values}
            data = to_json_bytes(document)
            if len(data) > _MAX_FILE_BYTES:
                raise UsageError(f"preferences are limited to {_MAX_FILE_BYTES:,} bytes")
            replace_file(self.path, data + b"\n", root=folder)


class _UnusableFileError(Exception):
    """The file is damaged."""


class _NewerFileError(_UnusableFileError):
    """A newer turnlog wrote the file."""


class _FileContent(msgspec.Struct):
    version: int
    values: dict[str, Any]
    revision: int = 0


def _read_file(path: Path) -> Preferences:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return Preferences()
    except OSError as error:
        raise _UnusableFileError(f"{path}: {error.strerror}") from None
    try:
        content = msgspec.json.decode(data, type=_FileContent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _UnusableFileError(f"{path}: damaged ({error}); the next change starts a new file") from None
    if content.version > _FORMAT_VERSION:
        raise _NewerFileError(f"{path}: written by a newer turnlog")
    return Preferences(content.values, content.revision)


def _set_aside(path: Path) -> None:
    """Give a damaged file another name, which says when."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path.replace(path.with_name(f"{path.name}.damaged-{stamp}-{os.getpid()}"))


def _merge_values(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def _check_value(name: str, value: Any) -> None:
    if not _NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"{ascii(name)[:80]} can't be the name of a preference; use lower-case letters, digits, - and ."
        )
    if len(to_json_bytes(value)) > MAX_VALUE_BYTES:
        raise UsageError(f"{name}: a preference is limited to {MAX_VALUE_BYTES:,} bytes")


def _read_stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Wait until no other turnlog process changes the preferences."""
    fd = os.open(folder / _LOCK_FILE_NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        lock_file(fd)
        yield
    finally:
        os.close(fd)
