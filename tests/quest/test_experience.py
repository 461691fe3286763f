"""The rules of progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.quest.stories import KINDS, SESSION, Story, tell
from turnlog.live.events.event import AnyEvent, Thought
from turnlog.quest.experience import (
    BONUS_CHANCES,
    SessionProgress,
    apply_deed,
    compute_level,
    compute_level_xp,
    list_deeds,
    measure_flow,
    roll_bonus,
)
from turnlog.quest.game_event import XpGrant


def earn(events: list[AnyEvent], progress: SessionProgress | None = None) -> list[list[XpGrant]]:
    progress = progress or SessionProgress()
    return [
        [grant for deed in list_deeds(event, progress) for grant in apply_deed(progress, deed).grants]
        for event in events
    ]


def total(events: list[AnyEvent], progress: SessionProgress | None = None) -> int:
    return sum(grant.amount for grants in earn(events, progress) for grant in grants)


@pytest.mark.parametrize(
    ("kind", "amount"),
    [
        ("read", 5), ("write", 10), ("ok", 15), ("failed", 5), ("rejected", 0), ("background", 0),
        ("think", 10), ("ultra", 45), ("todo", 20), ("agent", 30), ("context", 0),
    ],
)  # fmt: skip
def test_each_kind_of_event_earns_what_the_table_says(kind: str, amount: int) -> None:
    assert total(tell([kind])) == amount


@pytest.mark.parametrize(
    ("level", "amount"), [("none", 10), ("think", 10), ("hard", 25), ("harder", 35), ("ultra", 45)]
)
def test_a_thought_earns_by_its_level(level: str, amount: int) -> None:
    story = Story()
    story.add(Thought, text="hm", level=level)
    assert total(story.events) == amount


def test_a_failed_or_refused_read_or_edit_earns_nothing() -> None:
    story = Story()
    story.finish("Read", "read", "failed")
    story.finish("Edit", "write", "rejected")
    assert total(story.events) == 0


def test_looking_after_a_background_command_is_not_a_command() -> None:
    story = Story()
    story.finish("BashOutput", "run")
    story.finish("KillShell", "run")
    assert total(story.events) == 0


def test_successful_commands_in_a_row_earn_more_until_one_fails() -> None:
    amounts = [sum(grant.amount for grant in grants) for grants in earn(tell(["ok", "ok", "ok", "failed", "ok"]))]
    assert amounts == [0, 15, 20, 20, 5, 15]


def test_the_streak_of_a_companion_is_its_own() -> None:
    story = Story()
    story.finish("Bash", "run", actor="a1")
    story.finish("Bash", "run", actor="a2")
    story.finish("Bash", "run", "failed", actor="a1")
    story.finish("Bash", "run", actor="a2")
    assert total(story.events) == 15 + 15 + 5 + 20


def test_only_tasks_that_were_completed_since_the_list_before_count() -> None:
    assert total(tell(["todo", "todo", "todo"])) == 3 * 20


def test_the_first_list_of_a_session_that_was_joined_late_is_no_news() -> None:
    events = tell(["todo", "todo", "todo"])
    assert total(events[2:]) == 20


def test_an_older_list_of_tasks_does_not_make_completed_tasks_news_again() -> None:
    events, progress = tell(["todo", "todo", "todo"]), SessionProgress()
    assert total(events, progress) == 60
    assert total([events[1], events[3]], progress) == 0


def test_flow_peaks_once_after_twenty_quick_events_and_falls_in_silence() -> None:
    progress = SessionProgress()
    grants = earn(tell(["read"] * 45), progress)
    peaks = [place for place, some in enumerate(grants) for grant in some if grant.reason == "flow"]
    assert peaks == [20]
    assert progress.flow_at is not None
    assert measure_flow(progress, progress.flow_at + 5) == 1.0
    assert measure_flow(progress, progress.flow_at + 15) == pytest.approx(0.7)
    assert measure_flow(progress, progress.flow_at + 1000) == 0.0


def test_slow_work_never_fills_the_flow_meter() -> None:
    progress = SessionProgress()
    earn(tell(["read"] * 100, pause=60), progress)
    assert progress.flow == pytest.approx(0.05)
    assert not progress.has_peaked


@given(st.integers(0, 10**9))
def test_a_level_is_reached_exactly_at_a_hundred_times_its_square(xp: int) -> None:
    level = compute_level(xp)
    assert compute_level_xp(level) <= xp < compute_level_xp(level + 1)


def test_a_bonus_chest_is_won_with_the_chance_of_its_reason() -> None:
    cases = {
        "flow": SessionProgress(has_peaked=True),
        "streak": SessionProgress(best_streak=10),
        "todos": SessionProgress(todos=5),
        "marathon": SessionProgress(calls=200),
    }
    for reason, progress in cases.items():
        won = sum(roll_bonus(f"session {n}", replace(progress, rolled=[])) == reason for n in range(4000)) / 4000
        assert won == pytest.approx(BONUS_CHANCES[reason], abs=0.03)  # type: ignore[index]


def test_a_session_wins_at_most_one_bonus_chest_and_each_reason_has_one_chance() -> None:
    for number in range(200):
        progress = SessionProgress(has_peaked=True, best_streak=10, todos=5, calls=200)
        won = [roll_bonus(f"s{number}", progress) for _ in range(20)]
        assert len([one for one in won if one]) <= 1
        assert len(progress.rolled) == len(set(progress.rolled)) <= 4
        assert progress.bonus is not None or len(progress.rolled) == 4


@given(st.lists(st.sampled_from(KINDS), max_size=40), st.integers(0, 40))
def test_experience_of_a_prefix_is_the_beginning_of_the_experience_of_all(kinds: list[str], cut: int) -> None:
    events = tell(kinds)
    assert earn(events)[: cut + 1] == earn(events[: cut + 1])


@given(st.lists(st.sampled_from(KINDS), max_size=40))
def test_a_deed_has_the_same_key_in_a_copy_of_its_message(kinds: list[str]) -> None:
    def list_keys(session: str) -> list[int]:
        progress = SessionProgress()
        return [deed.key for event in tell(kinds, session) for deed in list_deeds(event, progress)]

    own = list_keys(SESSION)
    assert own == list_keys("another")
    assert len(set(own)) == len(own)
