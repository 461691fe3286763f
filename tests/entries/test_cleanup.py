"""When the client will delete a session, from its settings and the time of the file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from turnlog.entries.cleanup import (
    DEFAULT_CLEANUP_DAYS,
    compute_deletion_time,
    describe_deletion_times,
    read_cleanup_days,
)


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ("{}", DEFAULT_CLEANUP_DAYS),
        ('{"cleanupPeriodDays": 7}', 7),
        ('{"cleanupPeriodDays": 99999}', 99999),
        ('{"cleanupPeriodDays": 0}', None),
        ('{"cleanupPeriodDays": -1}', None),
        ('{"cleanupPeriodDays": true}', None),
        ('{"cleanupPeriodDays": "7"}', None),
        ('{"cleanupPeriodDays": null}', None),
        ('{"cleanupPeriodDays": 6.5}', None),
        ("{broken", None),
        ("[]", None),
        ("", DEFAULT_CLEANUP_DAYS),
    ],
)
def test_the_period_is_what_the_settings_say(tmp_path: Path, settings: str, days: int | None) -> None:
    (tmp_path / "settings.json").write_text(settings)
    assert read_cleanup_days(tmp_path) == days


def test_without_settings_the_period_is_the_usual_one(tmp_path: Path) -> None:
    assert read_cleanup_days(tmp_path) == DEFAULT_CLEANUP_DAYS


def test_local_settings_in_the_config_folder_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "settings.local.json").write_text('{"cleanupPeriodDays": 7}')
    assert read_cleanup_days(tmp_path) == DEFAULT_CLEANUP_DAYS


def test_a_session_is_deleted_so_many_days_after_its_last_write() -> None:
    assert compute_deletion_time(10**9, 30) == 1 + 30 * 86400
    assert compute_deletion_time(10**9, None) is None
    assert compute_deletion_time(10**9, 10**9) is None, "beyond the calendar"


def test_deletions_are_described_by_what_is_due_first() -> None:
    now = 1_800_000_000.0
    day = time.strftime("%Y-%m-%d", time.localtime(now + 86_400))
    assert describe_deletion_times([now - 1, now], now) == "the next time it starts"
    assert describe_deletion_times([now - 1, now + 1], now) == "within a week, 1 of them the next time it starts"
    assert describe_deletion_times([now + 90_000, now + 86_400], now) == f"starting on {day}"
