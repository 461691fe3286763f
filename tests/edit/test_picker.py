"""Symptoms in the place of a session: its folder, its name, the client's lists, the client's state."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import SESSION, Build, base
from turnlog.edit.illnesses.files import diagnose_state_file
from turnlog.edit.illnesses.illness import Symptom
from turnlog.edit.illnesses.picker import diagnose_surroundings
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.slug import make_slug
from turnlog.session.session import Session

Opened = Callable[[Path], Session]


class Home:
    """A config folder with one project whose working folder exists."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "webshop"
        self.cwd.mkdir()
        self.project = folder / "claude" / "projects" / make_slug(str(self.cwd))
        self.project.mkdir(parents=True)

    def write(self, build: Build, name: str = SESSION, project: Path | None = None, **fields: Any) -> Path:
        for line in build.lines:
            if "cwd" in line:
                line["cwd"] = str(self.cwd)
            line.update(fields)
        return build.write(project or self.project, name)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def diagnose(session: Session) -> dict[str, Symptom]:
    return {symptom.kind: symptom for symptom in diagnose_surroundings(session)}


def test_a_session_in_its_place_has_no_symptoms(home: Home, open_session: Opened) -> None:
    assert diagnose_surroundings(open_session(home.write(base()))) == []


def test_a_session_that_was_begun_above_its_folder_is_in_its_place(home: Home, open_session: Opened) -> None:
    (home.cwd / "src").mkdir()
    assert diagnose_surroundings(open_session(home.write(base(), cwd=str(home.cwd / "src")))) == []


def test_a_file_in_no_project_folder_is_not_looked_at(open_session: Opened, tmp_path: Path) -> None:
    assert diagnose_surroundings(open_session(base().write(tmp_path))) == []
    assert diagnose_surroundings(base().session()) == []


def test_a_file_that_is_gone_or_holds_no_conversation_is_not_looked_at(home: Home, open_session: Opened) -> None:
    path = home.write(base(), cwd="/nowhere")
    session = open_session(path)
    path.unlink()
    assert diagnose_surroundings(session) == []
    (home.project / f"{SESSION}.jsonl").write_bytes(b"")
    assert diagnose_surroundings(open_session(home.project / f"{SESSION}.jsonl")) == []


def test_a_session_in_the_folder_of_another_project_is_not_listed_in_its_own(home: Home, open_session: Opened) -> None:
    other = home.project.parent / "-home-dana-other"
    other.mkdir()
    assert (
        "folder of another project" in diagnose(open_session(home.write(base(), project=other)))["not-in-picker"].text
    )


def test_a_folder_of_windows_fits_its_project(home: Home, open_session: Opened) -> None:
    project = home.project.parent / "C--Users-dana-shop"
    project.mkdir()
    assert "not-in-picker" not in diagnose(
        open_session(home.write(base(), project=project, cwd="C:\\Users\\dana\\shop\\src"))
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"entrypoint": "sdk-cli"}, "entrypoint sdk-cli"),
        ({"teamName": "blue"}, "team of agents"),
    ],
)
def test_what_no_person_wrote_is_not_listed(home: Home, open_session: Opened, fields: Any, words: str) -> None:
    symptom = diagnose(open_session(home.write(base(), **fields)))["not-in-picker"]
    assert (symptom.severity, words in symptom.text) == ("info", True)


def test_what_begins_with_a_sub_agent_is_not_listed(home: Home, open_session: Opened) -> None:
    build = base()
    build["u1"]["isSidechain"] = True
    assert "sub-agent" in diagnose(open_session(home.write(build)))["not-in-picker"].text


def test_a_name_that_is_no_id_is_not_listed(home: Home, open_session: Opened) -> None:
    assert "not a session id" in diagnose(open_session(home.write(base(), "notes")))["not-in-picker"].text


def test_a_session_of_a_worktree_is_listed_there(home: Home, open_session: Opened) -> None:
    tree = home.cwd / ".claude" / "worktrees" / "fix"
    tree.mkdir(parents=True)
    project = home.project.parent / make_slug(str(tree))
    project.mkdir()
    symptom = diagnose(open_session(home.write(base(), project=project, cwd=str(tree))))["not-in-picker"]
    assert "git worktree" in symptom.text
    tree.rmdir()
    assert "its git worktree" in diagnose(open_session(project / f"{SESSION}.jsonl"))["missing-cwd"].text


