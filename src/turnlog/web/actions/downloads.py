"""Files for the browser to download, in a temporary folder that is removed when the server stops."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse

_MAX_DOWNLOADS = 8
_UNSAFE_CHARS = re.compile(r"[^\w. -]+")


class Downloads:
    """The files that can be downloaded, under names that can't be guessed."""

    def __init__(self) -> None:
        self._root: TemporaryDirectory[str] | None = None
        self._files: dict[str, Path] = {}
        self._lock = threading.Lock()

    def make_folder(self) -> Path:
        """Create an empty folder for an export."""
        with self._lock:
            if self._root is None:
                self._root = TemporaryDirectory(prefix="turnlog-web-")
            found = Path(self._root.name) / secrets.token_hex(16)
        found.mkdir(mode=0o700)
        return found

    def offer_folder(self, folder: Path) -> str | None:
        """Offer the content of a folder for download, zipped if it is not a single file; return None if it is empty."""
        paths = sorted(folder.iterdir())
        if not paths:
            return None
        path = paths[0]
        if len(paths) > 1 or path.is_dir():
            root = path if len(paths) == 1 else folder
            path = Path(shutil.make_archive(str(folder.with_name(f"{folder.name}-whole") / root.name), "zip", root))
        with self._lock:
            self._files[folder.name] = path
            old = list(self._files)[:-_MAX_DOWNLOADS]
            for name in old:
                self._remove_folder(self._files.pop(name))
        return folder.name

    def send_file(self, name: str) -> FileResponse:
        """Send a file for the browser to save, not to display."""
        path = self._files.get(name)
        if path is None or not path.is_file():
            raise HTTPException(404, "this download has expired; export it again")
        return FileResponse(path, media_type="application/octet-stream", filename=_UNSAFE_CHARS.sub("_", path.name))

    def close(self) -> None:
        """Remove all files."""
        if self._root is not None:
            self._root.cleanup()

    @staticmethod
    def _remove_folder(path: Path) -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
