"""What processes show: real ones, that are called like a client and start others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from turnlog.live.processes import (
    ChildProcess,
    NoProcesses,
    ProcFolder,
    find_named_session,
    open_processes,
)
from turnlog.live.signs import is_tool_shell, matches_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

SESSION = "11111111-2222-4333-8444-555555555555"
_CLIENT = """
import os, signal, subprocess, sys
sys.stdout.write("ready\\n"); sys.stdout.flush()
children = []
for line in sys.stdin:
    if line.startswith("run "):
        nothing = subprocess.DEVNULL
        words = ["bash", "-c", line[4:].strip()]
        children.append(subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True))
    elif line == "end\\n":
        for child in children: os.killpg(child.pid, signal.SIGKILL); child.wait()
        children.clear()
    elif line == "draw\\n":
        sys.stderr.write("x" * 1000); sys.stderr.flush()
    sys.stdout.write("done\\n"); sys.stdout.flush()
"""


class RunningClient:
    """A process called `claude` that runs what a test asks for."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            ["claude", "-c", _CLIENT, *words],
            executable=sys.executable,
            cwd=folder,
            env={**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "config")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def do(self, words: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def run_client(folder: Path, *words: str) -> Iterator[RunningClient]:
    client = RunningClient(folder, *words)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.do("end")
        client.process.kill()
        client.process.communicate()


def wait_until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not check():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_a_client_is_found_with_its_folder_and_its_arguments(tmp_path: Path) -> None:
    with run_client(tmp_path, "--resume", SESSION) as client:
        (found,) = [one for one in ProcFolder().find_clients() or () if one.pid == client.pid]
    assert (found.folder, found.config_dir, found.session_id) == (str(tmp_path), tmp_path / "config", SESSION)
    assert found.parent == os.getpid()
    assert abs(found.started - time.time()) < 3600


def test_a_client_that_was_killed_is_neither_alive_nor_found(tmp_path: Path) -> None:
    processes = ProcFolder()
    with run_client(tmp_path) as client:
        (found,) = [one for one in processes.find_clients() or () if one.pid == client.pid]
        assert processes.is_alive(client.pid, found.start)
        assert not processes.is_alive(client.pid, str(int(found.start) - 1))  # the number was given to another process
        client.process.kill()
        wait_until(lambda: not processes.is_alive(client.pid, found.start))  # a zombie until somebody waits for it
        assert client.pid not in [one.pid for one in processes.find_clients() or ()]


def test_a_command_is_a_child_while_it_runs(tmp_path: Path) -> None:
    processes = ProcFolder()
    with run_client(tmp_path) as client:
        assert processes.list_children(client.pid) == []
        client.do("run source /x/shell-snapshots/s.sh 2>/dev/null; eval 'sleep 600'; true")
        wait_until(lambda: any(is_tool_shell(one) for one in processes.list_children(client.pid) or ()))
        (child,) = processes.list_children(client.pid) or []
        assert matches_command(child, "sleep  '600'")
        assert not matches_command(child, "sleep 700")
        assert child.started is not None
        client.do("end")
        assert processes.list_children(client.pid) == []
    assert not processes.list_children(client.pid)


def test_what_a_client_writes_is_counted(tmp_path: Path) -> None:
    with run_client(tmp_path) as client:
        before = ProcFolder().read_activity(client.pid)
        client.do("draw")
        after = ProcFolder().read_activity(client.pid)
    assert before is not None
    assert after is not None
    assert after.written_bytes - before.written_bytes >= 1000
    assert after.writes > before.writes


def test_a_process_that_becomes_a_client_later_is_found_while_it_is_young(tmp_path: Path) -> None:
    processes = ProcFolder()
    line = f"read x; exec -a claude {sys.executable} -c 'import time; time.sleep(600)'"
    with subprocess.Popen(["bash", "-c", line], stdin=subprocess.PIPE, cwd=tmp_path) as shell:
        try:
            assert shell.pid not in [one.pid for one in processes.find_clients() or ()]
            assert shell.stdin is not None
            shell.stdin.write(b"\n")
            shell.stdin.flush()
            wait_until(lambda: shell.pid in [one.pid for one in processes.find_clients() or ()])
        finally:
            shell.kill()


def test_without_processes_nothing_is_known(tmp_path: Path) -> None:
    hidden = ProcFolder(tmp_path / "nothing")
    assert (hidden.find_clients(), hidden.list_children(1), hidden.read_activity(1)) == (None, None, None)
    none = NoProcesses()
    assert (none.find_clients(), none.list_children(1), none.read_activity(1)) == (None, None, None)
    assert none.is_alive(os.getpid(), None)
    assert isinstance(open_processes(), ProcFolder)


def test_unreadable_and_broken_entries_are_skipped(tmp_path: Path) -> None:
    for name in ("1", "2", "x"):
        (tmp_path / name / "task" / name).mkdir(parents=True)
    (tmp_path / "1" / "cmdline").write_bytes(b"claude\0--resume\0")
    (tmp_path / "1" / "stat").write_bytes(b"nonsense")
    (tmp_path / "1" / "io").write_text("syscr: many\n")
    (tmp_path / "2" / "cmdline").mkdir()
    processes = ProcFolder(tmp_path)
    assert processes.find_clients() == []
    assert processes.read_activity(1) is None
    assert processes.list_children(1) is None  # such a kernel does not list children


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["claude", "--resume", SESSION], SESSION),
        (["node", "/x/bin/claude", "-r", SESSION.upper()], SESSION),
        (["claude", f"--session-id={SESSION}"], SESSION),
        (["claude", "--resume", SESSION, "--fork-session"], None),
        (["claude", "--resume"], None),
        (["claude", "--resume", "../../etc"], None),
        ([], None),
    ],
)
def test_the_session_is_read_from_the_arguments(words: list[str], found: str | None) -> None:
    assert find_named_session(words) == found


def test_other_children_are_no_commands() -> None:
    assert not is_tool_shell(ChildProcess(1, "/bin/sh -c npm config get prefix"))
    assert not matches_command(ChildProcess(1, "bash -c x"), "")
