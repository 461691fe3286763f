"""The reference MCP servers from npm and PyPI through the newest client and through ours: the model sees the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.interop.test_front import ours, real
from tests.interop.clients import NEWEST, ROOT
from tests.interop.mock_anthropic import MockAnthropic

pytestmark = pytest.mark.interop
Json = dict[str, Any]

SERVERS = ROOT / ".tools" / "servers"
MODULES = SERVERS / "node" / "node_modules" / "@modelcontextprotocol"
DEFERRED_NOTE = re.compile(r"\n\nThis tool's input schema was not in your prompt.*", re.DOTALL)
"""The newest client shows the model a tool's schema only on demand, and says so after a failure."""

CALLS = [
    call("mcp__every__echo", message="hi"),
    call("mcp__every__get-sum", a=1, b=2),
    call("mcp__every__get-sum", a="one"),
    call("mcp__every__get-tiny-image"),
    call("mcp__every__trigger-long-running-operation", duration=0.4, steps=4),
    call("mcp__every__get-annotated-message", messageType="error", includeImage=True),
    call("mcp__every__get-resource-links", count=3),
    call("mcp__every__get-resource-reference", resourceType="Text", resourceId=1),
    call("mcp__every__get-resource-reference", resourceType="Blob", resourceId=2),
    call("mcp__every__get-structured-content", location="Chicago"),
    call("mcp__every__trigger-elicitation-request"),
    call("mcp__every__trigger-sampling-request", prompt="x", maxTokens=5),
    call("mcp__every__get-roots-list"),
    call("mcp__files__list_allowed_directories"),
    call("mcp__files__write_file", path="BASE/project/new.txt", content="written\n"),
    call("mcp__files__read_text_file", path="BASE/project/new.txt"),
    call("mcp__files__edit_file", path="BASE/project/new.txt", edits=[{"oldText": "written", "newText": "changed"}]),
    call("mcp__files__list_directory", path="BASE/project"),
    call("mcp__files__read_text_file", path="/etc/passwd"),
    call("mcp__time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
    call("mcp__time__get_current_time", timezone="Nowhere/At_all"),
    call("mcp__git__git_status", repo_path="BASE/project"),
]


def configure(base: Path) -> str:
    node = {name: str(MODULES / f"server-{name}" / "dist" / "index.js") for name in ("everything", "filesystem")}
    programs = SERVERS / "python" / "bin"
    return json.dumps(
        {
            "mcpServers": {
                "every": {"command": "node", "args": [node["everything"], "stdio"]},
                "files": {"command": "node", "args": [node["filesystem"], str(base / "project")]},
                "time": {"command": str(programs / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
                "git": {"command": str(programs / "mcp-server-git")},
            }
        }
    )


def run_client(base: Path, name: str, prompt: str, blocks: list[Json]) -> MockAnthropic:
    base = base.resolve() / name
    replies = [reply(json.loads(json.dumps(block).replace("BASE", str(base)))) for block in blocks]
    allowed = ",".join(f"mcp__{server}" for server in ("every", "files", "time", "git"))
    words = ("-p", prompt, "--mcp-config", configure(base), "--strict-mcp-config", "--allowedTools", allowed)
    if name == "ours":
        Desk(base, None).trust()  # type: ignore[arg-type]
        done, mock = ours(base, script(*replies, "Done."), *words)
    else:
        done, mock = real(NEWEST, base, script(*replies, "Done."), *words)
    assert done.stdout == "Done.\n", done
    return mock


def to_plain(value: Any, base: Path) -> Any:
    """What the model gets, without what differs between any two runs."""
    text = json.dumps(value).replace(str(base), "BASE")
    text = re.sub(r"BASE[^\"]*/tool-results/mcp-\w+-blob-[\w-]+", "BLOB", text)
    text = re.sub(r"\d+:\d\d:\d\d\u202f?\s?[AP]M|\d+:\d\d:\d\d\\u202f[AP]M", "TIME", text)
    return json.loads(text)


def list_results(mock: MockAnthropic, base: Path) -> list[Json]:
    body = [request for request in mock.requests if request["kind"] == "main"][-1]["body"]
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    results = [block for block in blocks if block["type"] == "tool_result"]
    found = [{key: block.get(key) for key in ("content", "is_error")} for block in results]
    for one in found:
        if isinstance(one["content"], str):
            one["content"] = DEFERRED_NOTE.sub("", one["content"])
    plain: list[Json] = to_plain(found, base)
    return plain


@pytest.fixture(autouse=True)
def _skip_without_servers() -> None:
    if not MODULES.is_dir() or not (SERVERS / "python").is_dir():
        pytest.skip("scripts/install-servers has not installed the servers")


def test_calls_have_the_same_results(tmp_path: Path) -> None:
    found = {
        name: list_results(run_client(tmp_path, name, "go", CALLS), tmp_path.resolve() / name)
        for name in ("theirs", "ours")
    }
    assert len(found["ours"]) == len(CALLS)
    for block, theirs, mine in zip(CALLS, found["theirs"], found["ours"], strict=True):
        assert (block, mine) == (block, theirs)


@pytest.mark.parametrize("prompt", ["/mcp__every__simple-prompt", "/mcp__every__args-prompt Berlin"])
def test_prompts_become_the_same(tmp_path: Path, prompt: str) -> None:
    found = {}
    for name in ("theirs", "ours"):
        mock = run_client(tmp_path, name, prompt, [])
        body = [request for request in mock.requests if request["kind"] == "main"][-1]["body"]
        blocks = [block for message in body["messages"] if message["role"] == "user" for block in message["content"]]
        texts = [block["text"].strip() for block in blocks if isinstance(block, dict) and block["type"] == "text"]
        found[name] = [text for text in texts if not text.startswith("<system-reminder>")]
    assert len(found["ours"]) > 1
    assert found["ours"] == found["theirs"]
