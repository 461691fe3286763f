"""A scripted stand-in for the Anthropic Messages API (standard library only).

It lets a real client (the Claude Code CLI, an SDK, your own console client) run offline against replies
written in a JSON scenario, and records every request so that a test can assert on what was sent.

Command line
    python -m tests.interop.mock_anthropic scenario.json --port 18080 --log requests.jsonl
    python -m tests.interop.mock_anthropic scenario.json --port 0 --port-file port.txt

In a test
    with MockAnthropic("scenario.json") as mock:
        run_client(base_url=mock.url)
        main = [r for r in mock.requests if r["kind"] == "main"]
        assert main[0]["body"]["messages"][-1]["role"] == "user"

Scenario (JSON)
    {
      "name": "two tools then an answer",
      "model": null,                       # force this model name in replies
      "conversations": [
        {"kind": "main",                   # main | agent | compact | title | ...
         "match": "regex",                 # optional: on the first user text
         "last": "regex",                  # optional: on the newest user text
         "per_instance": false,            # true: own cursor per first user text
         "when_done": "default",           # or "repeat": after the last reply
         "replies": [ REPLY, REPLY, ... ]}
      ]
    }

    REPLY = a string (one text block), or an object:
      content      list of blocks: {"type":"text","text":..},
                   {"type":"thinking","thinking":..,"signature":..},
                   {"type":"tool_use","name":..,"input":{..},"id":..optional}
      stop_reason  default: "tool_use" if a tool_use block is present, else "end_turn"
      usage        merged over estimated numbers (input_tokens, output_tokens,
                   cache_read_input_tokens, cache_creation_input_tokens, ...)
      model        overrides the model echoed back
      after        {"main":2}: answer once that many requests of a kind have arrived
      delay        seconds to wait before the first byte
      pace         seconds to wait before every stream event (slow streaming)
      error        {"status":529,"type":"overloaded_error","message":"Overloaded",
                    "headers":{"retry-after":"1"}}      -> HTTP error, no content
      stream_error {"after":3,"type":"overloaded_error","message":".."}
                   -> an SSE `error` event after that many events
      drop_after   close the socket after that many stream events
      capture      {"name":"regex"} searched in the messages, newest first; the first
                   group replaces {{name}} in this reply's strings
      headers      extra response headers

Replies are used in order, one per request; an error reply counts as one, so a retry gets the next reply.
The first conversation whose kind and regexes fit is used. Requests that fit none get a sensible default for
their kind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.interop.classify import Object, classify
from tests.interop.scenario import Scenario, build_message, make_id, stream_events

ARRIVAL_TIMEOUT_SECONDS = 60.0
"""How long a reply waits for other requests: longer than a busy machine needs, shorter than clients wait."""
HIDDEN_HEADERS = {"x-api-key", "authorization", "cookie"}


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    mock: MockAnthropic

    def log_message(self, *args: Any) -> None:
        """Keep the console quiet."""

    def do_HEAD(self) -> None:
        self.mock.record(self, None, "other", None)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.mock.record(self, None, "other", None)
        models = self.path.split("?")[0].startswith("/v1/models")
        self.send_json(200, {"data": [], "has_more": False} if models else {})

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(size)
        if len(raw) < size:  # the client was killed while it asked
            self.close_connection = True
            return
        try:
            body = json.loads(raw or b"{}")
        except (ValueError, RecursionError):
            body = {}
        path = self.path.split("?")[0].rstrip("/")
        if path.endswith("/messages/count_tokens"):
            self.mock.record(self, body, "count_tokens", None)
            self.send_json(200, {"input_tokens": max(1, len(raw) // 4)})
        elif path.endswith("/v1/messages"):
            self.answer(body)
        else:
            self.mock.record(self, body, "other", None)
            self.send_json(200, {})

    def answer(self, body: Object) -> None:
        """Send the scripted reply to a conversation."""
        kind = classify(body, {key.lower(): value for key, value in self.headers.items()})
        reply, source = self.mock.scenario.pick(kind, body)
        number = self.mock.record(self, body, kind, source)
        self.mock.wait_for_requests(reply.get("after") or {})
        time.sleep(reply.get("delay") or 0)
        extra = {"request-id": make_id("req", number, self.mock.salt), **(reply.get("headers") or {})}
        if error := reply.get("error"):
            self.send_error_reply(error, extra)
            return
        message = build_message(reply, body, number, self.mock.salt, self.mock.scenario.model)
        if body.get("stream"):
            self.stream(reply, message, extra)
        else:
            self.send_json(200, message, extra)

    def send_error_reply(self, error: Object, extra: Mapping[str, str]) -> None:
        """Send an HTTP error in the API's shape."""
        told = {"type": error.get("type", "api_error"), "message": error.get("message", "mock error")}
        value = {"type": "error", "error": told, "request_id": extra["request-id"]}
        self.send_json(error["status"], value, {**extra, **(error.get("headers") or {})})

    def stream(self, reply: Object, message: Object, extra: Mapping[str, str]) -> None:
        """Send a message as server-sent events, broken off where the reply says so."""
        self.send_response(200)
        fixed = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        for name, value in {**fixed, "connection": "close", **extra}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        broken, dropped = reply.get("stream_error"), reply.get("drop_after")
        for sent, (name, data) in enumerate(stream_events(message)):
            if dropped is not None and sent >= dropped:
                return
            if broken and sent >= broken.get("after", 0):
                kind, text = broken.get("type", "overloaded_error"), broken.get("message", "Overloaded")
                self.send_event("error", {"error": {"type": kind, "message": text}})
                return
            time.sleep(reply.get("pace") or 0)
            if not self.send_event(name, data):
                return

    def send_event(self, name: str, data: Object) -> bool:
        """Send one event; False when the client hung up (an interrupt)."""
        payload = json.dumps({"type": name, **data}, ensure_ascii=False)
        try:
            self.wfile.write(f"event: {name}\ndata: {payload}\n\n".encode())
            self.wfile.flush()
        except OSError:
            return False
        return True

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send a JSON response."""
        raw = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        fixed = {"content-type": "application/json", "content-length": str(len(raw))}
        for name, text in {**fixed, **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(raw)


class MockAnthropic:
    """The server, on loopback only; a context manager for tests, `serve()` for the command line."""

    handler = Handler

    def __init__(
        self,
        scenario: str | Path | Object | None = None,
        port: int = 0,
        log: str | Path | None = None,
        salt: str = "",
    ) -> None:
        self.scenario = Scenario.load(scenario)
        self.salt = salt or self.scenario.name
        self.requests: list[Object] = []
        self._arrival = threading.Condition()
        self._log = Path(log) if log else None
        self._server = ThreadingHTTPServer(("127.0.0.1", port), type("Bound", (self.handler,), {"mock": self}))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def record(self, handler: Handler, body: Object | None, kind: str, source: str | None) -> int:
        """Keep a request (without secrets) and give its number."""
        headers = {key.lower(): value for key, value in handler.headers.items()}
        with self._arrival:
            number = len(self.requests)
            entry = {
                "n": number,
                "time": round(time.time(), 3),
                "method": handler.command,
                "path": handler.path,
                "kind": kind,
                "reply": source,
                "headers": {key: value for key, value in headers.items() if key not in HIDDEN_HEADERS},
                "body": body,
            }
            self.requests.append(entry)
            self._arrival.notify_all()
            if self._log:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(entry, ensure_ascii=False) + "\n")
            return number

    def wait_for_requests(self, counts: Mapping[str, int]) -> None:
        """Wait until enough requests of some kinds have arrived."""

        def have_arrived() -> bool:
            kinds = [entry["kind"] for entry in self.requests]
            return all(kinds.count(kind) >= count for kind, count in counts.items())

        with self._arrival:
            if not self._arrival.wait_for(have_arrived, ARRIVAL_TIMEOUT_SECONDS):
                raise TimeoutError(f"these requests have not arrived: {counts}")

    def serve(self) -> None:
        """Answer until shut down."""
        self._server.serve_forever(poll_interval=0.05)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def main() -> int:
    """Serve a scenario until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted mock of the Anthropic Messages API.")
    parser.add_argument("scenario", nargs="?", help="scenario file (JSON); default replies without one")
    parser.add_argument("--port", type=int, default=18080, help="0 picks a free port")
    parser.add_argument("--port-file", help="write the port number here once listening")
    parser.add_argument("--log", help="append every request to this JSONL file")
    options = parser.parse_args()
    mock = MockAnthropic(options.scenario, options.port, options.log)
    if options.port_file:
        Path(options.port_file).write_text(str(mock.port))
    print(f"mock_anthropic: {mock.url} scenario={mock.scenario.name}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        mock.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
