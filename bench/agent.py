"""What a question costs, asked with the client once, and how the time of a turn grows with the session.

Everything is measured in one run, in turns; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.interop.clients import NEWEST, client, missing
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, environment

from .measure import ROOT, Cost, Failed, Program, run
from .report import TURNLOG, Gate, Goal, Part, Report, table, task

_BARE = "a bare script"
_OURS = "turnlog -p"
_REAL = f"Claude Code {NEWEST} -p"
_PROMPT = "How are you?"
_ANSWER = "Fine, thank you. There is nothing that I have to look at for that."
_SCENARIO = {"conversations": [{"kind": "main", "when_done": "repeat", "replies": [_ANSWER]}]}
_TURNS = 1000
_STRETCH = 100


def oneshot(runs: int, _: float) -> Report:
    """One prompt, one answer, whole wall time; against a bare script with the same request, and the real client."""
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        body = place / "body.json"
        body.write_bytes(_captured(place / "first"))
        with _served(place / "scenario.json") as url:
            programs = {_BARE: _bare(url, body), _OURS: _ours(place / "ours", url)}
            if missing((NEWEST,)):
                yield f"  left out: Claude Code {NEWEST}: is not installed (make interop does that)"
            else:
                programs[_REAL] = _real(place / "real", url)
            costs = _medians(programs, max(runs, 5) * 3)
    yield "  medians"
    yield from table(costs, _BARE)
    yield Gate("all print the answer", all(_ANSWER.encode() in cost.said for cost in costs.values()))
    yield Goal("bare scripts, wall", costs[_OURS].wall / costs[_BARE].wall, 2.5)
    if _REAL in costs:
        yield Goal("of the real client, wall", costs[_OURS].wall / costs[_REAL].wall, 0.6)


def _medians(programs: Mapping[str, Program], runs: int) -> dict[str, Cost]:
    found: dict[str, list[Cost]] = {name: [] for name in programs}
    for number in range(runs + 1):
        for name, program in programs.items():
            if name == _REAL and number > max(runs // 3, 3):
                continue  # seconds each
            cost = run(program)
            if number:  # the first time is for warming up
                found[name].append(cost)
    return {name: _median(costs) for name, costs in found.items()}


def _median(costs: Sequence[Cost]) -> Cost:
    wall, cpu, memory = (median(cost[place] for cost in costs) for place in range(3))
    return Cost(wall, cpu, memory, costs[-1].said)


def _captured(place: Path) -> bytes:
    """What turnlog sends for the prompt."""
    with MockAnthropic(_SCENARIO) as mock:
        run(_ours(place, mock.url))
        asked = next(request["body"] for request in mock.requests if request["kind"] == "main")
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()


def _ours(place: Path, url: str) -> Program:
    home, cwd = _furnished(place)
    environ = {
        **dict.fromkeys(("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"), ""),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TURNLOG_HOME": str(place / "data"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
    }
    return Program([*TURNLOG, "-p", _PROMPT], environ, cwd=cwd)


def _real(place: Path, url: str) -> Program:
    home, cwd = _furnished(place)
    return Program([str(client(NEWEST)), "-p", _PROMPT], environment(home, url), cwd=cwd, is_alone=True)


def _bare(url: str, body: Path) -> Program:
    return Program([sys.executable, "-c", _SCRIPT, url.removeprefix("http://"), str(body)])


def _furnished(place: Path) -> tuple[Path, Path]:
    """A home of its own, in which the folder is trusted, and that folder."""
    home, cwd = place / "home", place / "project"
    for folder in (home / ".claude", home / "tmp", cwd):
        folder.mkdir(parents=True)
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(state))
    return home, cwd


def turns(_: int, scale: float) -> Report:
    """The last turns of a session of 1,000, each with a call, in turns with the first ones of a new session."""
    count = max(round(_TURNS * scale), 2 * _STRETCH)
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place, _answering(Path(place) / "read.txt") as url:
        for name, model in (("the scripted model", ""), ("a server", url)):
            cost = run(task("turns", place, model, count, _STRETCH))
            last, first = (median(column) for column in zip(*cost.said["cpu"], strict=True))
            written = cost.said["written"]
            yield f"  {name}: {first * 1e3:.2f} ms CPU a turn at first, {last * 1e3:.2f} at last; {cost.memory:.0f} MB"
            yield Goal(f"of a first turn, one after {count}, CPU of our process", last / first, 1.3)
            yield Goal(f"of the {written[1]} bytes that the second turn wrote, the last", written[-1] / written[1], 1.1)


# -- servers, in processes of their own


@contextlib.contextmanager
def _served(scenario: Path) -> Iterator[str]:
    """The scripted server of the tests."""
    scenario.write_text(json.dumps(_SCENARIO))
    words = ["-m", "tests.interop.mock_anthropic", str(scenario), "--port", "0"]
    with _started(words) as said:
        yield said.split()[1]


@contextlib.contextmanager
def _answering(path: Path) -> Iterator[str]:
    """A server that reads what comes, keeps nothing, and calls for a file in every other answer."""
    path.write_text("".join(f"a line of a file that is read in every turn, {number}\n" for number in range(12)))
    with _started(["-c", _SERVER, str(path)]) as said:
        yield said


@contextlib.contextmanager
def _started(words: list[str]) -> Iterator[str]:
    """A server, and the line that it says when it is ready."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if not said:
            raise Failed("the server did not start")
        yield said
    finally:
        process.kill()
        process.wait()


_SCRIPT = """
import http.client, json, sys
connection = http.client.HTTPConnection(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    body = file.read()
headers = {"content-type": "application/json", "x-api-key": "bench", "anthropic-version": "2023-06-01"}
connection.request("POST", "/v1/messages", body, headers)
text = ""
for line in connection.getresponse():
    if line.startswith(b"data:"):
        event = json.loads(line[5:])
        if event["type"] == "content_block_delta":
            text += event["delta"].get("text", "")
print(text)
"""

_SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
number = 0
def events():
    global number
    number += 1
    usage = {"input_tokens": 20, "output_tokens": 40}
    message = {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "role": "assistant", "content": [], "usage": usage}
    yield {"type": "message_start", "message": message}
    if number % 2:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"file_path": sys.argv[1]})}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "It says so in a line of it."}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if number % 2 else "end_turn"}, "usage": usage}
    yield {"type": "message_stop"}
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events():
            self.wfile.write(f"event: {event['type']}\\ndata: {json.dumps(event)}\\n\\n".encode())
    def log_message(self, *words): pass
server = HTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
"""

PARTS: dict[str, Part] = {"oneshot": oneshot, "turns": turns}
