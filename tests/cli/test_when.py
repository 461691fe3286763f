"""Times and amounts in the words of people."""

from __future__ import annotations

from datetime import timedelta

import pytest

from turnlog.cli.time_format import (
    format_client_time,
    format_milliseconds,
    format_money,
    format_size,
    format_time_span,
    measure_time_between,
)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0.0 s"), (449, "0.4 s"), (12_000, "12 s"), (60_000, "1 min"), (83_000, "1 min 23 s"),
     (3_600_000, "1 h 0 min"), (7_500_000, "2 h 5 min"), (36e8, "1,000 h 0 min")],
)  # fmt: skip
def test_durations_are_told_in_two_units_at_most(milliseconds: float, words: str) -> None:
    assert format_milliseconds(milliseconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (64_512, "65 KB"), (999_600, "1.0 MB"), (3_400_000, "3.4 MB"),
     (34_000_000, "34 MB"), (2_100_000_000, "2.1 GB"), (5 * 10**12, "5000 GB")],
)  # fmt: skip
def test_sizes_are_told_in_the_fitting_unit(number: int, words: str) -> None:
    assert format_size(number) == words


@pytest.mark.parametrize(
    ("dollars", "words"), [(0, "$0.00"), (0.0042, "$0.0042"), (0.01, "$0.01"), (1234.5, "$1,234.50")]
)
def test_small_amounts_keep_their_digits(dollars: float, words: str) -> None:
    assert format_money(dollars) == words


def test_a_time_that_is_none_is_unknown() -> None:
    assert format_client_time(None) == format_client_time("yesterday") == "unknown time"


def test_a_time_beyond_the_calendar_is_told_all_the_same() -> None:
    assert format_client_time("9999-12-31T23:59:59Z")[:4] in ("9999", "1000")
    assert format_client_time("0001-01-01T00:00:00Z").lstrip("0")[:1] == "1"


def test_a_span_says_the_day_once() -> None:
    assert format_time_span("2026-01-01T12:00:00Z", "2026-01-01T12:00:30Z") == format_client_time(
        "2026-01-01T12:00:00Z"
    )
    assert len(format_time_span("2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z")) == len("2026-01-01 12:00 – 12:05")
    assert len(format_time_span("2026-01-01T12:00:00Z", "2026-01-05T12:00:00Z")) == len(
        "2026-01-01 12:00 – 2026-01-05 12:00"
    )


def test_there_is_no_time_between_unknown_or_reversed_times() -> None:
    assert measure_time_between("2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z") == timedelta(minutes=1)
    assert measure_time_between("2026-01-01T12:01:00Z", "2026-01-01T12:00:00Z") is None
    assert measure_time_between(None, "2026-01-01T12:00:00Z") is None
