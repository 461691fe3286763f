"""Work on many sessions lists their folder once."""

from __future__ import annotations

from pathlib import Path

from turnlog.entries.agents import list_folders_once, list_loose_agents

LINE = '{"type":"user","sessionId":"%s","isSidechain":true}\n'


def add_agent(folder: Path, name: str) -> None:
    (folder / f"agent-{name}.jsonl").write_text(LINE % "s1")


def list_names(folder: Path) -> list[str]:
    return [agent.agent_id for agents in list_loose_agents(folder).values() for agent in agents]


def test_a_folder_is_listed_again_only_after_the_work(tmp_path: Path) -> None:
    add_agent(tmp_path, "a")
    with list_folders_once():
        assert list_names(tmp_path) == ["a"]
        add_agent(tmp_path, "b")
        with list_folders_once():
            assert list_names(tmp_path) == ["a"]
        assert list_names(tmp_path) == ["a"]
    assert list_names(tmp_path) == ["a", "b"]
