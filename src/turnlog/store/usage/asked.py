"""What somebody wants to know of usage, from the words in which they say it."""

from __future__ import annotations

import time
from datetime import date

from turnlog.errors import UsageError
from turnlog.store.usage.reports import Request
from turnlog.store.usage.zones import Zone, parsed_day, written_day


def asked(
    kind: str = "daily",
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    model: str | None = None,
    timezone: str | None = None,
) -> Request:
    """A request; raises UsageError for words that are not understood."""
    zone = Zone(timezone)
    now = time.time()

    def today() -> date:
        return date.fromisoformat(written_day(zone.day(int(now))))

    first = parsed_day(since, "--since", today) if since is not None else None
    last = parsed_day(until, "--until", today) if until is not None else None
    if first and last and first > last:
        raise UsageError(f"--since {first} is after --until {last}: no day lies between them")
    return Request(kind, first, last, project, model, zone, now)
