"""`turnlog completion`, and what a shell is offered; the man page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import generate_man_page
import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import Build

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "abababab-0000-4000-8000-000000000002"


def build_titled_session(title: str) -> bytes:
    build = Build()
    build.prompt(title)
    build.answer("hi")
    return build.data()


@pytest.fixture
def sessions(machine: Machine) -> Machine:
    machine.add(ONE, build_titled_session("Round the cents"), mtime=1_700_000_000)
    machine.add(TWO, build_titled_session("Paint the shed"), mtime=1_700_000_100)
    return machine


def list_completions(words: str) -> list[tuple[str, str]]:
    """What zsh is offered for the last of some words: values and what is shown beside them."""
    environment = {**os.environ, "_TURNLOG_COMPLETE": "zsh_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    command = [sys.executable, "-m", "turnlog"]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    return list(zip(lines[1::3], lines[2::3], strict=True))


@pytest.mark.parametrize("words", ["show", "clone", "trace show", "pack", "check"])
def test_where_a_session_is_expected_the_newest_ones_are_offered_with_their_titles(
    sessions: Machine, words: str
) -> None:
    found = list_completions(f"turnlog {words} ")
    assert found == [("last", "the newest session"), ("abababab", "Paint the shed"), ("aaaaaaaa", "Round the cents")]


@pytest.mark.parametrize(
    ("letters", "ids"),
    [("aa", ["aaaaaaaa"]), ("ab", ["abababab"]), ("a", ["abababab", "aaaaaaaa"]), ("CENTS", ["aaaaaaaa"]), ("zz", [])],
)
def test_letters_of_an_id_or_of_a_title_narrow_them_down(sessions: Machine, letters: str, ids: list[str]) -> None:
    assert [value for value, _ in list_completions(f"turnlog show {letters}")] == ids


def test_commands_and_options_are_offered(machine: Machine) -> None:
    assert ("strip", "Show what stripping a session would save.") in list_completions("turnlog str")
    assert "--preset" in [value for value, _ in list_completions("turnlog strip --p")]


def test_a_path_is_left_to_the_shell(sessions: Machine) -> None:
    assert list_completions("turnlog show ./a") == [("./a", "_")]


def test_a_hostile_title_reaches_no_terminal(machine: Machine) -> None:
    machine.add(ONE, build_titled_session(HOSTILE))
    assert not harmful("".join(title for _, title in list_completions("turnlog show ")))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_reads(turnlog: Turnlog, shell: str, tmp_path: Path) -> None:
    script = turnlog("completion", shell).out
    assert f"_TURNLOG_COMPLETE={shell}_complete" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: only the text was looked at")
    file = tmp_path / "script"
    file.write_text(script)
    done = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_a_session(sessions: Machine, turnlog: Turnlog, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "turnlog"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m turnlog "$@"\n')
    program.chmod(0o755)
    script = turnlog("completion", "bash").out
    words = "COMP_WORDS=(turnlog show cents); COMP_CWORD=2; _turnlog_completion turnlog; echo ${COMPREPLY[@]}"
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", f"{script}\n{words}"], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "aaaaaaaa"


def test_an_unknown_shell_is_refused(turnlog: Turnlog) -> None:
    assert turnlog("completion", "csh").status == 2


def test_the_man_page_says_what_the_commands_say() -> None:
    """If not: python scripts/generate_man_page.py."""
    assert generate_man_page.PAGE.read_text(encoding="utf-8") == generate_man_page.render_page()
