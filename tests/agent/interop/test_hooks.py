"""The same hooks through the newest client and through ours: what they are told, their effect, and what is recorded."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.interop.test_front import MODEL, ours, real
from tests.interop.clients import NEWEST
from tests.interop.mock_anthropic import MockAnthropic

pytestmark = pytest.mark.interop
Json = dict[str, Any]

HOOK = """#!/bin/sh
cat >> "$LOG_FOLDER/$1.log"
echo >> "$LOG_FOLDER/$1.log"
cat "$LOG_FOLDER/$1.out" 2>/dev/null
cat "$LOG_FOLDER/$1.err" >&2 2>/dev/null
exit $(cat "$LOG_FOLDER/$1.code" 2>/dev/null || echo 0)
"""
EVENTS = (
    "PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit Stop PreCompact SessionStart SessionEnd"
    " PermissionRequest"
).split()
ELSEWHERE = {"effort"}
"""What the newest client tells hooks that ours has not."""


class Told(NamedTuple):
    """What a hook does: its standard output, its exit status and its standard error."""

    out: Any = ""
    code: int = 0
    err: str = ""


def specific(event: str, **fields: Any) -> Told:
    return Told({"hookSpecificOutput": {"hookEventName": event, **fields}})


class Ran(NamedTuple):
    """What came of a run."""

    keys: dict[str, list[list[str]]]
    """The keys that each hook was told."""
    told: list[Json]
    """All that hooks were told."""
    results: list[tuple[bool, str]]
    said: str
    rows: list[Json]
    done: subprocess.CompletedProcess[str]
    mock: MockAnthropic


def furnish(base: Path, told: dict[str, Told], settings: Json, home: str) -> None:
    """Write hooks for every event into the person's settings."""
    logs = base / "logs"
    logs.mkdir(parents=True)
    (base / "hook.sh").write_text(HOOK.replace("$LOG_FOLDER", str(logs)))
    (base / "hook.sh").chmod(0o755)
    for event, what in told.items():
        (logs / f"{event}.out").write_text(what.out if isinstance(what.out, str) else json.dumps(what.out))
        (logs / f"{event}.code").write_text(str(what.code))
        (logs / f"{event}.err").write_text(what.err)
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"{base}/hook.sh {event}", "timeout": 120}]}]
        for event in EVENTS
    }
    path = base / home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": hooks, **settings}))


