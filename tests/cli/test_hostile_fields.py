"""Every command, over sessions with escapes in every field, in a pipe and on a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.hostile_machine import BREAKS, OTHER, PAYLOAD, HostileMachine, build_hostile_machine, run_commands
from tests.session.build import SESSION
from turnlog.cli.table import COMMANDS

TEXT_RUNS: dict[str, list[list[str]]] = {
    "ls": [["--all"], ["--other"]],
    "show": [[SESSION], [SESSION, "--full"]],
    "search": [["cart"], ["--substring", "art"], ["tool:nothing"], ["kind:call"]],
    "prompts": [["--full"], ["cart"]],
    "compare": [[SESSION, OTHER]],
    "tree": [[], ["--all"]],
    "files": [[SESSION], ["--project", "webshop"]],
    "messages": [[SESSION]],
    "cat": [["--explain", "FILE"]],
    "board": [["--once"]],
    "replay": [],
    "notify": [["status"]],
    "quest": [["profile"]],
    "usage": [[], ["session"], ["project"], ["model"], ["tool"], ["blocks"]],
    "context": [[SESSION]],
    "tools": [[SESSION], [], ["--failures"]],
    "clone": [[SESSION], [SESSION, "--preset", "heavy", "--dry-run"]],
    "strip": [[SESSION]],
    "fork": [[SESSION, "--at", PAYLOAD], [SESSION, "--at", "1"]],
    "rename": [[SESSION, f"new {PAYLOAD}"]],
    "tag": [[SESSION, f"new{PAYLOAD}"]],
    "check": [[SESSION], ["FILE"], ["FOLDER"], [SESSION, "--resumable"]],
    "doctor": [[SESSION], ["--all", "--fresh"]],
    "repair": [[SESSION, "--dry-run"], [SESSION]],
    "salvage": [[], [OTHER[:-1] + "0"], [OTHER[:-1] + "0", "-o", "-"]],
    "restore": [["cart.py", "--list"], [f"cart.py{PAYLOAD}", "--list", "-s", SESSION]],
    "export": [[SESSION, "-f", "md", "-o", "-"], [SESSION, "-f", "txt", "-o", "-"], [SESSION, "-f", "md"]],
    "redact": [[SESSION, "--pattern", "cart=cart"], [SESSION, "--clone"]],
    "pack": [[SESSION, "-o", f"PLACE/a{PAYLOAD}.zst"]],
    "unpack": [["--list", f"PLACE/a{PAYLOAD}.zst"], ["--dry-run", f"PLACE/a{PAYLOAD}.zst"]],
    "trace": [["show", SESSION], ["status"]],
    "hook": [["status"]],
    "archive": [["run"], ["list"], ["status"], ["verify"], ["restore", SESSION]],
    "fleet": [["build", "PLACE/people", "PLACE/lake"], ["report", "PLACE/lake"]],
    "mcp": [["status"]],
    "index": [[], ["status"], ["verify"]],
    "plugins": [[]],
    "move": [["PROJECT", f"PLACE/moved{PAYLOAD}", "--dry-run"]],
    "delete": [[OTHER, "--dry-run"], [OTHER, "--yes", "--force"]],
    "undelete": [["--list"], [OTHER]],
    "undo": [["--list"]],
    "statusline": [[]],
    "completion": [["bash"]],
}
FOLLOWING = {
    "web": "a server: it prints only its own address",
    "watch": "follows sessions until it is stopped: test_hostile_live.py",
    "chat": "talks with a model: tests/agent",
}
JSON_RUNS = [
    ["ls", "--all", "--json"], ["show", SESSION, "--json"], ["search", "cart", "--json"], ["prompts", "--json"],
    ["compare", SESSION, OTHER, "--json"], ["tree", "--json"], ["files", SESSION, "--json"],
    ["files", SESSION, "--diff", "--json"], ["messages", SESSION, "--json"], ["board", "--once", "--json"],
    ["replay", SESSION, "--json"], ["usage", "--json"], ["usage", "project", "--json"], ["context", SESSION, "--json"],
    ["tools", SESSION, "--json"], ["strip", SESSION, "--json"], ["clone", SESSION, "--dry-run", "--json"],
    ["fork", SESSION, "--at", "1", "--dry-run", "--json"], ["check", SESSION, "--json"], ["doctor", "--all", "--json"],
    ["repair", SESSION, "--dry-run", "--json"], ["salvage", "--json"], ["restore", "cart.py", "--list", "--json"],
    ["redact", SESSION, "--pattern", "cart=cart", "--json"], ["export", SESSION, "-f", "json", "-o", "-"],
    ["export", SESSION, "-f", "messages", "-o", "-"], ["export", SESSION, "-f", "openai", "-o", "-"],
    ["archive", "run", "--json"], ["archive", "list", "--json"], ["index", "--json"], ["plugins", "--json"],
    ["trace", "show", SESSION, "--json"], ["quest", "profile", "--json"], ["delete", OTHER, "--yes", "--force"],
    ["undelete", "--list", "--json"], ["undo", "--list", "--json"],
]  # fmt: skip
ACTIVE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
EXACT_RUNS = [
    ["trace", "backfill", "--all", "--dry-run"],
    ["cat", "FILE"],
    ["files", SESSION, "--diff"],
    ["restore", f"cart.py{PAYLOAD}", "-s", SESSION, "--at", "1", "-o", "-"],
]


@pytest.fixture
def hostile_machine(tmp_path: Path) -> HostileMachine:
    return build_hostile_machine(tmp_path)


def fill_in(machine: HostileMachine, words: list[str]) -> list[str]:
    folder = next(path for path in (machine.config / "projects").iterdir() if path.name.startswith("-tmp"))
    places = {"FILE": folder / f"{SESSION}.jsonl", "FOLDER": folder}
    places["PROJECT"] = machine.project
    return [str(places.get(word, word.replace("PLACE", str(machine.base)))) for word in words]


def list_text_runs(machine: HostileMachine) -> list[list[str]]:
    return [fill_in(machine, [name, *words]) for name, runs in TEXT_RUNS.items() for words in runs]


def write_status(machine: HostileMachine) -> Path:
    """What Claude Code gives a status line."""
    place = machine.base / "status.json"
    model = {"id": f"claude{PAYLOAD}", "display_name": f"Opus{PAYLOAD}"}
    folder = {"current_dir": str(machine.project), "project_dir": str(machine.project)}
    place.write_text(json.dumps({"model": model, "workspace": folder, "session_id": SESSION, "version": PAYLOAD}))
    return place


def test_the_runs_cover_every_command() -> None:
    assert TEXT_RUNS.keys() | FOLLOWING.keys() == COMMANDS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_no_command_passes_an_escape_on(hostile_machine: HostileMachine, terminal: bool) -> None:
    commands = list_text_runs(hostile_machine)
    if terminal:  # what stays exact in a pipe
        commands += [fill_in(hostile_machine, words) for words in EXACT_RUNS]
    else:
        commands.append(["replay", SESSION])
    outputs = run_commands(hostile_machine, commands, stdin=write_status(hostile_machine), terminal=terminal)
    found = {" ".join(words): line for words, text in zip(commands, outputs, strict=True) for line in text.split("\n")
             if ACTIVE.search(line)}  # fmt: skip
    assert not found, {make_readable(name): make_readable(line) for name, line in found.items()}
    silent = [name for name, text in zip(map(" ".join, commands), outputs, strict=True) if not text.strip()]
    assert not silent, silent


def make_readable(text: str) -> str:
    return text.encode("unicode_escape").decode()[:300]


@pytest.mark.slow
def test_json_is_on_as_many_lines_as_it_has_line_feeds(hostile_machine: HostileMachine) -> None:
    outputs = run_commands(hostile_machine, JSON_RUNS, stdin=Path("/dev/null"), terminal=False)
    for words, text in zip(JSON_RUNS, outputs, strict=True):
        broken = [line for line in text.split("\n") if set(BREAKS) & set(line)]
        assert not broken, (words, make_readable(broken[0]))
    assert sum("\\u2028" in text and "\\u0085" in text for text in outputs) > len(JSON_RUNS) // 2


@pytest.mark.slow
def test_bytes_stay_exact_in_a_pipe(hostile_machine: HostileMachine) -> None:
    commands = [fill_in(hostile_machine, words) for words in EXACT_RUNS]
    _, cat, diff, restored = run_commands(hostile_machine, commands, stdin=Path("/dev/null"), terminal=False)
    # The driver's pipe is read as text; bytes are compared in test_cat.py.
    assert cat.encode() == Path(commands[1][1]).read_bytes()
    assert f"+a = 1\n+b = 2\n+{PAYLOAD}"[:16] in diff
    assert f"a = 1\nb = 2\n{PAYLOAD}" in restored
