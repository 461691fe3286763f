"""Measure what tracing costs the client and how fast a history is sent, compared with an SDK in the hook.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

import turnlog.trace.hook
from turnlog.demo import config_dir

from .corpora import generate_corpus
from .measure import BenchmarkError, Cost, Program, run_program
from .peers import langfuse_sdk
from .report import TURNLOG, Gate, Goal, Part, Report, format_table

_STATES = ("up", "down", "hanging")
_BARE = "python -I -S -c pass"
_LIVE = "turnlog hook, for live views"


def measure_hook(runs: int, _: float) -> Report:
    """Wall time of the hook with a server that is up, down or hanging, compared with an SDK that sends in the hook."""
    with (
        tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place,
        _run_sink("up") as up,
        _run_sink("hanging") as hanging,
    ):
        urls = {"up": up, "down": "http://127.0.0.1:9", "hanging": hanging}
        programs = {_BARE: Program([sys.executable, "-I", "-S", "-c", "pass"])}
        programs[_LIVE] = _build_live_hook_command(Path(place) / "live")
        for state in _STATES:
            programs[f"turnlog hook, server {state}"] = _build_hook_command(Path(place) / state, urls[state])
        peer = langfuse_sdk.install_sdk()
        if isinstance(peer, str):
            yield f"  skipped: the Langfuse SDK in the hook: {peer}"
        else:
            for state in _STATES:
                programs[f"Langfuse SDK, server {state}"] = langfuse_sdk.build_hook_command(peer, urls[state])
        try:
            costs = _measure_medians(programs, max(runs, 5) * 4)
        finally:
            _stop_workers(place)
    yield "  medians"
    yield from format_table(costs, _BARE)
    yield Goal("bare interpreters, the hook that reports to live views", costs[_LIVE].wall / costs[_BARE].wall, 5)
    for state in _STATES:
        ours = costs[f"turnlog hook, server {state}"].wall
        yield Goal(f"bare interpreters, the hook with a server that is {state}", ours / costs[_BARE].wall, 5)


def _build_live_hook_command(home: Path) -> Program:
    """Build the command of a hook that only reports, with the input of a permission request."""
    stdin = home / "event.json"
    stdin.parent.mkdir(parents=True)
    call = {"tool_name": "Bash", "tool_input": {"command": "make test", "description": "Run the tests"}}
    event = {"session_id": "30000000-0000-4000-8000-000000000000", "hook_event_name": "PermissionRequest", **call}
    stdin.write_text(json.dumps(event))
    command = [sys.executable, "-I", "-S", turnlog.trace.hook.__file__, str(home / "trace"), "--for", "live"]
    return Program(command, stdin=stdin)


def _build_hook_command(home: Path, url: str) -> Program:
    """Build the command that the client runs, to start after the previous run's worker has finished."""
    session = max(config_dir().glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    stdin = home / "event.json"
    stdin.parent.mkdir(parents=True)
    event = {"session_id": session.stem, "transcript_path": str(session), "hook_event_name": "Stop"}
    stdin.write_text(json.dumps(event))
    command = [sys.executable, "-I", "-S", turnlog.trace.hook.__file__, str(home / "trace")]
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "200"}
    return Program(command, environ, stdin=stdin, prepare=_wait_for_worker(home / "trace"))


def _wait_for_worker(place: Path) -> Callable[[], None]:
    def wait() -> None:
        """Wait for the worker, but not for its retries, which would take minutes."""
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and list(place.glob("wakes/*")):
            time.sleep(0.05)
        time.sleep(0.2)

    return wait


def _stop_workers(place: str) -> None:
    """Stop the workers that are still retrying, which are identified by their data folder."""
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TURNLOG_HOME={place}".encode() in entry.read_bytes():
                os.kill(int(entry.parent.name), signal.SIGTERM)


def _measure_medians(programs: Mapping[str, Program], runs: int) -> dict[str, Cost]:
    samples: dict[str, list[Cost]] = {name: [] for name in programs}
    for number in range(runs + 1):
        for name, program in programs.items():
            if name.startswith("Langfuse") and number > max(runs // 4, 3):
                continue  # takes seconds
            cost = run_program(program)
            if number:  # the first run only warms up
                samples[name].append(cost)
    return {
        name: Cost(*(median(cost[column] for cost in costs) for column in range(3))) for name, costs in samples.items()
    }


def measure_backfill(_: int, scale: float) -> Report:
    """1 GB of sessions sent to a local server that accepts everything: MB per CPU second, and memory."""
    costs = {}
    for name, size in (("a fifth", 0.1 * scale), ("all", 0.5 * scale)):
        home = generate_corpus("many", scale=size)
        with _run_sink("up") as url:
            costs[name] = _send_sessions(home, url)
        megabytes = sum(path.stat().st_size for path in home.rglob("*.jsonl")) / 1e6
        yield f"  {name}: {megabytes:.0f} MB in {costs[name].cpu:.1f} CPU s, {costs[name].memory:.0f} MB of memory"
        target = json.loads(costs[name].output)["targets"][0]
        yield Gate(f"all {target['spans']:,} spans were sent", target["pending"] == target["quarantined"] == 0)
    yield Goal("MB of transcript per CPU second", megabytes / costs["all"].cpu, 20, is_minimum=True)
    yield Goal("times the memory that a fifth takes", costs["all"].memory / costs["a fifth"].memory, 1.3)


def _send_sessions(home: Path, url: str) -> Cost:
    place = Path(tempfile.mkdtemp(prefix="turnlog-bench-"))
    environ = {"CLAUDE_CONFIG_DIR": str(home), "TURNLOG_HOME": str(place), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
    try:
        return run_program(Program([*TURNLOG, "trace", "backfill", "--all", "--json"], environ))
    finally:
        shutil.rmtree(place)


@contextlib.contextmanager
def _run_sink(state: str) -> Iterator[str]:
    """Run a server on loopback in its own process; it accepts everything or never answers."""
    process = subprocess.Popen([sys.executable, "-c", _SINK, state], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise BenchmarkError("the server did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


_SINK = """
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if sys.argv[1] == "hanging":
            time.sleep(600)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
"""

PARTS: dict[str, Part] = {"hook": measure_hook, "backfill": measure_backfill}