def through(base: Path, is_ours: bool, scenario: Json, told: dict[str, Told], settings: Json, words: list[str]) -> Ran:
    furnish(base, told, settings, "home")
    given = ("-p", "hello", *words)
    done, mock = ours(base, scenario, *given) if is_ours else real(NEWEST, base, scenario, *given, at="home")
    (path,) = (base / "home" / ".claude" / "projects").glob("*/*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    logs = {event: base / "logs" / f"{event}.log" for event in EVENTS}
    inputs = {
        event: [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
        for event, log in logs.items()
        if log.exists()
    }
    keys = {event: [sorted(one.keys() - ELSEWHERE) for one in ones] for event, ones in inputs.items()}
    blocks = [block for row in rows if row["type"] == "user" for block in to_list(row["message"]["content"])]
    results = [(bool(one.get("is_error")), str(one["content"])) for one in blocks if one.get("type") == "tool_result"]
    return Ran(
        keys,
        [one for ones in inputs.values() for one in ones],
        results,
        done.stdout,
        [plain for row in rows if (plain := to_plain_row(row, base))],
        done,
        mock,
    )


def to_list(content: Any) -> list[Json]:
    return content if isinstance(content, list) else []


def to_plain_row(row: Json, base: Path) -> Json | None:
    """Return what a row says about hooks, without ids, times and folders."""
    attachment = row.get("attachment") or {}
    kind = row.get("subtype") if row["type"] == "system" else attachment.get("type", "")
    message = row.get("message", {})
    if row["type"] == "user" and row.get("isMeta") and isinstance(message.get("content"), str):
        found: Json = {"meta": message["content"]}
    elif str(kind).startswith("hook_"):
        found = {"attachment": attachment, "rendered": row.get("rendered"), "role": row.get("renderedRole")}
    elif kind in ("stop_hook_summary", "informational"):
        keys = row.keys() - {"parentUuid", "isSidechain", "uuid", "timestamp", "userType", "entrypoint", "cwd"}
        found = {key: row[key] for key in keys - {"sessionId", "version", "gitBranch", "session_id", "slug"}}
    else:
        return None
    text = json.dumps(found).replace(str(base), "BASE")
    text = re.sub(r'"durationMs": \d+', '"durationMs": 0', text)
    text = re.sub(r"toolu_\w+|[0-9a-f]{8}-[0-9a-f-]{27}", "ID", text)
    plain: Json = json.loads(text)
    return plain


BASH = script(reply(call("Bash", command="echo hi", description="Say")), "Done.")
TOUCH = script(reply(call("Bash", command="touch new", description="Touch")), "Done.")
FAILS = script(reply(call("Bash", command="echo hi; exit 3", description="Fail")), "Done.")
DENY = {"permissions": {"deny": ["Bash(touch:*)"]}}
ASK = {"permissions": {"ask": ["Bash(touch:*)"]}}
STOP = {"continue": False, "stopReason": "enough"}
CASES: dict[str, tuple[Json, dict[str, Told], Json]] = {
    "silent": (BASH, {}, {}),
    "denied anyway": (TOUCH, {}, {}),
    "failure": (FAILS, {"PostToolUseFailure": specific("PostToolUseFailure", additionalContext="it failed")},
                {"permissions": {"allow": ["Bash"]}}),
    "text": (BASH, {event: Told("plain text") for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")},
             {}),
    "exit 1": (BASH, {event: Told("out", 1, "oops") for event in EVENTS}, {}),
    "start exits 2": (BASH, {"SessionStart": Told("", 2, "no start")}, {}),
    "block": (BASH, {"PreToolUse": Told("", 2, "no\nreally")}, {}),
    "deny": (BASH, {"PreToolUse": specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no",
                                           additionalContext="careful")}, {}),
    "old block": (BASH, {"PreToolUse": Told({"decision": "block", "reason": "no"})}, {}),
    "old approve": (TOUCH, {"PreToolUse": Told({"decision": "approve"})}, {}),
    "ask": (BASH, {"PreToolUse": specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="why")}, {}),
    "allow": (TOUCH, {"PreToolUse": specific("PreToolUse", permissionDecision="allow", additionalContext="ok")}, {}),
    "allow against deny": (TOUCH, {"PreToolUse": specific("PreToolUse", permissionDecision="allow")}, DENY),
    "allow against ask": (TOUCH, {"PreToolUse": specific("PreToolUse", permissionDecision="allow")}, ASK),
    "new input": (BASH, {"PreToolUse": specific("PreToolUse", updatedInput={"command": "echo other"})}, {}),
    "new input that asks": (BASH, {"PreToolUse": specific("PreToolUse", updatedInput={"command": "touch x"})}, {}),
    "not JSON": (BASH, {"PreToolUse": Told('{"a": ')}, {}),
    "stop before": (BASH, {"PreToolUse": Told(STOP)}, {}),
    "stop after": (BASH, {"PostToolUse": Told(STOP)}, {}),
    "bad result": (BASH, {"PostToolUse": Told("", 2, "bad")}, {}),
    "bad result in JSON": (BASH, {"PostToolUse": Told({"decision": "block", "reason": "bad", "systemMessage": "look",
                           "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "more"}})}, {}),
    "prompt blocked": (BASH, {"UserPromptSubmit": Told("", 2, "no secrets")}, {}),
    "prompt blocked in JSON": (BASH, {"UserPromptSubmit": Told({"decision": "block", "reason": "no"})}, {}),
    "prompt stopped": (BASH, {"UserPromptSubmit": Told(STOP)}, {}),
    "prompt context": (BASH, {"UserPromptSubmit": specific("UserPromptSubmit", additionalContext="today")}, {}),
    "start context": (BASH, {"SessionStart": specific("SessionStart", additionalContext="hello")}, {}),
    "goes on": (script("One.", when_done="repeat"), {"Stop": Told("", 2, "more")}, {}),
    "goes on in JSON": (script("One.", when_done="repeat"),
                        {"Stop": Told({"decision": "block", "reason": "more"})}, {}),
    "stop is final": (BASH, {"Stop": Told({**STOP, "systemMessage": "bye"})}, {}),
    "request allowed": (TOUCH, {"PermissionRequest": specific("PermissionRequest", decision={
                        "behavior": "allow", "updatedInput": {"command": "echo instead"}})}, {}),
    "request denied": (TOUCH, {"PermissionRequest": specific("PermissionRequest", decision={
                       "behavior": "deny", "message": "never"})}, {}),
}  # fmt: skip
OWN_WORDS = {"denied anyway", "new input that asks", "allow against deny", "allow against ask"}
"""Cases whose refusal is not the hook's: each client gives its own reason."""
OWN_NOTICE = {"goes on", "goes on in JSON"}
"""Cases in which each client says in its own words that hooks have blocked too often."""


@pytest.mark.parametrize("case", CASES)
def test_hooks_are_told_do_and_leave_the_same(tmp_path: Path, case: str) -> None:
    scenario, told, settings = CASES[case]
    theirs = through(tmp_path / "theirs", False, scenario, told, settings, [])
    mine = through(tmp_path / "ours", True, scenario, told, settings, [])
    assert mine.keys == theirs.keys
    assert [is_error for is_error, _ in mine.results] == [is_error for is_error, _ in theirs.results]
    if case not in OWN_WORDS:
        bases = [(theirs, tmp_path / "theirs"), (mine, tmp_path / "ours")]
        results = [[text.replace(str(base), "BASE") for _, text in ran.results] for ran, base in bases]
        assert results[1] == results[0]
    if case in OWN_NOTICE:
        assert [row.get("subtype") for row in mine.rows] == [row.get("subtype") for row in theirs.rows]
        assert mine.rows[:-1] == theirs.rows[:-1]
    else:
        assert mine.rows == theirs.rows
    if case not in OWN_NOTICE:
        assert mine.said.replace(f"{tmp_path}/ours", f"{tmp_path}/theirs").strip() == theirs.said.strip()
    assert mine.done.returncode == theirs.done.returncode


def test_matchers_choose_the_same_hooks(tmp_path: Path) -> None:
    matchers = ["Bash", "Bas", "Ba.*", "Edit|Bash", "bash", "*", "", ".*", "Edit, Bash", "^Bash$", "Task", " Bash "]
    ran: list[list[str]] = []
    for name in ("theirs", "ours"):
        base = tmp_path / name
        hooks = [
            {"matcher": matcher, "hooks": [{"type": "command", "command": f"echo {number} >> {base}/ran"}]}
            for number, matcher in enumerate(matchers)
        ]
        path = base / "home" / ".claude" / "settings.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
        run = (base, BASH, "-p", "hello")
        _ = ours(*run) if name == "ours" else real(NEWEST, *run, at="home")
        ran.append(sorted((base / "ran").read_text().split()))
    assert ran[1] == ran[0]
    assert len(ran[0]) == 9


@pytest.mark.parametrize("version", ["2.0.50", "2.1.29", "2.1.45", NEWEST])
def test_a_session_with_hooks_is_continued_by_every_client(tmp_path: Path, version: str) -> None:
    """What hooks said is sent by the newest client; every client sends all messages and results."""
    from tests.interop.clients import list_missing_clients

    if list_missing_clients((version,)):
        pytest.skip(f"the client {version} is not installed")
    context = {event: specific(event, additionalContext=f"from {event}") for event in ("PreToolUse", "PostToolUse")}
    told = {**context, "UserPromptSubmit": Told("from the prompt"), "Stop": Told("noted")}
    base = tmp_path.resolve()
    mine = through(base, True, BASH, told, {}, [])
    (base / "home" / ".claude" / "settings.json").write_text("{}")
    (path,) = (base / "home" / ".claude" / "projects").glob("*/*.jsonl")
    done, mock = real(version, base, script("Theirs."), "-p", "go on", "--resume", path.stem, at="home")
    assert done.stdout.strip() == "Theirs."
    sent = json.dumps([one for one in mock.requests if one["kind"] == "main"][-1]["body"]["messages"])
    for text in ("hello", "echo hi", '"hi"', "Done.", "go on"):
        assert text in sent
    if version == NEWEST:
        for text in ("from PreToolUse", "from PostToolUse", "from the prompt"):
            assert text in sent
    with MockAnthropic(script("Ours.")) as again:
        back = Desk(base, again).turnlog("-p", "and back", "--resume", path.stem, "--model", MODEL)
        assert back.stdout == "Ours.\n"
        came = json.dumps(Desk(base, again).requests[-1]["messages"])
    assert "from the prompt" in json.dumps(mine.mock.requests[-1]["body"]["messages"])
    for text in ("from PreToolUse", "from PostToolUse", "from the prompt", "Theirs."):
        assert text in came
