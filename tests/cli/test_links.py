"""Links anywhere on the way to a session: every verb works, or refuses and changes nothing; nothing is lost unsaid."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.edit.furnished_session import picture
from tests.session.build import SESSION, base

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
OLD = 1_700_000_000
CWD = "/home/dana"
VERBS = {
    "clone": ("clone", SESSION),
    "strip": ("clone", SESSION, "--preset", "light"),
    "redact": ("redact", SESSION, "--clone"),
    "fork": ("fork", SESSION, "--at", "1"),
    "rename": ("rename", SESSION, "New name"),
    "tag": ("tag", SESSION, "urgent"),
    "repair": ("repair", SESSION, "--in-place"),
    "delete": ("delete", SESSION, "--yes"),
    "move": ("move", CWD, "/home/erin"),
    "pack": ("pack", SESSION, "-o"),
}


@pytest.fixture
def session(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    build = base()
    for line in build.lines:
        line["cwd"] = CWD
    path = machine.add(SESSION, build.data() + b'{"torn', mtime=OLD)
    agent = path.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text('{"type":"user","isSidechain":true}\n')
    os.utime(agent, (OLD, OLD))
    return path


def move_behind_link(path: Path, away: Path) -> None:
    """Move something elsewhere, and leave a link in its place."""
    away.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, away)
    path.symlink_to(away)
    for file in [away, *away.rglob("*")]:
        os.utime(file, (OLD, OLD))


def words(verb: str, tmp_path: Path) -> list[str]:
    found = list(VERBS[verb])
    return [*found, str(tmp_path / "out.tlz")] if verb == "pack" else found


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("place", ["config", "projects"])
def test_people_may_keep_the_whole_or_all_projects_elsewhere(
    turnlog: Turnlog, machine: Machine, session: Path, tmp_path: Path, verb: str, place: str
) -> None:
    move_behind_link(machine.folder if place == "config" else machine.folder / "projects", tmp_path / "away")
    done = turnlog(*words(verb, tmp_path))
    assert done.status == 0, done.err


@pytest.mark.parametrize("place", ["config", "projects", "file-history"])
def test_what_was_deleted_comes_back_to_a_folder_that_is_kept_elsewhere(
    turnlog: Turnlog, machine: Machine, session: Path, tmp_path: Path, place: str
) -> None:
    copy = machine.folder / "file-history" / SESSION / "a@v1"
    copy.parent.mkdir(parents=True)
    copy.write_text("old")
    os.utime(session, (OLD, OLD))
    move_behind_link(machine.folder if place == "config" else machine.folder / place, tmp_path / "away")
    before = picture(tmp_path / "away")
    assert turnlog("delete", SESSION, "--yes").status == 0
    assert not session.exists()
    assert turnlog("undelete", "--last").status == 0
    assert picture(tmp_path / "away") == before
    assert session.exists()
    assert copy.read_text() == "old"


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "move"])
def test_a_project_that_leads_elsewhere_is_never_written_through(
    turnlog: Turnlog, session: Path, tmp_path: Path, verb: str
) -> None:
    move_behind_link(session.parent, tmp_path / "away")
    before = picture(tmp_path / "away")
    done = turnlog(*words(verb, tmp_path))
    assert done.status == 1
    assert "outside " in done.err
    assert picture(tmp_path / "away") == before


@pytest.mark.parametrize("verb", ["rename", "tag", "repair"])
def test_a_session_file_that_leads_elsewhere_is_never_written_through(
    turnlog: Turnlog, session: Path, tmp_path: Path, verb: str
) -> None:
    move_behind_link(session, tmp_path / "away" / "precious.jsonl")
    before = picture(tmp_path / "away")
    assert turnlog(*words(verb, tmp_path)).status == 1
    assert picture(tmp_path / "away") == before


@pytest.mark.parametrize("verb", ["clone", "strip", "redact", "fork", "pack", "move"])
@pytest.mark.parametrize("below", ["", "subagents", "subagents/agent-a1b2c3d.jsonl"])
def test_what_is_reached_by_a_link_does_not_go_along_and_that_is_told(
    turnlog: Turnlog, session: Path, tmp_path: Path, verb: str, below: str
) -> None:
    link = session.with_suffix("") / below if below else session.with_suffix("")
    move_behind_link(link, tmp_path / "away" / "x")
    done = turnlog(*words(verb, tmp_path))
    assert done.status == 0, done.err
    assert str(link) in done.err + done.out


def test_a_move_names_the_session_files_that_it_did_not_change(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    move_behind_link(session, tmp_path / "away" / "precious.jsonl")
    done = turnlog(*words("move", tmp_path), "--json")
    assert json.loads(done.out)["links"] == [str(session)]
    assert f"{session}: a link, which was not followed; the files behind it keep the old paths." in done.err


@pytest.mark.parametrize("below", ["", "subagents", "subagents/agent-a1b2c3d.jsonl"])
def test_a_link_is_deleted_and_brought_back_as_a_link(
    turnlog: Turnlog, session: Path, tmp_path: Path, below: str
) -> None:
    link = session.with_suffix("") / below if below else session.with_suffix("")
    move_behind_link(link, tmp_path / "away" / "x")
    before = picture(tmp_path / "away")
    assert turnlog("delete", SESSION, "--yes").status == 0
    assert not os.path.lexists(link)
    assert turnlog("undelete", "--last").status == 0
    assert link.is_symlink()
    assert picture(tmp_path / "away") == before
