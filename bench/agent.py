"""Measure what one prompt to the console client costs, and how the cost of a turn grows with the session.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
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

from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, environment

from .console import measure_peak_memory
from .measure import ROOT, BenchmarkError, Cost, Program, run_program
from .report import TURNLOG, Gate, Goal, Part, Report, build_task, format_table

_BARE = "a bare script"
_TURNLOG = "turnlog -p"
_CLIENT = f"Claude Code {NEWEST} -p"
_PROMPT = "How are you?"
_ANSWER = "Fine, thank you. There is nothing that I have to look at for that."
_SCENARIO = {"conversations": [{"kind": "main", "when_done": "repeat", "replies": [_ANSWER]}]}
_SESSION_TURNS = 1000
_COMPARED_TURNS = 100


def measure_oneshot(runs: int, _: float) -> Report:
    """Wall time for one prompt and its answer, compared with a bare script and with the real client."""
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        body = place / "body.json"
        body.write_bytes(_capture_request(place / "first"))
        with _run_scripted_server(place / "scenario.json") as url:
            programs = {_BARE: _build_bare_command(url, body), _TURNLOG: _build_turnlog_command(place / "ours", url)}
            if list_missing_clients((NEWEST,)):
                yield f"  skipped: Claude Code {NEWEST} is not installed; `make interop` installs it"
            else:
                programs[_CLIENT] = _build_client_command(place / "real", url)
            costs = _measure_medians(programs, max(runs, 5) * 3)
            memory = measure_peak_memory(programs[_TURNLOG])
    yield "  medians"
    yield from format_table(costs, _BARE)
    yield Goal("MB, turnlog -p", memory, 30)
    yield Gate("all print the answer", all(_ANSWER.encode() in cost.output for cost in costs.values()))
    yield Goal("times the wall time of a bare script", costs[_TURNLOG].wall / costs[_BARE].wall, 2.5)
    if _CLIENT in costs:
        yield Goal("times the real client's wall time", costs[_TURNLOG].wall / costs[_CLIENT].wall, 0.6)


def _measure_medians(programs: Mapping[str, Program], runs: int) -> dict[str, Cost]:
    samples: dict[str, list[Cost]] = {name: [] for name in programs}
    for number in range(runs + 1):
        for name, program in programs.items():
            if name == _CLIENT and number > max(runs // 3, 3):
                continue  # takes seconds
            cost = run_program(program)
            if number:  # the first run only warms up
                samples[name].append(cost)
    return {name: _take_median(costs) for name, costs in samples.items()}


def _take_median(costs: Sequence[Cost]) -> Cost:
    wall, cpu, memory = (median(cost[column] for cost in costs) for column in range(3))
    return Cost(wall, cpu, memory, costs[-1].output)


def _capture_request(place: Path) -> bytes:
    """Return the body of the request that turnlog sends for the prompt."""
    with MockAnthropic(_SCENARIO) as mock:
        run_program(_build_turnlog_command(place, mock.url))
        body = next(request["body"] for request in mock.requests if request["kind"] == "main")
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _build_turnlog_command(place: Path, url: str) -> Program:
    home, cwd = _create_home(place)
    environ = {
        **dict.fromkeys(("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"), ""),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TURNLOG_HOME": str(place / "data"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
    }
    return Program([*TURNLOG, "-p", _PROMPT], environ, cwd=cwd)


def _build_client_command(place: Path, url: str) -> Program:
    home, cwd = _create_home(place)
    return Program([str(client(NEWEST)), "-p", _PROMPT], environment(home, url), cwd=cwd, has_clean_environ=True)


def _build_bare_command(url: str, body: Path) -> Program:
    return Program([sys.executable, "-c", _SCRIPT, url.removeprefix("http://"), str(body)])


def _create_home(place: Path) -> tuple[Path, Path]:
    """Create a home folder and a project folder that the client trusts, and return both."""
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


def measure_turns(_: int, scale: float) -> Report:
    """CPU time of the last of 1,000 turns, each with a tool call, compared with the first turns of a new session."""
    count = max(round(_SESSION_TURNS * scale), 2 * _COMPARED_TURNS)
    with (
        tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place,
        _run_reading_server(Path(place) / "read.txt") as url,
    ):
        for name, model in (("the scripted model", ""), ("a server", url)):
            cost = run_program(build_task("turns", place, model, count, _COMPARED_TURNS))
            last, first = (median(column) for column in zip(*cost.output["cpu"], strict=True))
            written = cost.output["written"]
            times = f"{first * 1e3:.2f} ms of CPU per turn at the start, {last * 1e3:.2f} at the end"
            yield f"  {name}: {times}; {cost.memory:.0f} MB"
            yield Goal(f"times the CPU of a first turn, after {count} turns", last / first, 1.3)
            yield Goal(
                f"times the {written[1]} bytes of the second turn, in the last turn", written[-1] / written[1], 1.1
            )


# -- servers, each in its own process


@contextlib.contextmanager
def _run_scripted_server(scenario: Path) -> Iterator[str]:
    """Run the tests' scripted server and yield its address."""
    scenario.write_text(json.dumps(_SCENARIO))
    command = ["-m", "tests.interop.mock_anthropic", str(scenario), "--port", "0"]
    with _start_server(command) as line:
        yield line.split()[1]


@contextlib.contextmanager
def _run_reading_server(path: Path) -> Iterator[str]:
    """Run a server that discards its input and requests a file in every other answer; yield its address."""
    path.write_text("".join(f"a line of a file that is read in every turn, {number}\n" for number in range(12)))
    with _start_server(["-c", _SERVER, str(path)]) as url:
        yield url


@contextlib.contextmanager
def _start_server(arguments: list[str]) -> Iterator[str]:
    """Start a server and yield the line that it prints when it is ready."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line:
            raise BenchmarkError("the server did not start")
        yield line
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
    def log_message(self, *arguments): pass
server = HTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
"""

PARTS: dict[str, Part] = {"oneshot": measure_oneshot, "turns": measure_turns}
