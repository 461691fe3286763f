"""No command is silent while it works: each reports how far it is on a terminal, and can be interrupted then."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Machine
from tests.session.test_versions import three_turns
from turnlog.cli.group import LazyGroup, turnlog

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

# The program, without the second that a command may be silent, and without the thread that draws when nothing is
# reported: what is seen is what the command and the work below it report.
PROGRAM = """
import os, signal, sys
from turnlog.cli import progress
progress.SILENT_SECONDS = progress.REFRESH_SECONDS = -1
start_thread = progress.ProgressLine.start_thread
progress.ProgressLine.start_thread = lambda self: None
{more}
from turnlog.__main__ main
sys.exit(main())
""".replace("turnlog.__main__ main", "turnlog.__main__ import main")
INTERRUPTS = """
take = progress.ProgressLine._take
def interrupt(self, words, done, total):
    take(self, words, done, total)
    if done < total:
        os.kill(os.getpid(), signal.SIGINT)
progress.ProgressLine._take = interrupt
"""
NAPS = """
sys.path.insert(0, {folder!r})
from turnlog.cli.table import COMMANDS, CommandRow
COMMANDS["nap"] = CommandRow("nap", "Wait until the line was drawn.")
progress.ProgressLine.start_thread = start_thread
progress.REFRESH_SECONDS = 0.01
"""
NAP = """
import time
import click
from turnlog.cli import output, progress
@click.command()
def nap():
    while not progress._lines[0]._is_visible:
        time.sleep(0.01)
    output.print_remark("done")
    progress.hide_work()
"""
FORKS = """
import os, time
import click
from turnlog.cli import output, progress
from turnlog.entries.worker_processes import count_cores, spread_work
@click.command()
def nap():
    parent = os.getpid()
    def work(share):
        is_parent = os.getpid() == parent
        while is_parent and not progress._lines[0]._is_visible:
            time.sleep(0.01)
        if not is_parent:  # the line belongs to the parent
            progress._lines[0].report_step("drawn by a helper", 1, 4)
            progress._lines[0]._draw()
        return [is_parent]
    cores = os.sched_getaffinity(0)
    results = [*spread_work(work, list[bool], [[1], [2], [3]])]
    while not progress._lines[0]._is_visible:
        time.sleep(0.01)
    output.print_remark(f"{{count_cores() == len(cores)}} {{results}}")
    progress.hide_work()
