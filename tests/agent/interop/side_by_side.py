"""The same calls of tools through a real client and through our tools."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.agent.tools.room import Room
from tests.agent.waits import HANG
from tests.interop.clients import client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment, run

HERE = "@HERE@"
"""Stands for the project's folder, in calls and in what came of them."""
REMINDER = re.compile(r"\n*<system-reminder>\n.*?</system-reminder>\n?", re.DOTALL)
"""What a client adds to results on its own."""

Call = tuple[str, dict[str, Any]]
Furnish = Callable[[Path], None]


class Outcome(NamedTuple):
    """What came of a call."""

    call: Call
    content: Any
    is_error: bool
    structured: Any

    @property
    def keys(self) -> object:
        """The shape of the record: the names in it, or that it is a text."""
        return sorted(self.structured) if isinstance(self.structured, dict) else type(self.structured).__name__


def theirs(base: Path, version: str, furnish: Furnish, calls: Sequence[Call], *flags: str) -> list[Outcome]:
    """What comes of calls in a real client, one after the other."""
    home, folder = base / "home", base / "demo"
    (home / "tmp").mkdir(parents=True)
    folder.mkdir()
    furnish(folder)
    settings = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(settings))
    blocks = [{"type": "tool_use", "name": name, "input": _there(given, folder)} for name, given in calls]
    replies = [*({"content": [block]} for block in blocks), "done"]
    words = [str(client(version)), "-p", "go", "--model", MODEL, "--permission-mode", "bypassPermissions", *flags]
    with MockAnthropic({"conversations": [{"kind": "main", "replies": replies}]}) as mock:
        env = environment(home, mock.url) | {"IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
        ended = run(words, env | {"CLAUDE_CODE_ENABLE_TASKS": "0"}, folder, HANG)
        sent = [request["body"]["messages"] for request in mock.requests if request["kind"] == "main"]
    results = [block for message in sent[-1] for block in _results(message)]
    assert len(results) == len(calls), ended
    records = _records(home)
    made = []
    for call, block in zip(calls, results, strict=True):
        structured = _here(records[block["tool_use_id"]], folder)
        content = _here(_plain(block["content"]), folder)
        made.append(Outcome(call, content, bool(block.get("is_error")), structured))
    return made


def ours(base: Path, furnish: Furnish, calls: Sequence[Call]) -> list[Outcome]:
    """What comes of the same calls with our tools; shell commands are just run."""
    folder = base / "demo"
    room = Room(folder)
    furnish(folder)
    made = []
    for name, given in calls:
        if name == "Bash":
            done = subprocess.run(["bash", "-c", given["command"]], cwd=folder, capture_output=True, text=True)
            made.append(Outcome((name, given), done.stdout.strip(), is_error=False, structured=None))
            continue
        result = room.call(name, **_there(given, folder))
        content, structured = _here(result.content, folder), _here(result.structured, folder)
        made.append(Outcome((name, given), content, result.is_error, structured))
    return made


def _there(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace(HERE, str(folder)))


def _here(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace(str(folder), HERE))


def _results(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"] if isinstance(message["content"], list) else []
    return [block for block in content if block["type"] == "tool_result"]


def _plain(content: Any) -> Any:
    return REMINDER.sub("", content) if isinstance(content, str) else content


def _records(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in (home / ".claude" / "projects").rglob("*.jsonl"):
        for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
            row = json.loads(line)
            if row.get("type") == "user":
                found |= {block["tool_use_id"]: row.get("toolUseResult") for block in _results(row["message"])}
    return found


def set_mtime(path: Path, moment: int) -> None:
    """Say when a file was changed last."""
    os.utime(path, (moment, moment))
