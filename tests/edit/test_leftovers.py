"""What is left of sessions whose transcript is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.session.build import SESSION, base
from turnlog.edit.illnesses.lost_transcripts import find_kin_sessions, list_leftovers
from turnlog.entries.layout import list_session_files

GONE = "aaaaaaaa-0000-4000-8000-000000000001"
OTHER = "bbbbbbbb-0000-4000-8000-000000000002"


def history(folder: Path, *rows: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def build_history_entry(text: str, session: Any = GONE, time: Any = 1_767_261_600_000, **fields: Any) -> dict[str, Any]:
    return {"display": text, "timestamp": time, "project": "/home/dana/shop", "sessionId": session, **fields}


def test_a_machine_without_traces_has_no_leftovers(tmp_path: Path) -> None:
    assert list_leftovers(tmp_path) == []


def test_prompts_of_a_session_without_a_transcript_are_left(tmp_path: Path) -> None:
    history(
        tmp_path,
        build_history_entry("one"),
        build_history_entry("two", time=1_767_261_700_000),
        build_history_entry("x", OTHER),
        {"display": "old"},
    )
    project = tmp_path / "projects" / "-home-dana-shop"
    project.mkdir(parents=True)
    base().write(project, OTHER)
    (item,) = list_leftovers(tmp_path)
    assert (item.session_id, item.project, item.project_dir) == (GONE, "/home/dana/shop", project)
    assert [one.text for one in item.typed] == ["one", "two"]
    assert (item.file_count, str(item.last_typed_at)) == (0, "2026-01-01 10:01:40+00:00")


def test_pasted_texts_stand_in_their_place(tmp_path: Path) -> None:
    pasted = {"1": {"type": "text", "content": "long"}, "2": {"contentHash": "x"}, "3": 5}
    words = "see [Pasted text #1 +9 lines] and [Pasted text #2] and [Pasted text #3] [Pasted text #4]"
    history(tmp_path, build_history_entry(words, pastedContents=pasted), build_history_entry("b", pastedContents=[]))
    (item,) = list_leftovers(tmp_path)
    assert item.typed[0].text == "see long and [Pasted text #2] and [Pasted text #3] [Pasted text #4]"


def test_odd_lines_of_the_history_do_no_harm(tmp_path: Path) -> None:
    odd = [
        build_history_entry("a", session=5),
        build_history_entry("b", session="../x"),
        {"sessionId": GONE, "display": 5},
    ]
    history(tmp_path, *odd, {"sessionId": GONE, "display": "c", "timestamp": "x", "project": 5})
    (item,) = list_leftovers(tmp_path)
    assert [one.text for one in item.typed] == ["c"]
    assert (item.project, item.project_dir, item.last_typed_at) == (None, None, None)


def test_files_that_carry_the_id_are_left(tmp_path: Path) -> None:
    (tmp_path / "file-history" / GONE).mkdir(parents=True)
    (tmp_path / "file-history" / GONE / "abc@v1").write_text("x")
    (tmp_path / "todos").mkdir()
    (tmp_path / "todos" / f"{OTHER}-agent-{OTHER}.json").write_text("[]")
    (tmp_path / "todos" / "notes.json").write_text("[]")
    (tmp_path / "session-env" / "cccccccc-0000-4000-8000-000000000003").mkdir(parents=True)
    found = {item.session_id: item for item in list_leftovers(tmp_path)}
    assert found.keys() == {GONE, OTHER}
    assert found[GONE].file_count == found[OTHER].file_count == 1
    assert found[GONE].last_typed_at is None


def test_the_folder_of_a_session_and_loose_sub_agents_tell_its_project(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-home-dana-shop"
    agents = project / GONE / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a1.jsonl").write_text("{}\n")
    row = {"type": "user", "isSidechain": True, "sessionId": OTHER, "message": {"content": "do it"}}
    (project / "agent-b2.jsonl").write_text(json.dumps(row, separators=(",", ":")) + "\n")
    warm = {**row, "sessionId": SESSION, "message": {"content": "Warmup"}}
    (project / "agent-c3.jsonl").write_text(json.dumps(warm, separators=(",", ":")) + "\n")
    (project / "agent-d4.jsonl").write_text("{}\n")
    found = {item.session_id: item for item in list_leftovers(tmp_path)}
    assert found.keys() == {GONE, OTHER}
    assert all(item.project_dir == project for item in found.values())
    assert [path.name for path in found[OTHER].rest.loose_agents] == ["agent-b2.jsonl"]


def test_the_newest_come_first(tmp_path: Path) -> None:
    history(tmp_path, build_history_entry("a"), build_history_entry("b", OTHER, 1_767_261_900_000))
    assert [item.session_id for item in list_leftovers(tmp_path)] == [OTHER, GONE]


def test_sessions_with_entries_of_it_are_its_kin(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-home-dana-shop"
    project.mkdir(parents=True)
    copied = base()
    for line in copied.lines[:2]:
        line["sessionId"] = GONE
    copied.write(project, "cccccccc-0000-4000-8000-000000000003")
    forked = base()
    forked["u1"]["forkedFrom"] = {"sessionId": GONE, "messageUuid": "x"}
    forked.write(project, "dddddddd-0000-4000-8000-000000000004")
    mentioned = base()
    mentioned.prompt(f"what was {GONE}?")
    mentioned.write(project, "eeeeeeee-0000-4000-8000-000000000005")
    base().write(project, "ffffffff-0000-4000-8000-000000000006")
    assert [(one.path.stem[:4], one.entries) for one in find_kin_sessions(GONE, list_session_files(tmp_path))] == [
        ("cccc", 2),
        ("dddd", 1),
    ]


def test_a_file_that_vanishes_meanwhile_is_passed_over(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    copied = base()
    copied["u1"]["sessionId"] = GONE
    path = copied.write(project)
    listed = list(list_session_files(tmp_path))
    path.unlink()
    assert find_kin_sessions(GONE, listed) == []


def test_copies_that_a_killed_turnlog_has_left_are_no_lost_session(tmp_path: Path) -> None:
    outputs = tmp_path / "projects" / "-home-dana-shop" / GONE / "tool-results"
    outputs.mkdir(parents=True)
    (outputs / "t1.txt").write_text("copy")
    assert [item.session_id for item in list_leftovers(tmp_path)] == [GONE]
    (outputs.parents[1] / f".turnlog-making-{GONE}").touch()
    assert list_leftovers(tmp_path) == []
