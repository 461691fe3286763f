"""Lets this user's other commands find a running server: its token is in a file that only the user can read.

The file is `web-PORT.token` in turnlog's data folder; the server deletes it when it ends. A server that was killed
leaves the file, but its token opens nothing any more, so it may be sent to any program that listens on the port now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turnlog.entries.atomic_file import replace_file
from turnlog.errors import TurnlogError
from turnlog.web.server_keys import ServerKeys

_MAX_TOKEN_BYTES = 200


@contextmanager
def announce_server(folder: Path, keys: ServerKeys) -> Iterator[None]:
    """Keep the file there while the server runs; without a writable data folder, other commands don't find it."""
    path = _get_path(folder, keys.port)
    with suppress(OSError, TurnlogError):
        replace_file(path, keys.program_token.encode(), root=folder)
    try:
        yield
    finally:
        if read_server_token(folder, keys.port) == keys.program_token:  # else another server has the port by now
            with suppress(OSError):
                path.unlink()


def read_server_token(folder: Path, port: int) -> str | None:
    """Return the token of the server on a port; None if no server has announced itself there."""
    try:
        with _get_path(folder, port).open("rb") as file:
            return file.read(_MAX_TOKEN_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None


def _get_path(folder: Path, port: int) -> Path:
    return folder / f"web-{port}.token"
