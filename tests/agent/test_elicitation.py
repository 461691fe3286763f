"""An MCP server that asks the person for something: the program is asked, and nobody else answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
SERVER = """
import json, sys
QUESTION = json.loads(sys.argv[1])
def send(**body):
    print(json.dumps({"jsonrpc": "2.0", **body}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        declared = params["capabilities"]
        send(id=message["id"], result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                       "serverInfo": {"name": "demo", "version": "1"}})
    elif method == "tools/list":
        send(id=message["id"], result={"tools": [{"name": "book", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        waiting = message["id"]
        send(id="e1", method="elicitation/create", params=QUESTION)
    elif message.get("id") == "e1":
        answer = message.get("result") or message.get("error")
        send(id=waiting, result={"content": [{"type": "text", "text": json.dumps([sorted(declared), answer])}]})
    elif "id" in message:
        send(id=message["id"], error={"code": -32601, "message": "no such method"})
"""
SCHEMA = {"type": "object", "properties": {"when": {"type": "string"}, "how": {"type": "string"}}}
FORM = {"message": "When?", "requestedSchema": SCHEMA, "_meta": {"anthropic/permissionDisplay": {"title": "Booking"}}}
URL = {"mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "x1"}


def configure(here: Desk, question: Json) -> str:
    path = here.base / "server.py"
    path.write_text(SERVER)
    return json.dumps({"mcpServers": {"demo": {"command": sys.executable, "args": [str(path), json.dumps(question)]}}})


def begin(here: Desk, question: Json, *words: str) -> Talk:
    talk = Talk(here, *words, "--allowedTools", "mcp__demo", "--mcp-config", configure(here, question))
    talk.say(user("go"))
    return talk


@pytest.fixture(params=[(), ("--permission-prompt-tool", "stdio")])
def words(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Whether the program also decides about calls."""
    found: tuple[str, ...] = request.param
    return found


def read_answer(here: Desk) -> Any:
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    (result,) = [block for block in blocks if block["type"] == "tool_result"]
    declared, answer = json.loads(result["content"][0]["text"])
    assert "elicitation" in declared
    return answer


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"action": "accept", "content": {"when": "today"}}, {"action": "accept", "content": {"when": "today"}}),
        ({"action": "decline", "content": {"when": "today"}}, {"action": "decline"}),
        ({"action": "cancel"}, {"action": "cancel"}),
        ({"action": "nonsense"}, {"action": "decline"}),
        ({}, {"action": "decline"}),
    ],
)
def test_the_program_answers_for_the_person(
    desk: MakeDesk, words: tuple[str, ...], given: Json, expected: Json
) -> None:
    here = desk(script(reply(call("mcp__demo__book")), "Done."))
    talk = begin(here, FORM, *words)
    asked = talk.wait_for_request()
    assert asked["request"] == {
        "subtype": "elicitation",
        "mcp_server_name": "demo",
        "message": "When?",
        "mode": "form",
        "requested_schema": SCHEMA,
        "property_order": ["when", "how"],
        "title": "Booking",
    }
    talk.answer(asked, **given)
    assert talk.until("result")["result"] == "Done."
    assert read_answer(here) == expected
    assert talk.end() == 0


def test_a_program_is_told_the_address_that_the_person_must_open(desk: MakeDesk) -> None:
    here = desk(script(reply(call("mcp__demo__book")), "Done."))
    talk = begin(here, URL)
    asked = talk.wait_for_request()
    assert asked["request"]["mode"] == "url"
    assert (asked["request"]["url"], asked["request"]["elicitation_id"]) == (URL["url"], "x1")
    talk.answer(asked, action="accept")
    talk.until("result")
    assert read_answer(here)["action"] == "accept"
    assert talk.end() == 0


def test_a_program_that_can_not_answer_declines(desk: MakeDesk) -> None:
    here = desk(script(reply(call("mcp__demo__book")), "Done."))
    talk = begin(here, FORM)
    asked = talk.wait_for_request()
    failure = {"subtype": "error", "request_id": asked["request_id"], "error": "unknown subtype"}
    talk.say({"type": "control_response", "response": failure})
    talk.until("result")
    assert read_answer(here) == {"action": "decline"}
    assert talk.end() == 0


def test_an_interrupt_ends_the_question(desk: MakeDesk) -> None:
    here = desk(script(reply(call("mcp__demo__book")), "never"))
    talk = begin(here, FORM)
    talk.wait_for_request()
    talk.say(control("stop", subtype="interrupt"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    talk.end()


def test_a_server_that_the_program_adds_later_asks_it_too(desk: MakeDesk) -> None:
    here = desk(script(reply(call("mcp__demo__book")), "Done."))
    talk = Talk(here, "--allowedTools", "mcp__demo")
    talk.say(control("s", subtype="mcp_set_servers", servers=json.loads(configure(here, FORM))["mcpServers"]))
    talk.until("control_response")
    talk.say(user("go"))
    talk.answer(talk.wait_for_request(), action="accept", content={"when": "today"})
    talk.until("result")
    assert read_answer(here) == {"action": "accept", "content": {"when": "today"}}
    assert talk.end() == 0
