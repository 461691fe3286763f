"""What somebody wants to know of usage, from the words in which they say it."""

from __future__ import annotations

import time
from datetime import date

from turnlog.errors import UsageError
from turnlog.store.usage.time_zones import TimeZone, format_day, parse_day
from turnlog.store.usage.usage_reports import UsageRequest


def parse_usage_request(
    kind: str = "daily",
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    model: str | None = None,
    timezone: str | None = None,
) -> UsageRequest:
    """A request; raises UsageError for words that are not understood."""
    zone = TimeZone(timezone)
    now = time.time()

    def today() -> date:
        return date.fromisoformat(format_day(zone.to_day(int(now))))

    first = parse_day(since, "--since", today) if since is not None else None
    last = parse_day(until, "--until", today) if until is not None else None
    if first and last and first > last:
        raise UsageError(f"--since {first} is after --until {last}: no day lies between them")
    return UsageRequest(kind, first, last, project, model, zone, now)
