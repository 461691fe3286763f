"""`turnlog salvage`: what is left of sessions whose transcript is gone, and what can be made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, base, describe_resumed
from turnlog.edit.illnesses.verdict import judge_session
from turnlog.session.session import Session

GONE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def home(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which one session is gone."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    rows = [
        _build_history_line("Fix the cart"),
        _build_history_line("/model opus", 5),
        _build_history_line("Now a test\nplease", 9),
    ]
    (machine.folder / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (machine.folder / "file-history" / GONE).mkdir(parents=True)
    (machine.folder / "file-history" / GONE / "abc@v1").write_text("old")
    return machine


def _build_history_line(text: str, seconds: int = 0, **fields: Any) -> dict[str, Any]:
    time = 1_767_261_600_000 + seconds * 1000
    return {"display": text, "timestamp": time, "project": "/home/dana/shop", "sessionId": GONE, **fields}


def sessions(machine: Machine) -> list[Path]:
    return sorted((machine.folder / "projects").rglob("*.jsonl"))


def test_sessions_that_are_gone_are_listed_with_what_is_left(turnlog: Turnlog, home: Machine) -> None:
    done = turnlog("salvage")
    assert done.status == 0
    assert done.lines[0].startswith("aaaaaaaa  ")
    assert "3 prompts  1 file" in done.lines[0]
    assert done.lines[0].endswith("Fix the cart")
    assert done.lines[2].startswith("Newest first. prompts: lines in history.jsonl")


def test_without_any_that_is_said(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("salvage")
    assert (done.status, done.out, done.err) == (
        0,
        "",
        "Nothing to salvage: no lost session left any files or prompts.\n",
    )


def test_the_parts_of_one_session_are_shown(turnlog: Turnlog, home: Machine) -> None:
    other = base()
    other["u1"]["sessionId"] = GONE
    home.add(SESSION, other.data())
    out = turnlog("salvage", "AAAA").lines
    assert out[:2] == [GONE, "project: /home/dana/shop"]
    assert any(line.endswith("Now a test please") for line in out)
    assert "copies of files: 1" in out
    assert any(line.endswith(f"{SESSION}.jsonl  (1 entry)") for line in out)
    assert f"{SESSION}.jsonl` (1 entry)\n" in turnlog("salvage", "aaaa", "-o", "-").out
    assert out[-1].endswith("--session creates a session with 2 prompts.")


def test_an_id_that_fits_none_or_several_is_refused(turnlog: Turnlog, home: Machine) -> None:
    assert (turnlog("salvage", "bbbb").status, turnlog("salvage", "").status) == (1, 1)
    (home.folder / "tasks" / GONE.replace("1", "2")).mkdir(parents=True)
    (home.folder / "tasks" / GONE.replace("1", "2") / "1.json").write_text("{}")
    done = turnlog("salvage", "aaaa")
    assert done.status == 2
    assert "matches 2 sessions" in done.err


def test_what_is_left_can_be_written_down(turnlog: Turnlog, home: Machine, tmp_path: Path) -> None:
    path = tmp_path / "lost.md"
    assert turnlog("salvage", GONE, "-o", path).status == 0
    text = path.read_text()
    assert text.startswith(f"# What is left of session {GONE}\n")
    assert "> Now a test\n> please\n" in text
    assert "## Copies of files" in text
    assert turnlog("salvage", GONE, "-o", "-").out == text


def test_nothing_is_overwritten(turnlog: Turnlog, home: Machine, tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("mine")
    done = turnlog("salvage", GONE, "-o", path)
    assert (done.status, path.read_text()) == (1, "mine")
    assert "already exists" in done.err
    assert turnlog("salvage", GONE, "-o", tmp_path / "no" / "x.md").status == 1


def test_a_session_can_be_made_of_the_prompts_with_notes_for_the_answers(turnlog: Turnlog, home: Machine) -> None:
    done = turnlog("salvage", GONE, "--session")
    assert done.status == 0
    (path,) = sessions(home)
    assert path.parent.name == "-home-dana-shop"
    assert done.lines[1] == f"Resume it with: cd /home/dana/shop && claude --resume {path.stem}"
    with Session.open(path) as session:
        lost = f"A [The answer is lost. The transcript of session {GONE} is gone; turnlog rebuilt this one"
        texts = describe_resumed(session)
        assert (texts[0], texts[2]) == ("U Fix the cart", "U Now a test\nplease")
        assert texts[1].startswith(lost)
        found = judge_session(session)
        assert (found.is_ok, found.broken, found.old_clients) == (True, (), ())
        assert found.kept["custom-title"] == "Salvaged: Fix the cart"
        assert session.find_leaf().uuid == found.kept["last-prompt"]


def test_where_the_trash_has_it_undelete_is_better(turnlog: Turnlog, home: Machine) -> None:
    home.add(GONE, base().data(), mtime=1_700_000_000)
    turnlog("delete", GONE, "--yes")
    assert "trash" in turnlog("salvage").lines[0]
    assert f"`turnlog undelete {GONE}` restores all of it" in turnlog("salvage", GONE).out
    done = turnlog("salvage", GONE, "--session")
    assert (done.status, sessions(home)) == (1, [])
    assert "turnlog undelete" in done.err


def test_where_the_archive_has_it_restoring_is_better(turnlog: Turnlog, home: Machine) -> None:
    path = home.add(GONE, base().data())
    turnlog("archive", "run")
    path.unlink()
    assert f"`turnlog archive restore {GONE}` restores all of it" in turnlog("salvage", GONE).out
    (lost,) = turnlog("salvage", "--json").json["sessions"]
    assert (lost["better"], lost["restore"]) == ("archive", f"turnlog archive restore {GONE}")


def test_an_archive_with_nothing_but_sub_agents_is_no_whole_copy(turnlog: Turnlog, home: Machine) -> None:
    """The archive keeps the files of a session whose own file was already gone."""
    agent = home.folder / "projects" / "-home-dana-shop" / GONE / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(base().data())
    turnlog("archive", "run", "--session", GONE)
    turnlog("archive", "run")
    assert turnlog("salvage", "--json").json["sessions"][0]["better"] is None


def test_a_session_that_left_nothing_but_a_copy_is_named_with_its_copy(turnlog: Turnlog, home: Machine) -> None:
    other = GONE.replace("a", "b")
    path = home.add(other, base().data())
    turnlog("archive", "run")
    path.unlink()
    done = turnlog("salvage", other[:8])
    assert done.status == 1
    assert f"`turnlog archive restore {other}`" in done.err


def test_without_prompts_or_a_project_no_session_is_made(turnlog: Turnlog, home: Machine) -> None:
    history = home.folder / "history.jsonl"
    history.write_text(json.dumps(_build_history_line("/clear")) + "\n")
    assert "no prompts are left" in turnlog("salvage", GONE, "--session").err
    history.write_text(json.dumps(_build_history_line("hi", project=None)) + "\n")
    assert "project is unknown" in turnlog("salvage", GONE, "--session").err
    assert sessions(home) == []


@pytest.mark.parametrize(
    "words", [["-o", "x"], ["--session"], [GONE, "-o", "x", "--json"], [GONE, "--session", "--json"]]
)
def test_words_that_do_not_go_together_are_a_wrong_call(turnlog: Turnlog, home: Machine, words: list[str]) -> None:
    assert turnlog("salvage", *words).status == 2


def test_hostile_content_does_no_harm(turnlog: Turnlog, home: Machine) -> None:
    row = _build_history_line(HOSTILE, project=HOSTILE, pastedContents=HOSTILE)
    (home.folder / "history.jsonl").write_text(json.dumps(row) + "\n")
    for words in ([], [GONE]):
        done = turnlog("salvage", *words)
        assert done.status == 0
        assert harmful(done.out) == set()
    assert turnlog("salvage", GONE, "--session").status == 0
    (path,) = sessions(home)
    assert path.is_relative_to(home.folder / "projects")
