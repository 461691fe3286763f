"""`turnlog delete` and `turnlog undelete`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, base

OTHER = "99999999-2222-4333-8444-555555555555"
OLD = 1_700_000_000


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def session(machine: Machine, data: Path) -> Path:
    machine.add(OTHER, base().data(), mtime=OLD)
    path = machine.add(SESSION, base().data(), mtime=OLD)
    agent = path.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(b"{}\n")
    os.utime(agent, (OLD, OLD))
    typed = [{"display": "hi", "sessionId": SESSION}, {"display": "ho", "sessionId": OTHER}]
    (machine.folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in typed))
    return path


def test_a_deleted_session_is_gone_from_the_list_and_comes_back(turnlog: Turnlog, session: Path) -> None:
    before = session.read_bytes()
    done = turnlog("delete", "1111", "--yes")
    assert done.status == 0
    assert done.out == f"Deleted {SESSION} u1 text (2 files, {len(before) / 1000:.0f} KB)\n"
    assert "`turnlog undelete` restores it." in done.err
    assert SESSION[:8] not in turnlog("ls").out
    assert not session.with_suffix("").exists()
    assert turnlog("undelete", "1111").out == f"Restored {SESSION} u1 text (2 files)\n"
    assert session.read_bytes() == before


def test_without_a_terminal_nothing_is_deleted_unless_told(turnlog: Turnlog, session: Path) -> None:
    for words in (("delete", SESSION), ("delete", "--empty-trash")):
        done = turnlog(*words)
        assert done.status == 2
        assert "can't ask for confirmation without a terminal; use --yes, or --dry-run" in done.err
    assert session.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(session: Path, answer: str, gone: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "turnlog", "delete", SESSION]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while b"Delete?" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer.encode())
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the other end is closed
            pass
        assert process.wait(30) == (0 if gone else 1)
    os.close(ours)
    assert b"u1 text (2 files" in said
    assert (b"Nothing was deleted." in said) is not gone
    assert session.exists() is not gone


def test_a_dry_run_lists_all_that_would_go_and_deletes_nothing(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("plan it", slug="calm-fox")
    build.answer("ok")
    path = machine.add(SESSION, build.data(), mtime=OLD)
    machine.add(OTHER, build.data(), mtime=OLD)
    (machine.folder / "plans").mkdir()
    (machine.folder / "plans" / "calm-fox.md").write_text("# plan")
    done = turnlog("delete", SESSION, "--dry-run", "--history")
    assert done.status == 0
    assert f"  {path}" in done.lines
    assert "0 lines of history.jsonl" in done.lines[0]
    assert done.lines[-1].endswith("calm-fox.md is kept: another session uses it")
    assert path.exists()


def test_several_are_deleted_with_what_was_typed(turnlog: Turnlog, machine: Machine, session: Path) -> None:
    done = turnlog("delete", SESSION, OTHER, session, "--yes", "--history")
    assert (done.status, len(done.lines)) == (0, 2)
    assert (machine.folder / "history.jsonl").read_bytes() == b""
    assert turnlog("undelete", "--last").status == 0
    assert turnlog("undelete", SESSION).status == 0
    assert (machine.folder / "history.jsonl").read_text().count("display") == 2


def test_if_one_cannot_be_deleted_none_is(turnlog: Turnlog, session: Path) -> None:
    os.utime(session)
    done = turnlog("delete", OTHER, SESSION, "--yes")
    assert done.status == 1
    assert "it was written" in done.err
    assert session.with_name(f"{OTHER}.jsonl").exists()
    assert turnlog("delete", OTHER, SESSION, "--yes", "--force").status == 0


def test_an_unknown_session_is_answered_with_the_closest(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("delete", "11111112", "--yes")
    assert done.status == 1
    assert f"closest matches: {SESSION}" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("delete",),
        ("delete", SESSION, "--empty-trash", "--yes"),
        ("delete", SESSION, "--older-than", "3", "--yes"),
        ("delete", "--empty-trash", "--older-than", "-1", "--yes"),
        ("undelete", SESSION, "--last"),
        ("undelete", "--list", "--last"),
        ("undelete", SESSION, "--json"),
    ],
)
def test_words_that_contradict_each_other_are_refused(turnlog: Turnlog, session: Path, words: tuple[str, ...]) -> None:
    assert turnlog(*words).status == 2
    assert session.exists()


def test_the_trash_is_listed_and_emptied(turnlog: Turnlog, session: Path, data: Path) -> None:
    assert "The trash is empty." in turnlog("undelete").err
    turnlog("delete", SESSION, "--yes")
    (line,) = turnlog("undelete", "--list").lines
    assert line.startswith(SESSION)
    assert line.endswith("u1 text")
    (entry,) = turnlog("undelete", "--json").json["deleted"]
    assert (entry["session_id"], entry["files"], entry["complete"]) == (SESSION, 2, True)
    assert turnlog("delete", "--empty-trash", "--older-than", "1", "--yes").out.startswith(
        "Permanently removed 0 sessions"
    )
    assert turnlog("delete", "--empty-trash", "--dry-run").lines == [f"{entry['name']}  u1 text"]
    assert turnlog("delete", "--empty-trash", "--yes").out.startswith("Permanently removed 1 session")
    assert turnlog("undelete", SESSION).status == 1
    assert [path.name for path in (data / "trash").iterdir()] == [".lock"]


def test_what_is_no_longer_in_the_trash_is_told(turnlog: Turnlog, session: Path, data: Path) -> None:
    turnlog("delete", SESSION, "--yes")
    (agent,) = data.glob("trash/*/files/**/agent-*.jsonl")
    agent.unlink()
    assert turnlog("undelete").lines[0].endswith("[interrupted: some files were not deleted]")
    done = turnlog("undelete", "--last")
    assert done.status == 1
    assert "agent-a1b2c3d.jsonl: no longer in the trash." in done.err
    assert session.exists()


def test_nothing_is_overwritten(turnlog: Turnlog, session: Path) -> None:
    turnlog("delete", SESSION, "--yes")
    session.write_bytes(b"{}\n")
    done = turnlog("undelete", SESSION)
    assert done.status == 1
    assert "already present with different content, so nothing was restored" in done.err
    assert session.read_bytes() == b"{}\n"


def test_no_title_acts_on_the_terminal(turnlog: Turnlog, machine: Machine, data: Path) -> None:
    build = base()
    build.note("custom-title", customTitle=HOSTILE)
    machine.add(SESSION, build.data(), mtime=OLD)
    words = [("delete", SESSION, "--dry-run"), ("delete", SESSION, "--yes"), ("undelete",), ("undelete", "--last")]
    for done in [turnlog(*call) for call in words]:
        assert done.status == 0
        assert not harmful(done.out + done.err)


def test_what_a_client_wrote_in_the_place_meanwhile_is_told(turnlog: Turnlog, session: Path) -> None:
    original = session.read_bytes()
    turnlog("delete", SESSION, "--yes")
    session.write_bytes(b'{"type":"custom-title","customTitle":"On"}\n')
    done = turnlog("undelete", SESSION)
    assert done.status == 0
    assert "Claude Code continued this session; the new lines follow the original ones." in done.err
    assert session.read_bytes().startswith(original)


def test_what_stands_in_the_way_is_set_aside_by_force(turnlog: Turnlog, session: Path) -> None:
    turnlog("delete", SESSION, "--yes")
    session.write_bytes(b"{}\n")
    done = turnlog("undelete", SESSION, "--force")
    assert done.status == 0
    assert "A file that was in the way was moved to " in done.err
    assert turnlog("undelete", "--force").status == 2
