"""MCP servers: their tools, prompts and resources, who may start them, and what they can't do."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.mcp_over_http import McpServer
from tests.agent.stream import Json, Talk, control, user
from tests.agent.waits import HANG
from turnlog.agent.mcp_servers.server_config import ServerConfig, find_servers
from turnlog.agent.mcp_servers.server_link import ServerFailure
from turnlog.agent.mcp_servers.server_pool import ServerPool
from turnlog.agent.settings import load_settings

MakeDesk = Callable[[dict[str, Any]], Desk]
SERVER = """
import json, os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(json.dumps(dict(os.environ)))
def describe(name):
    return {"name": name, "description": "A " + name, "inputSchema": {"type": "object"}}
TOOLS = [describe(name) for name in
         ("add", "fail", "big", "pic", "odd name!", "die", "grow", "data", "facts", "roots")]
def send(**body):
    print(json.dumps({"jsonrpc": "2.0", **body}), flush=True)
def answer(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                "serverInfo": {"name": "demo", "version": "1"}, "instructions": "Use it well"}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        name, given = params["name"], params.get("arguments") or {}
        if name == "die":
            sys.exit(1)
        if name == "grow":
            TOOLS.append(describe("late"))
            send(method="notifications/tools/list_changed")
            return {"content": [{"type": "text", "text": "grown"}]}
        if name == "facts":
            return {"content": [{"type": "text", "text": '{ "a": 1 }'}], "structuredContent": {"a": 1}}
        if name == "data":
            resource = {"uri": "demo://z", "mimeType": "text/plain", "blob": "aGk="}
            return {"content": [{"type": "resource", "resource": resource},
                                {"type": "resource_link", "uri": "demo://y", "name": "why", "description": "because"}]}
        if name == "roots":
            send(id="roots", method="roots/list")
            roots = json.loads(sys.stdin.readline())["result"]["roots"]
            return {"content": [{"type": "text", "text": root["uri"]} for root in roots]}
        texts = {"add": lambda: str(given["a"] + given["b"]), "fail": lambda: "it failed", "big": lambda: "x" * 200000}
        content = [{"type": "text", "text": texts[name]()}] if name in texts else [
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "demo://y", "name": "why"}]
        return {"content": content, "isError": name == "fail"}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        text = "Greet " + params["arguments"]["who"] + " !`touch made` @secret"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "the resource"}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        body = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


def describe(here: Desk, name: str = "demo", **more: Any) -> Json:
    """The configuration of a server."""
    path = here.base / "server.py"
    path.write_text(SERVER)
    return {"mcpServers": {name: {"command": sys.executable, "args": [str(path), str(here.base / "started")], **more}}}


def calls(*names: str, **given: Any) -> dict[str, Any]:
    return script(*(reply(call(name, **given)) for name in names), "Done.")


def results(here: Desk) -> list[Json]:
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


def with_servers(here: Desk, *words: str, **more: Any) -> Any:
    return here.turnlog("-p", *words, "--mcp-config", json.dumps(describe(here, **more)))


# -- tools, prompts, resources


def test_tools_are_offered_and_called(desk: MakeDesk) -> None:
    here = desk(calls("mcp__demo__add", a=1, b=2))
    assert with_servers(here, "go", "--allowedTools", "mcp__demo").stdout == "Done.\n"
    offered = [tool["name"] for tool in here.requests[0]["tools"] if tool["name"].startswith("mcp__")]
    assert offered[:2] == ["mcp__demo__add", "mcp__demo__fail"]
    assert "mcp__demo__odd_name_" in offered
    assert results(here)[0]["content"] == [{"type": "text", "text": "3"}]
    assert "Use it well" in json.dumps(here.requests[0]["messages"])


