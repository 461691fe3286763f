"""A machine on which every field of every file carries escapes, and a program that runs commands one after another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.session.build import SESSION, Build, use
from turnlog.entries.slug import make_slug

BREAKS = "\u0085\u2028\u2029"
"""What ends a line for some readers of JSON."""
PAYLOAD = (
    f"\x1b]52;c;SGFjaw==\x07\x1b]0;owned\x07\x1b[5;31m\x9b5m\x9d0;c1\x9c\x08\x0c\x7f\r\u202egnp\u2066{BREAKS}\x1bcz"
)
"""The clipboard, the title, blinking text, C1 controls, a bell, a delete, a return, reversed text, a reset."""
OTHER = "99999999-2222-4333-8444-555555555555"
AGENT = "a1b2c3d"
_PLAIN_KEYS = frozenset(("type", "role", "subtype", "timestamp", "stop_reason", "operation"))
_DRIVER = """
import json, os, sys
from turnlog.cli.program import run_program
for number, (words, given) in enumerate(json.loads(open(sys.argv[1]).read())):
    os.write(1, f"=== {number}\\n".encode())
    file = os.open(given, os.O_RDONLY)
    os.dup2(file, 0)
    os.close(file)
    run_program(words)
    sys.stdout.flush()
    sys.stderr.flush()
