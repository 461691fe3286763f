"""Sub-agents: where their entries are, and which call started which."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import SESSION, Build, find_recording, to_session_document
from turnlog.session.session import Session

Open = Callable[[Path], Session]


def agent_file(folder: Path, name: str, **meta: Any) -> Path:
    """A sub-agent's file where the newest clients put it."""
    path = folder / SESSION / "subagents" / f"agent-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    build = Build()
    build.prompt(f"{name}, look", isSidechain=True, agentId=name)
    build.answer("seen", isSidechain=True, agentId=name, usage={"output_tokens": 5})
    path.write_bytes(build.data())
    if meta:
        path.with_name(f"agent-{name}.meta.json").write_text(json.dumps(meta))
    return path


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_recorded_agents_of_every_layout_are_joined_with_their_calls(version: str, open_session: Open) -> None:
    session = open_session(find_recording(f"{version}/agents"))
    agents = [agent for agent in session.agents if agent.kind in ("subagent", "inline")]
    assert len(agents) == 2
    assert {agent.call_id for agent in agents} == {call.id for call in session.calls}
    assert {call.agent_id for call in session.calls} == {agent.agent_id for agent in agents}
    assert all(agent.type in ("general-purpose", "Explore") for agent in agents)
    assert all(agent.description for agent in agents)
    assert all(session.open_agent_session(agent).messages for agent in agents)


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_the_calls_of_a_turn_name_their_agents(version: str, open_session: Open) -> None:
    session = open_session(find_recording(f"{version}/agents"))
    calls = [call for turn in to_session_document(session)["turns"] for call in turn["calls"]]
    assert all(call["agent_id"] for call in calls)


def test_a_side_chain_inside_the_file_is_an_agent_without_a_file(open_session: Open) -> None:
    session = open_session(find_recording("1.0.128/agents"))
    assert [agent.path for agent in session.agents] == [None, None]
    inner = session.open_agent_session(session.agents[0])
    assert inner.agents == []
    assert [turn.kind for turn in inner.turns] == ["prompt"]
    assert session.open_agent_session(session.agents[0]) is inner


def test_warm_ups_are_told_apart(open_session: Open) -> None:
    session = open_session(find_recording("2.0.76/agents"))
    assert sorted(agent.kind for agent in session.agents) == ["subagent", "subagent", "warm-up", "warm-up"]


def test_a_sub_agents_own_file_is_a_session_of_which_no_agent_is_inline(open_session: Open) -> None:
    path = next(find_recording("2.1.325/agents").parent.rglob("agent-*.jsonl"))
    session = open_session(path)
    assert session.agents == []
    assert len(session.turns) == 1


def test_the_meta_file_names_the_call_and_the_agent_above(tmp_path: Path, open_session: Open) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Agent", {"prompt": "look"})
    build.result("c1", "launched", toolUseResult={"isAsync": True})
    agent_file(tmp_path, "a1", agentType="Explore", description="Look", toolUseId="c1")
    agent_file(tmp_path, "a2", agentType="Plan", parentAgentId="a1", toolUseId="c9")
    session = open_session(build.write(tmp_path))
    first, second = session.agents
    assert (first.call_id, first.type, first.description, first.parent_agent_id) == ("c1", "Explore", "Look", None)
    assert (second.call_id, second.parent_agent_id) == ("c9", "a1")
    assert session.calls[0].agent_id == "a1"


def test_the_result_of_a_call_may_name_the_agent(tmp_path: Path, open_session: Open) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task", {"subagent_type": "Explore", "description": "Look"})
    build.result("c1", toolUseResult={"agentId": "a1"})
    build.call("c2", "Task", "odd input")
    build.result("c2", toolUseResult={"agent_id": "nobody"})
    build.call("c3", "Task")
    build.call("c4", "Bash")
    agent_file(tmp_path, "a1")
    session = open_session(build.write(tmp_path))
    (agent,) = session.agents
    assert (agent.call_id, agent.type, agent.description) == ("c1", "Explore", "Look")
    assert [call.agent_id for call in session.calls] == ["a1", "nobody", None, None]


def test_the_echo_of_an_agents_work_names_its_call(tmp_path: Path, open_session: Open) -> None:
    build = Build("2.1.45")
    build.prompt()
    build.call("c1", "Task")
    for data in ({"agentId": "a1"}, {"agentId": "a1"}, {"agentId": "nobody"}):
        build.progress()
        build.lines[-1].update(parentToolUseID="c1", data={"type": "agent_progress", **data})
    agent_file(tmp_path, "a1")
    session = open_session(build.write(tmp_path))
    assert [agent.call_id for agent in session.agents] == ["c1"]
    assert session.calls[0].agent_id == "a1"


def test_a_side_chain_is_joined_by_the_prompt_that_the_call_gave() -> None:
    build = Build("1.0.128")
    build.prompt("go")
    build.call("c1", "Task", {"prompt": "look around ", "subagent_type": "Explore"})
    build.call("c2", "Task", {"prompt": "look around "})
    build.call("c3", "Task", {"prompt": "something else"})
    build.call("c4", "Task", {})
    end = build.last
    for number in (1, 2):
        build.prompt("look around", f"s{number}", parent=None, isSidechain=True)
        build.answer("seen", isSidechain=True)
    build.answer("without a prompt", parent=None, isSidechain=True)
    build.answer("its parent is lost", parent="gone", isSidechain=True)
    build.result("c1", parent=end)
    session = build.session()
    assert [agent.call_id for agent in session.agents] == ["c1", "c2", None, None]
    assert [len(agent.inside) for agent in session.agents] == [2, 2, 1, 1]
    assert session.agents[0].type == "Explore"
    assert [call.agent_id for call in session.calls] == ["inline-1", "inline-2", None, None]


def test_parents_that_stand_in_a_sub_agents_file_are_found_there(open_session: Open) -> None:
    """2.1.29 wrote some answers of the main conversation into the file of a side work only."""
    session = open_session(find_recording("2.1.29/tui_progress"))
    (lost,) = session.graph.rows_missing_parent
    where = session.find_parents_elsewhere()
    assert lost.parent_uuid in where
    assert "prompt_suggestion" in where[lost.parent_uuid].name


def test_without_missing_parents_nothing_is_looked_for(open_session: Open) -> None:
    assert open_session(find_recording("2.1.325/agents")).find_parents_elsewhere() == {}


def test_a_missing_parent_of_a_session_with_side_chains_inside_stays_missing() -> None:
    build = Build("1.0.128")
    build.prompt("go", parent="gone")
    build.prompt("look", parent=None, isSidechain=True)
    assert build.session().find_parents_elsewhere() == {}
