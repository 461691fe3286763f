"""The Messages API over HTTP, against real servers on loopback that do what servers do."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.model.server import (
    KEY,
    QUICK,
    START,
    STOP,
    Raw,
    endpoint,
    event,
    find_closed_address,
    page,
    script_server,
    text_block,
)
from turnlog.model.answer import AnswerAssembler, fold_events
from turnlog.model.anthropic import CHUNK_BYTES, AnthropicModel, _slice_pieces, connect_model
from turnlog.model.cancel import Cancel
from turnlog.model.endpoint import Endpoint
from turnlog.model.events import (
    AnswerEnded,
    AnswerStarted,
    BlockEnded,
    InputPart,
    OtherPart,
    RetryStarted,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import (
    AnswerBrokenOff,
    KeyRejected,
    ModelError,
    RateLimited,
    RequestCancelled,
    RequestRejected,
    ServerBusy,
    ServerUnreachable,
)
from turnlog.model.request import ModelRequest, build_prompt_request
from turnlog.model.retries import RetryingModel, RetryPolicy

ASK = build_prompt_request("claude-test", "Hello?", system="Be brief.")
FINE = page(START + text_block("fine") + STOP)


def build_failure(status: int, kind: str = "api_error", **headers: str) -> dict[str, Any]:
    return {"error": {"status": status, "type": kind, "message": "not now", "headers": headers}}


def test_an_answer_is_folded_from_its_stream() -> None:
    with script_server({"content": [{"type": "text", "text": "Hi there."}], "usage": {"output_tokens": 12}}) as server:
        answer = connect_model(endpoint(server.url), QUICK).complete(ASK)
    assert (answer.text, answer.stop_reason, answer.model) == ("Hi there.", "end_turn", "claude-test")
    assert answer.usage["output_tokens"] == 12
    assert answer.id.startswith("msg_")
    assert (answer.request_id or "").startswith("req_")


def test_the_request_is_what_the_api_wants() -> None:
    request = ModelRequest(
        "claude-test",
        [{"role": "user", "content": "x"}],
        50,
        tools=[{"name": "T", "input_schema": {"type": "object"}}],
        thinking={"type": "enabled", "budget_tokens": 1024},
        extra={"service_tier": "auto"},
        betas=["one", "two"],
    )
    with Raw(FINE) as server:
        AnthropicModel(endpoint(server.url + "/gateway/")).complete(request)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /gateway/v1/messages HTTP/1.1")
    lines = head.lower().split(b"\r\n")
    assert {b"x-api-key: " + KEY.encode(), b"anthropic-version: 2023-06-01", b"anthropic-beta: one,two"} <= set(lines)
    sent = json.loads(body)
    assert sent["stream"] is True
    assert sent["service_tier"] == "auto"
    assert sent.keys() == {"model", "max_tokens", "tools", "thinking", "messages", "stream", "service_tier"}


def test_a_token_goes_into_the_authorization() -> None:
    with Raw(FINE) as server:
        AnthropicModel(Endpoint(server.url, token="tok")).complete(ASK)
    assert b"authorization: Bearer tok" in server.requests[0]
    assert b"x-api-key" not in server.requests[0]


def test_thinking_calls_and_texts_come_as_events_and_as_blocks() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py", "lines": [1, 2]}},
        {"type": "tool_use", "id": "t2", "name": "List", "input": {}},
    ]
    with script_server({"content": blocks}) as server:
        events = list(connect_model(endpoint(server.url)).stream(ASK))
    assert "".join(e.text for e in events if isinstance(e, ThinkingPart)) == "Let me see."
    assert "".join(e.text for e in events if isinstance(e, TextPart)) == "I look."
    assert json.loads("".join(e.json for e in events if isinstance(e, InputPart) and e.index == 2))["path"] == "a.py"
    assert [e.block for e in events if isinstance(e, BlockEnded)] == blocks
    assert fold_events(events).content == tuple(blocks)
    assert fold_events(events).stop_reason == "tool_use"
    assert [call["id"] for call in fold_events(events).calls] == ["t1", "t2"]
    assert all(event.data["type"] for event in events), "each has the server's own object"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_failure_that_passes_is_tried_again(status: int) -> None:
    with script_server(build_failure(status), build_failure(status), "At last.") as server:
        events = list(connect_model(endpoint(server.url), QUICK).stream(ASK))
    assert [e.attempt for e in events if isinstance(e, RetryStarted)] == [2, 3]
    assert fold_events(events).text == "At last."


@pytest.mark.parametrize(
    ("status", "kind", "made"),
    [
        (400, "invalid_request_error", RequestRejected),
        (401, "authentication_error", KeyRejected),
        (403, "permission_error", KeyRejected),
        (404, "not_found_error", RequestRejected),
        (413, "request_too_large", RequestRejected),
    ],
)
def test_a_request_that_is_not_accepted_is_not_sent_again(status: int, kind: str, made: type[ModelError]) -> None:
    with script_server(build_failure(status, kind), "never") as server:
        with pytest.raises(made, match="not now") as caught:
            connect_model(endpoint(server.url), QUICK).complete(ASK)
        assert len(server.requests) == 1
    assert (caught.value.status, caught.value.kind) == (status, kind)
    assert caught.value.request_id
    assert KEY not in str(caught.value)


def test_trying_ends_after_the_attempts() -> None:
    with script_server(*[build_failure(529, "overloaded_error")] * 9) as server:
        with pytest.raises(ServerBusy, match="529"):
            connect_model(endpoint(server.url), QUICK).complete(ASK)
        assert len(server.requests) == QUICK.attempts


def test_the_server_says_how_long_to_wait() -> None:
    with script_server(build_failure(429, "rate_limit_error", **{"retry-after": "0.3"}), "Now.") as server:
        began = time.monotonic()
        events = list(connect_model(endpoint(server.url), QUICK).stream(ASK))
        took = time.monotonic() - began
    assert [e.wait for e in events if isinstance(e, RetryStarted)] == [0.3]
    assert took >= 0.3
    assert fold_events(events).text == "Now."


def test_a_server_that_wants_hours_is_not_waited_for() -> None:
    with (
        script_server(build_failure(429, "rate_limit_error", **{"retry-after": "7200"})) as server,
        pytest.raises(RateLimited) as caught,
    ):
        connect_model(endpoint(server.url), QUICK).complete(ASK)
    assert caught.value.retry_after == 7200


@pytest.mark.parametrize(
    ("name", "value", "low", "high"),
    [
        ("retry-after-ms", "250", 0.25, 0.25),
        ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", 0, 0),
        ("retry-after", "Sun, 06 Nov 2094 08:49:37 GMT", 1e9, 1e10),
        ("retry-after", "-5", 0, 0),
        ("retry-after", "1e400", 0, 1e9),
    ],
)
def test_a_time_to_wait_comes_in_several_forms(name: str, value: str, low: float, high: float) -> None:
    with script_server(build_failure(529, **{name: value})) as server, pytest.raises(ServerBusy) as caught:
        AnthropicModel(endpoint(server.url)).complete(ASK)
    assert caught.value.retry_after is not None
    assert low <= caught.value.retry_after <= high


def test_the_server_has_the_last_word_on_trying_again() -> None:
    with script_server(
        build_failure(500, **{"x-should-retry": "false"}), build_failure(400, **{"x-should-retry": "true"}), "Ok"
    ) as server:
        with pytest.raises(RequestRejected):
            connect_model(endpoint(server.url), QUICK).complete(ASK)
        assert connect_model(endpoint(server.url), QUICK).complete(ASK).text == "Ok"


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 6])
def test_an_answer_that_is_cut_is_an_error_and_begins_anew(after: int) -> None:
    with script_server({"content": [{"type": "text", "text": "abcdef"}], "drop_after": after}, "whole") as server:
        with pytest.raises(AnswerBrokenOff, match="ended before the answer"):
            AnthropicModel(endpoint(server.url)).complete(ASK)
        assert len(server.requests) == 1
    with script_server({"content": [{"type": "text", "text": "abcdef"}], "drop_after": after}, "whole") as server:
        assert connect_model(endpoint(server.url), QUICK).complete(ASK).text == "whole"


def test_a_key_that_a_gateway_repeats_is_not_told() -> None:
    refusal = {"status": 401, "type": "authentication_error", "message": f"Received key {KEY}, which is unknown"}
    with script_server({"error": refusal}) as server, pytest.raises(KeyRejected, match=r"Received key \[key\], which"):
        connect_model(endpoint(server.url), QUICK).complete(ASK)


def test_what_came_of_a_cut_answer_can_be_kept() -> None:
    folding = AnswerAssembler()
    with (
        script_server({"content": [{"type": "text", "text": "abcdef"}], "drop_after": 5}) as server,
        suppress(AnswerBrokenOff),
    ):
        for event in AnthropicModel(endpoint(server.url)).stream(ASK):
            folding.add_event(event)
    assert not folding.is_complete
    assert folding.build_answer().text == "abcd"
    assert folding.build_answer().stop_reason is None


def test_an_error_in_the_middle_of_an_answer_is_tried_again_if_it_passes() -> None:
    with script_server({"content": [{"type": "text", "text": "abc"}], "stream_error": {"after": 3}}, "whole") as server:
        events = list(connect_model(endpoint(server.url), QUICK).stream(ASK))
    assert any(isinstance(event, RetryStarted) and "Overloaded" in event.reason for event in events)
    assert fold_events(events).text == "whole"
    refused = {"after": 3, "type": "invalid_request_error", "message": "no"}
    reply = {"content": [{"type": "text", "text": "abc"}], "stream_error": refused}
    with script_server(reply) as server, pytest.raises(RequestRejected, match="no"):
        connect_model(endpoint(server.url), QUICK).complete(ASK)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"event: message_start\ndata: {not json\n\n",
        b"event: message_start\ndata: [1, 2]\n\n",
        b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n',
        START
        + b'event: x\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
        START + b'event: x\ndata: {"type":"content_block_start","index":"0"}\n\n',
        START + text_block("x").replace(b'"text": "x"', b'"text": 7') + STOP,
        text_block("x") + STOP,
        START + text_block("x") + b'data: {"type":"message_stop"}\n\n',
        START + text_block("x").replace(b'"text_delta", "text"', b'"input_json_delta", "partial_json"') + STOP,
        START + b'data: {"type":"content_block_stop","index":4}\n\n',
        START + text_block("x") + STOP[:-2],
        b"\xff\xfe\x00 nothing of the kind \r\r\r",
    ],
)
def test_a_stream_that_makes_no_sense_is_an_answer_that_broke_off(body: bytes) -> None:
    with Raw(page(body)) as server, pytest.raises(AnswerBrokenOff):
        AnthropicModel(endpoint(server.url)).complete(ASK)
    with Raw(page(body), FINE) as server:
        assert connect_model(endpoint(server.url), QUICK).complete(ASK).text == "fine"


def test_what_is_not_known_in_a_stream_is_no_harm() -> None:
    strange = (
        b": a comment\n\n"
        + START
        + b'event: future_thing\ndata: {"type":"future_thing",\ndata:  "x": 1}\n\n'
        + b"id: 4\nretry: 5\nnothing\n\n"
        + text_block("fine").replace(b"\n", b"\r\n")
        + STOP
    )
    with Raw(page(strange)) as server:
        events = list(AnthropicModel(endpoint(server.url)).stream(ASK))
    assert fold_events(events).text == "fine"
    assert fold_events(events).usage == {"input_tokens": 3, "output_tokens": 7}


def test_citations_and_parts_of_an_unknown_kind_are_kept() -> None:
    started = event("content_block_start", index=0, content_block={"type": "text", "text": "so"})
    cited = event("content_block_delta", index=0, delta={"type": "citations_delta", "citation": {"at": 4}})
    strange = event("content_block_delta", index=0, delta={"type": "new_delta", "x": 1})
    body = START + started + cited + cited + strange + event("content_block_stop", index=0) + STOP
    with Raw(page(body)) as server:
        events = list(AnthropicModel(endpoint(server.url)).stream(ASK))
    assert [part.delta["type"] for part in events if isinstance(part, OtherPart)][-1] == "new_delta"
    assert fold_events(events).content == ({"type": "text", "text": "so", "citations": [{"at": 4}, {"at": 4}]},)


def test_a_page_for_people_is_told_in_one_line() -> None:
    html = (
        b"<html><head><title>502</title><style>p {}</style></head><body><h1>Bad   Gateway</h1>\n<p>nginx</body></html>"
    )
    with (
        Raw(page(html, "502 Bad Gateway", "text/html")) as server,
        pytest.raises(ServerBusy, match=r"502: Bad Gateway nginx$"),
    ):
        AnthropicModel(endpoint(server.url)).complete(ASK)
    with (
        Raw(page(html, kind="text/html")) as server,
        pytest.raises(RequestRejected, match="answered with text/html") as caught,
    ):
        connect_model(endpoint(server.url), QUICK).complete(ASK)
    assert "\n" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    with Raw(page(b"", "302 Found", location="http://127.0.0.1:9/")) as server:
        with pytest.raises(RequestRejected, match="server redirects"):
            connect_model(endpoint(server.url), QUICK).complete(ASK)
        assert len(server.requests) == 1


def test_nobody_listens() -> None:
    with find_closed_address() as url, pytest.raises(ServerUnreachable, match="can't be reached"):
        connect_model(endpoint(url), QUICK).complete(ASK)


def test_no_http_and_no_answer_are_told() -> None:
    with Raw(b"SSH-2.0-OpenSSH_9.2\r\n", b"") as server:
        for _ in range(2):
            with pytest.raises(AnswerBrokenOff, match="not HTTP"):
                AnthropicModel(endpoint(server.url)).complete(ASK)


def test_a_server_that_says_nothing_is_left_in_time() -> None:
    with Raw(1.0) as server, pytest.raises(ServerUnreachable, match="did not answer in time"):
        AnthropicModel(endpoint(server.url, silence=0.2)).complete(ASK)


def test_a_slow_answer_is_no_failure_as_long_as_something_comes() -> None:
    with script_server({"content": [{"type": "text", "text": "slow"}], "pace": 0.06}) as server:
        assert AnthropicModel(endpoint(server.url, silence=0.3)).complete(ASK).text == "slow"


def test_a_giant_answer_comes_whole() -> None:
    text = "0123456789äöü漢字\n" * 200_000
    with script_server({"content": [{"type": "text", "text": text}]}) as server:
        assert AnthropicModel(endpoint(server.url)).complete(ASK).text == text


def test_a_chunked_answer_is_read_as_it_comes_and_a_cut_one_is_an_error() -> None:
    body = START + text_block("fine") + STOP
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:99], body[99:]))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    with Raw(head + chunks + b"0\r\n\r\n", head + chunks[:80]) as server:
        assert AnthropicModel(endpoint(server.url)).complete(ASK).text == "fine"
        with pytest.raises(AnswerBrokenOff):
            AnthropicModel(endpoint(server.url)).complete(ASK)


def test_half_a_surrogate_pair_can_be_sent() -> None:
    with Raw(FINE) as server:
        AnthropicModel(endpoint(server.url)).complete(build_prompt_request("m", "a\ud83d b \ud83d\ude00"))
    sent = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert sent["messages"][0]["content"] == "a� b 😀"


def test_another_thread_can_cancel_while_the_answer_comes_and_while_it_is_waited_for() -> None:
    for reply in ({"content": [{"type": "text", "text": "x" * 30}], "pace": 5}, {"content": [], "delay": 5}):
        cancel = Cancel()
        with script_server(reply) as server:
            threading.Timer(0.2, cancel.set).start()
            began = time.monotonic()
            with pytest.raises(RequestCancelled):
                connect_model(endpoint(server.url, silence=30.0), QUICK).complete(ASK, cancel)
            assert time.monotonic() - began < 5, "before the answer would have come"


def test_a_pause_can_be_cancelled_and_nothing_is_asked_any_more() -> None:
    cancel = Cancel()
    with script_server(build_failure(529), "never") as server:
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(RequestCancelled):
            RetryingModel(AnthropicModel(endpoint(server.url)), RetryPolicy(first=20)).complete(ASK, cancel)
        with pytest.raises(RequestCancelled):
            AnthropicModel(endpoint(server.url)).complete(ASK, cancel)
        assert len(server.requests) == 1


def test_a_stream_that_is_closed_ends_its_connection() -> None:
    with script_server({"content": [{"type": "text", "text": "abc"}], "pace": 0.05}) as server:
        events: Any = connect_model(endpoint(server.url)).stream(ASK)
        assert isinstance(next(events), AnswerStarted)
        events.close()
        assert list(events) == []


def test_tokens_are_counted_by_the_server() -> None:
    with script_server() as server:
        assert connect_model(endpoint(server.url)).count_tokens(ASK) > 5
        assert "max_tokens" not in server.requests[0]["body"]
    with Raw(
        page(b'{"error": {}}', "529 x", "application/json"), page(b'{"input_tokens": 4}', kind="application/json")
    ) as raw:
        assert connect_model(endpoint(raw.url), QUICK).count_tokens(ASK) == 4
    with Raw(page(b"[]", kind="application/json")) as raw, pytest.raises(RequestRejected):
        connect_model(endpoint(raw.url), QUICK).count_tokens(ASK)


def test_several_threads_may_ask_one_model() -> None:
    with script_server(*["x"] * 12) as server:
        model, found = connect_model(endpoint(server.url), QUICK), list[str]()
        threads = [threading.Thread(target=lambda: found.append(model.complete(ASK).text)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["x"] * 12


def test_a_proxy_is_asked_to_connect_to_the_server() -> None:
    with Raw(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as proxy:
        there = endpoint("https://api.example.invalid", proxy=f"http://me:p%40ss@127.0.0.1:{proxy.port}")
        with pytest.raises(ServerUnreachable, match="407"):
            AnthropicModel(there).complete(ASK)
    assert proxy.requests[0].startswith(b"CONNECT api.example.invalid:443")
    assert b"Basic bWU6cEBzcw==" in proxy.requests[0]
    assert KEY.encode() not in proxy.requests[0]


def test_a_plain_server_is_asked_through_a_proxy_by_its_whole_address() -> None:
    with Raw(FINE) as proxy:
        there = endpoint("http://gateway.invalid:81/x", proxy=f"http://127.0.0.1:{proxy.port}")
        assert AnthropicModel(there).complete(ASK).text == "fine"
    assert proxy.requests[0].startswith(b"POST http://gateway.invalid:81/x/v1/messages HTTP/1.1")


def test_the_end_of_an_answer_carries_what_it_used() -> None:
    with Raw(FINE) as server:
        last = list(AnthropicModel(endpoint(server.url)).stream(ASK))[-1]
    assert last == AnswerEnded("end_turn", None, {"input_tokens": 3, "output_tokens": 7}, data={"type": "message_stop"})


@pytest.mark.parametrize(
    "sizes", [[0], [1], [CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES], [3, 0, 7 * CHUNK_BYTES - 1]]
)
def test_a_request_is_sent_a_little_at_a_time_so_that_a_long_upload_is_no_silence(sizes: list[int]) -> None:
    pieces = [bytes([at]) * size for at, size in enumerate(sizes)]
    sent = list(_slice_pieces([*pieces, memoryview(b"end")]))
    assert b"".join(sent) == b"".join(pieces) + b"end"
    assert all(0 < len(one) <= CHUNK_BYTES for one in sent)
