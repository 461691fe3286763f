"""Schedules archive runs: whether they are on, how often they run, and how they start without making the user wait.

The file `schedule` contains the interval in hours. Its modification time is the time when the next run is due, so
turnlog only has to check that time when it starts. This module imports only modules that turnlog has already loaded at
that point.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_HOURS = 6
MAX_HOURS = 24 * 31
_REMOVED_VARIABLE_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_")
"""Prefixes of variables that a run doesn't need: a session's commands must not find a key in the run's environment."""


def maybe_start(data_dir: str | Path) -> bool:
    """Start a run in the background if the archive is on and a run is due; never raise an error or wait."""
    path = _build_schedule_path(data_dir)
    try:
        due, now = os.stat(path).st_mtime, time.time()  # noqa: PTH116 - pathlib may not be loaded
        every = _read_hours(path) * 3600
        if now < due <= now + every + 60:  # a clock that was ahead must not stop it forever
            return False
        # If the time can't be written, a run would be started again and again.
        os.utime(path, (now, now + every))
        _start_background_run(os.path.dirname(path))  # noqa: PTH120
    except OSError:
        return False
    return True


def read_archive_hours(data_dir: str | Path) -> int | None:
    """Return the interval between archive runs in hours; None while the archive is off."""
    try:
        return _read_hours(_build_schedule_path(data_dir))
    except OSError:
        return None


def read_next_run_time(data_dir: str | Path) -> float | None:
    """Return when the next run is due, in seconds since 1970; None while the archive is off."""
    try:
        return os.stat(_build_schedule_path(data_dir)).st_mtime  # noqa: PTH116
    except OSError:
        return None


def turn_on_schedule(data_dir: Path, every: int = DEFAULT_HOURS) -> None:
    """Turn scheduled runs on; the first one is due immediately."""
    from turnlog.store.archive import durable_write

    path = data_dir / "archive" / "schedule"
    durable_write.write_durably(path, f"{every}\n".encode())
    os.utime(path, (0, 0))


def turn_off_schedule(data_dir: Path) -> None:
    """Turn scheduled runs off; archived sessions are kept."""
    (data_dir / "archive" / "schedule").unlink(missing_ok=True)


def build_start_command() -> list[str]:
    """Return the command line that starts this installation of turnlog from any folder."""
    return [sys.executable, "-P", "-m", "turnlog"]


def _build_schedule_path(data_dir: str | Path) -> str:
    return os.path.join(data_dir, "archive", "schedule")  # noqa: PTH118


def _read_hours(path: str) -> int:
    with open(path, "rb") as file:  # noqa: PTH123
        text = file.read(16).strip()
    return int(text) if text.isdigit() and 1 <= int(text) <= MAX_HOURS else DEFAULT_HOURS


def _start_background_run(folder: str) -> None:
    import subprocess

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(
        [*build_start_command(), "archive", "run", "--background"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(_REMOVED_VARIABLE_PREFIXES)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=flags,
    )
    process.returncode = 0  # it is never waited for; this avoids a ResourceWarning