def test_failures_pictures_and_large_results_reach_the_model(desk: MakeDesk) -> None:
    here = desk(calls("mcp__demo__fail", "mcp__demo__pic", "mcp__demo__big"))
    with_servers(here, "go", "--allowedTools", "mcp__demo")
    failed, picture, large = results(here)
    assert (failed["content"], failed["is_error"]) == ("it failed", True)
    assert [block["type"] for block in picture["content"]] == ["image", "text", "text"]
    assert "saved to" in large["content"]
    assert len(large["content"]) < 2000


def test_a_tool_that_a_server_adds_later_is_offered_and_needs_permission(desk: MakeDesk) -> None:
    grow, late = reply(call("mcp__demo__grow")), reply(call("mcp__demo__late"))
    here = desk(script(grow, late, "Done."))
    assert with_servers(here, "go", "--allowedTools", "mcp__demo__grow").stdout == "Done.\n"
    offered = [{tool["name"] for tool in request["tools"]} for request in here.requests]
    assert ["mcp__demo__late" in names for names in offered] == [False, True, True]
    assert ["mcp__demo__add" in names for names in offered] == [True, True, True]
    assert results(here)[-1]["is_error"]
    assert "permission" in str(results(here)[-1]["content"])


def test_data_is_named_with_its_size_and_structured_results_are_sent_as_they_are(desk: MakeDesk) -> None:
    here = desk(calls("mcp__demo__data", "mcp__demo__facts"))
    with_servers(here, "go", "--allowedTools", "mcp__demo")
    data, facts = (one["content"] for one in results(here))
    assert re.match(
        r"\[Resource from demo at demo://z\] Binary content \(text/plain, 2 bytes\) saved to \S+\.txt$", data[0]["text"]
    )
    assert data[1]["text"] == "[Resource link: why] demo://y (because)"
    assert facts == '{"a":1}'


def test_a_server_learns_the_folder_of_the_session(desk: MakeDesk) -> None:
    here = desk(calls("mcp__demo__roots"))
    with_servers(here, "go", "--allowedTools", "mcp__demo")
    assert results(here)[0]["content"] == [{"type": "text", "text": here.cwd.as_uri()}]


def test_a_server_that_dies_is_started_again_for_the_next_call(desk: MakeDesk) -> None:
    add = reply(call("mcp__demo__add", a=1, b=2))
    here = desk(script(reply(call("mcp__demo__die")), add, add, "Done."))
    assert with_servers(here, "go", "--allowedTools", "mcp__demo").stdout == "Done.\n"
    assert results(here)[0]["is_error"]
    assert results(here)[-1]["content"] == [{"type": "text", "text": "3"}]


@pytest.mark.parametrize("status", [404, 400])
def test_a_server_over_http_that_was_started_again_is_connected_to_for_the_next_call(
    tmp_path: Path, status: int
) -> None:
    with McpServer(lost_status=status) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pool = ServerPool()
        pool.connect_all([ServerConfig("shop", "user", "x", "http", url=server.url)], tmp_path, {})
        server.sessions.clear()
        look = ("tools/call", {"name": "look"})
        with pytest.raises(ServerFailure):
            pool.links["shop"].send(*look, seconds=HANG)
        assert pool.links["shop"].send(*look, seconds=HANG)["content"] == [{"type": "text", "text": "apples"}]
        pool.close()
        server.shutdown()


