"""The copies of changed files, and going back to them, on real files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.agent.file_history.history import FileHistory
from turnlog.agent.file_history.restoration import describe_steps, plan_restoration, restore_files
from turnlog.agent.file_history.snapshots import Snapshots, find_next_versions, read_snapshots
from turnlog.errors import TurnlogError
from turnlog.session.session import Session

SESSION = "11111111-2222-4333-8444-555555555555"
NAMES = ("a.txt", "b.txt", "sub/c.txt")


class Project:
    """A working folder whose files are changed in turns."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        (self.root / "sub").mkdir(parents=True)
        self.lines: list[Mapping[str, Any]] = []
        self.warnings: list[str] = []
        self.folder = base / "config" / "file-history" / SESSION
        self.history = self.open_history()

    def open_history(self, snapshots: Snapshots | None = None) -> FileHistory:
        return FileHistory(self.folder, self.root, self.lines.append, self.warnings.append, snapshots)

    def write(self, name: str, text: str | None) -> None:
        """Change a file as a tool does; None deletes it, as a command does."""
        path = self.root / name
        if text is None:
            path.unlink(missing_ok=True)
            return
        self.history.keep_before_change(path, f"call-{len(self.lines)}")
        path.write_text(text)

    def read(self) -> dict[str, str]:
        return {name: (self.root / name).read_text() for name in NAMES if (self.root / name).exists()}

    def read_snapshots(self) -> Snapshots:
        data = "".join(json.dumps(line) + "\n" for line in self.lines).encode()
        return read_snapshots(Session.from_bytes(data))

    def rewind(self, prompt: str) -> None:
        steps = plan_restoration(self.history, self.read_snapshots(), prompt, lambda _: None)
        assert restore_files(self.history, steps).skipped == ()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_changed_file_goes_back_to_its_state_before_a_prompt(project: Project) -> None:
    (project.root / "a.txt").write_text("one\n")
    project.history.begin_turn("p1")
    project.write("a.txt", "two\n")
    project.write("b.txt", "new\n")
    project.history.begin_turn("p2")
    project.write("a.txt", "three\n")
    project.rewind("p2")
    assert project.read() == {"a.txt": "two\n", "b.txt": "new\n"}
    project.rewind("p1")
    assert project.read() == {"a.txt": "one\n"}


def test_the_copies_have_the_names_and_lines_of_the_real_client(project: Project) -> None:
    (project.root / "a.txt").write_text("one\n")
    project.history.begin_turn("p1")
    project.write("a.txt", "two\n")
    first, update = project.lines
    assert first["snapshot"]["trackedFileBackups"] == {}
    assert (first["messageId"], first["isSnapshotUpdate"]) == ("p1", False)
    assert (update["messageId"], update["isSnapshotUpdate"]) == ("call-1", True)
    assert update["snapshot"]["messageId"] == "p1"
    (copy,) = update["snapshot"]["trackedFileBackups"].values()
    assert list(update["snapshot"]["trackedFileBackups"]) == ["a.txt"]
    assert (project.folder / copy["backupFileName"]).read_text() == "one\n"
    assert copy["version"] == 1
    assert copy["backupFileName"].endswith("@v1")


def test_what_a_rewind_replaces_is_kept(project: Project) -> None:
    project.history.begin_turn("p1")
    project.write("a.txt", "mine\n")
    project.rewind("p1")
    assert project.read() == {}
    assert "mine\n" in [path.read_text() for path in project.folder.iterdir()]


def test_versions_of_an_abandoned_branch_are_not_used_again(project: Project) -> None:
    project.history.begin_turn("p1")
    project.write("a.txt", "1\n")
    project.history.begin_turn("p2")
    project.write("a.txt", "2\n")
    project.history.begin_turn("p3")
    before = {path.name: path.read_text() for path in project.folder.iterdir()}
    snapshots = project.read_snapshots()
    project.history = project.open_history({"p1": snapshots["p1"], **snapshots})
    project.history.begin_turn("p4")
    project.write("a.txt", "3\n")
    project.history.begin_turn("p5")
    after = {path.name: path.read_text() for path in project.folder.iterdir()}
    assert before.items() <= after.items()
    assert find_next_versions(project.read_snapshots())["a.txt"] > find_next_versions(snapshots)["a.txt"]


