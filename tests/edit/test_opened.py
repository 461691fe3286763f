"""A change of many sessions is refused when one of them is open, and says which and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edit.furnished_session import LONG_AGO
from turnlog.edit.open_signs import find_suspect_sessions
from turnlog.edit.session_target import SessionTarget
from turnlog.edit.undo.touched_sessions import find_touched_targets, refuse_open_sessions
from turnlog.errors import Busy

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
NAMES = [f"0ddf00d{digit}-3333-4333-8444-5555cafe5555" for digit in "123"]


@pytest.fixture
def targets(tmp_path: Path) -> list[SessionTarget]:
    """Three quiet sessions."""
    folder = tmp_path / "claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / f"{name}.jsonl").write_text("{}\n")
        os.utime(folder / f"{name}.jsonl", (LONG_AGO, LONG_AGO))
    return find_touched_targets(folder / f"{name}.jsonl" for name in NAMES)


def test_the_sessions_of_some_files_are_found(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    one, two = (projects / "-p" / f"{name}.jsonl" for name in NAMES[:2])
    inside = projects / "-p" / NAMES[1] / "subagents" / "agent-a1.jsonl"
    found = find_touched_targets([one, inside, two, projects / "-p" / "memory" / "x.md", tmp_path / "history.jsonl"])
    assert [(target.path, target.config_dir) for target in found] == [(one, tmp_path), (two, tmp_path)]


def test_quiet_sessions_are_let_through(targets: list[SessionTarget]) -> None:
    assert find_suspect_sessions(targets) == []
    refuse_open_sessions(targets, growth=True)
    refuse_open_sessions([])


@linux
@pytest.mark.parametrize("word", ["--resume={name}", "--session-id\0{name}"])
def test_a_session_that_a_process_was_started_with_is_named(targets: list[SessionTarget], word: str) -> None:
    words = word.format(name=NAMES[1]).split("\0")
    code = "import sys, time; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(Busy, match=f"{NAMES[1]}: process {process.pid} was started with its id"):
                refuse_open_sessions(targets, force=True)
        finally:
            process.kill()


@linux
def test_a_session_that_a_process_writes_is_named(targets: list[SessionTarget]) -> None:
    code = "import sys, time; file = open(sys.argv[1], 'ab'); print(flush=True); time.sleep(60)"
    words = [sys.executable, "-c", code, str(targets[2].path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(Busy, match=f"{NAMES[2]}: process {process.pid} has it open for writing"):
                refuse_open_sessions(targets, force=True)
        finally:
            process.kill()


def test_that_a_session_was_just_written_counts_where_it_is_asked_for(targets: list[SessionTarget]) -> None:
    os.utime(targets[0].path)
    refuse_open_sessions(targets)
    refuse_open_sessions(targets, growth=True, force=True)
    remedy = "wait until nothing writes to it, or use --force"
    with pytest.raises(Busy, match=rf"{NAMES[0]}: it was written \d+ s ago; {remedy}"):
        refuse_open_sessions(targets, growth=True)
