"""The server over standard input and output, with the client of the official package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.conftest import FOREIGN, OWN, Shelf, call_until_indexed, extract_quote, with_client
from tests.session.build import Build
from turnlog.mcp.pages import count_tokens


def fill(shelf: Shelf) -> None:
    own, foreign = Build(), Build()
    own.prompt("Why is the cent rounding wrong?")
    own.call("c1", "Bash", {"command": "pytest -q"})
    own.result("c1", "1 failed: cent rounding", error=True)
    own.answer("Because of floats.")
    foreign.prompt("Move the ledger to cent amounts")
    foreign.answer("Done.")
    shelf.add(OWN, own)
    shelf.add(FOREIGN, foreign, shelf.foreign)


def test_a_client_finds_read_only_tools_with_short_descriptions(shelf: Shelf) -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = with_client(shelf, work)
    assert [tool.name for tool in tools] == [
        "search_sessions", "list_sessions", "get_session", "get_turns",
        "get_messages", "get_files_touched", "get_file_version", "get_usage",
    ]  # fmt: skip
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert len(tool.description) <= 120
        assert tool.input_schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(tool.input_schema)
    listed = json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools])
    assert count_tokens(listed) < 2_500


def test_a_client_searches_and_reads_on_from_a_hit(shelf: Shelf) -> None:
    fill(shelf)

    async def work(client: Client) -> list[str]:
        return [
            await call_until_indexed(client, "search_sessions", query="cent rounding"),
            await call_until_indexed(client, "get_turns", session=OWN[:8]),
        ]

    search, turns = map(extract_quote, with_client(shelf, work))
    assert "aaaaaaaa" in search
    assert "turn 1, prompt" in search
    assert "bbbbbbbb" not in search
    assert "call Bash: pytest -q" in turns
    assert "error: 1 failed: cent rounding" in turns
    assert "answer: Because of floats." in turns


def test_sessions_are_resources(shelf: Shelf) -> None:
    fill(shelf)

    async def work(client: Client) -> Any:
        listed = (await client.list_resources()).resources
        text = (await client.read_resource(listed[0].uri)).contents[0]
        with pytest.raises(MCPError, match="no session … in the project"):
            await client.read_resource(f"turnlog://session/{FOREIGN}")
        with pytest.raises(MCPError, match="resources start with"):
            await client.read_resource("file:///etc/passwd")
        return listed, text

    listed, text = with_client(shelf, work)
    assert [item.uri for item in listed] == [f"turnlog://session/{OWN}"]
    assert listed[0].title == "Why is the cent rounding wrong?"
    assert "1. " in extract_quote(text.text)


def test_all_projects_can_be_read_if_the_user_allows_it(shelf: Shelf) -> None:
    fill(shelf)

    async def work(client: Client) -> str:
        answer = await client.call_tool("list_sessions", {})
        return answer.content[0].text  # type: ignore[union-attr]

    text = extract_quote(with_client(shelf, work, "--all-projects"))
    assert "aaaaaaaa" in text
    assert "bbbbbbbb" in text
    assert str(shelf.foreign) in text


def test_the_session_that_the_agent_works_in_is_left_out_of_its_searches(shelf: Shelf) -> None:
    fill(shelf)
    other = "cccccccc-3333-4333-8333-333333333333"
    build = Build()
    build.prompt("Look for cent rounding")
    shelf.add(other, build)
    (shelf.config / "sessions").mkdir()
    registration = {"sessionId": other, "pid": os.getpid()}  # this process is the client that starts the server
    (shelf.config / "sessions" / f"{os.getpid()}.json").write_text(json.dumps(registration))

    async def work(client: Client) -> list[str]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search_sessions", {"query": "cent rounding", "limit": 1}),
            ("get_session", {"session": "last"}),
            ("list_sessions", {}),
            ("search_sessions", {"query": "cent rounding", "session": other}),
        ]
        return [await call_until_indexed(client, name, **given) for name, given in calls]

    search, last, listed, named = with_client(shelf, work)
    assert "aaaaaaaa" in search
    assert "cccccccc" not in search
    assert last.startswith(f"Session {OWN}")
    assert "cccccccc · this session" in extract_quote(listed)
    assert "cccccccc" in extract_quote(named)


def test_reading_a_large_session_reports_progress(shelf: Shelf) -> None:
    build = Build()
    for number in range(50):
        build.prompt(f"hello {number} " + "some words = 'and 1 more'; " * 100)
        build.answer("fine")
    shelf.add(OWN, build)
    seen: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async def work(client: Client) -> Any:
        return await client.call_tool("get_session", {"session": OWN}, progress_callback=note)

    assert not with_client(shelf, work).is_error
    assert seen
    assert seen == sorted(seen)
    assert all(total and done <= total for done, total in seen)


def test_wrong_calls_are_answered_with_what_is_wrong(shelf: Shelf) -> None:
    async def work(client: Client) -> tuple[list[Any], str]:
        return [
            await client.call_tool("delete_session", {}),
            await client.call_tool("get_turns", {"session": "last", "first": 0}),
            await client.call_tool("get_turns", {"session": "last"}),
            await client.call_tool("search_sessions", {"query": "(a"}),
        ], await call_until_indexed(client, "search_sessions", query="rounding")

    answers, last = with_client(shelf, work)
    texts = [answer.content[0].text for answer in answers]
    assert all(answer.is_error for answer in answers)
    assert texts[0].startswith("unknown tool; use one of search_sessions")
    assert texts[1] == "invalid arguments: Expected `int` >= 1 - at `$.first`"
    assert texts[2] == f"no session in the project {shelf.project}"
    assert "this parenthesis is never closed" in texts[3]
    assert last == "No sessions here yet."


def test_lines_that_are_no_messages_do_not_end_the_server(shelf: Shelf) -> None:
    fill(shelf)
    with RawServer(shelf) as server:
        server.send("not json\n[]\n\xff\n")
        assert "aaaaaaaa" in server.call("list_sessions")
        server.close_input()
        assert server.wait() == 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system ends programs in other ways")
@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP", "end of input"])
def test_no_copy_of_a_session_stays_behind(shelf: Shelf, end: str) -> None:
    fill(shelf)
    with RawServer(shelf) as server:
        assert "rounding" in server.call("get_session", session=OWN)
        assert [*server.temporary.rglob("*.jsonl")]
        if end == "end of input":
            server.close_input()
        else:
            server.process.send_signal(getattr(signal, end))
        assert server.wait() == (0 if end == "end of input" else 128 + getattr(signal, end))
        assert not [*server.temporary.iterdir()]


class RawServer:
    """The server, and somebody who writes to it what no client would."""

    def __init__(self, shelf: Shelf) -> None:
        self.temporary = shelf.base / "temporary"
        self.temporary.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "turnlog", "mcp"],
            cwd=shelf.project, text=True, encoding="latin-1", env={**os.environ, "TMPDIR": str(self.temporary)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self.request("initialize", client)
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")

    def __enter__(self) -> RawServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()

    def send(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
        assert self.process.stdout
        while (answer := json.loads(self.process.stdout.readline())).get("id") != method:
            pass
        return answer["result"]

    def call(self, name: str, **given: Any) -> str:
        return str(self.request("tools/call", {"name": name, "arguments": given})["content"][0]["text"])

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def wait(self) -> int:
        return self.process.wait(timeout=300)


def test_files_of_the_project_are_not_imported(shelf: Shelf) -> None:
    """A cloned project may contain a `turnlog.py` or a `mcp.py` that wants to be run."""
    for name in ("turnlog", "mcp", "mcp_types", "anyio"):
        (shelf.project / f"{name}.py").write_text("raise SystemExit('imported from the project')\n")

    async def work(client: Client) -> int:
        return len((await client.list_tools()).tools)

    assert with_client(shelf, work) == 8


def test_every_message_is_one_line_for_every_reader_of_lines(shelf: Shelf) -> None:
    fill(shelf)
    name = "a\u2028b\u2029c\x85d"
    with RawServer(shelf) as server:
        # The id comes back as it was sent.
        message = json.dumps({"jsonrpc": "2.0", "id": name, "method": "ping"}, ensure_ascii=False)
        server.send(message.encode().decode("latin-1") + "\n")
        assert server.process.stdout
        line = server.process.stdout.readline().rstrip("\n").encode("latin-1").decode()
    assert len(line.splitlines()) == 1
    assert json.loads(line)["id"] == name
