"""Changes one of Claude Code's settings files in one reversible step: the change is planned first, and then applied.

<settings>.before-turnlog       the file before the first change; deleted when it has been restored
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import TurnlogError
from turnlog.store.archive import durable_write
from turnlog.store.client_settings import parse_client_settings

_BYTE_ORDER_MARK = "\ufeff"


class SettingsPlan(NamedTuple):
    """A planned change to a settings file."""

    path: Path
    """The real path, with links resolved."""
    before: bytes | None
    """The file's current content, or None if it doesn't exist."""
    after: bytes | None
    """The file's new content, or None if it will be deleted."""
    backup: Path
    makes_backup: bool = False
    drops_backup: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether the plan changes nothing."""
        return self.before == self.after


def apply_settings_plan(plan: SettingsPlan) -> None:
    """Apply a plan, unless the file has changed in the meantime."""
    if plan.is_idle:
        return
    if read_settings_bytes(plan.path) != plan.before:
        raise TurnlogError(f"{plan.path}: modified by another program, so nothing was written; try again")
    mode = plan.path.stat().st_mode & 0o777 if plan.before is not None else 0o600
    if plan.makes_backup and plan.before is not None:
        durable_write.write_durably(plan.backup, plan.before, mode)
    if plan.after is None:
        plan.path.unlink()
    else:
        durable_write.write_durably(plan.path, plan.after, mode)
    if plan.drops_backup:
        plan.backup.unlink(missing_ok=True)


def resolve_settings_path(path: Path) -> Path:
    """Resolve links, so that a link to a settings file stays a link."""
    return Path(os.path.realpath(path))


def build_backup_path(path: Path) -> Path:
    """Return the path of the copy of the original file."""
    return path.with_name(f"{path.name}.before-turnlog")


def read_settings_bytes(path: Path) -> bytes | None:
    """Read a file; return None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror}") from None


def read_settings_text(path: Path) -> tuple[bytes | None, str]:
    """Read a file's bytes, and its text without a byte order mark; raise an error if it doesn't contain settings."""
    data = read_settings_bytes(path)
    text = decode_settings_text(data or b"", path)
    with name_settings_file(path):
        parse_client_settings(text)
    return data, text


@contextmanager
def name_settings_file(path: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with its settings."""
    try:
        yield
    except TurnlogError as error:
        raise TurnlogError(f"{path}: {error}") from None


def decode_settings_text(data: bytes, path: Path) -> str:
    """Decode a file, without its byte order mark."""
    try:
        return data.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TurnlogError(f"{path}, line {line}: not UTF-8; correct the file first") from None


def encode_settings_text(before: bytes | None, text: str) -> bytes:
    """Encode a file, with a byte order mark if it had one."""
    has_mark = before is not None and before.startswith(_BYTE_ORDER_MARK.encode())
    return (_BYTE_ORDER_MARK + text if has_mark else text).encode()
