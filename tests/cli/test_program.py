"""How the program ends: one line for people, an exit status for scripts, never a traceback unasked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.session.build import Build
from turnlog.cli.program import format_one_line
from turnlog.store.archive import Archive
from turnlog.store.archive.schedule import turn_on_schedule

Try = Callable[..., "subprocess.CompletedProcess[bytes]"]

# A program whose table has one more command, `try`, with the given body.
PROGRAM = """
import sys
from turnlog.cli.table import COMMANDS, CommandRow
from turnlog.cli.program import run_program
COMMANDS["try"] = CommandRow("trial", "Try it.")
sys.exit(run_program(sys.argv[1:]))
"""
COMMAND = """
import click, os, sys, time
from pathlib import Path
from turnlog.errors import Ambiguous, NotFound
@click.command("try")
@click.option("--number", type=int)
def trial(number):
    {body}
"""


def command_line(folder: Path, body: str) -> list[str]:
    (folder / "trial.py").write_text(COMMAND.format(body=body), encoding="utf-8")
    return [sys.executable, "-c", PROGRAM, "try"]


@pytest.fixture
def attempt(tmp_path: Path) -> Try:
    def run(body: str, *words: str, stdout: int = subprocess.PIPE, **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command_line(tmp_path, body), *words],
            cwd=tmp_path,
            env={**os.environ, **env},
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=60,
        )

    return run


def test_success_is_silent_and_zero(attempt: Try) -> None:
    done = attempt("print('done')")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [b"done"], b"")


@pytest.mark.parametrize(
    "body",
    ["return 1", "sys.exit(1)", "click.get_current_context().exit(1)", "raise click.exceptions.Exit(1)"],
)
def test_a_command_may_choose_its_exit_status(attempt: Try, body: str) -> None:
    done = attempt(body)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        ("raise NotFound('no session xyz')", 1, "turnlog: no session xyz"),
        ("raise Ambiguous('two sessions fit: a, b')", 2, "turnlog: two sessions fit: a, b"),
        ("raise NotFound('one\\ntwo\\x1b[31m')", 1, "turnlog: one two\\x1b[31m"),
        ("raise click.Abort", 130, "turnlog: interrupted"),
        ("raise KeyboardInterrupt", 130, "turnlog: interrupted"),
        ("sys.exit('in words')", 1, "turnlog: in words"),
        ("Path('nowhere').read_bytes()", 1, "turnlog: nowhere: No such file or directory"),
        ("raise OSError(28, 'No space left on device')", 1, "turnlog: No space left on device"),
        (
            "raise RuntimeError('a bug')",
            1,
            "turnlog: internal error: RuntimeError: a bug (TURNLOG_DEBUG=1 shows the traceback)",
        ),
        (
            "assert False",
            1,
            "turnlog: internal error: AssertionError (TURNLOG_DEBUG=1 shows the traceback)",
        ),
        (
            "raise OSError('own words')",
            1,
            "turnlog: internal error: OSError: own words (TURNLOG_DEBUG=1 shows the traceback)",
        ),
    ],
)
def test_a_failure_is_one_line_and_a_status(attempt: Try, body: str, status: int, line: str) -> None:
    done = attempt(body)
    assert (done.returncode, done.stdout, done.stderr.decode().splitlines()) == (status, b"", [line])


def test_output_written_before_a_failure_is_kept(attempt: Try) -> None:
    done = attempt("print('first'); raise NotFound('then')")
    assert (done.returncode, done.stdout.split()) == (1, [b"first"])


def test_a_traceback_is_shown_on_request(attempt: Try) -> None:
    done = attempt("raise RuntimeError('a bug')", TURNLOG_DEBUG="1")
    assert b"Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(b"turnlog: internal error: RuntimeError: a bug")


def test_an_exit_status_is_no_failure_to_debug(attempt: Try) -> None:
    assert attempt("sys.exit(3)", TURNLOG_DEBUG="1").stderr == b""


def test_wrong_words_give_one_line_and_a_hint(attempt: Try) -> None:
    done = attempt("pass", "--number", "many")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "turnlog: Invalid value for '--number': 'many' is not a valid integer.",
        "Try 'turnlog try --help'.",
    ]


def test_an_unknown_command_suggests_the_nearest(program: Program) -> None:
    done = program("arhcive")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "turnlog: No such command 'arhcive'. Did you mean 'archive'?",
        "Try 'turnlog --help'.",
    ]


def test_a_group_suggests_its_own_commands_and_lists_none_that_is_for_the_program_itself(program: Program) -> None:
    assert program("trace", "wokr").stderr.splitlines() == [
        "turnlog: No such command 'wokr'.",
        "Try 'turnlog trace --help'.",
    ]
    assert "Did you mean 'status'?" in program("trace", "statsu").stderr
    assert "  work " not in program("trace", "--help").stdout
    assert program("trace", "work", "--help").returncode == 0


@pytest.mark.parametrize("group", ["archive", "trace", "fleet", "hook", "notify"])
def test_a_group_without_a_command_shows_its_help(program: Program, group: str) -> None:
    done, help_page = program(group), program(group, "--help")
    assert done.returncode == 2
    assert done.stderr == help_page.stdout


def test_the_values_of_a_missing_argument_are_on_one_line(program: Program) -> None:
    assert "Choose from: bash, zsh, fish\n" in program("completion").stderr


def test_an_unknown_option_is_named(program: Program) -> None:
    done = program("--verzion")
    assert done.returncode == 2
    assert done.stderr.startswith("turnlog: No such option '--verzion'. Did you mean '--version'?\n")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_with_130_and_one_line(tmp_path: Path) -> None:
    command = command_line(tmp_path, "print('ready', flush=True); time.sleep(60)")
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"turnlog: interrupted\n")


@pytest.mark.parametrize(
    "body",
    ["print('x' * 10)", "print('x' * 10_000_000)", "[click.echo('x' * 100) for _ in range(100_000)]"],
    ids=["at the last flush", "at once", "through click"],
)
def test_a_reader_that_went_away_is_no_failure_to_talk_about(attempt: Try, body: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = attempt(body, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_a_full_disk_is_told_in_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "turnlog", *words], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"turnlog: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="closes file descriptors in a shell")
def test_closed_standard_streams_are_survived() -> None:
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m turnlog --help >&- 2>&-"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("write", ["print", "click.echo"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252", "latin-1"])
def test_any_text_can_be_printed_in_any_encoding(attempt: Try, write: str, encoding: str) -> None:
    done = attempt(f"{write}('a\\ud800b\\u2500c\\U0001f600d')", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"a")
    assert done.stdout.rstrip().endswith(b"d")


def test_one_line_spells_out_what_could_move_the_cursor_or_turn_the_text() -> None:
    assert format_one_line("a\r\nb\tc\x1b[2J\u202ed\ud800 é 漢") == "a b\\tc\\x1b[2J\\u202ed\\ud800 é 漢"


def test_a_due_run_of_the_archive_is_started_in_the_background(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "own"))
    projects = tmp_path / "claude" / "projects" / "-home-dana"
    projects.mkdir(parents=True)
    name = "11111111-2222-4333-8444-555555555555"
    build = Build()
    build.prompt()
    build.write(projects, name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    turn_on_schedule(tmp_path / "own")
    assert program("ls").returncode == 0
    deadline = time.monotonic() + 30
    while not Archive(tmp_path / "own").has_session(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert Archive(tmp_path / "own").has_session(name)
