"""Wakes: what the hook has left, as a worker finds it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from turnlog.trace.wakes import (
    WakeCount,
    announce_worker,
    count_wakes,
    list_waiting_wakes,
    remove_wakes,
    set_wakes_aside,
)

NOW = time.time_ns()


def leave(folder: Path, said: Any, *, mark: str = "m", made: int = NOW, head: bytes | None = None) -> Path:
    """Leave a wake as the hook does."""
    path = folder / "wakes" / f"{made:020d}-7.wake"
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    path.write_bytes((ascii((1, mark, [], [])).encode() if head is None else head) + b"\n" + raw)
    return path


def test_wakes_are_read_in_the_order_in_which_they_were_left(tmp_path: Path) -> None:
    agent = {"agent_id": "a1", "agent_transcript_path": str(tmp_path / "s/subagents/agent-a1.jsonl")}
    path = {"transcript_path": str(tmp_path / "s.jsonl"), "session_id": "s"}
    leave(tmp_path, {**path, "hook_event_name": "Stop", "last_assistant_message": "Done.", "prompt_id": "p"}, made=NOW)
    leave(tmp_path, {**path, "hook_event_name": "SubagentStop", **agent}, made=NOW - 1)
    first, second = list_waiting_wakes(tmp_path, "m")
    assert (first.event, first.agent_id, first.answer) == ("SubagentStop", "a1", None)
    assert first.agent_transcript == tmp_path / "s/subagents/agent-a1.jsonl"
    assert (second.event, second.answer, second.prompt_id, second.session_id) == ("Stop", "Done.", "p", "s")
    assert second.transcript == tmp_path / "s.jsonl"
    assert second.agent_transcript is None


BROKEN: list[Any] = [
    b"",
    b"nonsense",
    [],
    {},
    {"transcript_path": 1},
    {"transcript_path": "relative.jsonl"},
    {"transcript_path": "/etc/passwd"},
    {"transcript_path": "/a\0.jsonl"},
    b'{"transcript_path": "/\\ud800.jsonl"}',
]


@pytest.mark.parametrize("said", BROKEN)
def test_a_broken_wake_is_set_aside_and_counted(tmp_path: Path, said: Any) -> None:
    path = leave(tmp_path, said)
    content = path.read_bytes()
    assert list_waiting_wakes(tmp_path, "m") == []
    assert count_wakes(tmp_path) == WakeCount(waiting=0, broken=1)
    assert (tmp_path / "broken" / path.name).read_bytes() == content


HEADS = [b"", b"x", b"(", b"1", b"(1, 2)", b"(2, 'm', [], [])", b"(1, 'm', ['x'], [])", b"(" * 70_000, b"\xff"]


@pytest.mark.parametrize("head", HEADS)
def test_a_first_line_that_is_not_the_hooks_makes_it_broken(tmp_path: Path, head: bytes) -> None:
    leave(tmp_path, {"transcript_path": str(tmp_path / "s.jsonl")}, head=head)
    assert list_waiting_wakes(tmp_path, "m") == []
    assert count_wakes(tmp_path).broken == 1


def test_a_wake_of_other_surroundings_stays_until_somebody_of_those_comes(tmp_path: Path) -> None:
    leave(tmp_path, {"transcript_path": str(tmp_path / "s.jsonl")}, mark="other")
    assert list_waiting_wakes(tmp_path, "m") == []
    assert count_wakes(tmp_path) == WakeCount(waiting=1, broken=0)
    assert len(list_waiting_wakes(tmp_path, "other")) == 1


def test_a_wake_of_other_surroundings_does_not_stay_for_ever(tmp_path: Path) -> None:
    leave(tmp_path, {"transcript_path": str(tmp_path / "s.jsonl")}, mark="other", made=NOW - 31 * 86400 * 10**9)
    assert list_waiting_wakes(tmp_path, "m") == []
    assert count_wakes(tmp_path) == WakeCount(waiting=0, broken=0)


def test_a_served_wake_goes_and_one_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    leave(tmp_path, {"transcript_path": str(tmp_path / "s.jsonl")})
    wakes = list_waiting_wakes(tmp_path, "m")
    remove_wakes(wakes)
    remove_wakes(wakes)
    set_wakes_aside(wakes, tmp_path)
    assert count_wakes(tmp_path) == WakeCount(0, 0)


def test_only_so_many_broken_wakes_are_kept(tmp_path: Path) -> None:
    for number in range(103):
        leave(tmp_path, b"", made=NOW + number)
    list_waiting_wakes(tmp_path, "m")
    assert count_wakes(tmp_path).broken == 100
    assert not (tmp_path / "broken" / f"{NOW:020d}-7.wake").exists()


def test_what_a_killed_hook_left_is_swept_away_after_a_while(tmp_path: Path) -> None:
    old, young = (tmp_path / "wakes" / name for name in ("1-1.tmp", "2-2.tmp"))
    old.parent.mkdir()
    old.touch()
    young.touch()
    os.utime(old, (1_700_000_000, 1_700_000_000))
    assert list_waiting_wakes(tmp_path, "m") == []
    assert not old.exists()
    assert young.exists()


def test_a_worker_that_is_here_says_so(tmp_path: Path) -> None:
    announce_worker(tmp_path, "m")
    (tmp_path / "wakes").mkdir()
    (tmp_path / "wakes" / "starting-m").touch()
    announce_worker(tmp_path, "m")
    assert list((tmp_path / "wakes").iterdir()) == []
