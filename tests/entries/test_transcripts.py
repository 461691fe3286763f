"""Every file of a config folder that holds a part of a conversation is listed, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnlog.entries.layout import Survey
from turnlog.entries.transcript_files import TranscriptFile, is_loose_agent, list_transcripts

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
LAYOUT = {
    f"-p/{ONE}.jsonl": ("session", ONE, None),
    f"-p/{ONE}/subagents/agent-a1.jsonl": ("agent", ONE, "a1"),
    f"-p/{ONE}/subagents/workflows/w1/agent-a2.jsonl": ("agent", ONE, "a2"),
    f"-p/{ONE}/subagents/with.dot/agent-a5.jsonl": ("agent", ONE, "a5"),
    f"-p/{ONE}/tool-results/call.txt": ("output", ONE, None),
    "-p/agent-a3.jsonl": ("agent", "", "a3"),
    "-p/subagents/agent-a4.jsonl": ("agent", "", "a4"),
    f"-q/{ONE.upper()}.jsonl": ("session", ONE.upper(), None),
}
OTHER = (
    "-p/notes.jsonl",
    "-p/sessions-index.json",
    f"-p/{ONE}/custom-title.json",
    f"-p/{ONE}/subagents/agent-a1.meta.json",
    f"-p/{ONE}/subagents/a/b/c/d/agent-deep.jsonl",
    f"-p/{ONE}/other/agent-x.jsonl",
    "-p/memory/agent-x.jsonl",
    "-p/memory.d/agent-x.jsonl",
    f"{ONE}.jsonl",
)


def put(folder: Path, name: str) -> Path:
    path = folder / "projects" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}\n")
    return path


def map_transcripts(folder: Path) -> dict[str, TranscriptFile]:
    return {Path(item.path).relative_to(folder / "projects").as_posix(): item for item in list_transcripts(folder)}


def test_files_of_every_layout_are_listed_and_others_are_not(tmp_path: Path) -> None:
    for name in (*LAYOUT, *OTHER):
        put(tmp_path, name)
    found = map_transcripts(tmp_path)
    assert {name: (item.kind, item.session, item.agent) for name, item in found.items()} == LAYOUT


def test_a_listed_file_has_what_a_look_at_it_gives(tmp_path: Path) -> None:
    path = put(tmp_path, f"-p/{ONE}.jsonl")
    (item,) = list_transcripts(tmp_path)
    now = path.stat()
    assert (item.path, item.project) == (str(path), str(path.parent))
    assert (item.size, item.mtime_ns, item.inode) == (now.st_size, now.st_mtime_ns, now.st_ino)


def test_folders_that_are_named_like_files_are_none(tmp_path: Path) -> None:
    for name in (f"-p/{ONE}.jsonl", "-p/agent-a.jsonl", f"-p/{ONE}/tool-results/out.txt"):
        (tmp_path / "projects" / name).mkdir(parents=True)
    assert map_transcripts(tmp_path) == {}


def test_files_that_are_named_like_folders_are_none(tmp_path: Path) -> None:
    for name in (f"-p/{ONE}", "-p/subagents", "-q/other"):
        put(tmp_path, name)
    put(tmp_path, "-r/ffffffff-0000-4000-8000-000000000001/subagents")
    put(tmp_path, "-s/ffffffff-0000-4000-8000-000000000001/tool-results")
    assert map_transcripts(tmp_path) == {}


def test_nothing_is_listed_where_nothing_is(tmp_path: Path) -> None:
    assert list(list_transcripts(tmp_path)) == []


def test_the_folders_in_which_a_file_may_appear_are_told(tmp_path: Path) -> None:
    for name in LAYOUT:
        put(tmp_path, name)
    inner = (f"-p/{ONE}", f"-p/{ONE}/subagents", f"-p/{ONE}/subagents/workflows/w1", f"-p/{ONE}/tool-results", "-empty")
    (tmp_path / "projects" / "-empty").mkdir()
    survey = Survey()
    list(list_transcripts(tmp_path, survey))
    assert {str(tmp_path / "projects" / name) for name in ("", "-p", "-q", "-p/subagents", *inner)} <= set(
        survey.folders
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/p/agent-a.jsonl", True), ("/p/subagents/agent-a.jsonl", True), (f"/p/{ONE}/subagents/agent-a.jsonl", False)],
)
def test_a_loose_agent_lies_beside_the_sessions(path: str, expected: bool) -> None:
    assert is_loose_agent(path.replace("/", os.sep), f"{os.sep}p") is expected


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_linked_files_are_listed_and_linked_folders_are_not_entered(tmp_path: Path) -> None:
    real = put(tmp_path, "-p/../../real.jsonl")
    project = tmp_path / "projects" / "-p"
    (project / f"{ONE}.jsonl").symlink_to(real)
    (project / f"{ONE}").symlink_to(project)
    (project / "subagents").symlink_to(project)
    assert set(map_transcripts(tmp_path)) == {f"-p/{ONE}.jsonl"}


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_links_that_lead_nowhere_or_in_circles_are_not_listed(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    (project / f"{ONE}.jsonl").symlink_to(project / "nowhere")
    (project / "agent-loop.jsonl").symlink_to(project / "agent-loop.jsonl")
    assert map_transcripts(tmp_path) == {}
