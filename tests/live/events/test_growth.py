"""The events of a growing file are those of the whole file, whatever it contains and however it is written."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entries.strategies import files
from tests.live.events.event_list import GrowingReader, read_events
from tests.live.session_moves import MOVES, append, write_moves
from tests.session.build import SESSION, find_recording
from turnlog.live.events.event import AnyEvent
from turnlog.live.events.file_events import iter_file_events

STRANGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "x", "é\U0001f600", "\ud800", "main", "c1", "2026-01-01T10:00:00.000Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
NOTICES = [
    f"<task-notification><task-id>{task}</task-id><status>{status}</status></task-notification>"
    for task, status in [("t1", "completed"), ("c1", "failed"), ("t1", "running")]
]
TEXTS = ["go", "ultrathink", "[Request interrupted by user]", "Exit code 1\n", "Task #1 created", *NOTICES]
IDS = ["c1", "c2", "c3"]
UUIDS = ["u1", "u2", "u3", "u4", "u5", "u6"]
INPUTS = [
    {"command": "git push"},
    {"todos": [{"content": "x", "status": "completed"}, 7]},
    {"taskId": "1", "status": "deleted"},
    {"taskId": 1, "subject": "y"},
    {"task_id": "t1"},
    {"questions": [{"question": "?"}, None]},
    {"plan": "p"},
]
RECORDS = [
    {"isAsync": True, "agentId": "t1"},
    {"backgroundTaskId": "t1"},
    {"interrupted": True},
    {"task": {"id": "1"}},
    {"tasks": [{"id": 1, "subject": "z"}, []]},
    {"status": "completed"},
    "Error: Exit code 1",
    [],
]
USUAL: dict[str, list[Any]] = {
    "text": TEXTS,
    "thinking": ["hm", "x" * 5000],
    "id": IDS,
    "name": ["Bash", "Task", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskStop", "AskUserQuestion", "ExitPlanMode"],
    "input": INPUTS,
    "tool_use_id": IDS,
    "content": TEXTS,
    "is_error": [True, False],
    "model": ["claude-opus-5", "<synthetic>"],
    "stop_reason": ["end_turn", None],
    "usage": [{"input_tokens": 5}, {"input_tokens": 10**20, "output_tokens_details": {"thinking_tokens": 5000}}],
    "uuid": UUIDS,
    "parentUuid": UUIDS,
    "isSidechain": [False, True],
    "agentId": ["a1", "main"],
    "timestamp": ["2026-01-01T10:00:00.000Z", "2026-01-01T12:00:00+05:00", "Thu, 1 Jan 2026 10:00:00 GMT"],
    "isMeta": [False],
    "isCompactSummary": [False, True],
    "subtype": ["turn_duration", "api_error", "compact_boundary"],
    "isApiErrorMessage": [False, True],
    "toolUseResult": RECORDS,
    "attachment": [{"type": "queued_command", "prompt": text} for text in TEXTS],
    "operation": ["enqueue", "dequeue", "remove", "popAll"],
    "prUrl": ["https://example.org/pull/1"],
    "requestDigest": ["d1"],
    "durationMs": [9000],
    "compactMetadata": [{"trigger": "auto", "preTokens": 5}],
}


def strange_object(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object whose fields usually have the right type."""
    fields = {name: st.sampled_from(USUAL[name] * 4 + [None]) | STRANGE if name in USUAL else STRANGE for name in names}
    return st.fixed_dictionaries({}, optional=fields)


