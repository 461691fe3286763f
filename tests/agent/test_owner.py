"""One process writes a session, and others see which."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.talk import plain, write_story
from tests.agent.waits import run
from turnlog.agent.record.owner import SessionLock, acquire_session
from turnlog.edit.open_signs import find_open_signs
from turnlog.edit.session_target import find_target
from turnlog.entries.clients import list_clients, read_process_identity
from turnlog.errors import Busy, TurnlogError

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
HOLD = """
import sys
from pathlib import Path
from turnlog.agent.record.owner import acquire_session
owner = acquire_session(Path(sys.argv[1]), Path.cwd(), Path(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_story(tmp_path / "config", plain).path


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "data" / "locks"


@contextmanager
def another(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has said that it is ready."""
    process = subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "held"
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_whoever_owns_a_session_is_registered_as_clients_are(session: Path, locks: Path, tmp_path: Path) -> None:
    with acquire_session(session, tmp_path, locks) as owner:
        (found,) = list_clients(tmp_path / "config")
        assert (found.session_id, found.pid, found.status, found.is_here) == (session.stem, os.getpid(), "idle", True)
        said = json.loads(Path(found.path).read_bytes())
        assert (said["entrypoint"], said["kind"], said["cwd"]) == ("turnlog", "interactive", str(tmp_path))
        owner.set_status("waiting", "approve Bash")
        assert list_clients(tmp_path / "config")[0].waiting_for == "approve Bash"
        owner.set_status("busy")
        (found,) = list_clients(tmp_path / "config")
        assert (found.status, found.waiting_for) == ("busy", None)
        assert [sign.kind for sign in find_open_signs(find_target(session), 0)] == ["registered"]
    assert list_clients(tmp_path / "config") == []
    assert list((tmp_path / "config" / "sessions").iterdir()) == []


def test_another_process_can_not_have_the_session_until_this_one_lets_go(session: Path, locks: Path) -> None:
    with (
        another("-c", HOLD, str(session), str(locks)) as process,
        pytest.raises(Busy, match=rf"turnlog \(process {process.pid}\) has it open"),
    ):
        acquire_session(session, Path.cwd(), locks)
    acquire_session(session, Path.cwd(), locks).close()
    assert list(locks.iterdir()) == []


@posix
def test_a_process_that_was_killed_holds_nothing(session: Path, locks: Path) -> None:
    with another("-c", HOLD, str(session), str(locks)) as process:
        process.kill()
        process.wait()
        assert list(locks.iterdir()) != []
        acquire_session(session, Path.cwd(), locks).close()


def test_a_client_that_has_it_open_is_told_with_its_process(session: Path, locks: Path, tmp_path: Path) -> None:
    with another("-c", "print('held', flush=True); input()") as process:
        registered = tmp_path / "config" / "sessions" / f"{process.pid}.json"
        registered.parent.mkdir()
        said = {"pid": process.pid, "sessionId": session.stem, **read_process_identity(process.pid)}
        registered.write_text(json.dumps(said))
        with pytest.raises(Busy, match=f"process {process.pid}; end that process first"):
            acquire_session(session, tmp_path, locks)
        assert list(locks.iterdir()) == [], "what could not be had is not held either"
        with acquire_session(session, tmp_path, locks, is_new=True):
            pass
        process.communicate("\n")
    acquire_session(session, tmp_path, locks).close()


def test_a_client_of_another_machine_is_a_warning(session: Path, locks: Path, tmp_path: Path) -> None:
    registered = tmp_path / "config" / "sessions" / "4711.json"
    registered.parent.mkdir()
    registered.write_text(json.dumps({"pid": 4711, "sessionId": session.stem, "pidDomain": "linux:elsewhere:1"}))
    with acquire_session(session, tmp_path, locks) as owner:
        expected = 1 if read_process_identity(os.getpid()).get("pidDomain") else 0
        assert len(owner.warnings) == expected


@linux
def test_whoever_starts_this_process_for_the_session_does_not_stand_in_its_way(session: Path, locks: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(session), str(locks)]
    outer = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL).returncode)"
    done = run([sys.executable, "-c", outer, "--resume", session.stem, *command], text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "held"), done.stderr


@linux
def test_another_process_that_was_started_for_the_session_does(session: Path, locks: Path) -> None:
    with another("-c", "print('held', flush=True); input()", "--resume", session.stem) as process:
        with pytest.raises(Busy, match="was started with its id"):
            acquire_session(session, Path.cwd(), locks)
        process.communicate("\n")


def test_a_session_outside_of_the_client_s_folders_is_only_locked(tmp_path: Path, locks: Path) -> None:
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(b"")
    with acquire_session(path, tmp_path, locks) as owner:
        owner.set_status("busy")
        with pytest.raises(Busy):
            SessionLock.acquire(path, locks)
    owner.close()
    assert not (tmp_path / "sessions").exists()


def test_a_lock_that_was_removed_while_it_was_waited_for_is_made_anew(session: Path, locks: Path) -> None:
    first = SessionLock.acquire(session, locks)
    (name,) = locks.iterdir()
    name.unlink()
    second = SessionLock.acquire(session, locks)
    first.release()
    second.release()
    assert list(locks.iterdir()) == []


def test_a_folder_for_locks_that_can_not_be_made_is_told(session: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(TurnlogError, match="TURNLOG_HOME"):
        acquire_session(session, tmp_path, tmp_path / "data" / "locks")


@linux
def test_a_full_disk_keeps_nobody_from_holding_a_session(session: Path, locks: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # nothing can be written, as on a full disk
    try:
        lock = SessionLock.acquire(session, locks)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    with pytest.raises(Busy, match="another turnlog has it open"):
        SessionLock.acquire(session, locks)
    lock.release()


def test_a_registration_of_somebody_else_is_not_removed(session: Path, locks: Path, tmp_path: Path) -> None:
    owner = acquire_session(session, tmp_path, locks)
    registered = tmp_path / "config" / "sessions" / f"{os.getpid()}.json"
    registered.write_text(json.dumps({"pid": os.getpid(), "sessionId": "another"}))
    owner.close()
    assert registered.exists()
