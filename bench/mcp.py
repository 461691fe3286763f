"""Measure how fast the MCP server answers, and how many tokens its answers have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from . import indexes
from .corpora import generate_corpus
from .queries import generate_queries
from .report import TURNLOG, Goal, Part, Report

_MCP_QUERIES = 40
_SCOPE_FILTER = re.compile("project:|session:")
"""Filters that the server refuses."""
_DEFAULT_SCALE = 0.1
"""200 MB of sessions at the usual scale: an agent searches one project."""
_CHARS_PER_TOKEN = 2.5
"""As bad as it gets for text that is mostly hexadecimal; English has four."""


class TimedAnswer(NamedTuple):
    milliseconds: float
    text: str


class ServerProcess:
    """A server, and a client that speaks plain JSON lines, so that its own time doesn't count."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._number = 0

    def request(self, method: str, **params: Any) -> Any:
        """Send a request and return its result."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout
        while (answer := json.loads(self._process.stdout.readline())).get("id") != self._number:
            pass
        return answer["result"]

    def notify(self, method: str) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method})

    def call(self, name: str, **arguments: Any) -> TimedAnswer:
        """Call a tool."""
        began = time.perf_counter()
        result = self.request("tools/call", name=name, arguments=arguments)
        return TimedAnswer((time.perf_counter() - began) * 1000, result["content"][0]["text"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


@contextmanager
def start_server(collection: Path) -> Iterator[ServerProcess]:
    """Start a server that may read all sessions of a collection."""
    program = indexes.build_command(collection)
    with subprocess.Popen(
        [*TURNLOG, "mcp", "--all-projects"],
        env={**os.environ, **program.environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        server = ServerProcess(process)
        client = {"name": "bench", "version": "1"}
        server.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        server.notify("notifications/initialized")
        yield server
        assert process.stdin
        process.stdin.close()


def measure_mcp(runs: int, scale: float) -> Report:
    """Tool calls of an MCP client over 200 MB of sessions: the first ones, and the same ones again."""
    collection = generate_corpus("many", scale=scale * _DEFAULT_SCALE)
    indexes.ensure_index(collection)
    texts = [text for _, text in generate_queries(collection, _MCP_QUERIES) if not _SCOPE_FILTER.search(text)]
    with start_server(collection) as server:
        first = [server.call("search_sessions", query=text) for text in texts]
        rounds = [[server.call("search_sessions", query=text) for text in texts] for _ in range(runs)]
        others = [server.call(name, **given) for name, given in _list_calls()]
        again = [server.call(name, **given) for name, given in _list_calls()]
    best = [min(answer.milliseconds for answer in answers) for answers in zip(*rounds, strict=True)]
    warm, cold = sorted(zip(best, texts, strict=True)), sorted(answer.milliseconds for answer in first)
    yield f"  search: first {cold[len(cold) // 2]:.0f} ms (median), {cold[-1]:.0f} ms (slowest)"
    yield f"  search: again {warm[len(warm) // 2][0]:.0f} ms (median), {warm[-1][0]:.0f} ms (slowest: {warm[-1][1]})"
    for (name, _), once, twice in zip(_list_calls(), others, again, strict=True):
        times = f"first {once.milliseconds:6.0f} ms, again {twice.milliseconds:5.0f} ms"
        yield f"  {name:20} {times}, {len(once.text):,} characters"
    yield Goal("ms, the slowest search that was made before", max(best), 150)
    longest = max(len(answer.text.encode()) for answer in (*first, *others))
    yield Goal("tokens, the longest answer at 2.5 bytes each", longest / _CHARS_PER_TOKEN, 4_000)


def _list_calls() -> list[tuple[str, dict[str, Any]]]:
    return [
        ("list_sessions", {}),
        ("get_session", {"session": "last"}),
        ("get_turns", {"session": "last"}),
        ("get_messages", {"session": "last"}),
        ("get_files_touched", {}),
        ("get_usage", {"by": "session"}),
    ]


PARTS: dict[str, Part] = {"mcp": measure_mcp}