BLOCKS = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(
        "text thinking redacted_thinking tool_use tool_use tool_result tool_result server_tool_use"
        " web_search_tool_result image new".split()
    ),
    strange_object("text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error"),
)
MESSAGES = st.builds(
    lambda content, rest: {**rest, "content": content},
    st.lists(BLOCKS, max_size=3) | st.lists(STRANGE, max_size=2) | st.sampled_from(TEXTS) | STRANGE,
    strange_object("id", "model", "stop_reason", "usage"),
)
ENTRIES = st.builds(
    lambda kind, rest, message: {**rest, "type": kind, **({} if message is None else {"message": message})},
    st.sampled_from("user user assistant assistant system attachment queue-operation pr-link api-request new".split()),
    strange_object(
        "uuid", "parentUuid", "isSidechain", "agentId", "timestamp", "cwd", "isMeta", "isCompactSummary", "subtype",
        "isApiErrorMessage", "toolUseResult", "toolDenialKind", "attachment", "operation", "content", "prUrl", "error",
        "requestDigest", "durationMs", "compactMetadata", "apiBlockIndex", "version", "retryAttempt", "origin",
    ),
    st.none() | MESSAGES,
)  # fmt: skip
STRANGE_FILES = st.lists(ENTRIES, max_size=12).map(
    lambda rows: b"".join(json.dumps(row).encode() + b"\n" for row in rows)
)
FILES = st.builds(write_moves, MOVES) | files | STRANGE_FILES


def encode(events: list[AnyEvent]) -> list[bytes]:
    return [msgspec.json.encode(event) for event in events]


@settings(max_examples=300, deadline=None)
@given(data=FILES, sizes=st.lists(st.integers(1, 700), max_size=30), limit=st.sampled_from([1, 100, 1 << 20]))
def test_however_a_file_grows_its_events_are_those_of_the_whole(data: bytes, sizes: list[int], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{SESSION}.jsonl"
        path.touch()
        reader, done = GrowingReader(path), 0
        for size in [*sizes, len(data)]:
            append(path, data[done : done + size])
            done += size
            reader.poll(limit)
            complete = data[:done][: data[:done].rfind(b"\n") + 1]
            assert encode(reader.events) == encode(read_events(complete))
        if data.endswith(b"\n"):
            assert encode(reader.events) == encode(list(iter_file_events(path, SESSION)))


@settings(max_examples=200, deadline=None)
@given(data=FILES, cut=st.integers(0, 5000))
def test_the_events_of_the_start_of_a_file_are_the_first_events_of_the_file(data: bytes, cut: int) -> None:
    lines = data.splitlines(keepends=True)
    start = b"".join(lines[: cut % (len(lines) + 1)])
    first = encode(read_events(start)) if start.endswith(b"\n") else []
    assert encode(read_events(data))[: len(first)] == first


@settings(max_examples=300, deadline=None)
@given(data=FILES, actor=st.sampled_from(["main", "a1", "\ud800"]))
def test_nothing_that_a_file_can_contain_makes_it_fail_and_every_event_can_be_encoded(data: bytes, actor: str) -> None:
    for event in read_events(data, actor):
        assert msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event


@pytest.mark.parametrize("name", ["2.1.325/tools", "2.1.45/tools", "2.0.76/tools", "1.0.128/tools"])
def test_a_recorded_session_that_grows_byte_by_byte_has_the_same_events(name: str, tmp_path: Path) -> None:
    data = find_recording(name).read_bytes()
    path = tmp_path / f"{SESSION}.jsonl"
    path.touch()
    reader = GrowingReader(path)
    for start in range(0, len(data), 997):
        append(path, data[start : start + 997])
        reader.poll()
    assert encode(reader.events) == encode(read_events(data))
    assert len(reader.events) > 10


def test_characters_that_are_cut_in_the_middle_of_their_bytes_arrive_whole(tmp_path: Path) -> None:
    line = json.dumps(
        {"type": "user", "uuid": "u", "message": {"role": "user", "content": "füge 😀 hinzu"}}, ensure_ascii=False
    ).encode()
    path = tmp_path / f"{SESSION}.jsonl"
    path.touch()
    reader = GrowingReader(path)
    for byte in line + b"\n":
        append(path, bytes([byte]))
        reader.poll()
    assert reader.events[-1].text == "füge 😀 hinzu"  # type: ignore[union-attr]
