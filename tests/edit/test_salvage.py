"""A new session from what was typed in one that is gone."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

from turnlog.edit.illnesses.lost_transcripts import SalvageOrigin, TypedText, rebuild_session, select_prompts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ORIGIN = SalvageOrigin("old", "/home/dana")


def test_commands_of_the_client_are_no_prompts_and_paths_are() -> None:
    texts = ["/clear", "/model opus", "!ls", " ", "/etc/hosts is wrong", "hello"]
    assert [item.text for item in select_prompts([TypedText(text, NOON) for text in texts])] == [
        "/etc/hosts is wrong",
        "hello",
    ]


def test_prompts_come_in_the_order_of_their_times() -> None:
    late = TypedText("late", NOON.replace(hour=13))
    assert [item.text for item in select_prompts([late, TypedText("none", None), TypedText("noon", NOON)])] == [
        "none",
        "noon",
        "late",
    ]


def test_times_always_grow_and_every_row_hangs_on_the_one_before() -> None:
    numbers = count()
    rows = rebuild_session(
        ORIGIN, [TypedText("a", NOON), TypedText("b", NOON), TypedText("c", None)], "new", lambda: f"id{next(numbers)}"
    )
    talk = [row for row in rows if row["type"] in ("user", "assistant")]
    times = [row["timestamp"] for row in talk]
    assert times == sorted(set(times))
    assert [row["parentUuid"] for row in talk] == [None, *(row["uuid"] for row in talk[:-1])]
    assert {row["sessionId"] for row in rows} == {"new"}
    assert [row["type"] for row in rows[-2:]] == ["custom-title", "last-prompt"]
    assert rows[-1]["leafUuid"] == talk[-1]["uuid"]


def test_of_nothing_nothing_is_made() -> None:
    assert rebuild_session(ORIGIN, [TypedText("/clear", NOON)], "new", str) == []
