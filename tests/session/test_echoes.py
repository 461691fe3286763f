"""Sub-agents whose own files are missing, as far as progress entries repeat them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import SESSION, Build, to_session_document, use
from turnlog.session.session import Session
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.store.usage.memory_tables import build_usage_tables
from turnlog.store.usage.usage_sums import sum_whole_sessions

Open = Callable[[Path], Session]
USAGE = {"input_tokens": 3, "output_tokens": 5}


def echo(build: Build, message: Any, *, agent: str | None = "a1", call: str | None = "c1") -> None:
    """A progress entry that repeats a line of a sub-agent."""
    build.progress()
    data = {"message": message, "type": "agent_progress", "prompt": "look", "agentId": agent}
    build.lines[-1].update(parentToolUseID=call, data=data)


def answer(key: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    content = blocks or [{"type": "text", "text": "seen"}]
    said = {"id": key, "model": "claude-opus-5", "role": "assistant", "content": content, "usage": USAGE}
    return {"type": "assistant", "message": {**said, "stop_reason": "end_turn"}, "uuid": f"u-{key}"}


def session_with_echoes(folder: Path) -> Path:
    build = Build()
    build.prompt("Find the bug")
    build.call("c1", "Task", {"prompt": "look", "description": "Look closely", "subagent_type": "Explore"})
    echo(build, {"type": "user", "message": {"role": "user", "content": "look"}, "uuid": "x"})
    echo(build, answer("m1", use("inner", "Read", {"file_path": "/a"})))
    echo(build, answer("m1", use("inner", "Read", {"file_path": "/a"})))
    echo(build, answer("m2"))
    build.result("c1", "done")
    path = folder / "projects" / "-p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(build.data())
    return path


def test_a_sub_agent_without_a_file_is_listed_as_incomplete(tmp_path: Path, open_session: Open) -> None:
    session = open_session(session_with_echoes(tmp_path))
    (agent,) = session.agents
    assert (agent.agent_id, agent.call_id, agent.path, agent.is_incomplete) == ("a1", "c1", None, True)
    assert (agent.type, agent.description, agent.kind) == ("Explore", "Look closely", "subagent")
    inner = session.open_agent_session(agent)
    assert [turn.text for turn in inner.turns] == ["look"]
    assert [message.key for message in inner.messages] == ["m1", "m2"]
    assert [call.name for call in inner.calls] == ["Read"]
    assert inner.read_content(inner.messages[1]) == [{"type": "text", "text": "seen"}]
    assert inner.title == "look"
    assert to_session_document(session)["agents"][0]["incomplete"] is True


def test_its_usage_is_the_sessions_here_and_in_the_index(tmp_path: Path, open_session: Open) -> None:
    session = open_session(session_with_echoes(tmp_path))
    usage = session.usage
    (whole,) = sum_whole_sessions(build_usage_tables([tmp_path])).values()
    assert (usage.input_tokens, usage.output_tokens) == (whole.input, whole.output)
    assert usage.output_tokens == 10 + sum(m.tokens.output for m in session.messages if m.tokens)
    assert usage.cost_usd == pytest.approx(whole.cost / 1e12)


def test_its_timeline_is_read_from_the_sessions_file(tmp_path: Path, open_session: Open) -> None:
    session = open_session(session_with_echoes(tmp_path))
    made = build_timeline(session)
    assert [(helper.agent_id, helper.calls, helper.incomplete) for helper in made.head.agents] == [("a1", 1, True)]
    inner = build_timeline(session.open_agent_session(session.agents[0]))
    assert [item.kind for item in inner.items] == ["prompt", "answer", "answer"]


def test_a_sub_agent_with_a_file_is_complete(tmp_path: Path, open_session: Open) -> None:
    path = session_with_echoes(tmp_path)
    own = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    own.parent.mkdir(parents=True)
    build = Build()
    build.prompt("look", isSidechain=True)
    own.write_bytes(build.data())
    (agent,) = open_session(path).agents
    assert (agent.path, agent.is_incomplete) == (own, False)


@pytest.mark.parametrize("message", [None, "text", [], {}, 7])
def test_a_progress_entry_without_a_line_tells_of_no_sub_agent(message: Any) -> None:
    build = Build()
    build.prompt("Find the bug")
    echo(build, message if message != {} else None, agent="a2", call=None)
    echo(build, answer("m1"), agent=None, call=None)
    build.progress()
    build.lines[-1]["data"] = {"type": "agent_progress", "agentId": 5}
    assert build.session().agents == []


def test_echoes_without_an_agents_id_belong_to_their_call() -> None:
    build = Build()
    build.prompt("Find the bug")
    echo(build, answer("m1"), agent=None, call="c7")
    (agent,) = build.session().agents
    assert (agent.agent_id, agent.call_id) == ("c7", "c7")
