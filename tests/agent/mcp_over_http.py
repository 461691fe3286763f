"""An MCP server over HTTP, on loopback."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "shop", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "apples"}]},
}


class McpServer(ThreadingHTTPServer):
    """Answers requests of its sessions, if they come with the right token."""

    daemon_threads = True

    def __init__(self, token: str | None = None, lost_status: int = 404) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.token = token
        self.lost_status = lost_status
        """What a request of a session that the server does not know is answered with."""
        self.seen: list[dict[str, str]] = []
        self.sessions: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


class Handler(BaseHTTPRequestHandler):
    server: McpServer

    def log_message(self, *args: Any) -> None:
        """Keep the test quiet."""

    def do_GET(self) -> None:
        self.send_error(405)

    def do_DELETE(self) -> None:
        self.send_error(500)  # which the package reports, and turnlog must not

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        session = self.headers.get("mcp-session-id")
        if self.server.token is not None and self.headers.get("authorization") != self.server.token:
            self.send_error(401)
        elif asked["method"] == "initialize":
            session = uuid4().hex
            self.server.sessions.add(session)
            self.answer(asked, RESULTS["initialize"], session)
        elif session not in self.server.sessions:
            self.send_error(self.server.lost_status)
        else:
            self.answer(asked, RESULTS.get(asked["method"]), session)

    def answer(self, asked: Any, result: Any, session: str) -> None:
        body = b"" if result is None else json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        self.send_response(202 if result is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)
