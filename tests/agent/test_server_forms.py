"""Forms of MCP servers (elicitation): a person at the console fills them in, declines or cancels them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.agent.desk import Desk, Terminal, call, reply, script

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")]
MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "
SERVER = """
import json, pathlib, sys
asked = json.loads(pathlib.Path(sys.argv[1]).read_text())
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        can_ask = "elicitation" in params["capabilities"]
        send(id=message["id"], result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                       "serverInfo": {"name": "demo", "version": "1"}})
    elif method == "tools/list":
        send(id=message["id"], result={"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        said = "can't ask"
        if can_ask:
            send(id="form", method="elicitation/create", params=asked)
            answer = json.loads(sys.stdin.readline())
            said = json.dumps(answer.get("result", answer.get("error")), sort_keys=True)
        send(id=message["id"], result={"content": [{"type": "text", "text": said}]})
    elif "id" in message:
        send(id=message["id"], error={"code": -32601, "message": "no such method"})
"""
FORM = {
    "mode": "form",
    "message": "About the till\x1b[2J\n  y  yes, this once",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2},
            "count": {"type": "integer", "minimum": 1},
            "price": {"type": "number", "default": 1.5},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red one", "Blue one"]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
            "note": {"type": "string", "description": "anything"},
        },
        "required": ["name", "count"],
    },
}
PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.org/sign-in", "elicitationId": "1"}


def start_words(here: Desk, asked: dict[str, Any]) -> list[str]:
    (here.base / "server.py").write_text(SERVER)
    (here.base / "asked.json").write_text(json.dumps(asked))
    server = {"command": sys.executable, "args": [str(here.base / "server.py"), str(here.base / "asked.json")]}
    config = json.dumps({"mcpServers": {"demo": server}})
    return ["--mcp-config", config, "--allowedTools", "mcp__demo__ask"]


@contextmanager
def open_form(desk: MakeDesk, asked: dict[str, Any]) -> Iterator[tuple[Desk, Terminal]]:
    here = desk(script(reply(call("mcp__demo__ask")), "Done.", "Second."))
    here.trust()
    with here.terminal(*start_words(here, asked)) as terminal:
        terminal.expect(READY)
        terminal.send("go\r")
        terminal.expect("MCP server demo asks:")
        yield here, terminal


def read_answer(here: Desk) -> Any:
    """What the server has been told."""
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    (result,) = (block for block in blocks if block["type"] == "tool_result")
    return json.loads(result["content"][0]["text"])


def test_a_form_is_filled_in_and_an_answer_that_does_not_fit_is_asked_for_again(desk: MakeDesk) -> None:
    with open_form(desk, FORM) as (here, terminal):
        shown = terminal.expect("answer? [y/n] ")
        assert "│ About the till\\x1b[2J" in shown
        assert "  │ y yes, this once" in shown  # not an answer of ours
        for answer, question in (
            ("y", "name: "),
            ("", "This field is required"),
            ("A", "at least 2 characters"),
            ("Ann", "count: "),
            ("many", "This is not a whole number"),
            ("0", "at least 1"),
            ("3", "price: "),
            ("", "sure: "),
            ("perhaps", "Answer y or n"),
            ("y", "colour: "),
            ("5", "a number from 1 to 2"),
            ("2", "days: "),
            ("1, 3", "note: "),
        ):
            terminal.send(f"{answer}\r")
            terminal.expect(question)
        terminal.send("\r")
        terminal.expect("Done.")
    content = {"name": "Ann", "count": 3, "price": 1.5, "sure": True, "colour": "blue", "days": ["mon", "wed"]}
    assert read_answer(here) == {"action": "accept", "content": content}


def test_a_form_is_declined(desk: MakeDesk) -> None:
    with open_form(desk, FORM) as (here, terminal):
        terminal.expect("answer? [y/n] ")
        terminal.send("n\r")
        terminal.expect("Done.")
    assert read_answer(here) == {"action": "decline"}


@pytest.mark.parametrize("is_begun", [True, False])
def test_escape_cancels_the_form_and_ends_the_turn(desk: MakeDesk, is_begun: bool) -> None:
    with open_form(desk, FORM) as (here, terminal):
        terminal.expect("answer? [y/n] ")
        if is_begun:
            terminal.send("y\r")
            terminal.expect("name: ")
        terminal.send("\x1b")
        terminal.expect("interrupted")
        terminal.expect(READY)
        terminal.send("again\r")
        terminal.expect("Done.")
        terminal.expect(READY)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert "Ann" not in json.dumps(here.requests)


def test_a_page_is_opened_by_the_person(desk: MakeDesk) -> None:
    with open_form(desk, PAGE) as (here, terminal):
        assert "https://example.org/sign-in" in terminal.expect("have you opened it? [y/n] ")
        terminal.send("y\r")
        terminal.expect("Done.")
    assert read_answer(here) == {"action": "accept"}


def test_a_form_that_can_t_be_shown_is_declined(desk: MakeDesk) -> None:
    form = {**FORM, "requestedSchema": {"type": "object", "properties": {}, "required": ["hidden"]}}
    with open_form(desk, form) as (here, terminal):
        terminal.expect("Done.")
    assert read_answer(here) == {"action": "decline"}


def test_without_a_person_a_form_is_cancelled(desk: MakeDesk) -> None:
    here = desk(script(reply(call("mcp__demo__ask")), "Done."))
    here.trust()
    assert here.turnlog("-p", "go", *start_words(here, FORM)).stdout == "Done.\n"
    assert read_answer(here) == {"action": "cancel"}