def test_a_working_folder_that_is_gone_is_told(home: Home, open_session: Opened) -> None:
    path = home.write(base())
    home.cwd.rmdir()
    assert diagnose(open_session(path))["missing-cwd"].severity == "info"


def test_without_a_working_folder_none_is_missed(home: Home, open_session: Opened) -> None:
    build = base()
    for line in build.lines:
        del line["cwd"]
    assert diagnose_surroundings(open_session(build.write(home.project))) == []


@pytest.mark.parametrize(
    ("index", "is_told"),
    [
        (json.dumps({"entries": [{"sessionId": SESSION}, 5]}), False),
        (json.dumps({"entries": []}), True),
        (json.dumps({"entries": 5}), True),
        ("[]", True),
        ("{cut", True),
    ],
)
def test_an_index_that_does_not_have_it_is_told(home: Home, open_session: Opened, index: str, is_told: bool) -> None:
    (home.project / "sessions-index.json").write_text(index)
    assert ("stale-index" in diagnose(open_session(home.write(base())))) is is_told


def build_titled(before: int, after: int) -> Build:
    build = Build()
    build.prompt("x" * before)
    build.note("custom-title", customTitle="Fruit")
    build.answer("y" * after)
    return build


def test_a_title_in_the_middle_of_the_file_is_told(home: Home, open_session: Opened) -> None:
    symptom = diagnose(open_session(home.write(build_titled(2 * MAX_END_BYTES, 2 * MAX_END_BYTES))))[
        "title-not-in-tail"
    ]
    assert [entry.type for entry in symptom.entries] == ["custom-title"]


@pytest.mark.parametrize(("before", "after"), [(10, 10), (10, 3 * MAX_END_BYTES), (3 * MAX_END_BYTES, 10)])
def test_a_title_near_an_end_is_found_by_the_client(home: Home, open_session: Opened, before: int, after: int) -> None:
    assert diagnose_surroundings(open_session(home.write(build_titled(before, after)))) == []


def test_a_title_beside_the_file_is_found_by_the_client(home: Home, open_session: Opened) -> None:
    path = home.write(build_titled(2 * MAX_END_BYTES, 2 * MAX_END_BYTES))
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "custom-title.json").write_text('{"customTitle":"Fruit"}')
    assert diagnose_surroundings(open_session(path)) == []


# -- the client's state


def test_a_sound_state_file_is_no_symptom(tmp_path: Path) -> None:
    folder = tmp_path / ".claude"
    folder.mkdir()
    assert diagnose_state_file(folder) == []
    (tmp_path / ".claude.json").write_text("{}")
    assert diagnose_state_file(folder) == []


@pytest.mark.parametrize(("text", "words"), [("", "is empty"), ("{cut", "is not JSON"), ("[]", "is not a JSON object")])
def test_a_state_file_that_the_client_can_not_read_is_told_with_its_newest_copy(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / ".claude.json").write_text(text)
    (symptom,) = diagnose_state_file(tmp_path)
    assert (symptom.kind, symptom.severity) == ("broken-state-file", "error")
    assert words in symptom.text
    assert "no copy" in symptom.text
    (tmp_path / "backups").mkdir()
    for number in (1, 2):
        copy = tmp_path / "backups" / f".claude.json.backup.{number}"
        copy.write_text("{}")
        os.utime(copy, (number, number))
    assert ".backup.2" in diagnose_state_file(tmp_path)[0].text


def test_a_state_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").mkdir()
    assert "not a regular file" in diagnose_state_file(tmp_path)[0].text


def test_a_broken_state_file_is_cured_by_the_named_command(tmp_path: Path) -> None:
    """The newest copy may have been cut off in the same way."""
    folder = tmp_path / "my config"
    (folder / "backups").mkdir(parents=True)
    (folder / ".claude.json").write_text("{cut")
    for number, text in enumerate(['{"a": 1}', '{"a": 2}', "{also cut"], 1):
        copy = folder / "backups" / f".claude.json.backup.{number}"
        copy.write_text(text)
        os.utime(copy, (number, number))
    (symptom,) = diagnose_state_file(folder)
    subprocess.run(symptom.remedy.removeprefix("end Claude Code, then: "), shell=True, check=True)
    assert (folder / ".claude.json").read_text() == '{"a": 2}'
    assert diagnose_state_file(folder) == []


def test_a_broken_state_file_without_a_whole_copy_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text("")
    (symptom,) = diagnose_state_file(tmp_path)
    assert symptom.remedy.startswith(f"move {tmp_path / '.claude.json'} aside: there is no copy")
