"""Holds on to the place of a file between a decision about it and the action.

A path can lead elsewhere by the time a question has been answered: somebody replaces a folder by a link. A `PinnedFile`
resolves the path once. The decision is about `real`, and the action goes through the open folder, follows no link, and
is refused if the path leads elsewhere by then. Where folders can't be opened (on Windows), the path is compared again
just before each action.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from turnlog.errors import Changed

_HAS_FOLDERS = os.open in os.supports_dir_fd and os.mkdir in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY) | _NO_LINK
_FILE_FLAGS = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS


class PinnedFile:
    """A file that may not exist yet, in a folder that is held open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.real = Path(os.path.realpath(path))
        """The path without links, which the decision must be about."""
        self._missing: tuple[str, ...] = ()
        """The folders above the file that did not exist."""
        self._folder = self._open_existing_folder() if _HAS_FOLDERS else None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; the file can't be used any more."""
        folder, self._folder = getattr(self, "_folder", None), None
        if folder is not None:
            os.close(folder)

    def check(self) -> None:
        """Raise `Changed` if the path leads elsewhere now."""
        is_same = Path(os.path.realpath(self.path)) == self.real
        if is_same and self._folder is not None:
            folder = self.real.parents[len(self._missing)]
            try:
                is_same = os.path.samestat(folder.lstat(), os.fstat(self._folder))
            except OSError:
                is_same = False
        if not is_same:
            raise _build_change(self.path)

    def stat(self) -> os.stat_result:
        """Return the status of the file."""
        with self._enter_folder() as folder:
            status = os.stat(self._name(folder), dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            if os.path.realpath(self.path) == str(self.real):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            raise _build_change(self.path)
        return status

    def open(self) -> int:
        """Open the file for reading, and return the descriptor."""
        self.stat()  # a link has its own error
        with self._enter_folder() as folder:
            return os.open(self._name(folder), os.O_RDONLY | _FILE_FLAGS, dir_fd=folder)

    def read(self) -> bytes:
        with os.fdopen(self.open(), "rb") as file:
            return file.read()

    def unlink(self) -> None:
        """Delete the file if it exists."""
        with contextlib.suppress(FileNotFoundError), self._enter_folder() as folder:
            os.unlink(self._name(folder), dir_fd=folder)

    def replace(
        self, data: bytes, *, mode: int, owner: os.stat_result | None = None, check: Callable[[], None] = lambda: None
    ) -> os.stat_result:
        """Write the file as a whole, and create its folders if necessary; return its status.

        `check` is called before the new content takes the place of the old one.
        """
        with self._enter_folder(creates=True) as folder:
            temporary = self._name(folder, f".turnlog-{os.urandom(6).hex()}.tmp")
            fd = os.open(temporary, _CREATE_FLAGS, 0o666, dir_fd=folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(fd)
                    if mode and hasattr(os, "fchmod"):
                        os.fchmod(fd, mode)
                    if owner is not None and hasattr(os, "fchown"):
                        with contextlib.suppress(OSError):  # only root may change the owner
                            os.fchown(fd, owner.st_uid, owner.st_gid)
                check()
                self.check()
                os.replace(temporary, self._name(folder), src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            return os.stat(self._name(folder), dir_fd=folder, follow_symlinks=False)

    def _open_existing_folder(self) -> int | None:
        """Open the deepest existing folder above the file; None if one of them can't be opened."""
        parts = self.real.parent.parts
        here = os.open(parts[0], _FOLDER_FLAGS)
        for number, part in enumerate(parts[1:], 1):
            try:
                below = os.open(part, _FOLDER_FLAGS, dir_fd=here)
            except FileNotFoundError:
                self._missing = parts[number:]
                return here
            except OSError:
                os.close(here)
                return None
            os.close(here)
            here = below
        return here

    def _name(self, folder: int | None, name: str | None = None) -> str:
        """Return a name in the folder, or its path if the folder is not open."""
        name = name or self.real.name
        return str(self.real.parent / name) if folder is None else name

    @contextlib.contextmanager
    def _enter_folder(self, *, creates: bool = False) -> Iterator[int | None]:
        """Check that the path still leads here, and yield the open folder of the file."""
        self.check()
        if self._folder is None:
            if creates:
                self.real.parent.mkdir(parents=True, exist_ok=True)
            yield None
            return
        here = os.dup(self._folder)
        try:
            for part in self._missing:
                if creates:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                try:
                    below = os.open(part, _FOLDER_FLAGS, dir_fd=here)
                except FileNotFoundError:
                    raise
                except OSError:
                    raise _build_change(self.path) from None
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)


def _build_change(path: Path) -> Changed:
    return Changed(f"{path}: a folder or link on the way to it was replaced in the meantime, so nothing was done")
