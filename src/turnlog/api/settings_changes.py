"""Changes to Claude Code's settings, one at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from turnlog.api.config import data_dir
from turnlog.errors import TurnlogError
from turnlog.store.file_lock import try_lock_file
from turnlog.store.settings_file import SettingsPlan, apply_settings_plan

_LOCK_TIMEOUT_SECONDS = 10.0


def carry_out_plan(plan: SettingsPlan, dry_run: bool) -> SettingsPlan:
    """Apply a plan, unless it is only to be shown."""
    if not dry_run and not plan.is_idle:
        apply_settings_plan(plan)
    return plan


@contextmanager
def hold_settings_lock(dry_run: bool) -> Iterator[None]:
    """Let only one process at a time change Claude Code's settings; otherwise, two could undo each other's changes."""
    path = data_dir() / "hook.lock"
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    if dry_run:
        yield
        return
    try:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        raise TurnlogError(f"{path.parent}: {error.strerror}; turnlog needs this folder") from None
    while True:
        with try_lock_file(path) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() > deadline:
            raise TurnlogError("another turnlog process is changing the settings; try again later")
        time.sleep(0.05)
