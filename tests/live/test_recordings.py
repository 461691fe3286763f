"""The board, measured against recordings of real clients (`python -m tests.interop.live.score` lists every miss)."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from tests.interop.live.screen import SeatFacts, TrueState, read_state
from tests.interop.live.stage import cut_overlaps, merge_samples
from tests.interop.live.state_judge import JudgedInterval, clip_truth, judge, measure_share
from tests.interop.live.state_recording import FOLDER, TruthInterval, load_recording

RECORDINGS = sorted(FOLDER.glob("*.jsonl.gz"))
MIN_SHARES: dict[tuple[str, bool], dict[str, float]] = {
    ("2.1.29", False): {
        "all": 0.9,
        "working": 0.93,
        "tool": 0.7,
        "permission": 0.96,
        "question": 0.96,
        "plan": 0.95,
        "compacting": 0.58,
        "retrying": 0.92,
        "shell": 0.99,
        "background": 0.97,
        "idle": 0.91,
        "interrupted": 0.96,
        "error": 0.9,
        "ended": 0.96,
        "left": 0.99,
    },
    ("2.1.325", False): {
        "all": 0.94,
        "working": 0.96,
        "tool": 0.87,
        "permission": 0.96,
        "question": 0.96,
        "plan": 0.96,
        "compacting": 0.92,
        "retrying": 0.85,
        "shell": 0.96,
        "background": 0.95,
        "idle": 0.95,
        "interrupted": 0.95,
        "error": 0.95,
        "ended": 0.95,
        "left": 0.98,
    },
    ("2.1.325", True): {
        "all": 0.93,
        "working": 0.95,
        "tool": 0.86,
        "permission": 0.96,
        "question": 0.97,
        "plan": 0.92,
        "compacting": 0.98,
        "retrying": 0.83,
        "shell": 0.95,
        "background": 0.96,
        "idle": 0.95,
        "interrupted": 0.95,
        "error": 0.95,
        "ended": 0.95,
        "left": 0.98,
    },
    ("2.1.328", False): {
        "all": 0.97,
        "working": 0.95,
        "tool": 0.96,
        "permission": 0.98,
        "question": 0.98,
        "plan": 0.98,
        "compacting": 0.92,
        "retrying": 0.9,
        "shell": 0.97,
        "background": 0.97,
        "idle": 0.98,
        "interrupted": 0.97,
        "error": 0.98,
        "ended": 0.98,
        "left": 0.99,
    },
    ("2.1.45", False): {
        "all": 0.91,
        "working": 0.93,
        "tool": 0.85,
        "permission": 0.89,
        "question": 0.95,
        "plan": 0.95,
        "compacting": 0.62,
        "retrying": 0.94,
        "shell": 0.99,
        "background": 0.93,
        "idle": 0.9,
        "interrupted": 0.91,
        "error": 0.98,
        "ended": 0.95,
        "left": 0.97,
    },
    ("2.1.45", True): {
        "all": 0.94,
        "working": 0.95,
        "tool": 0.85,
        "permission": 0.97,
        "question": 0.95,
        "plan": 0.92,
        "compacting": 0.96,
        "retrying": 0.95,
        "shell": 0.96,
        "background": 0.97,
        "idle": 0.95,
        "interrupted": 0.91,
        "error": 0.95,
        "ended": 0.95,
        "left": 0.98,
    },
}
"""The least share of time in which the board must be right, by client and hooks, and by true state."""
MAX_ABSENT_SECONDS = 0.0
IDLE = SeatFacts(True, False, False, "end_turn", False, False)
BOX = "─" * 60 + "\n❯ \n" + "─" * 60 + "\n  ? for shortcuts\n"


@cache
def judge_group(version: str, has_hooks: bool) -> list[JudgedInterval]:
    recordings = [load_recording(path) for path in RECORDINGS if path.name.startswith(f"{version}-")]
    return [interval for found in recordings if found.has_hooks == has_hooks for interval in judge(found)]


@pytest.mark.parametrize(("version", "has_hooks"), sorted(MIN_SHARES))
def test_the_board_is_right_about_recorded_clients(version: str, has_hooks: bool) -> None:
    intervals = judge_group(version, has_hooks)
    shares = {
        state: measure_share(i for i in intervals if state in ("all", i.truth.state))
        for state in MIN_SHARES[version, has_hooks]
    }
    least = MIN_SHARES[version, has_hooks]
    assert {state: share for state, share in shares.items() if share < least[state]} == {}


def test_every_recording_has_a_true_state_for_all_of_its_time() -> None:
    for path in RECORDINGS:
        recording = load_recording(path)
        truth = [*clip_truth(recording)]
        assert truth, path.name
        for session in {interval.session_id for interval in truth}:
            mine = [interval for interval in truth if interval.session_id == session]
            gaps = [after.start - before.end for before, after in pairwise(mine)]
            assert all(gap > -0.01 for gap in gaps), path.name


def test_a_state_that_is_seen_for_an_instant_belongs_to_the_next() -> None:
    seen: dict[float, TrueState] = {0.0: "working", 0.9: "working", 1.0: "idle", 1.1: "permission", 3.0: "permission"}
    assert [(i.start, i.end, i.state) for i in merge_samples([*seen.items()], "s")] == [
        (0.0, 0.95, "working"),
        (0.95, 3.0, "permission"),
    ]


def test_background_work_is_over_when_the_client_notices() -> None:
    seen: dict[float, TrueState] = {0.0: "background", 2.0: "background", 2.1: "idle", 2.6: "working", 4.0: "working"}
    assert [(i.end, i.state) for i in merge_samples([*seen.items()], "s")] == [(2.35, "background"), (4.0, "working")]


def test_a_session_that_was_resumed_is_no_longer_ended() -> None:
    ended, idle = TruthInterval(1.0, 9.0, "s", "ended"), TruthInterval(5.0, 9.0, "s", "idle")
    assert cut_overlaps([ended, idle]) == [ended._replace(end=5.0), idle]


@pytest.mark.parametrize(
    ("above", "facts", "state"),
    [
        ("❯ hello\n● Yes.\n✻ Cooked for 2s · done 3:00 PM\n", IDLE, "idle"),
        ("❯ hello\n✽ Twisting…\n", IDLE._replace(is_model_answering=True), "working"),
        ("❯ hello\n● Bash(x)\n✽ Twisting…\n", IDLE._replace(main_stop_reason="tool_use"), "tool"),
        ("❯ /compact\n✽ Compacting conversation…\n", IDLE, "compacting"),
        ("❯ hello\n✻ API error · Retrying in 1s · attempt 2/10\n", IDLE, "retrying"),
        ("❯ hello\n✽ Twisting…\n", IDLE._replace(main_stop_reason="error"), "retrying"),
        ("❯ hello\n  ⎿  Interrupted · What should Claude do instead?\n", IDLE, "interrupted"),
        ("❯ write\n● Write(notes.md)\n  ⎿  User rejected write to notes.md\n", IDLE, "interrupted"),
        ("❯ hello\n  ⎿  Interrupted · What should Claude do instead?\n❯ go on\n● Yes.\n", IDLE, "idle"),
        ("❯ hello\n  ⎿  Interrupted · What now?\n", IDLE._replace(has_command=True), "interrupted"),
        ("❯ hello\n  ⎿  API Error: 400 bad\n", IDLE, "error"),
        ("❯ hello\n● Yes.\n", IDLE._replace(has_agents=True), "background"),
        ("! sleep 3\n  ⎿  Running…\n", IDLE._replace(has_command=True), "shell"),
        ("Do you want to proceed?\n❯ 1. Yes\n  2. No\n", IDLE, "permission"),
        ("Would you like to proceed?\n❯ 1. Yes\n  2. No\n", IDLE, "plan"),
        ("Which fruit?\nEnter to select · ↑/↓ to navigate · Esc to cancel\n", IDLE, "question"),
        ("", IDLE._replace(is_alive=False), "ended"),
    ],
)
def test_the_screen_shows_the_state(above: str, facts: SeatFacts, state: TrueState) -> None:
    assert read_state(above + BOX, facts) == state


def test_a_screen_without_an_input_box_shows_nothing() -> None:
    assert read_state("starting\n", IDLE) is None
