"""The archive runs by itself: when it is on, when it is due, and at no cost to who waits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.store.archive.place import ONE, Place
from turnlog.store.archive import maybe_start, schedule


def schedule_file(place: Place) -> Path:
    return place.data / "archive" / "schedule"


def until(done: Path) -> None:
    for _ in range(600):
        if done.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{done} did not appear")


def test_an_archive_that_is_off_starts_nothing(place: Place) -> None:
    assert maybe_start(place.data) is False
    assert schedule.read_archive_hours(place.data) is schedule.read_next_run_time(place.data) is None
    assert not place.data.exists()


def test_a_due_run_is_started_once_and_archives(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.config))
    monkeypatch.setenv("TURNLOG_HOME", str(place.data))
    place.session()
    schedule.turn_on_schedule(place.data, 3)
    assert schedule.read_archive_hours(place.data) == 3
    assert maybe_start(place.data) is True
    assert maybe_start(place.data) is False
    assert (schedule.read_next_run_time(place.data) or 0) - time.time() == pytest.approx(3 * 3600, abs=60)
    until(place.data / "archive" / "last.json")
    assert place.archive.has_session(ONE)


@pytest.mark.parametrize(("offset", "starts"), [(-10, True), (100, False), (3 * 3600, False), (30 * 86400, True)])
def test_a_run_is_due_when_its_time_has_come_or_the_clock_ran_ahead(
    place: Place, monkeypatch: pytest.MonkeyPatch, offset: int, starts: bool
) -> None:
    schedule.turn_on_schedule(place.data, 3)
    monkeypatch.setattr(sys, "executable", str(place.data / "not-there"))
    due = time.time() + offset
    os.utime(schedule_file(place), (due, due))
    assert maybe_start(place.data) is False, "what can't be started is no failure"
    assert ((schedule.read_next_run_time(place.data) or 0) != pytest.approx(due)) is starts


def test_what_is_written_wrongly_means_the_usual(place: Place) -> None:
    schedule.turn_on_schedule(place.data)
    for text in ("", "x", "0", "-3", "99999999"):
        schedule_file(place).write_text(text)
        assert schedule.read_archive_hours(place.data) == schedule.DEFAULT_HOURS


def test_off_leaves_what_is_archived(place: Place) -> None:
    place.session()
    place.run()
    schedule.turn_on_schedule(place.data)
    schedule.turn_off_schedule(place.data)
    schedule.turn_off_schedule(place.data)
    assert maybe_start(place.data) is False
    assert place.archive.has_session(ONE)


def test_asking_costs_no_import_worth_mentioning() -> None:
    code = (
        "import os, sys, time; before = set(sys.modules)\n"
        "from turnlog.store.archive.schedule import maybe_start; maybe_start('/nowhere')\n"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
                          capture_output=True, encoding="utf-8", check=True)  # fmt: skip
    assert {name for name in done.stdout.split() if not name.startswith("turnlog")} <= {"__future__"}
