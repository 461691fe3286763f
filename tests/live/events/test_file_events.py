"""The events of files on disk: a session with its sub-agents, in the order of time, whatever the files contain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.live.session_moves import agent_lines, agent_path, session_path
from tests.session.build import SESSION, Build
from turnlog.entries.reader import Transcript
from turnlog.errors import Unreadable
from turnlog.live.events.event import AnyEvent, ToolCalled
from turnlog.live.events.file_events import iter_file_events, iter_session_events
from turnlog.session.session import Session


def to_tag(event: AnyEvent) -> str:
    return str(event.__struct_config__.tag)


@pytest.mark.parametrize("layout", ["nested", "workflow", "loose", "beside"])
def test_the_sub_agents_of_every_layout_take_part(layout: str, tmp_path: Path) -> None:
    build = Build()
    build.prompt("go")
    path = session_path(tmp_path)
    path.write_bytes(build.data())
    agent_path(path, "a1", layout).write_bytes(agent_lines("a1", 3))
    events = list(iter_session_events(path))
    assert {event.session for event in events} == {SESSION}
    assert [(event.actor, to_tag(event)) for event in events if event.actor != "main"] == [
        ("a1", "prompt"),
        ("a1", "call"),
        ("a1", "result"),
    ]


def test_events_of_all_files_are_in_the_order_of_time_and_those_of_one_file_in_its_own(tmp_path: Path) -> None:
    build, agent = Build(step=10), Build(step=7)
    for number in range(5):
        build.prompt(f"p{number}", **({"timestamp": None} if number == 2 else {}))
        agent.prompt(f"a{number}")
    path = session_path(tmp_path)
    path.write_bytes(build.data())
    agent_path(path, "x", "nested").write_bytes(agent.data())
    texts = [event.text for event in iter_session_events(path) if to_tag(event) == "prompt"]  # type: ignore[union-attr]
    assert texts == ["a0", "p0", "a1", "p1", "p2", "a2", "a3", "a4", "p3", "p4"]


def test_the_clients_own_side_work_is_no_event_of_the_session(tmp_path: Path) -> None:
    build = Build()
    build.prompt("summarise")
    path = session_path(tmp_path)
    path.write_bytes(b"")
    agent_path(path, "acompact-0123ab", "nested").write_bytes(build.data())
    assert list(iter_session_events(path)) == []


def test_a_sub_agents_own_file_can_be_read_alone(tmp_path: Path) -> None:
    path = agent_path(session_path(tmp_path), "a1", "nested")
    path.write_bytes(agent_lines("a1", 3))
    assert {(event.session, event.actor) for event in iter_session_events(path)} == {(SESSION, "a1")}


def test_a_sub_agent_that_is_called_main_is_not_the_session(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.write_bytes(b"")
    agent_path(path, "main", "nested").write_bytes(agent_lines("main", 3))
    assert {event.actor for event in iter_session_events(path)} == {"agent-main"}


def test_a_last_line_without_a_line_end_counts_if_it_is_complete(tmp_path: Path) -> None:
    build = Build()
    build.prompt("go")
    build.answer("done")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(build.data().rstrip(b"\n"))
    assert [to_tag(event) for event in iter_file_events(path, SESSION)][-2:] == ["text", "turn-finish"]
    path.write_bytes(build.data()[:-9])
    assert [to_tag(event) for event in iter_file_events(path, SESSION)] == ["session-start", "prompt"]


def test_a_session_may_have_more_sub_agents_than_files_can_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = session_path(tmp_path)
    path.write_bytes(b"")
    for number in range(120):
        build = Build()
        build.wait(number * 1000)
        build.prompt("explore")
        build.answer("done")
        agent_path(path, f"a{number}", "nested").write_bytes(build.data())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (tmp_path / "next").open("wb") as file:
        used = file.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, before[1]))
    try:
        events = list(iter_session_events(path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len({event.actor for event in events}) == 120


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"nowhere\.jsonl"):
        list(iter_session_events(tmp_path / "nowhere.jsonl"))
    with pytest.raises(Unreadable, match="not a regular file"):
        list(iter_session_events(tmp_path))


def test_the_file_of_a_sub_agent_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    build = Build()
    build.prompt("go")
    path = session_path(tmp_path)
    path.write_bytes(build.data())
    agent_path(path, "a1", "nested").symlink_to(tmp_path / "gone")
    agent_path(path, "a2", "nested").write_bytes(agent_lines("a2", 1))
    assert {event.actor for event in iter_session_events(path)} == {"main", "a2"}


# -- the corpus


@pytest.mark.corpus
def test_every_file_of_the_corpus_has_events_that_agree_with_its_meaning(corpus: Path) -> None:
    kinds: Counter[str] = Counter()
    for path in sorted(corpus.rglob("*.jsonl")):
        if path.parent == corpus:  # what others found in it
            continue
        events = list(iter_file_events(path, path.stem))
        for event in events:
            kinds[to_tag(event)] += 1
            assert msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event
        calls = Counter(event.call for event in events if isinstance(event, ToolCalled))
        assert set(calls.values()) <= {1}, path
        assert set(list_call_ids(path)) <= set(calls), path
        check_balance(events, path)
    assert min(kinds[name] for name in ("prompt", "call", "result", "text", "think", "turn-finish", "error")) > 100
    assert min(kinds[name] for name in ("agent-start", "agent-finish", "compaction", "interrupt", "ship")) > 5


def list_call_ids(path: Path) -> list[str]:
    """Return the ids of all calls in a file, except those without one."""
    file = Transcript.open(path)
    try:
        return [
            block.id
            for entry in file.entries
            if entry.type == "assistant" and entry.message is not None and not entry.is_api_error_message
            if entry.message.model != "<synthetic>"
            for block in entry.message.blocks
            if block.type == "tool_use" and block.id
        ]
    finally:
        file.close()


def check_balance(events: list[AnyEvent], path: Path) -> None:
    """Check that nothing ends more often than it started."""
    names = Counter((to_tag(event), event.actor) for event in events)
    for actor in {event.actor for event in events}:
        assert names["agent-finish", actor] <= names["agent-start", actor], path
        background = sum(to_tag(e) == "result" and e.outcome == "background" and e.actor == actor for e in events)  # type: ignore[union-attr]
        assert names["result", actor] <= names["call", actor] + background, path
    assert names["session-start", "main"] <= 1, path


@pytest.mark.corpus
def test_the_prompts_of_the_recorded_sessions_are_those_that_start_their_turns(corpus: Path) -> None:
    for path in sorted((corpus / "lab").rglob("????????-*.jsonl")):
        with Session.open(path) as session:
            typed = [turn.text[:2000] for turn in session.turns if turn.kind == "prompt"]
            further = [text[:2000] for turn in session.turns for text in turn.further]
        events = [e for e in iter_file_events(path, path.stem) if to_tag(e) == "prompt" and e.actor == "main"]
        assert Counter(event.text for event in events) == Counter(typed + further), path  # type: ignore[union-attr]