def test_a_prompt_is_a_command_whose_text_is_not_expanded_further(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    (here.cwd / "secret").write_text("s3cret")
    with_servers(here, "/mcp__demo__greet Ann", "--allowedTools", "Bash")
    sent = json.dumps(here.requests[-1]["messages"])
    assert ("Greet Ann !`touch made` @secret" in sent, "s3cret" in sent) == (True, False)
    assert not (here.cwd / "made").exists()


def test_a_prompt_without_its_argument_is_an_error(desk: MakeDesk) -> None:
    here = desk(script("never"))
    done = with_servers(here, "/mcp__demo__greet")
    assert (done.returncode, "who is missing" in done.stderr, here.requests) == (2, True, [])


def test_a_resource_is_attached(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    with_servers(here, "see @demo:demo://notes")
    assert "the resource" in json.dumps(here.requests[-1]["messages"])


def test_the_servers_are_listed(desk: MakeDesk) -> None:
    here = desk(script("never"))
    assert "demo (flags): connected, 10 tools" in with_servers(here, "/mcp").stdout


# -- permissions


@pytest.mark.parametrize(
    ("words", "is_run"),
    [
        ((), False),
        (("--allowedTools", "mcp__demo__add"), True),
        (("--allowedTools", "mcp__demo__*"), True),
        (("--allowedTools", "mcp__other"), False),
        (("--allowedTools", "mcp__dem"), False),
        (("--allowedTools", "mcp__demo", "--disallowedTools", "mcp__demo__add"), False),
        (("--allowedTools", "mcp__demo__add", "--disallowedTools", "mcp__demo"), False),
    ],
)
def test_tools_of_servers_need_permission(desk: MakeDesk, words: tuple[str, ...], is_run: bool) -> None:
    here = desk(calls("mcp__demo__add", a=1, b=2))
    with_servers(here, "go", *words)
    assert bool(results(here)[0].get("is_error")) is not is_run


@pytest.mark.parametrize("name", ["demo__add", "_demo", "demo_", "_", "", "a  b"])
def test_a_name_that_could_pass_for_another_servers_tool_is_refused(desk: MakeDesk, name: str) -> None:
    here = desk(script("Done."))
    done = with_servers(here, "go", name=name)
    assert "underscore" in done.stderr
    assert not (here.base / "started").exists()


def test_servers_do_not_see_the_keys_of_the_client(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    with_servers(here, "go", env={"COLOUR": "${NONE:-blue}"})
    seen = json.loads((here.base / "started").read_text())
    assert ("ANTHROPIC_API_KEY" in seen, seen["COLOUR"]) == (False, "blue")
    (here.base / "started").unlink()
    done = with_servers(here, "go", env={"STOLEN": "${ANTHROPIC_API_KEY}"})
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    assert not (here.base / "started").exists()


# -- who may start


@pytest.mark.parametrize("approval", ["none", "project", "local", "user"])
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_server_of_a_project_needs_trust_and_approval(desk: MakeDesk, approval: str, is_trusted: bool) -> None:
    here = desk(script("Done."))
    if is_trusted:
        here.trust()
    (here.cwd / ".mcp.json").write_text(json.dumps(describe(here)))
    (here.cwd / ".claude").mkdir()
    places = {"project": here.cwd / ".claude/settings.json", "local": here.cwd / ".claude/settings.local.json"}
    if approval != "none":
        path = places.get(approval, here.config / "settings.json")
        path.write_text(json.dumps({"enabledMcpjsonServers": ["demo"], "enableAllProjectMcpServers": True}))
    done = here.turnlog("-p", "go")
    is_run = is_trusted and approval in ("local", "user")
    assert (here.base / "started").exists() is is_run
    assert ("'demo' does not start" in done.stderr) is not is_run


@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_console_asks_once_about_a_server_of_the_project(desk: MakeDesk, answer: str) -> None:
    here = desk(script("Hello."))
    here.trust()
    (here.cwd / ".mcp.json").write_text(json.dumps(describe(here)))
    with here.terminal() as terminal:
        terminal.expect("[y/n] ")
        assert not (here.base / "started").exists()
        terminal.send(f"{answer}\r")
        terminal.expect("> ")
        assert (here.base / "started").exists() is (answer == "y")
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    stored = json.loads((here.cwd / ".claude" / "settings.local.json").read_text())
    assert stored == {"enabledMcpjsonServers" if answer == "y" else "disabledMcpjsonServers": ["demo"]}


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({}, ["demo"]),
        ({"deniedMcpServers": [{"serverName": "demo"}]}, []),
        ({"deniedMcpServers": [{"serverCommand": ["x", "y"]}]}, []),
        ({"allowedMcpServers": []}, []),
        ({"allowedMcpServers": [{"serverName": "demo"}]}, ["demo"]),
    ],
)
def test_the_administrator_decides_about_servers(tmp_path: Path, policy: Json, names: list[str]) -> None:
    managed = tmp_path / "managed-settings.json"
    managed.write_text(json.dumps(policy))
    settings = load_settings(tmp_path, tmp_path / "config", is_trusted=True, managed=managed)
    flag = json.dumps({"mcpServers": {"demo": {"command": "x", "args": ["y"]}}})
    found = find_servers(settings, tmp_path, tmp_path / "config", {}, flags=[flag])
    assert [one.name for one in found.servers] == names


@pytest.mark.parametrize(
    "value",
    [5, {}, {"type": "pigeon", "url": "x"}, {"url": "file:///etc/passwd"}, {"command": "x", "args": "y"},
     {"url": "http://x", "headersHelper": 5}, {"command": "x", "headersHelper": "y"}, {"command": "${NOPE}"}],
)  # fmt: skip
def test_what_cannot_start_is_named(tmp_path: Path, value: Any) -> None:
    settings = load_settings(tmp_path, tmp_path / "config", is_trusted=True, managed=tmp_path / "none")
    flag = json.dumps({"mcpServers": {"demo": value}})
    found = find_servers(settings, tmp_path, tmp_path / "config", {}, flags=[flag])
    assert (found.servers, len(found.problems)) == ((), 1)


def test_a_server_that_fails_is_named_and_the_session_goes_on(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    config = {"mcpServers": {"gone": {"command": "/nonexistent/server"}, **describe(here)["mcpServers"]}}
    done = here.turnlog("-p", "/mcp", "--mcp-config", json.dumps(config))
    assert "'gone'" in done.stderr
    assert "demo (flags): connected" in done.stdout


# -- programs


@pytest.mark.parametrize("is_option", [True, False])
def test_a_server_inside_a_program_is_reached_through_control_messages(desk: MakeDesk, is_option: bool) -> None:
    here = desk(calls("mcp__calc__double", n=4))
    config = json.dumps({"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}})  # as the SDK for Python sends it
    talk = Talk(here, "--allowedTools", "mcp__calc", *(("--mcp-config", config) if is_option else ()))
    talk.say(control("i", subtype="initialize", **({} if is_option else {"sdkMcpServers": ["calc"]})))
    assert talk.until("control_response")["response"]["subtype"] == "success"
    talk.say(user("go"))
    seen = []
    tools = [{"name": "double", "description": "Doubles", "inputSchema": {"type": "object"}}]
    while "tools/call" not in seen:
        asked = talk.wait_for_request()
        message = asked["request"]["message"]
        assert (asked["request"]["subtype"], asked["request"]["server_name"]) == ("mcp_message", "calc")
        seen.append(message["method"])
        answers = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "c"}},
            "tools/list": {"tools": tools},
        }
        result = answers.get(message["method"], {})
        if message["method"] == "tools/call":
            assert message["params"] == {"name": "double", "arguments": {"n": 4}}
            result = {"content": [{"type": "text", "text": "8"}]}
        talk.answer(asked, mcp_response={"jsonrpc": "2.0", "id": message.get("id"), "result": result})
    assert talk.until("result")["result"] == "Done."
    assert results(here)[0]["content"] == [{"type": "text", "text": "8"}]
    assert talk.end() == 0


def test_a_server_inside_a_program_does_not_start_without_one(desk: MakeDesk) -> None:
    here = desk(script("Hello."))
    here.trust()
    servers = {"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}
    assert "'calc' is inside a program" in here.turnlog("-p", "hello", "--mcp-config", json.dumps(servers)).stderr
    (here.cwd / ".mcp.json").write_text(json.dumps(servers))
    told = here.turnlog("-p", "hello", "--setting-sources", "project").stderr
    assert "turnlog does not know servers of type 'sdk'" in told
