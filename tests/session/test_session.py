"""A session as an object: opened once, its views kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.build import SESSION, Build, base, find_recording, variant
from turnlog.errors import Unreadable
from turnlog.session.session import Session


def test_views_are_computed_once() -> None:
    session = base().session()
    assert session.graph is session.graph
    assert session.messages is session.messages
    assert session.turns is session.turns


def test_a_session_without_entries_has_empty_views() -> None:
    session = Session.from_bytes(b"")
    assert (session.turns, session.messages, session.calls, session.agents) == ([], [], [], [])
    assert (session.title, session.session_id, session.path) == (None, None, None)


def test_a_file_that_does_not_exist_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        Session.open(tmp_path / "none.jsonl")
    with pytest.raises(Unreadable):
        Session.open(tmp_path)


def test_closing_lets_go_of_the_sub_agents_files_too() -> None:
    session = Session.open(find_recording("2.1.325/agents"))
    assert session.usage.output_tokens
    inner = [session.open_agent_session(agent) for agent in session.agents]
    session.close()
    for closed in (session, *inner):
        with pytest.raises(ValueError, match="closed file"):
            closed.read_body(closed.entries[0])


def test_what_was_appended_is_seen_after_a_refresh(tmp_path: Path) -> None:
    build = base()
    path = build.write(tmp_path)
    with Session.open(path) as session:
        assert len(session.turns) == 3
        assert session.refresh() is False
        build.prompt("u4 text")
        build.write(tmp_path)
        assert session.refresh() is True
        assert [turn.text for turn in session.turns][-1] == "u4 text"


def test_a_refresh_looks_for_sub_agents_again(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    path = build.write(tmp_path)
    inner = tmp_path / SESSION / "subagents" / "agent-a1.jsonl"
    inner.parent.mkdir(parents=True)
    inner.write_bytes(variant("only-a-user-row").read_bytes())
    with Session.open(path) as session:
        first = session.open_agent_session(session.agents[0])
        build.result("c1", toolUseResult={"agentId": "a1"})
        build.write(tmp_path)
        assert session.refresh()
        assert session.calls[0].agent_id == "a1"
        assert session.open_agent_session(session.agents[0]) is not first


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    path = base().write(tmp_path)
    with Session.open(path) as session:
        assert len(session.turns) == 3
        fresh = Build()
        fresh.prompt("all new")
        other = fresh.write(tmp_path, "other")
        other.replace(path)
        assert session.refresh() is True
        assert [turn.text for turn in session.turns] == ["all new"]


def test_a_file_that_is_gone_leaves_what_was_read(tmp_path: Path) -> None:
    path = base().write(tmp_path)
    with Session.open(path) as session:
        path.unlink()
        assert session.refresh() is False
        assert len(session.turns) == 3


def test_a_file_with_nothing_but_a_side_chain_is_read_as_a_session() -> None:
    session = Session.from_bytes(variant("all-rows-issidechain-true").read_bytes())
    assert session.turns
    assert session.agents == []


def test_a_side_chain_beside_titles_only_is_read_as_a_session() -> None:
    build = Build()
    build.note("summary", summary="About fruit", leafUuid="x")
    build.prompt("look", isSidechain=True)
    build.answer("seen", isSidechain=True)
    session = build.session()
    assert [turn.text for turn in session.turns] == ["look"]


def test_the_leaf_is_where_the_client_would_go_on() -> None:
    assert base().session().find_leaf().uuid == "a3"


def test_a_thread_may_end_at_any_entry() -> None:
    session = base().session()
    assert [row.uuid for row in session.build_thread("a2").rows] == ["u1", "a1", "u2", "a2"]
