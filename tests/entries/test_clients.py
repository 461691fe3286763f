"""The clients that run, told by what they wrote and by real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turnlog.entries import clients as module
from turnlog.entries.clients import (
    Client,
    is_client_process,
    is_process_alive,
    list_clients,
    list_registrations,
    read_process_config_dir,
    read_process_domain,
    read_process_identity,
)


def register_client(folder: Path, file: str = "1.json", /, **fields: Any) -> str:
    (folder / "sessions").mkdir(exist_ok=True)
    path = folder / "sessions" / file
    path.write_text(json.dumps({"sessionId": "s", "pid": os.getpid(), **fields}))
    return str(path)


def test_a_folder_without_registrations_has_no_clients(tmp_path: Path) -> None:
    assert list_clients(tmp_path) == []


def test_a_client_says_what_it_is_doing_and_what_it_waits_for(tmp_path: Path) -> None:
    path = register_client(tmp_path, status="waiting", waitingFor="permission")
    assert list_clients(tmp_path) == [Client("s", os.getpid(), path, True, "waiting", "permission")]


@pytest.mark.parametrize(
    ("fields", "status", "waiting"),
    [
        ({"status": "dancing", "waitingFor": ""}, None, None),
        ({"status": ["busy"], "waitingFor": 7}, None, None),
        ({"status": "idle", "waitingFor": "x" * 5000}, "idle", "x" * 200),
    ],
)
def test_what_a_client_says_in_another_form_is_not_believed(
    tmp_path: Path, fields: dict[str, Any], status: str | None, waiting: str | None
) -> None:
    register_client(tmp_path, **fields)
    (found,) = list_clients(tmp_path)
    assert (found.status, found.waiting_for) == (status, waiting)


@pytest.mark.parametrize("fields", [{"pid": True}, {"pid": 0}, {"pid": 1 << 31}, {"pid": "7"}, {"sessionId": 7}])
def test_a_registration_that_makes_no_sense_is_none(tmp_path: Path, fields: dict[str, Any]) -> None:
    register_client(tmp_path, **fields)
    (tmp_path / "sessions" / "2.json").mkdir()
    (tmp_path / "sessions" / "3.json").write_bytes(b"{\xff")
    (tmp_path / "sessions" / "4.txt").write_bytes(b"{}")
    assert list_clients(tmp_path) == []


def test_a_client_that_ended_is_none(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    register_client(tmp_path, pid=process.pid)
    assert list_clients(tmp_path) == []


def test_a_client_of_another_machine_cannot_be_asked(tmp_path: Path) -> None:
    register_client(tmp_path, "1.json", pidDomain="linux:there:1", pid=(1 << 31) - 1)
    register_client(tmp_path, "2.json", pidDomain="linux:here:1")
    assert [found.is_here for found in list_clients(tmp_path, "linux:here:1")] == [False, True]


def test_a_machine_is_named_by_its_id_and_the_processes_that_can_be_seen(tmp_path: Path) -> None:
    assert read_process_domain(tmp_path) is None
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("abc\n")
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[1]")
    assert read_process_domain(tmp_path) == "linux:abc:pid:[1]"


def test_a_process_that_began_at_another_time_is_another_one() -> None:
    begun = module._read_process_start(os.getpid())
    assert is_process_alive(os.getpid(), begun)
    assert is_process_alive(os.getpid(), "Sun Nov 15 10:00:00 2026")
    assert begun is None or not is_process_alive(os.getpid(), "1")
    assert module._read_process_start((1 << 31) - 1) is None


def test_a_process_is_told_from_others_with_its_number() -> None:
    found = read_process_identity(os.getpid())
    assert is_process_alive(os.getpid(), found.get("procStart"))
    assert found.get("pidDomain") == read_process_domain()
    assert "procStart" not in read_process_identity(2**22 + 1)


def test_a_killed_client_is_listed_among_the_registrations(tmp_path: Path) -> None:
    path = register_client(tmp_path, procStart="5", statusUpdatedAt=2500, status="busy", cwd="/home/dana")
    (found,) = list_registrations(tmp_path, lambda pid, start: (pid, start) != (os.getpid(), "5"))
    assert found == Client("s", os.getpid(), path, True, "busy", None, 2.5, "5", "/home/dana", True)


@pytest.mark.parametrize(
    ("words", "title", "expected"),
    [
        (["/opt/claude"], "", True),
        ([], "claude", True),
        (["node", "/x/.bin/claude"], "node", True),
        (["node", "server.js"], "node", False),
        ([], "", False),
    ],
)
def test_a_client_is_known_by_its_command_line_or_its_title(words: list[str], title: str, expected: bool) -> None:
    assert is_client_process(words, title) is expected


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}, Path("/c")),
        ({"HOME": "/h"}, Path("/h/.claude")),
        ({"OTHER": "1"}, None),
    ],
)
def test_the_config_folder_of_a_process_is_read_from_its_environment(
    environ: dict[str, str], expected: Path | None
) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], env=environ) as process:
        try:
            while b"sleep" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                assert process.poll() is None
            assert read_process_config_dir(process.pid) == expected
        finally:
            process.kill()
    assert read_process_config_dir(process.pid) is None
