"""The server's own host name, `turnlog-RANDOM.localhost`, so that no other local server shares its cookies.

RANDOM is derived from a secret in turnlog's data folder. It is chosen once for each installation, so that bookmarks and
restored tabs keep working, and other local servers can't guess it. Browsers resolve such names themselves.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import stat
import sys
from pathlib import Path

from turnlog.errors import TurnlogError

_SECRET_BYTES = 32
_RANDOM_CHARS = 16
"""80 bits, in letters and digits that host names may have."""


def build_own_name(secret: bytes) -> str:
    digest = hmac.new(secret, b"turnlog host name", hashlib.sha256).digest()
    return f"turnlog-{base64.b32encode(digest).decode().lower()[:_RANDOM_CHARS]}.localhost"


def load_secret(folder: Path) -> bytes:
    """Read the secret in a folder, or create it; refuse a secret that other users could have read."""
    path = folder / "web.secret"
    secret = _read_secret(path)
    if secret is None:
        _write_secret(path)
        secret = _read_secret(path)
    if secret is None or len(secret) != _SECRET_BYTES:
        raise TurnlogError(f"{path}: damaged; delete it, start turnlog again, and open the printed address")
    return secret


def _read_secret(path: Path) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "a symbolic link" if path.is_symlink() else error.strerror
        raise TurnlogError(f"{path}: {reason}; delete it, start turnlog again, and open the printed address") from None
    with os.fdopen(fd, "rb") as file:
        _check_file(path, os.fstat(fd))
        return file.read(_SECRET_BYTES + 1)


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise TurnlogError(f"{path}: not a regular file; delete it, start turnlog again, and open the printed address")
    if sys.platform != "win32" and (status.st_mode & 0o077 or status.st_uid != os.geteuid()):
        raise TurnlogError(
            f"{path}: readable by other users; delete it, start turnlog again, and open the printed address"
        )


def _write_secret(path: Path) -> None:
    """Write the whole file before giving it its name; if two servers start at the same time, the first one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".web.secret.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
            file.flush()
            os.fsync(fd)
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        except OSError:  # the file system has no hard links
            fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
