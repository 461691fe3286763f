"""`turnlog move`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from turnlog.entries.slug import make_slug

ONE, TWO = (f"0ddf00d{digit}-2222-4333-8444-5555cafe5555" for digit in "67")


class Project:
    """A project with one session."""

    def __init__(self, machine: Machine, base: Path) -> None:
        self.machine = machine
        self.old, self.new = base / "code" / "old", base / "code" / "new"
        self.old.mkdir(parents=True)
        self.session = self.add(str(self.old), ONE)

    def add(self, cwd: str, own: str) -> Path:
        line = json.dumps({"type": "user", "cwd": cwd, "message": {"content": "hello"}}).encode() + b"\n"
        return self.machine.add(own, line, slug=make_slug(cwd), mtime=1_700_000_000)

    @property
    def moved_path(self) -> Path:
        return self.machine.folder / "projects" / make_slug(str(self.new)) / f"{ONE}.jsonl"


@pytest.fixture
def project(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return Project(machine, tmp_path)


def test_the_sessions_of_a_folder_follow_it_and_come_back(turnlog: Turnlog, project: Project) -> None:
    before = project.session.read_bytes()
    done = turnlog("move", project.old, project.new)
    assert done.status == 0
    assert done.lines == [
        f"Moved 1 session: {project.old} is now {project.new}",
        f"  {project.session.parent} -> {make_slug(str(project.new))} (1 session)",
        "1 line changed in 1 file",
    ]
    assert "`turnlog undo` reverts it." in done.err
    assert json.loads(project.moved_path.read_bytes())["cwd"] == str(project.new)
    assert turnlog("undo").status == 0
    assert project.session.read_bytes() == before
    assert not project.moved_path.parent.exists()


def test_a_folder_that_is_still_in_its_old_place_is_mentioned(turnlog: Turnlog, project: Project) -> None:
    done = turnlog("move", project.old, project.new)
    assert f"The folder itself is still {project.old}; move it to {project.new} now." in done.err
    assert project.old.is_dir()
    assert not project.new.exists()


def test_paths_are_understood_as_they_are_typed(
    turnlog: Turnlog, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.old.rename(project.new)
    monkeypatch.chdir(project.new)
    monkeypatch.setenv("HOME", str(project.new.parent))
    assert turnlog("move", "~/old/", ".").status == 0
    assert project.moved_path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_link_to_the_folder_is_followed(turnlog: Turnlog, project: Project, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "code")
    assert turnlog("move", tmp_path / "link" / "old", tmp_path / "link" / "new").status == 0
    assert project.moved_path.exists()


def test_a_rehearsal_changes_nothing(turnlog: Turnlog, project: Project) -> None:
    project.add(str(project.new), TWO)
    done = turnlog("move", project.old, project.new, "--dry-run")
    assert done.status == 0
    assert done.lines[0].startswith("Would move 1 session: ")
    assert "already present; use --merge" in done.err
    assert project.session.exists()
    refused = turnlog("move", project.old, project.new)
    assert refused.status == 2
    assert "already present; use --merge to move the sessions there" in refused.err
    assert turnlog("move", project.old, project.new, "--merge").status == 0
    assert project.moved_path.exists()


def test_an_unknown_folder_is_answered_with_the_closest(turnlog: Turnlog, project: Project) -> None:
    done = turnlog("move", f"{project.old}er", project.new)
    assert done.status == 1
    assert f"no session was recorded in {project.old}er or its subfolders; closest matches: {project.old}" in done.err


@pytest.mark.parametrize("words", [(), ("/x",), ("/x", "/x"), ("/x", "/"), ("/x", "/y", "/z")])
def test_words_that_say_nothing_are_refused(turnlog: Turnlog, project: Project, words: tuple[str, ...]) -> None:
    assert turnlog("move", *words).status == 2


def test_a_machine_without_sessions_says_so(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("move", "/a", "/b")
    assert (done.status, done.err) == (1, "turnlog: no session was recorded in /a or its subfolders\n")


def test_nothing_in_a_path_acts_on_the_terminal(turnlog: Turnlog, project: Project) -> None:
    hostile = "/" + HOSTILE.replace("\ud800", "")
    project.add(hostile, TWO)
    for words in ((hostile, "/b", "--dry-run"), (hostile, "/b"), (f"{hostile}x", "/b")):
        done = turnlog("move", *words)
        assert not harmful(done.out + done.err)
    assert json.loads(turnlog("move", "/b", "/c", "--json").raw)["folders"][0]["sessions"]
