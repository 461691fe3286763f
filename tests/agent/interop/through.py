"""One script through a whole client, a real one or ours: what it sends, and what it writes down."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tests.agent.interop.side_by_side import Call, Furnish, Outcome, _here, _plain, _records, _results, _there
from tests.agent.waits import HANG
from tests.interop.clients import client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment, run

Json = dict[str, Any]


class Told(NamedTuple):
    """What came of a script."""

    outcomes: list[Outcome]
    requests: list[Json]
    rows: list[Json]
    """All lines of the session, and of its sub-agents."""
    said: str

    def of(self, kind: str) -> list[Json]:
        """The requests of a kind."""
        return [request["body"] for request in self.requests if request["kind"] == kind]


class Machine:
    """A home and a project of a client: a real one of some version, or ours (None)."""

    def __init__(self, base: Path, version: str | None, furnish: Furnish) -> None:
        self.home, self.folder, self.version = base / "home", base / "demo", version
        (self.home / "tmp").mkdir(parents=True)
        self.folder.mkdir()
        furnish(self.folder)
        state = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.folder): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))

    def go(
        self,
        calls: Sequence[Call],
        *flags: str,
        others: Sequence[Json] = (),
        mode: str = "bypassPermissions",
        more: Mapping[str, str] | None = None,
        capture: Mapping[str, str] | None = None,
    ) -> Told:
        """Let the model make some calls, one after the other; `others` are conversations beside this one.

        What the patterns of `capture` find in what was said stands for `{{name}}` in calls.
        """
        blocks = [{"type": "tool_use", "name": name, "input": _there(given, self.folder)} for name, given in calls]
        main = {
            "kind": "main",
            "replies": [*({"content": [block], "capture": capture or {}} for block in blocks), "done"],
        }
        if self.version is None:
            words = [sys.executable, "-m", "turnlog", "chat"]
        else:
            words = [str(client(self.version))]
        words += ["-p", "go", "--model", MODEL, "--permission-mode", mode, *flags]
        with MockAnthropic({"conversations": [*others, main]}, salt=uuid4().hex) as mock:
            env = environment(self.home, mock.url) | {"IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
            ended = run(words, {**env, "CLAUDE_CODE_ENABLE_TASKS": "0", **(more or {})}, self.folder, HANG)
            requests = list(mock.requests)
        return Told(self._outcomes(calls, requests, ended.note), requests, self._rows(), ended.note)

    def _outcomes(self, calls: Sequence[Call], requests: list[Json], note: str) -> list[Outcome]:
        sent = [request["body"]["messages"] for request in requests if request["kind"] == "main"]
        results = [block for message in sent[-1] for block in _results(message)][-len(calls) :] if calls else []
        assert len(results) == len(calls), (note, [request["kind"] for request in requests])
        records = _records(self.home)
        return [
            Outcome(
                call,
                _here(_plain(block["content"]), self.folder),
                bool(block.get("is_error")),
                _here(records.get(block["tool_use_id"]), self.folder),
            )
            for call, block in zip(calls, results, strict=True)
        ]

    def _rows(self) -> list[Json]:
        paths = sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]
