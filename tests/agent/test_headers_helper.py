"""Commands that print the headers for connections to MCP servers (`headersHelper`)."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import KEY, Desk, call, reply, script
from tests.agent.mcp_over_http import McpServer
from turnlog.agent.mcp_servers.headers_helper import fetch_headers
from turnlog.agent.mcp_servers.server_config import ServerConfig
from turnlog.agent.mcp_servers.server_link import ServerFailure

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell")
MakeDesk = Callable[[dict[str, Any]], Desk]
TOKEN = "token-of-the-helper"


@pytest.fixture
def server() -> Iterator[McpServer]:
    with McpServer(TOKEN) as started:
        threading.Thread(target=started.serve_forever, daemon=True).start()
        yield started
        started.shutdown()


def build_config(server: McpServer, helper: str) -> str:
    headers = {"authorization": "old", "x-kept": "kept"}
    return json.dumps({"mcpServers": {"shop": {"url": server.url, "headers": headers, "headersHelper": helper}}})


def print_headers(**headers: Any) -> str:
    return f"echo '{json.dumps(headers)}'"


def test_the_headers_of_the_helper_reach_the_server(desk: MakeDesk, server: McpServer) -> None:
    here = desk(script(reply(call("mcp__shop__look")), "Done."))
    here.trust()
    seen = here.base / "seen"
    helper = f'env > "{seen}"; {print_headers(authorization=TOKEN)}'
    done = here.turnlog("-p", "go", "--mcp-config", build_config(server, helper), "--allowedTools", "mcp__shop")
    assert (done.stdout, done.stderr) == ("Done.\n", "")
    assert "apples" in json.dumps(here.requests[-1])
    assert {headers["x-kept"] for headers in server.seen} == {"kept"}
    environ = seen.read_text()
    assert "CLAUDE_CODE_MCP_SERVER_NAME=shop\n" in environ
    assert f"CLAUDE_CODE_MCP_SERVER_URL={server.url}\n" in environ
    assert KEY not in environ


@pytest.mark.parametrize(
    ("helper", "problem"),
    [
        ("echo s3cret; exit 3", "headersHelper failed with exit status 3"),
        ("echo s3cret", "headersHelper did not print a JSON object of texts"),
        ("echo '[\"s3cret\"]'", "headersHelper did not print a JSON object of texts"),
        (print_headers(authorization=5, other="s3cret"), "headersHelper did not print a JSON object of texts"),
        ("no-such-program-s3cret", "headersHelper failed with exit status 127"),
    ],
)
def test_a_helper_that_fails_is_named_without_its_output(
    desk: MakeDesk, server: McpServer, helper: str, problem: str
) -> None:
    here = desk(script("Done."))
    here.trust()
    done = here.turnlog("-p", "go", "--mcp-config", build_config(server, helper))
    assert done.stdout == "Done.\n"
    assert problem in done.stderr
    assert "s3cret" not in done.stderr
    assert server.seen == []


def test_the_helper_of_a_project_runs_only_after_approval(desk: MakeDesk, server: McpServer) -> None:
    here = desk(script("Done."))
    (here.cwd / ".mcp.json").write_text(build_config(server, "touch made"))
    for is_trusted in (False, True):
        if is_trusted:
            here.trust()
        here.turnlog("-p", "go")
        assert not (here.cwd / "made").exists()
    assert server.seen == []


def test_a_helper_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    config = ServerConfig("shop", "user", "x", "http", url="http://x", headers_helper="sleep 600 & sleep 600")
    with pytest.raises(ServerFailure, match=r"took longer than 0\.5 seconds"):
        fetch_headers(config, tmp_path, dict(os.environ), seconds=0.5)
