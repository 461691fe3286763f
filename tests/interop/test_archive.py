"""A session that was archived, deleted and restored is resumed by the real client as if nothing had happened."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.recordings import DATA
from tests.interop.resume import MODEL, Resumed, environment, furnish, judge, run, scratch_folder

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients((NEWEST,))), reason="the newest client is not installed"),
]

CLIENT = client(NEWEST)
SESSIONS = [
    "sessions/2.1.325/tools",
    "sessions/2.1.325/agents",
    "sessions/2.0.76/agents",
    "sessions/2.1.45/compact",
]


def largest(folder: Path) -> Path:
    return max(folder.rglob("????????-*.jsonl"), key=lambda path: path.stat().st_size)


def turnlog(home: Path, *words: str) -> None:
    env = {**os.environ, "HOME": str(home), "USERPROFILE": str(home), "TURNLOG_HOME": str(home / "data")}
    subprocess.run([sys.executable, "-m", "turnlog", "archive", *words], env=env, check=True, stdout=subprocess.DEVNULL)


def resume_archived(base: Path, path: Path, *, is_restored: bool) -> Resumed:
    """What the client sends; before, the session is archived, deleted with all that belongs to it, and restored."""
    name, raw = path.stem, path.read_bytes()
    with MockAnthropic() as mock:
        home, cwd = furnish(base, path, raw, name)
        projects = home / ".claude" / "projects"
        if is_restored:
            old = time.time() - 40 * 86400
            for file in projects.rglob("*.jsonl"):
                os.utime(file, (old, old))
            before = {file: file.read_bytes() for file in projects.rglob("*") if file.is_file()}
            turnlog(home, "run")
            shutil.rmtree(projects)
            turnlog(home, "restore", name)
            assert {file: file.read_bytes() for file in projects.rglob("*") if file.is_file()} == before
            assert all(time.time() - file.stat().st_mtime < 3600 for file in before), "the client would delete them"
        command = [str(CLIENT), "-p", NEXT, "--resume", name, "--output-format", "json", "--model", MODEL]
        ended = run(command, environment(home, mock.url), cwd, 60)
        return judge(mock.requests, ended)


@pytest.mark.parametrize("folder", SESSIONS)
def test_the_client_sends_the_same_for_a_restored_session(folder: str) -> None:
    path = largest(DATA / folder)
    with scratch_folder() as one, scratch_folder() as two:
        plain, restored = resume_archived(one, path, is_restored=False), resume_archived(two, path, is_restored=True)
        plain_text = re.sub(re.escape(str(one)), "", repr(plain.messages))
        restored_text = re.sub(re.escape(str(two)), "", repr(restored.messages))
    assert plain.outcome == restored.outcome == "sent"
    assert restored_text == plain_text
