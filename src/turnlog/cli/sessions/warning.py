"""The warning that the client is about to delete sessions which the archive does not hold."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.cli.when import format_epoch_time
from turnlog.entries.cleanup import read_cleanup_days

if TYPE_CHECKING:
    from turnlog.cli.sessions.catalogue import Catalogue

_WEEK_SECONDS = 7 * 86400


def build_deletion_warning(found: Catalogue, data_dir: Path) -> str | None:
    """One line about the sessions that will be deleted within a week; None if there are none."""
    limit = time.time() + _WEEK_SECONDS
    soon = [
        (end, row.file) for row, end in zip(found.rows, found.find_deletion_times(), strict=True) if end and end < limit
    ]
    if soon:
        kept = _list_archived_ids(data_dir)
        soon = [(end, file) for end, file in soon if file.session_id not in kept]
    if not soon:
        return None
    first = min(end for end, _ in soon)
    when = format_epoch_time(first)[:10] if first > time.time() else "its next start"
    days = sorted({days for _, file in soon if (days := read_cleanup_days(file.config_dir))})
    many = f"{len(soon)} sessions" if len(soon) > 1 else "1 session"
    setting = ", ".join(f"{number:g}" for number in days)
    return (
        f"{many} will be deleted by the client from {when} on (cleanupPeriodDays {setting}); "
        f"`turnlog archive on` keeps {'them' if len(soon) > 1 else 'it'}."
    )


def _list_archived_ids(data_dir: Path) -> set[str]:
    """The ids in the archive; from the names of its files, since loading a decoder would take longer."""
    try:
        return {name[:36] for name in os.listdir(data_dir / "archive" / "sessions")}  # noqa: PTH208
    except OSError:
        return set()
