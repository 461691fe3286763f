"""Resume one session file with the real client, in a fresh home, and see what it sends.

The file (and the folder of the same name beside it) is copied into a home of its own; the client runs as
`claude --resume <id> -p NEXT-ORACLE-PROMPT` against the scripted API on loopback, with a dummy key.

One model of large context is used for all files. The conversation is the same with the session's own model,
except for thinking; but reminders then stay separate blocks, and nothing is compacted or refused as too long.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.interop.classify import Object
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT

MODEL = "claude-opus-5-5"
KEY = "sk-ant-test-000"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"]*)"')


class Resumed(NamedTuple):
    """What came of resuming a file."""

    outcome: str
    """sent | compacts | refused | sent-nothing | timeout"""
    messages: list[Object]
    """The raw messages of the request."""
    model: str | None = None
    note: str | None = None
    """What the client said when it sent nothing."""
    status: int | None = None
    """The client's exit status; None = killed, out of time."""


class Ended(NamedTuple):
    """How a client process ended; status None = killed, out of time."""

    status: int | None
    note: str


def resume(client: Path, path: Path, limit: float = 30, model: str | None = MODEL) -> Resumed:
    """Resume a file; the outcome and the raw messages sent."""
    raw = path.read_bytes()
    name = session_id(path, raw)
    with scratch_folder() as scratch, MockAnthropic() as mock:
        home, cwd = furnish(scratch, path, raw, name)
        command = [str(client), "-p", NEXT, "--resume", name, "--output-format", "json"]
        command += ["--model", model] if model else []
        ended = run(command, environment(home, mock.url), cwd, limit)
        return judge(mock.requests, ended)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is removed afterwards, even if a killed client still writes into it for a moment."""
    with tempfile.TemporaryDirectory(prefix="interop-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def furnish(base: Path, path: Path, raw: bytes, name: str) -> tuple[Path, Path]:
    """A home that holds the session and nothing else, and the project's folder."""
    home, cwd = base / "home", base / "demo"
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    for made in (folder, cwd, home / "tmp"):
        made.mkdir(parents=True)
    (folder / f"{name}.jsonl").write_bytes(raw)
    if (path.parent / path.stem).is_dir():
        shutil.copytree(path.parent / path.stem, folder / name)
    settings = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(settings))
    return home, cwd


def environment(home: Path, url: str) -> dict[str, str]:
    """All that the client sees of this machine; old clients look for node on the path."""
    node = shutil.which("node")
    path = os.pathsep.join(filter(None, [str(Path(node).parent) if node else "", os.defpath]))
    return {
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": str(home / "tmp"),
        "CLAUDE_CODE_TMPDIR": str(home / "tmp"),
        "SHELL": "/bin/bash",  # the client would prefer zsh to sh, if there is one
        "USER": "dev",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "DISABLE_AUTO_COMPACT": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def run(command: list[str], env: dict[str, str], cwd: Path, limit: float) -> Ended:
    """Run the client to its end or to the limit; then it is killed with all that it started."""
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            kill(process)
            return Ended(None, "no answer in time")
    return Ended(process.returncode, (err or out).decode(errors="replace").strip())


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, where there are process groups, its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def judge(requests: list[Object], ended: Ended) -> Resumed:
    """The outcome from what was posted and how the client ended."""
    posts = [r for r in requests if r["path"].split("?")[0].endswith("/v1/messages") and r["body"]]
    mains = [r for r in posts if NEXT in json.dumps(r["body"].get("messages", [])[-2:])]
    if not mains:
        outcome = "timeout" if ended.status is None else "refused" if ended.status else "sent-nothing"
        return Resumed(outcome, [], note=ended.note[:120], status=ended.status)
    model = mains[0]["body"].get("model")
    if posts[0]["kind"] == "compact":
        return Resumed("compacts", posts[0]["body"]["messages"][:-1], model, status=ended.status)
    return Resumed("sent", mains[0]["body"]["messages"], model, status=ended.status)


def session_id(path: Path, raw: bytes) -> str:
    """The file's name, else its most frequent sessionId, else one made from the content."""
    found: list[bytes] = SESSION_ID.findall(raw)
    seen = Counter(value.decode(errors="replace") for value in found)
    for name in [path.stem, *(value for value, _ in seen.most_common(1))]:
        if UUID.fullmatch(name):
            return name.lower()
    return str(uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(raw).hexdigest()))


def version_of(client: Path) -> str:
    """What the client calls itself."""
    with scratch_folder() as home:
        (home / "tmp").mkdir()
        ended = run([str(client), "--version"], environment(home, "http://127.0.0.1:9"), home, 60)
    return next(iter(ended.note.split()), "unknown")
