"""The scripted Messages API does what its scenario says and keeps what it was asked."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from tests.interop.classify import Object, classify
from tests.interop.mock_anthropic import MockAnthropic

AGENT = {"x-claude-code-agent-id": "a1"}


def post(
    mock: MockAnthropic, body: Object, path: str = "/v1/messages?beta=true", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", mock.port, timeout=60)
    sent = {"content-type": "application/json", "x-api-key": "secret", **(headers or {})}
    try:
        connection.request("POST", path, json.dumps(body), sent)
        response = connection.getresponse()
        try:
            raw = response.read()
        except http.client.IncompleteRead as cut:
            raw = cut.partial
        return response.status, raw.decode()
    finally:
        connection.close()


def ask(words: str, **extra: Any) -> Object:
    system, tools = "You are an interactive CLI tool", [{"name": "Bash"}]
    messages = [{"role": "user", "content": words}]
    return {"model": "m", "max_tokens": 100, "system": system, "tools": tools, "messages": messages, **extra}


def ask_for_text(mock: MockAnthropic, words: str, **extra: Any) -> str:
    return str(json.loads(post(mock, ask(words), **extra)[1])["content"][0]["text"])


def events(raw: str) -> list[Object]:
    return [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]


def test_replies_come_in_order_and_then_by_default() -> None:
    with MockAnthropic({"conversations": [{"kind": "main", "replies": ["one"]}]}) as mock:
        assert [ask_for_text(mock, "hi"), ask_for_text(mock, "again")] == ["one", "OK."]
        assert [r["reply"] for r in mock.requests] == ["0/0", "default"]


def test_a_request_that_breaks_off_is_none() -> None:
    with MockAnthropic() as mock, socket.create_connection(("127.0.0.1", mock.port), timeout=60) as client:
        client.sendall(b'POST /v1/messages HTTP/1.1\r\ncontent-length: 99\r\n\r\n{"model":')
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
        assert mock.requests == []


def test_the_last_reply_can_be_repeated() -> None:
    with MockAnthropic({"conversations": [{"replies": ["one"], "when_done": "repeat"}]}) as mock:
        assert [ask_for_text(mock, "hi"), ask_for_text(mock, "hi")] == ["one", "one"]


def test_every_kind_of_block_is_streamed_in_parts() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "héllo"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    ]
    reply = {"content": content, "usage": {"output_tokens": 77}}
    with MockAnthropic({"conversations": [{"kind": "main", "replies": [reply]}]}) as mock:
        seen = events(post(mock, ask("hi", stream=True))[1])
    assert [seen[0]["type"], seen[-1]["type"]] == ["message_start", "message_stop"]
    deltas = [event["delta"] for event in seen if event["type"] == "content_block_delta"]
    assert "".join(d.get("text", "") for d in deltas) == "héllo"
    assert json.loads("".join(d.get("partial_json", "") for d in deltas)) == {"command": "ls"}
    closing = next(event for event in seen if event["type"] == "message_delta")
    assert closing["delta"]["stop_reason"] == "tool_use"
    assert closing["usage"]["output_tokens"] == 77


def test_errors_and_broken_streams_are_followed_by_a_recovery() -> None:
    words = [{"type": "text", "text": "cut off here"}]
    replies = [
        {"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}},
        {"content": words, "drop_after": 4},
        {"content": words, "stream_error": {"after": 2}},
        "fine",
    ]
    with MockAnthropic({"conversations": [{"kind": "main", "replies": replies}]}) as mock:
        status, raw = post(mock, ask("hi", stream=True))
        assert (status, json.loads(raw)["error"]["type"]) == (529, "overloaded_error")
        assert "message_stop" not in post(mock, ask("hi", stream=True))[1]
        assert events(post(mock, ask("hi", stream=True))[1])[-1]["type"] == "error"
        assert ask_for_text(mock, "hi") == "fine"


def test_a_reply_can_quote_the_request() -> None:
    reply = {"content": [{"type": "text", "text": "got {{x}}"}], "capture": {"x": r"id: (\w+)"}}
    with MockAnthropic({"conversations": [{"last": "id: ", "replies": [reply]}]}) as mock:
        assert ask_for_text(mock, "id: abc7") == "got abc7"


def test_each_agent_has_its_own_place_in_the_replies() -> None:
    script = {"kind": "agent", "match": "ALPHA", "per_instance": True, "replies": ["a1", "a2"]}
    with MockAnthropic({"conversations": [script]}) as mock:
        assert ask_for_text(mock, "ALPHA one", headers=AGENT) == "a1"
        assert ask_for_text(mock, "ALPHA two", headers=AGENT) == "a1"
        assert ask_for_text(mock, "ALPHA one", headers=AGENT) == "a2"


def test_requests_are_kept_without_the_key(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with MockAnthropic(log=log) as mock:
        post(mock, ask("hi"))
        tokens = json.loads(post(mock, ask("x"), "/v1/messages/count_tokens")[1])
    assert tokens["input_tokens"] > 0
    assert [r["kind"] for r in mock.requests] == ["main", "count_tokens"]
    assert len(log.read_text().splitlines()) == 2
    assert "secret" not in log.read_text()


def test_requests_are_told_apart() -> None:
    summary = "Your task is to create a detailed summary of the conversation so far"
    assert classify({"max_tokens": 1, "messages": []}, {}) == "quota"
    assert classify({"messages": [{"role": "user", "content": summary}]}, {}) == "compact"
    assert classify({"messages": [{"role": "user", "content": "Warmup"}]}, {}) == "warmup"
    assert classify({"system": "Write a short title", "messages": []}, {}) == "title"
    assert classify({"messages": [], "tools": [{}]}, {}) == "agent"
