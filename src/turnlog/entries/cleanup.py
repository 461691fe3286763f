"""Determines when Claude Code deletes a session.

Measured with 2.1.325 and 2.1.29: a few minutes after an interactive start, the client deletes every .jsonl file in the
project folders that has not been written for `cleanupPeriodDays` (in <config>/settings.json; default 30). 2.1.325 also
deletes the session's folder, however new the files in it are. If a session is kept, its large outputs (`tool-results`)
are still deleted according to their own age, and so are file-history, to-dos, tasks, plans and so on.
`settings.local.json` in the config folder has no effect. If 2.1.325 rejects the settings (because they are not JSON, or
the period is 0, a fraction or a string), it deletes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

DEFAULT_CLEANUP_DAYS = 30
_DAY_SECONDS = 86400
_MAX_TIME_SECONDS = 253402300800.0
"""The end of the calendar, 1 January 10000, in seconds since 1970."""


def read_cleanup_days(config_dir: Path) -> int | None:
    """Return the number of days without a write after which the client deletes a session, or None if it never does."""
    try:
        settings = msgspec.json.decode((config_dir / "settings.json").read_bytes() or b"{}")
    except OSError:
        return DEFAULT_CLEANUP_DAYS
    except msgspec.MsgspecError:
        return None
    days = settings.get("cleanupPeriodDays", DEFAULT_CLEANUP_DAYS) if isinstance(settings, dict) else None
    return days if type(days) is int and days > 0 else None


def compute_deletion_time(mtime_ns: int, days: int | None) -> float | None:
    """Return when the client may delete a file, in seconds since 1970; None means never."""
    when = _MAX_TIME_SECONDS if days is None else mtime_ns / 1e9 + days * _DAY_SECONDS
    return when if when < _MAX_TIME_SECONDS else None


def describe_deletion_times(ends: Sequence[float], now: float) -> str:
    """Say when the client will delete files that it may delete from these times, all within a week, on."""
    due = sum(end <= now for end in ends)
    if due == len(ends):
        return "the next time it starts"
    if due:
        return f"within a week, {due:,} of them the next time it starts"
    return f"starting on {time.strftime('%Y-%m-%d', time.localtime(min(ends)))}"