def test_a_file_that_a_rule_protects_is_left_alone(project: Project) -> None:
    project.history.begin_turn("p1")
    project.write("a.txt", "1\n")
    project.write("b.txt", "1\n")
    steps = plan_restoration(
        project.history, project.read_snapshots(), "p1", lambda path: "no" if path.name == "a.txt" else None
    )
    done = restore_files(project.history, steps)
    assert project.read() == {"a.txt": "1\n"}
    assert [(step.path.name, step.reason) for step in done.skipped] == [("a.txt", "no")]
    assert any("a.txt (no)" in line for line in describe_steps(steps, project.root))


def test_a_copy_that_is_gone_is_reported_and_changes_nothing(project: Project) -> None:
    (project.root / "a.txt").write_text("one\n")
    project.history.begin_turn("p1")
    project.write("a.txt", "two\n")
    for path in project.folder.iterdir():
        path.unlink()
    (step,) = plan_restoration(project.history, project.read_snapshots(), "p1", lambda _: None)
    assert (step.action, step.reason) == ("skip", "its copy is gone")


def test_a_prompt_without_copies_is_refused(project: Project) -> None:
    with pytest.raises(TurnlogError, match="no copies"):
        plan_restoration(project.history, {}, "p1", lambda _: None)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a@v1/../b", "/etc/passwd", 7, "x" * 200 + "@v1"])
def test_a_hostile_name_of_a_copy_is_ignored(name: object, project: Project) -> None:
    copy = {"backupFileName": name, "version": 1, "backupTime": ""}
    snapshot = {"messageId": "p1", "trackedFileBackups": {"a.txt": copy}, "timestamp": ""}
    project.lines.append({"type": "file-history-snapshot", "messageId": "p1", "snapshot": snapshot})
    assert project.read_snapshots() == {"p1": {}}


@pytest.mark.parametrize("snapshot", [None, 7, [], {}, {"messageId": 7}, {"messageId": "p", "trackedFileBackups": []}])
def test_broken_lines_are_no_snapshots(snapshot: object, project: Project) -> None:
    project.lines.append({"type": "file-history-snapshot", "messageId": "p", "snapshot": snapshot})
    project.lines.append({"type": "file-history-delta", "snapshotMessageId": "q", "trackingPath": "a", "backup": {}})
    assert not any(project.read_snapshots().values())


def test_a_delta_of_the_newest_client_counts(project: Project) -> None:
    project.history.begin_turn("p1")
    copy = {"backupFileName": None, "version": 1, "backupTime": "2026-01-01T00:00:00.000Z"}
    project.lines.append(
        {"type": "file-history-delta", "snapshotMessageId": "p1", "trackingPath": "b.txt", "backup": copy}
    )
    (project.root / "b.txt").write_text("new\n")
    project.rewind("p1")
    assert project.read() == {}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")
def test_work_continues_with_one_warning_when_no_copy_can_be_made(project: Project) -> None:
    project.folder.parent.mkdir(parents=True)
    project.folder.write_text("not a folder")
    (project.root / "a.txt").write_text("one\n")
    (project.root / "b.txt").write_text("one\n")
    project.history.begin_turn("p1")
    project.write("a.txt", "two\n")
    project.write("b.txt", "two\n")
    assert project.read() == {"a.txt": "two\n", "b.txt": "two\n"}
    assert len(project.warnings) == 1


CHANGES = st.lists(
    st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.sampled_from(["1\n", "2\n", "3\n4\n"])), max_size=4),
    min_size=1,
    max_size=5,
)


@given(CHANGES, st.data())
def test_any_prompt_gives_back_the_files_that_tools_changed(
    turns: list[list[tuple[str, str | None]]], data: Any
) -> None:
    """Files that only commands deleted, and no tool ever changed, have no copies; all others come back exactly."""
    with TemporaryDirectory() as base:
        project = Project(Path(base))
        (project.root / "a.txt").write_text("first\n")
        states: list[dict[str, str]] = []
        written: set[str] = set()
        for number, changes in enumerate(turns):
            project.history.begin_turn(f"p{number}")
            states.append(project.read())
            for name, text in changes:
                if text is not None or name in written:  # a command that deletes an unknown file leaves no trace
                    project.write(name, text)
                    written.add(name)
        chosen = data.draw(st.integers(0, len(turns) - 1))
        project.rewind(f"p{chosen}")
        assert project.read() == states[chosen]
