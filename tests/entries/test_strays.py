"""Sessions of which only sub-agents are left."""

from __future__ import annotations

import os
from pathlib import Path

from turnlog.entries.agents import list_agent_files, list_stray_sessions, read_last_write_ns

ONE, TWO, THREE = (f"{number}0000000-0000-4000-8000-000000000000" for number in "123")


def write(path: Path, session: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}" if session is None else f'{{"sessionId":"{session}"}}')
    return path


def test_a_session_is_stray_if_its_file_is_missing_and_a_sub_agent_is_there(tmp_path: Path) -> None:
    write(tmp_path / f"{ONE}.jsonl")
    write(tmp_path / ONE / "subagents" / "agent-a.jsonl")
    write(tmp_path / TWO / "subagents" / "workflows" / "w" / "agent-b.jsonl")
    write(tmp_path / "agent-c.jsonl", THREE)
    nobody = write(tmp_path / "agent-d.jsonl")
    found = {item.path: [file.agent_id for file in item.agents] for item in list_stray_sessions(tmp_path)}
    assert found == {tmp_path / f"{TWO}.jsonl": ["b"], tmp_path / f"{THREE}.jsonl": ["c"], nobody: ["d"]}


def test_an_empty_session_file_is_there(tmp_path: Path) -> None:
    (tmp_path / f"{ONE}.jsonl").touch()
    write(tmp_path / ONE / "subagents" / "agent-a.jsonl")
    assert list_stray_sessions(tmp_path) == []


def test_sub_agents_in_any_folder_below_are_the_sessions_and_those_of_a_workflow_say_so(tmp_path: Path) -> None:
    for place in ("agent-a", "workflows/w/agent-b", "team/agent-c", "a/b/c/d/agent-too-deep"):
        write(tmp_path / ONE / "subagents" / f"{place}.jsonl")
    found = {file.agent_id: (file.kind, file.workflow_id) for file in list_agent_files(tmp_path / f"{ONE}.jsonl")}
    assert found == {"a": ("subagent", None), "b": ("workflow", "w"), "c": ("subagent", None)}


def test_a_session_was_written_when_its_file_was_or_else_when_its_last_sub_agent_was(tmp_path: Path) -> None:
    main = tmp_path / f"{ONE}.jsonl"
    assert read_last_write_ns(main) is None
    for name, time in (("a", 5), ("b", 9)):
        os.utime(write(tmp_path / ONE / "subagents" / f"agent-{name}.jsonl"), ns=(time, time))
    assert read_last_write_ns(main) == 9
    os.utime(write(main), ns=(3, 3))
    assert read_last_write_ns(main) == 3
