"""Whether a session is open elsewhere, told by real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.edit.furnished_session import MINE
from turnlog.edit.open_signs import OpenSign, find_open_signs
from turnlog.edit.session_target import find_target
from turnlog.entries.clients import read_process_domain

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@contextmanager
def process(code: str, *words: str | Path, **environ: str) -> Iterator[int]:
    """A process that runs some code, says so, and waits."""
    code += "\nimport sys; print(flush=True); sys.stdin.read()"
    pipe, command = subprocess.PIPE, [sys.executable, "-c", code, *map(str, words)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={**os.environ, **environ}) as running:
        assert running.stdout
        running.stdout.readline()
        yield running.pid
        running.communicate()


def register(session: Path, **fields: object) -> None:
    folder = session.parents[2] / "sessions"
    folder.mkdir(exist_ok=True)
    (folder / "1.json").write_text(json.dumps({"sessionId": MINE, **fields}))


def kinds(session: Path) -> list[str]:
    return [sign.kind for sign in find_open_signs(find_target(session))]


def test_a_quiet_session_shows_no_sign(session: Path) -> None:
    assert find_open_signs(find_target(session)) == []


def test_a_running_client_registers_its_session(session: Path) -> None:
    with process("") as pid:
        register(session, pid=pid)
        assert find_open_signs(find_target(session)) == [
            OpenSign("registered", f"it is open in Claude Code, process {pid}", pid)
        ]
        register(session, pid=pid, sessionId="another")
        assert find_open_signs(find_target(session)) == []
    register(session, pid=pid)
    assert find_open_signs(find_target(session)) == []


@linux
def test_another_process_with_the_number_of_a_client_that_ended_is_none(session: Path) -> None:
    with process("") as pid:
        begun = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        register(session, pid=pid, procStart=begun)
        assert kinds(session) == ["registered"]
        register(session, pid=pid, procStart=str(int(begun) - 1))
        assert kinds(session) == []
        register(session, pid=pid, procStart="Sun Nov 15 10:00:00 2026")
        assert kinds(session) == ["registered"]


@linux
@pytest.mark.skipif(read_process_domain() is None, reason="this machine has no id")
def test_a_client_of_another_machine_cannot_be_asked(session: Path) -> None:
    register(session, pid=os.getpid(), pidDomain=read_process_domain())
    assert kinds(session) == ["registered"]
    register(session, pid=os.getpid(), pidDomain="linux:another:pid:[1]")
    (sign,) = find_open_signs(find_target(session))
    assert (sign.kind, sign.is_certain) == ("elsewhere", False)


@pytest.mark.parametrize("pid", [None, "7", 0, -1, True, 1 << 40, [1], 1.5])
def test_a_registration_that_makes_no_sense_is_none(session: Path, pid: object) -> None:
    register(session, pid=pid)
    (session.parents[2] / "sessions" / "2.json").write_bytes(b"\xff{")
    (session.parents[2] / "sessions" / "3.json").mkdir()
    assert find_open_signs(find_target(session)) == []


@linux
def test_a_process_that_was_started_with_the_id_has_it_open(session: Path) -> None:
    own = str(uuid.uuid4())  # other tests look for processes with the usual one at the same time
    found = find_target(session.rename(session.with_name(f"{own}.jsonl")))
    for words in (("--resume", own), (f"--session-id={own.upper()}",)):
        with process("", *words) as pid:
            assert [(sign.kind, sign.pid) for sign in find_open_signs(found)] == [("command", pid)]
    with process("", "delete", own), process("", "--resume"):
        assert find_open_signs(found) == []


@linux
@pytest.mark.parametrize(("name", "below"), [("CLAUDE_CONFIG_DIR", ""), ("HOME", ".claude")])
def test_a_process_that_was_started_for_a_copy_elsewhere_has_not(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, below: str
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    own = str(uuid.uuid4())
    found = find_target(session.rename(session.with_name(f"{own}.jsonl")))
    config = tmp_path / "other" / below
    with process("", "--resume", own, **{name: str(tmp_path / "other")}):
        assert [sign.kind for sign in find_open_signs(found)] == ["command"], "there is no copy"
        (config / "projects" / "-x").mkdir(parents=True)
        (config / "projects" / "-x" / f"{own}.jsonl").touch()
        assert find_open_signs(found) == []
    assert found.config_dir is not None
    with process("", "--resume", own, CLAUDE_CONFIG_DIR=str(found.config_dir)):
        assert [sign.kind for sign in find_open_signs(found)] == ["command"]


@linux
def test_a_process_that_writes_has_it_open_and_one_that_reads_has_not(session: Path) -> None:
    agent = session.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    for path in (session, agent):
        with process("import sys; file = open(sys.argv[1], 'ab')", path) as pid:
            assert [(sign.kind, sign.pid) for sign in find_open_signs(find_target(session))] == [("handle", pid)]
        with process("import sys; file = open(sys.argv[1], 'rb')", path):
            assert find_open_signs(find_target(session)) == []


def test_a_session_that_was_just_written_may_be_open(session: Path) -> None:
    agent = session.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    for path in (session, agent):
        now = 1_800_000_000
        os.utime(path, (now, now))
        for passed, expected in ((0, ["growth"]), (4, ["growth"]), (-4, ["growth"]), (6, []), (-60, [])):
            assert [sign.kind for sign in find_open_signs(find_target(session), now + passed)] == expected
        os.utime(path, (1, 1))


def test_a_session_that_is_gone_shows_no_sign(session: Path) -> None:
    session.unlink()
    assert find_open_signs(find_target(session)) == []
