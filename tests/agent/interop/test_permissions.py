"""The permission matrix, asked of the real clients: `-p` stops what it would have to ask."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.agent.permissions.machine import Group, Row, build_input, fill_folders, furnish, groups
from tests.agent.waits import HANG
from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients()), reason="needs both clients (scripts/install-clients)"),
]
DENIED = ("denied by your permission settings", "denied by permission rule", "Read deny rule", "has been denied")


def select_rows(group: Group, version: str) -> list[Row]:
    """The rows of a group that a client is asked about."""
    return [row for row in group.rows if (row.newest if version == NEWEST else row.old) is not None]


def list_outcomes(version: str, group: Group, rows: list[Row], base: Path) -> list[str]:
    """What a client does with the calls of some rows, made one after the other in one session."""
    cwd = furnish(base)
    home = base / "home"
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(state))
    (cwd / ".claude" / "settings.local.json").write_text(json.dumps(fill_folders(group.settings, cwd)))
    subprocess.run(["git", "init", "-q", str(cwd)], check=True)
    calls = [
        {"type": "tool_use", "id": f"toolu_{i}", "name": r.tool, "input": build_input(r, cwd)}
        for i, r in enumerate(rows)
    ]
    replies = [*({"content": [call]} for call in calls), "done"]
    words = [str(client(version)), "-p", "go", "--model", MODEL, "--output-format", "json"]
    words += ["--permission-mode", group.mode]
    with MockAnthropic({"conversations": [{"kind": "main", "replies": replies}]}) as mock:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**environment(home, mock.url), "IS_SANDBOX": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG,
        )
        results = _results(mock)
    denials = {denial["tool_use_id"] for denial in json.loads(done.stdout)["permission_denials"]}
    return [_outcome(f"toolu_{i}", denials, results) for i in range(len(rows))]


def _results(mock: MockAnthropic) -> dict[str, str]:
    bodies = [request["body"] for request in mock.requests if request["kind"] == "main"]
    blocks = [
        block
        for body in bodies
        for message in body["messages"]
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
    ]
    return {block["tool_use_id"]: json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"}


def _outcome(call: str, denials: set[str], results: dict[str, str]) -> str:
    text = results[call]
    return "stops" if call in denials or any(words in text for words in DENIED) else "runs"


@pytest.mark.parametrize("version", [NEWEST, OLD])
@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_the_real_client_does_what_the_matrix_says_of_it(group: Group, version: str) -> None:
    rows = select_rows(group, version)
    if not rows:
        pytest.skip("this group is our own")
    with tempfile.TemporaryDirectory(prefix="interop-", ignore_cleanup_errors=True) as name:
        outcomes = list_outcomes(version, group, rows, Path(name).resolve())
    expected = {(row.tool, row.given): row.newest if version == NEWEST else row.old for row in rows}
    assert {(row.tool, row.given): outcome for row, outcome in zip(rows, outcomes, strict=True)} == expected
