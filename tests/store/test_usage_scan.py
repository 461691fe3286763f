"""Usage without an index: what each process sums by itself equals what all messages together give."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.usage import totals
from turnlog.store.usage.groupings import GROUPINGS, build_usage_report
from turnlog.store.usage.memory_tables import build_usage_tables, needs_answers
from turnlog.store.usage.time_zones import TimeZone
from turnlog.store.usage.usage_reports import UsageRequest

SESSIONS = [f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in range(4)]
SUMMED_KINDS = [kind for kind, grouping in GROUPINGS.items() if kind != "session" and not grouping.counts_calls]

answers = st.fixed_dictionaries(
    {
        "key": st.sampled_from([f"msg_{number}" for number in range(6)]),
        "day": st.integers(1, 4),
        "hour": st.integers(0, 23),
        "model": st.sampled_from(["claude-opus-5", "claude-haiku-4-5", "claude-sonnet-4", "unknown-1", ""]),
        "tokens": st.tuples(*[st.integers(0, 300_000)] * 4),
        "stop": st.sampled_from([None, "end_turn"]),
        "speed": st.sampled_from([None, "fast"]),
        "version": st.sampled_from(["2.1.325", "2.1.20", "2.1.5"]),
    }
)
"""Few keys, so that many messages are in several files."""


def write_answer(answer: dict[str, Any], session: str, *, forked_from: str | None, is_sidechain: bool) -> str:
    time = f"2026-11-{answer['day']:02}T{answer['hour']:02}:30:00.000Z"
    fresh, output, read, written = answer["tokens"]
    usage = {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "speed": answer["speed"],
    }
    message = {"id": answer["key"], "role": "assistant", "model": answer["model"], "content": [], "usage": usage}
    line: dict[str, Any] = {"type": "assistant", "sessionId": session, "timestamp": time, "version": answer["version"]}
    line |= {"isSidechain": is_sidechain, "message": message | {"stop_reason": answer["stop"]}}
    if forked_from:
        line["forkedFrom"] = {"sessionId": forked_from}
    return json.dumps(line) + "\n"


@st.composite
def collections(draw: st.DrawFn) -> dict[str, str]:
    """Sessions, forks, sub-agents in their folders and loose ones, by path."""
    found: dict[str, str] = {}
    for place, session in enumerate(SESSIONS):
        names = [f"{session}.jsonl", f"{session}/subagents/agent-a{place}.jsonl", f"agent-b{place}.jsonl"]
        for name in draw(st.sets(st.sampled_from(names))):
            origin = draw(st.sampled_from([None, *SESSIONS]))
            is_agent = "agent" in name
            found[f"projects/-shop-{place % 2}/{name}"] = "".join(
                write_answer(answer, session, forked_from=origin, is_sidechain=is_agent)
                for answer in draw(st.lists(answers, max_size=6))
            )
    return found


@pytest.mark.parametrize("processes", [1, 2])
@given(data=st.data())
def test_sums_by_file_equal_those_of_all_messages(data: st.DataObject, processes: int) -> None:
    contents = data.draw(collections())
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        for path, text in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        patch.setattr(totals, "MIN_BYTES_PER_PROCESS", 1)
        patch.setattr(totals, "count_cores", lambda: processes)
        complete = build_usage_tables([folder], with_answers=True)
        quick = build_usage_tables([folder], with_answers=False)
    for kind in SUMMED_KINDS:
        for zone in ("UTC", "Europe/Berlin", "America/Los_Angeles"):
            request = UsageRequest(kind, zone=TimeZone(zone))
            assert build_usage_report(quick, request) == build_usage_report(complete, request)


def test_only_copied_messages_are_kept_one_by_one(tmp_path: Path) -> None:
    answer = {"day": 1, "hour": 1, "model": "claude-opus-5", "tokens": (1, 2, 3, 4), "stop": "end_turn"}
    answer |= {"speed": None, "version": "2.1.325"}
    for session, keys in zip(SESSIONS, (("msg_1", "msg_2"), ("msg_2", "msg_3"), ("msg_4",)), strict=False):
        lines = [write_answer(answer | {"key": key}, session, forked_from=None, is_sidechain=False) for key in keys]
        path = tmp_path / "projects" / "-shop" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))
    db = build_usage_tables([tmp_path], with_answers=False)
    assert db.execute("SELECT key, count(*) FROM answer GROUP BY 1").fetchall() == [("msg_2", 2)]
    assert build_usage_report(db, UsageRequest("daily", zone=TimeZone("UTC"))).total.messages == 4


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (UsageRequest("daily", zone=TimeZone("Europe/Berlin")), False),
        (UsageRequest("blocks", zone=TimeZone("UTC")), False),
        (UsageRequest("daily", zone=TimeZone("Asia/Kathmandu")), True),
        (UsageRequest("model", zone=TimeZone("Australia/Lord_Howe")), True),
        (UsageRequest("session", zone=TimeZone("UTC")), True),
    ],
)
def test_some_reports_need_every_message(request_: UsageRequest, expected: bool) -> None:
    assert needs_answers(request_) is expected


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such file names")
@pytest.mark.parametrize("with_answers", [True, False])
@pytest.mark.parametrize("processes", [1, 2])
def test_names_that_are_not_utf_8_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int, with_answers: bool
) -> None:
    monkeypatch.setattr(totals, "MIN_BYTES_PER_PROCESS", 1)
    monkeypatch.setattr(totals, "count_cores", lambda: processes)
    answer = {"day": 1, "hour": 1, "model": "claude-opus-5\ud800", "tokens": (1, 2, 3, 4), "stop": "end_turn"}
    answer |= {"speed": None, "version": "2.1.325"}
    for place, name in enumerate((b"-ok", b"-\xff", b"-\xfe")):
        line = write_answer(answer | {"key": f"\udfff{place}"}, SESSIONS[0], forked_from=None, is_sidechain=False)
        folder = os.fsencode(tmp_path) + b"/projects/" + name
        for file in (SESSIONS[place].encode() + b".jsonl", b"agent-\xff.jsonl"):
            path = Path(os.fsdecode(folder + b"/" + file))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line)
    db = build_usage_tables([tmp_path], with_answers=with_answers)
    assert build_usage_report(db, UsageRequest("daily", zone=TimeZone("UTC"))).total[:3] == (3, 3, 6)