"""

FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
CALLS = {
    "show": "show {first}",
    "search": "search --substring one",
    "prompts": "prompts",
    "compare": "compare {first} {second}",
    "tree": "tree",
    "files": "files {first}",
    "messages": "messages {first}",
    "replay": "replay {first} --json",
    "quest profile": "quest profile --rebuild",
    "usage": "usage model",
    "context": "context {first}",
    "tools": "tools",
    "clone": "clone {first}",
    "strip": "strip {first}",
    "fork": "fork {first} --at 1",
    "archive run": "archive run",
    "archive verify": "archive verify",
    "check": "check {first}",
    "doctor": "doctor {first}",
    "repair": "repair {first}",
    "restore": "restore a.py --list --session {first}",
    "export": "export {first} -o {out}/session.html",
    "redact": "redact {first} --clone",
    "pack": "pack {first} -o {out}/session.tar.zst",
    "unpack": "unpack {package} --project {folder}",
    "trace show": "trace show {first}",
    "index": "index --wait",
    "move": "move /home/dana/webshop {folder}/new --force",
}
OTHER_CALLS = [
    "export {first} -f md -o {out}/session.md",
    "export {first} -f json -o {out}/session.json",
    "export {first} -f messages -o {out}/messages.json",
    "export {first} -f parquet -o {out}/tables",
    "export {first} --share -o {out}/shared.html",
    "export --all -o {out}/site",
    "check {first} --resumable",
    "check {sessions}",
    "doctor --all",
    "strip {first} --fit 60%",
    "search one",
    "index verify",
    "redact {first}",
    "trace show {first} --json",
]
"""Other ways to call some commands that read much."""
ANSWERS = ("search", "tree", "usage", "tools", "prompts", "index --wait")
"""Commands that, if indexing is interrupted, say so and answer from what is indexed; the second interrupt ends them."""
_SCREEN = "draws on the terminal itself, or serves until it is stopped"
_TIMED = "has no steps of its own; the seconds that it has taken are shown"
_SMALL = "reads or writes small files only"
EXCEPTIONS = {
    **dict.fromkeys(("web", "watch", "board", "notify run", "chat"), _SCREEN),
    **dict.fromkeys(("statusline", "hook run", "trace work"), "is run by Claude Code, without a terminal"),
    **dict.fromkeys(("notify test", "notify status", "trace status", "hook status", "mcp status"), _SMALL),
    **dict.fromkeys(("hook install", "hook uninstall", "mcp install", "mcp uninstall"), _SMALL),
    **dict.fromkeys(("archive on", "archive off", "archive status", "archive install"), _SMALL),
    **dict.fromkeys(("plugins", "completion", "rename", "tag"), _SMALL),
    **dict.fromkeys(
        ("ls", "salvage", "delete", "undelete", "undo", "archive list", "archive prune", "archive restore"), _TIMED
    ),
    "cat": "writes from its first moment",
    "fleet build": "needs further packages; tests/fleet looks at its progress",
    **dict.fromkeys(("fleet report", "fleet sql", "fleet forget"), "needs further packages, and reads summaries"),
    **dict.fromkeys(("trace backfill", "trace flush"), "needs a server that takes spans"),
}


def list_commands(command: click.Command = turnlog, name: str = "") -> Iterator[str]:
    """The names of all commands that can be run, from the table."""
    if not isinstance(command, click.Group):
        yield name
        return
    names = command.rows if isinstance(command, LazyGroup) else command.commands
    for part in names:
        inner = command.get_command(click.Context(command), part)
        assert inner is not None
        yield from list_commands(inner, f"{name} {part}".strip())


def run(words: list[str], more: str = "") -> tuple[int, str]:
    """Run the program with a terminal as standard error; return its status and what it wrote there."""
    import pty

    fd, other = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(more=more), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=other,
    ) as process:
        os.close(other)
        written = b""
        while True:
            try:
                chunk = os.read(fd, 65536)
            except OSError:  # what Linux says when the other side is closed
                break
            if not chunk:
                break
            written += chunk
    os.close(fd)
    return process.returncode, written.decode()


def fill(call: str, machine: Machine, folder: Path) -> list[str]:
    """The words of a call on a machine with two sessions."""
    data = three_turns().data()
    machine.add(SECOND, data)
    path = machine.add(FIRST, data)
    (folder / "out").mkdir()
    if "{package}" in call:
        packed = run([*"pack 1111 -o".split(), str(folder / "p.tar.zst")])
        assert packed[0] == 0, packed
        path.unlink()
    if call == "archive verify":
        assert run(["archive", "run"])[0] == 0
    names = {
        "first": FIRST,
        "second": SECOND,
        "folder": folder,
        "sessions": machine.folder,
        "out": folder / "out",
        "package": folder / "p.tar.zst",
    }
    return [word.format(**names) for word in call.split()]


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))


def test_every_command_is_called_here_or_has_a_reason() -> None:
    named = {*CALLS, *EXCEPTIONS}
    assert [name for name in list_commands() if name not in named] == []
    assert sorted(named.difference(list_commands())) == []
    assert not {*CALLS} & {*EXCEPTIONS}


@pytest.mark.parametrize("call", [*CALLS.values(), *OTHER_CALLS])
def test_progress_is_shown_on_a_terminal(call: str, machine: Machine, tmp_path: Path) -> None:
    words = fill(call, machine, tmp_path)
    status, written = run(words)
    assert status in (0, 1, 2)
    assert "Try 'turnlog" not in written, written
    assert re.search(r"\r\x1b\[2K[^\r]*(\d %|\d of \d)", written), repr(written)
    assert "Traceback" not in written


@pytest.mark.parametrize("call", [call for call in [*CALLS.values(), *OTHER_CALLS] if not call.startswith(ANSWERS)])
def test_an_interrupt_is_one_line_and_leaves_nothing_half_written(call: str, machine: Machine, tmp_path: Path) -> None:
    words = fill(call, machine, tmp_path)
    before = list_files(machine.folder, tmp_path / "out")
    status, written = run(words, INTERRUPTS)
    lines = re.sub(r"\r\x1b\[2K[^\r\n]*(?=\r\x1b\[2K)|\r\x1b\[2K", "", written).split("\r\n")
    assert (status, lines) == (130, ["turnlog: interrupted", ""]), repr(written)
    assert list_files(machine.folder, tmp_path / "out") == before


def test_work_that_reports_nothing_shows_how_long_it_has_taken(tmp_path: Path) -> None:
    """The thread draws the line, until the output begins."""
    (tmp_path / "nap.py").write_text(NAP)
    status, written = run(["nap"], NAPS.format(folder=str(tmp_path)))
    assert status == 0
    assert re.fullmatch(r"(\r\x1b\[2KWorking, \d+ s so far \(Ctrl-C stops\))+\r\x1b\[2Kdone\r\n", written), repr(
        written
    )


@pytest.mark.skipif(sys.platform != "linux", reason="one process does everything elsewhere")
def test_work_is_spread_over_processes_although_a_thread_draws_the_line(tmp_path: Path) -> None:
    (tmp_path / "nap.py").write_text(FORKS.format())
    spread = "os.sched_getaffinity = lambda _: {{0, 1}}"
    status, written = run(["nap"], NAPS.format(folder=str(tmp_path)) + spread.format())
    assert status == 0
    assert "True [[True], [False], [False]]" in written, repr(written)
    assert "helper" not in written


def test_nothing_is_shown_without_a_terminal(machine: Machine) -> None:
    machine.add(FIRST, three_turns().data())
    command = [sys.executable, "-c", PROGRAM.format(more=""), "strip", FIRST]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout


def list_files(*folders: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
