"""Files of other programs: no command shows them as sessions in which nothing was said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog

ROLLOUT = b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}\n'
QWEN = json.dumps(
    {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}}
).encode()
PLAIN = b'{"role":"user","content":"hi"}\n{"role":"assistant","content":"hello"}\n'


@pytest.mark.parametrize("command", ["show", "files", "context", "tools", "messages", "export", "clone", "fork --at 1"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n", "none of its lines is a Claude Code entry"),
        (ROLLOUT, "as in a Codex rollout"),
        (QWEN, "as in a session of Qwen Code"),
        (PLAIN, "as in a plain list of messages"),
    ],
)
def test_it_is_refused_with_its_kind(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, command: str, data: bytes, reason: str
) -> None:
    path = tmp_path / "0ddba11e-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(data)
    first, *rest = command.split()
    done = turnlog(first, path, *rest)
    assert (done.status, done.out) == (1, "")
    assert f"{path}: not a Claude Code session: " in done.err
    assert reason in done.err
