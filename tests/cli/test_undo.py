"""`turnlog undo`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import base
from turnlog.edit.undo.undo import RewriteChange, Undo

SESSION, OTHER = (f"0ddf00d{digit}-2222-4333-8444-5555cafe5555" for digit in "45")


@pytest.fixture
def session(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return machine.add(SESSION, base().data(), mtime=1_700_000_000)


def change(session: Path, words: str = "made smaller", new: bytes = b"{}\n") -> str:
    """Change a session in place; gives the name of the change."""
    undo = Undo(Path(os.environ["TURNLOG_HOME"]) / "undo")
    return undo.carry_out("strip", words, [RewriteChange(session, lambda: [new], session.parents[1])]).name


def test_a_title_is_taken_away_again(turnlog: Turnlog, session: Path) -> None:
    before, status = session.read_bytes(), session.stat()
    turnlog("rename", SESSION, "Mistake")
    assert turnlog("show", SESSION, "--json").json["title"] == "Mistake"
    done = turnlog("undo")
    assert done.status == 0
    assert f"-rename {SESSION}: Mistake (2 files)" in done.out
    assert session.read_bytes() == before
    assert session.stat().st_mtime_ns == status.st_mtime_ns
    assert not session.with_suffix("").exists()


def test_a_second_title_gives_way_to_the_first(turnlog: Turnlog, session: Path) -> None:
    turnlog("rename", SESSION, "First")
    turnlog("rename", SESSION, "Second")
    turnlog("undo")
    assert turnlog("show", SESSION, "--json").json["title"] == "First"
    assert (session.with_suffix("") / "custom-title.json").read_text() == '{"customTitle":"First"}'


def test_a_title_behind_which_the_session_went_on_stays_and_the_remedy_is_named(
    turnlog: Turnlog, session: Path
) -> None:
    turnlog("tag", SESSION, "urgent")
    with session.open("ab") as file:
        file.write(b'{"type":"user"}\n')
    before = session.read_bytes()
    done = turnlog("undo")
    assert done.status == 1
    assert "modified after the change, so nothing was undone; use `turnlog tag` again" in done.err
    assert session.read_bytes() == before


def test_the_last_change_is_undone_and_then_the_one_before(turnlog: Turnlog, session: Path) -> None:
    before = session.read_bytes()
    change(session, "first", b"1\n")
    change(session, "second", b"2\n")
    assert "second" in turnlog("undo").out
    assert session.read_bytes() == b"1\n"
    assert "first" in turnlog("undo").out
    assert session.read_bytes() == before
    done = turnlog("undo")
    assert (done.status, done.out) == (1, "")
    assert "there is nothing to undo" in done.err


def test_a_change_is_found_by_its_name_and_by_its_session(turnlog: Turnlog, machine: Machine, session: Path) -> None:
    other = machine.add(OTHER, b"{}\n", mtime=1_700_000_000)
    mine, before = change(session), other.read_bytes()
    change(other, new=b"x\n")
    assert mine in turnlog("undo", "0ddf00d4").out
    assert turnlog("undo", mine).err.startswith(f"turnlog: {mine}: already undone")
    assert turnlog("undo", OTHER).status == 0
    assert other.read_bytes() == before
    several = turnlog("undo", mine[:4])
    assert several.status == 2
    assert "matches 2 changes" in several.err
    missing = turnlog("undo", "nothing")
    assert missing.status == 1
    assert "no change is named 'nothing'; `turnlog undo --list` lists all changes" in missing.err


def test_a_rehearsal_says_what_would_come_back_and_what_speaks_against_it(turnlog: Turnlog, session: Path) -> None:
    change(session)
    with session.open("ab") as file:
        file.write(b"more\n")
    before = session.read_bytes()
    lines = turnlog("undo", "--dry-run").lines
    assert lines[0].startswith("Would undo: ")
    assert lines[1] == f"  {session}: original restored"
    assert lines[2] == f"  but {session}: modified after the change (--force)"
    assert session.read_bytes() == before


def test_by_force_the_original_comes_back_and_what_was_there_is_kept(turnlog: Turnlog, session: Path) -> None:
    before = session.read_bytes()
    change(session)
    session.write_bytes(b"written since\n")
    refused = turnlog("undo")
    assert refused.status == 1
    assert "--force restores the original and keeps a copy of the current file" in refused.err
    done = turnlog("undo", "--force")
    assert session.read_bytes() == before
    assert done.status == 0
    folder = Path(done.err.partition("are kept in ")[2].rstrip(".\n"))
    assert (folder / "0").read_bytes() == b"written since\n"


def test_changes_are_listed_with_their_state_and_size(turnlog: Turnlog, session: Path) -> None:
    assert "There are no changes to undo." in turnlog("undo", "--list").err
    size = len(session.read_bytes())
    name = change(session)
    row = turnlog("undo", "--list").lines[0]
    assert row.startswith(name)
    assert row.endswith("made smaller")
    assert "  done  1 file  " in row
    assert turnlog("undo", "--list").lines[-1].startswith("kept: size of the originals")
    (described,) = turnlog("undo", "--list", "--json").json["changes"]
    assert (described["name"], described["state"], described["kept_size"]) == (name, "done", size)
    assert described["sessions"] == [SESSION]
    turnlog("undo")
    assert "  undone  " in turnlog("undo", "--list").lines[0]


def test_old_changes_are_pruned(turnlog: Turnlog, session: Path) -> None:
    change(session)
    assert turnlog("undo", "--prune", "1").err == "No change is that old.\n"
    told = turnlog("undo", "--prune", "0", "--dry-run")
    assert "This would free" in told.err
    assert len(turnlog("undo", "--list").lines) == 2
    assert "1 change can no longer be undone" in turnlog("undo", "--prune", "0").err
    assert turnlog("undo", "--list").lines == []


@pytest.mark.parametrize(
    "words", [("x", "--list"), ("--list", "--prune", "1"), ("--json",), ("--prune", "-1"), ("--prune", "x")]
)
def test_words_that_do_not_go_together_are_refused(turnlog: Turnlog, session: Path, words: tuple[str, ...]) -> None:
    assert turnlog("undo", *words).status == 2


def test_nothing_in_the_words_of_a_change_acts_on_the_terminal(turnlog: Turnlog, session: Path) -> None:
    change(session, HOSTILE)
    for words in (("--list",), ("--dry-run",), ()):
        done = turnlog("undo", *words)
        assert done.status == 0
        assert not harmful(done.out + done.err)


def test_a_record_that_can_not_be_read_is_named(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    name = change(session)
    (tmp_path / "data" / "undo" / name / "record.json").write_text("{")
    done = turnlog("undo", "--list")
    assert done.status == 0
    assert "Not listed: " in done.err
