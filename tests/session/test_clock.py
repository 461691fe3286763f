"""Timestamps as the client reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.clock import (
    normalize_timestamp,
    parse_timestamp,
    to_epoch_milliseconds,
    to_epoch_seconds,
    to_iso_time,
)

TEN = datetime(2026, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T10:00:00.000Z",
        "2026-01-01T10:00:00Z",
        "2026-01-01T10:00Z",
        "2026-01-01t10:00:00z",
        "2026-01-01T12:00:00+02:00",
        "2026-01-01T12:00:00+0200",
        "2026-01-01 10:00:00Z",
        "2026-01-01T10:00:00.000000000Z",
        "Thu, 01 Jan 2026 10:00:00 GMT",
        1767261600000,
        1767261600000.0,
    ],
)
def test_a_time_is_read_in_every_form_that_the_client_reads(text: object) -> None:
    assert parse_timestamp(text) == TEN


@pytest.mark.parametrize("text", ["1", "Jan 1 2026", "January 1, 2026", "2026-01-01", "2026-02-30T10:00:00Z"])
def test_forms_that_only_a_browser_would_take_are_times_too(text: str) -> None:
    assert parse_timestamp(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "",
        "2026-01-01T25:00:00Z",
        "20260101T100600Z",
        "1767261900000",
        "13",
        "2026-13-01",
        "Foo 1 2026",
        "0001-01-01T00:00:00+23:00",
        1e300,
        None,
        True,
        [],
        {},
    ],
)
def test_what_the_client_takes_for_no_time_is_none(text: object) -> None:
    assert parse_timestamp(text) is None
    assert to_epoch_milliseconds(text) is None


def test_a_day_without_a_time_begins_in_utc() -> None:
    assert parse_timestamp("2026-01-01") == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_30th_of_february_is_in_march() -> None:
    assert parse_timestamp("2026-02-30T10:00:00Z") == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_a_time_without_a_zone_is_local() -> None:
    assert parse_timestamp("2026-01-01T10:00:00") == datetime(2026, 1, 1, 10).astimezone()


def test_milliseconds_count_from_1970() -> None:
    assert to_epoch_milliseconds("1970-01-01T00:00:01.500Z") == 1500


def test_a_time_is_written_as_the_client_writes_it() -> None:
    assert to_iso_time(TEN) == "2026-01-01T10:00:00.000Z"
    assert to_iso_time(None) is None


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("2026-01-01T10:00:00.000Z", "2026-01-01T10:00:00.000Z"),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:00.000Z"),
        ("2026-13-01T10:00:00.000Z", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_a_timestamp_in_any_form_is_normalised(written: object, normal: str | None) -> None:
    assert normalize_timestamp(written) == normal


@given(st.integers(10**7, 7 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds / 1.001, UTC)))
def test_what_is_written_is_read_again(time: datetime) -> None:
    written = to_iso_time(time)
    read = parse_timestamp(written)
    assert read is not None
    assert abs(read - time) < timedelta(milliseconds=1)
    zone = timezone(timedelta(hours=5, minutes=30))
    assert parse_timestamp(read.astimezone(zone).isoformat()) == read


@given(st.text() | st.floats() | st.integers())
def test_reading_a_time_never_raises(text: object) -> None:
    assert parse_timestamp(text) is None or isinstance(parse_timestamp(text), datetime)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T10:00:00.000Z", 1767261600),
        ("2026-01-01T10:11:12.999Z", 1767262272),
        ("2026-01-01T12:00:00+02:00", 1767261600),
        ("2026-01-01T10:0x:00.000Z", 0),
        ("2026-01-01Txx:00:00.000Z", 0),
        ("yesterday", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_whole_seconds_count_from_1970(text: str | None, expected: int) -> None:
    assert to_epoch_seconds(text) == expected


@given(st.integers(10**7, 7 * 10**9).map(lambda time: datetime.fromtimestamp(time, UTC)))
def test_whole_seconds_are_those_of_the_time(time: datetime) -> None:
    assert to_epoch_seconds(to_iso_time(time)) == int(time.timestamp())


@given(st.text(max_size=24) | st.from_regex(r"....-..-..T..:..:.......Z", fullmatch=True))
def test_asking_for_seconds_never_raises(text: str) -> None:
    assert isinstance(to_epoch_seconds(text), int)
