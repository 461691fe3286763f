"""The eras of the client: when each started, and its versions and models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple


class Era(NamedTuple):
    """Versions of the client that write the same format."""

    name: str
    start: datetime
    versions: tuple[str, ...]
    models: tuple[str, ...]


ERAS = (
    Era(
        "1.0",
        datetime(2025, 6, 1, tzinfo=UTC),
        ("1.0.17", "1.0.53", "1.0.71", "1.0.98", "1.0.120"),
        ("claude-sonnet-4-20250514", "claude-opus-4-20250514"),
    ),
    Era(
        "2.0",
        datetime(2025, 10, 1, tzinfo=UTC),
        ("2.0.5", "2.0.42", "2.0.50", "2.0.72", "2.0.76"),
        ("claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"),
    ),
    Era(
        "2.1a",
        datetime(2026, 1, 8, tzinfo=UTC),
        ("2.1.5", "2.1.14", "2.1.29", "2.1.39", "2.1.59"),
        ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"),
    ),
    Era(
        "2.1b",
        datetime(2026, 4, 1, tzinfo=UTC),
        ("2.1.111", "2.1.161", "2.1.178", "2.1.219", "2.1.220"),
        ("claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5-20251001"),
    ),
)
LAST_DAY = datetime(2026, 8, 20, tzinfo=UTC)


def find_era(day: datetime) -> Era:
    return [era for era in ERAS if era.start <= day][-1]
