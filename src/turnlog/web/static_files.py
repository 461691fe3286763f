"""The files that pages load: styles and scripts, by name from two folders and from nowhere else.

Their addresses hold a version of all of them together, so that a browser may keep them, and so that the imports
between modules, which are relative, stay within one version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_STATIC_FOLDERS = (Path(__file__).with_name("static"), Path(__file__).parent.with_name("render") / "static")
_VERSIONED_CACHING = "private, max-age=31536000, immutable"
_UNVERSIONED_CACHING = "private, no-cache"


class StaticFiles(NamedTuple):
    """The files there are, and their version."""

    files: Mapping[str, Path]
    version: str

    @classmethod
    def from_folders(cls) -> StaticFiles:
        """Look what files there are."""
        files = {
            path.relative_to(folder).as_posix(): path
            for folder in _STATIC_FOLDERS
            for path in sorted(folder.rglob("*"))
            if path.suffix in _MEDIA_TYPES and path.is_file()
        }
        digest = hashlib.sha256()
        for name, path in files.items():
            digest.update(name.encode() + b"\0" + path.read_bytes())
        return cls(files, digest.hexdigest()[:12])

    def address(self, name: str) -> str:
        """Where a browser finds a file; a name that nobody has is a mistake of ours."""
        if name not in self.files:
            raise LookupError(f"there is no static file {name!r}")
        return f"/static/v-{self.version}/{name}"


def send_static_file(request: Request) -> Response:
    """Send a file."""
    kept: StaticFiles = request.app.state.static
    version, name = request.path_params.get("version"), request.path_params["file"]
    path = kept.files.get(name)
    if path is None:
        raise HTTPException(404)
    caching = _VERSIONED_CACHING if version == kept.version else _UNVERSIONED_CACHING
    return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix], headers={"cache-control": caching})


routes: list[BaseRoute] = [
    Route("/static/v-{version}/{file:path}", send_static_file),
    Route("/static/{file:path}", send_static_file),
]
