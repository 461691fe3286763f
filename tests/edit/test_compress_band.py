"""Which turns words name, and how words that name none are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.compress.turn_bands import list_chosen_turns, parse_band, parse_compress_selection, parse_share
from turnlog.errors import UsageError


@pytest.mark.parametrize(
    ("words", "turns"),
    [
        (["turns=3..5"], [3, 4, 5]),
        (["turns=4"], [4]),
        (["oldest=40%"], [1, 2, 3, 4]),
        (["oldest=49.9%"], [1, 2, 3, 4]),
        (["oldest=3%"], [1]),
        (["oldest=100%"], list(range(1, 11))),
        ([" turns=9..10 ", "turns=1..2"], [1, 2, 9, 10]),
        (["oldest=20%", "turns=3"], [1, 2, 3]),
    ],
)
def test_words_name_turns(words: list[str], turns: list[int]) -> None:
    assert list_chosen_turns(map(parse_band, words), 10) == turns


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["turns=0..3"], "turns 1 to 10"),
        (["turns=8..11"], "turns 1 to 10"),
        (["turns=5..4"], "must not be larger.*turns 1 to 10"),
        (["turns=11"], "turns 1 to 10"),
        (["oldest=140%"], "more than 0% and at most 100%"),
        (["oldest=0%"], "more than 0% and at most 100%"),
        (["turns=1..4", "turns=4..6"], "turns=1..4 and turns=4..6 overlap at turn 4.*1 to 10"),
        (["oldest=50%", "turns=5"], "overlap at turn 5"),
        (["turns=3-5"], "does not select turns; use turns=A..B, turns=A, oldest=P% or offline"),
        (["oldest=40"], "oldest=P%"),
        (["turns=99999999999999999999"], "does not select turns; use turns=A..B"),
        ([""], "does not select turns; use turns=A..B"),
    ],
)
def test_words_that_name_no_turns_are_refused_with_what_is_valid(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        list_chosen_turns(map(parse_band, words), 10)


@pytest.mark.parametrize(
    ("words", "bands", "offline"),
    [
        (["turns=1..2", "turns=4"], ["turns=1..2", "turns=4"], False),
        (["turns=1..2,turns=4, offline"], ["turns=1..2", "turns=4"], True),
        (["offline"], ["oldest=50%"], True),
        ([], ["oldest=50%"], False),
    ],
)
def test_an_option_names_bands_and_whether_no_model_is_asked(words: list[str], bands: list[str], offline: bool) -> None:
    assert parse_compress_selection(words) == ([parse_band(one) for one in bands], offline)


def test_a_session_without_turns_has_none_to_name() -> None:
    with pytest.raises(UsageError, match="no turns"):
        list_chosen_turns([parse_band("oldest=50%")], 0)


@given(st.floats(0.01, 100), st.integers(1, 5000))
def test_a_part_of_the_turns_is_at_least_one_and_never_more_than_all(part: float, count: int) -> None:
    turns = list_chosen_turns([parse_band(f"oldest={part:.2f}%")], count)
    assert turns == list(range(1, len(turns) + 1))
    assert 1 <= len(turns) <= max(1, count * part / 100 + 0.01 * count)


@pytest.mark.parametrize(("words", "part"), [("35%", 0.35), ("35", 0.35), (" 7.5% ", 0.075)])
def test_a_part_of_a_text(words: str, part: float) -> None:
    assert parse_share(words) == pytest.approx(part)


@pytest.mark.parametrize("words", ["140%", "0%", "100%", "x", "", "-5%", "1e1%"])
def test_what_is_no_part_of_a_text_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="from 1% to 99%"):
        parse_share(words)