"""


class HostileMachine(NamedTuple):
    """The folders of the machine."""

    config: Path
    project: Path
    base: Path

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        places = {"CLAUDE_CONFIG_DIR": str(self.config), "TURNLOG_HOME": str(self.base / "data")}
        return {**kept, **places, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}


def build_hostile_machine(base: Path) -> HostileMachine:
    """Write sessions, a sub-agent, a history and a status for the client, all of them hostile."""
    config, project = base / f"claude{PAYLOAD}", base / f"webshop{PAYLOAD}"
    project.mkdir(parents=True)
    folder = config / "projects" / make_slug(str(project))
    for place in (folder, config / "projects" / f"-x{PAYLOAD}"):
        place.mkdir(parents=True)
        session = _build_session(project, place == folder)
        (place / f"{SESSION if place == folder else OTHER}.jsonl").write_bytes(_encode(session))
    person = base / "people" / "ana" / "projects" / "-home-dana"  # a lake refuses other characters in names of folders
    person.mkdir(parents=True)
    (person / f"{SESSION}.jsonl").write_bytes(_encode(_build_session(project, is_first=True)))
    agents = folder / SESSION / "subagents"
    agents.mkdir(parents=True)
    (agents / f"agent-{AGENT}{PAYLOAD}.jsonl").write_bytes(_encode(_build_agent(project)))
    (agents / f"agent-{AGENT}{PAYLOAD}.meta.json").write_text(json.dumps({"agentType": f"Explore{PAYLOAD}"}))
    (folder / f"notes{PAYLOAD}.jsonl").write_bytes(_encode(_build_agent(project)))
    lost = {
        "display": f"lost{PAYLOAD}",
        "project": str(project),
        "sessionId": OTHER[:-1] + "0",
        "timestamp": 1767262000,
    }
    (config / "history.jsonl").write_text(json.dumps(lost) + "\n")
    return HostileMachine(config, project, base)


def _build_session(project: Path, is_first: bool) -> list[dict[str, Any]]:
    build = Build()
    build.prompt("Fix the cart")
    build.answer(use("c1", "Write", {"file_path": f"{project}/cart.py", "content": "a = 1\nb = 2\n"}), stop="tool_use")
    wrote = {"type": "create", "filePath": f"{project}/cart.py", "content": "a = 1\nb = 2\n", "structuredPatch": []}
    build.result("c1", "File created", toolUseResult=wrote)
    build.answer(use("c2", "Bash", {"command": "pytest", "description": "Test"}), stop="tool_use")
    build.result("c2", "1 failed", error=True, toolUseResult={"stdout": "1 failed", "stderr": "no"})
    build.answer(use("c3", "mcp__shop__list", {"query": "cart"}), stop="tool_use")
    build.result("c3", "nothing")
    build.answer(use("c4", "Agent", {"prompt": "look", "description": "Look", "subagent_type": "x"}), stop="tool_use")
    build.result("c4", "seen", toolUseResult={"agentId": AGENT, "status": "completed", "prompt": "look"})
    build.answer("Done.", usage={"input_tokens": 10, "output_tokens": 5})
    build.prompt("And now? " + ("first" if is_first else "second"))
    build.answer("Now the rest.", usage={"input_tokens": 10, "output_tokens": 5})
    build.attachment("file", filename=f"{project}/notes.md", content="notes")
    build.system("api_error", content="overloaded", level="error")
    build.boundary()
    build.summary()
    build.prompt("Third")
    build.answer("Yes.")
    for kind, field in (
        ("custom-title", "customTitle"),
        ("ai-title", "aiTitle"),
        ("tag", "tag"),
        ("summary", "summary"),
    ):
        build.note(kind, **{field: kind})
    lines = [_poison(line) for line in build.lines]
    for line in lines:
        line.update(cwd=f"{project}", gitBranch=f"main{PAYLOAD}", slug=f"slug{PAYLOAD}", requestId=f"req{PAYLOAD}")
    return [*lines, *_list_odd_lines(lines[-5])]


def _list_odd_lines(last: dict[str, Any]) -> list[dict[str, Any]]:
    """Lines in which what is usually one of a few words is hostile, too."""
    odd = [{**last, name: f"{last.get(name)}{PAYLOAD}", "uuid": f"odd-{name}"} for name in (*_PLAIN_KEYS, PAYLOAD)]
    message = last["message"]
    return [*odd, *({**last, "message": {**message, name: PAYLOAD}, "uuid": f"m-{name}"} for name in message)]


def _build_agent(project: Path) -> list[dict[str, Any]]:
    build = Build()
    build.prompt("look", isSidechain=True, agentId=AGENT)
    build.answer(use("d1", "Read", {"file_path": f"{project}/cart.py"}), isSidechain=True, agentId=AGENT)
    build.result("d1", "a = 1", isSidechain=True, agentId=AGENT)
    return [_poison(line) for line in build.lines]


def _poison(value: Any, key: str = "") -> Any:
    """Add the payload to every string and every unknown key."""
    if isinstance(value, str):
        return value if key in _PLAIN_KEYS or key == "sessionId" or value == "Write" else value + PAYLOAD
    if isinstance(value, list):
        return [_poison(item, key) for item in value]
    return {name: _poison(item, name) for name, item in value.items()} if isinstance(value, dict) else value


def _encode(lines: list[dict[str, Any]]) -> bytes:
    """Encode lines with everything raw that JSON allows raw."""
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def run_commands(
    machine: HostileMachine, commands: Sequence[Sequence[str]], *, stdin: Path, terminal: bool
) -> list[str]:
    """Run commands in one process, with a pipe or a terminal for both outputs; return what each has written."""
    plan = machine.base / "plan.json"
    plan.write_text(json.dumps([(list(words), str(stdin)) for words in commands]))
    words = [sys.executable, "-c", _DRIVER, str(plan)]
    text = (_run_on_terminal if terminal else _run_in_pipe)(words, machine)
    parts = text.split("=== ")[1:]
    assert len(parts) == len(commands), text[-2000:]
    return [part.split("\n", 1)[1] for part in parts]


def _run_in_pipe(words: list[str], machine: HostileMachine) -> str:
    done = subprocess.run(
        words, env=machine.environ, cwd=machine.base, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.decode()


def _run_on_terminal(words: list[str], machine: HostileMachine) -> str:
    import pty

    ours, theirs = pty.openpty()
    environ = {**machine.environ, "COLUMNS": "200"}
    with subprocess.Popen(words, env=environ, cwd=machine.base, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            parts.append(data)
        process.wait()
    os.close(ours)
    # What the terminal's driver makes of a line end, and how the line about progress is cleared.
    return b"".join(parts).decode().replace("\r\n", "\n").replace("\r\x1b[2K", "")
