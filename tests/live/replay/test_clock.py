"""When a replay shows what: pure functions of times and keys."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import UsageError
from turnlog.live.replay.clock import (
    MAX_SPEED,
    MIN_CHARS_PER_SECOND,
    MIN_SPEED,
    SPEEDS,
    ReplayDeck,
    check_speed,
    parse_duration,
    parse_place,
    schedule_times,
    split_streamed_text,
)

MOMENTS = st.lists(st.none() | st.floats(-1e9, 1e9), max_size=40)
GAPS = st.none() | st.floats(0, 1e4)
PLAYED = st.lists(st.tuples(st.floats(0, 100), st.integers(0, 2)), min_size=1, max_size=30)
"""Delays, and by how much the turn grows."""


def build_deck(played: list[tuple[float, int]], speed: float = 1.0) -> ReplayDeck:
    times, turns, at, turn = [], [], 0.0, 0
    for delay, growth in played:
        at, turn = at + delay, turn + growth
        times.append(at)
        turns.append(turn)
    return ReplayDeck(times, turns, speed)


@given(MOMENTS, GAPS)
def test_times_never_go_back_and_no_silence_is_longer_than_the_gap(
    moments: list[float | None], gap: float | None
) -> None:
    times = list(schedule_times(moments, gap))
    assert len(times) == len(moments)
    for before, after in itertools.pairwise(times):
        assert before.at <= after.at <= after.elapsed + 1e-6
        assert gap is None or after.at - before.at <= gap + 1e-6


@given(st.lists(st.floats(0, 1e6), min_size=1).map(sorted))
def test_without_a_limit_a_replay_takes_as_long_as_the_session_did(moments: list[float]) -> None:
    for moment, time in zip(moments, schedule_times(moments), strict=True):
        assert math.isclose(time.at, moment - moments[0], abs_tol=1e-6)
        assert time.at == time.elapsed


def test_what_has_no_time_or_one_from_the_past_follows_at_once() -> None:
    assert [time.at for time in schedule_times([10, None, 12, 5, 6, None, 8])] == [0, 0, 2, 2, 3, 3, 5]


def test_one_time_far_in_the_future_does_not_swallow_the_rest() -> None:
    assert [time.at for time in schedule_times([0, 1, 9e9, 2, 3], 5)] == [0, 1, 6, 6, 7]


def test_the_clock_of_the_session_counts_silences_in_full() -> None:
    assert [(time.at, time.elapsed) for time in schedule_times([0, 100, 101], 3)] == [(0, 0), (3, 100), (4, 101)]


@given(st.text(max_size=300), st.floats(0, 1e4), st.floats(0, 1e3))
def test_pieces_of_streamed_text_are_the_text_between_the_two_times(text: str, start: float, length: float) -> None:
    pieces = split_streamed_text(text, start, start + length)
    assert "".join(piece.text for piece in pieces) == text
    times = [piece.at for piece in pieces]
    assert times == sorted(times)
    if pieces:
        assert start - 1e-6 <= times[0]
        assert times[-1] == start + length
        assert times[-1] - times[0] <= len(text) / MIN_CHARS_PER_SECOND + 1e-6


@given(PLAYED, st.sampled_from(SPEEDS), st.lists(st.floats(0, 50), max_size=20))
def test_every_event_is_shown_once_in_order_when_its_time_has_come(
    played: list[tuple[float, int]], speed: float, waits: list[float]
) -> None:
    deck = build_deck(played, speed)
    shown: list[int] = []
    for wait in [*waits, 1e9]:
        deck.pass_time(wait)
        while deck.is_due:
            shown.append(deck.take_next())
    assert shown == list(range(len(played)))
    assert deck.is_over
    assert deck.now == deck.end


@given(PLAYED, st.data())
def test_a_deck_moves_to_any_event_and_goes_on_from_there(played: list[tuple[float, int]], data: st.DataObject) -> None:
    deck = build_deck(played)
    number = data.draw(st.integers(0, len(played)))
    assert deck.move_to(number) == number
    assert deck.is_over == (number == len(played))
    assert deck.is_due == (not deck.is_over)


@given(PLAYED, st.data())
def test_steps_by_turn_reach_the_starts_of_turns_in_both_directions(
    played: list[tuple[float, int]], data: st.DataObject
) -> None:
    deck = build_deck(played)
    deck.move_to(data.draw(st.integers(0, len(played))))
    before = deck.next
    ahead, back = deck.find_next_turn(), deck.find_previous_turn()
    assert ahead > before - 1
    assert back <= max(before, 0)
    for number in (ahead, back):
        assert number in (0, len(played)) or deck._turns[number] > deck._turns[number - 1]


def test_from_the_start_of_a_turn_the_step_back_goes_to_the_turn_before() -> None:
    deck = ReplayDeck([0, 1, 2, 3, 4], [1, 1, 2, 2, 3])
    deck.move_to(4)
    assert deck.find_previous_turn() == 2, "in the middle of turn 2: its start"
    deck.move_to(3)
    assert deck.find_previous_turn() == 0, "only the prompt of turn 2 was shown: the turn before"
    assert deck.find_next_turn() == 4


def test_no_piece_divides_an_emoji() -> None:
    text = "👩\u200d💻" * 40 + "1\ufe0f\u20e3" * 40 + "👍🏽" * 40
    pieces = split_streamed_text(text, 0, 10)
    assert len(pieces) > 5
    assert not any(piece.text[0] in "\u200d\ufe0f\u20e3🏽" or piece.text[-1] == "\u200d" for piece in pieces)


def test_a_paused_deck_stands_still() -> None:
    deck = ReplayDeck([0, 1], [1, 1])
    deck.is_paused = True
    deck.pass_time(10)
    assert deck.now == 0


def test_speeds_double_and_halve_within_their_range() -> None:
    deck = ReplayDeck([0], [1])
    seen = []
    for _ in range(8):
        deck.change_speed(1)
        seen.append(deck.speed)
    assert seen == [2, 4, 8, 16, 32, 32, 32, 32]
    for _ in range(10):
        deck.change_speed(-1)
    assert deck.speed == MIN_SPEED


@pytest.mark.parametrize("speed", [0, -1, 0.2, 33, math.nan, math.inf])
def test_other_speeds_are_refused(speed: float) -> None:
    with pytest.raises(UsageError, match=r"outside the range from 0\.25 to 32"):
        check_speed(speed)
    assert check_speed(MAX_SPEED) == MAX_SPEED


@pytest.mark.parametrize(
    ("text", "seconds"), [("3", 3), ("3s", 3), ("500ms", 0.5), ("2m", 120), ("1.5 h", 5400), ("0", 0), (".5", 0.5)]
)
def test_lengths_of_time_have_a_unit_or_are_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1", "3 weeks", "1e9", "nan", "inf", "9" * 30, "٣"])
def test_other_lengths_of_time_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [("12", (12, None)), ("1:30", (None, 90)), ("1:02:30", (None, 3750)), ("90s", (None, 90)), (" 7 ", (7, None))],
)
def test_a_place_is_a_turn_or_a_time(text: str, place: tuple[int | None, float | None]) -> None:
    assert parse_place(text) == place


def test_a_time_finds_the_next_event() -> None:
    deck = ReplayDeck([0, 1, 1, 5], [1, 1, 2, 2])
    assert [deck.find_time(seconds) for seconds in (0, 0.5, 1, 4, 6)] == [0, 1, 1, 3, 4]
