"""What holds for any JSON at all: views never raise, walking ends, and growing a file is the same as reading it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import (
    DATA,
    ROOT,
    SESSION,
    Build,
    encode_lines,
    find_recording,
    outcome,
    to_session_document,
    use,
)
from turnlog.demo import config_dir
from turnlog.errors import Refused
from turnlog.session.check import check
from turnlog.session.session import Session

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
names = st.sampled_from(
    "type subtype uuid parentUuid timestamp message content id role model usage isMeta isSidechain isCompactSummary "
    "isApiErrorMessage attachment data toolUseResult compactMetadata logicalParentUuid operation leafUuid durationMs "
    "summary customTitle aiTitle lastPrompt version sessionId cwd gitBranch requestId origin permissionMode hash tail "
    "prUrl error prompt rendered parentToolUseID agentId apiBlockIndex text tool_use_id is_error name input".split()
)
words = st.sampled_from(
    "user assistant system attachment progress last-prompt summary queue-operation api-request api-request-blob "
    "compact_boundary local_command turn_duration api_error queued_command agent_progress text tool_use tool_result "
    "thinking enqueue remove dequeue popAll Task a b c <synthetic>".split()
)
loose = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6),
    max_leaves=30,
)
entries = st.dictionaries(names, loose, max_size=8)


def realistic() -> list[dict[str, Any]]:
    """One session with something of every kind."""
    build = Build()
    build.note("summary", summary="About fruit", leafUuid="p1")
    build.note("queue-operation", operation="enqueue", content="hello")
    build.note("queue-operation", operation="dequeue")
    build.prompt(
        [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "hi"}], "p1"
    )
    build.answer({"type": "thinking", "thinking": "hm", "signature": "s"}, id="m1", usage={"output_tokens": 1})
    build.answer(use("c1", "Task", {"prompt": "look", "subagent_type": "Explore"}), id="m1", apiBlockIndex=1)
    build.progress(agentId="a1")
    build.lines[-1].update(parentToolUseID="c1", data={"type": "agent_progress", "agentId": "a1"})
    build.prompt([outcome("c1", [{"type": "text", "text": "seen"}])], toolUseResult={"agentId": "a1", "isAsync": True})
    build.attachment("queued_command", prompt="more", origin={"kind": "human"})
    build.answer("done", usage={"output_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 1}})
    build.system("turn_duration", durationMs=100)
    build.system("api_error", error={"message": "no"})
    build.answer("API Error", model="<synthetic>", isApiErrorMessage=True)
    build.boundary(preservedMessages={"anchorUuid": "s1", "uuids": ["p1"]})
    build.summary(uuid="s1")
    build.prompt("<command-name>/x</command-name>", permissionMode="plan")
    build.prompt("the text of x", isMeta=True)
    build.answer("fine")
    build.note("pr-link", prUrl="https://example.org/1")
    build.note("permission-mode", permissionMode="default")
    build.note("api-request-blob", hash="h", message={})
    build.note("api-request", id="r1", tail=["h", "unknown"])
    build.note("custom-title", customTitle="Fruit")
    build.note("last-prompt", lastPrompt="hi", leafUuid=build.last)
    return build.lines


def look_at(session: Session) -> None:
    """Ask for every view there is."""
    json.dumps(to_session_document(session))
    check(session, requests=True)
    for message in session.messages:
        session.read_content(message)
    for call in session.calls:
        session.read_detail(call)
    assert all(isinstance(url, str) for url in session.pull_requests)
    json.dumps([session.permission_modes, session.api_errors, session.context, session.git_branches, session.folders])
    assert all(item.path for item in session.files)
    for as_sent in (False, True):
        with suppress(Refused):
            json.dumps(session.conversation(as_sent=as_sent).messages)


@given(st.lists(entries | st.dictionaries(st.text(max_size=6), values, max_size=4), max_size=8))
def test_no_view_raises_on_any_json_objects(lines: list[dict[str, Any]]) -> None:
    look_at(Session.from_bytes(encode_lines(lines)))


@st.composite
def draw_damaged_session(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A realistic session in which some fields, at any depth, hold something else."""
    lines: list[dict[str, Any]] = json.loads(json.dumps(realistic()))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = draw(st.sampled_from(lines))
        while True:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
                place = place[key]
                continue
            place[key] = draw(loose | values)
            break
    return lines


@given(draw_damaged_session())
def test_no_view_raises_on_real_entries_with_fields_of_any_json(lines: list[dict[str, Any]]) -> None:
    look_at(Session.from_bytes(encode_lines(lines)))


def test_the_realistic_session_is_realistic() -> None:
    """Without this, a broken sample would make the property above prove nothing."""
    session = Session.from_bytes(encode_lines(realistic()))
    assert [turn.text for turn in session.turns] == ["hi", "/x"]
    assert session.conversation().messages
    assert session.title == "Fruit"


def spans(depth: int) -> bytes:
    deep = b"[" * depth + b"]" * depth
    first = (
        b'{"type":"user","uuid":"u","parentUuid":null,"timestamp":"2026-01-01T10:00:00Z","message":{"content":"hi"}}\n'
    )
    return first + (
        b'{"type":"assistant","uuid":"a","parentUuid":"u","timestamp":"2026-01-01T10:00:01Z","message":{"id":"m",'
        b'"content":[{"type":"tool_use","id":"c","name":"Bash","input":%s}]}}\n' % deep
    )


@pytest.mark.parametrize("depth", [10, 200, 260, 400, 900, 1100, 100_000])
def test_deep_nesting_raises_nowhere(depth: int) -> None:
    look_at(Session.from_bytes(spans(depth)))


def cuts(size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, size), max_size=6).map(sorted)


SAMPLES = [find_recording("2.1.325/tui_edge"), find_recording("2.1.45/tui_edge"), find_recording("1.0.128/agents")]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parts[-5])
@given(data=st.data())
def test_a_file_that_grew_in_any_steps_has_the_facts_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, sample: Path, data: st.DataObject
) -> None:
    whole = sample.read_bytes()
    path = tmp_path_factory.mktemp("grow") / f"{SESSION}.jsonl"
    path.write_bytes(b"")
    with Session.open(path) as growing:
        for start, end in zip([0, *(steps := data.draw(cuts(len(whole))))], [*steps, len(whole)], strict=True):
            with path.open("ab") as file:
                file.write(whole[start:end])
            growing.refresh()
            if data.draw(st.booleans()):
                to_session_document(growing)  # views that were asked for in between are not kept
        with Session.open(path) as once:
            assert to_session_document(growing) == to_session_document(once)
            assert read_conversation(growing) == read_conversation(once)


def read_conversation(session: Session) -> object:
    try:
        return session.conversation().messages
    except Refused as reason:
        return str(reason)


def every_file() -> list[Path]:
    return sorted(DATA.rglob("*.jsonl"))


@pytest.mark.parametrize("path", sorted(config_dir().rglob("*.jsonl")), ids=lambda path: path.stem)
def test_every_made_up_file_has_all_views(path: Path) -> None:
    with Session.open(path) as session:
        look_at(session)


@pytest.mark.parametrize("path", every_file(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_genuine_file_has_all_views(path: Path) -> None:
    with Session.open(path) as session:
        look_at(session)
