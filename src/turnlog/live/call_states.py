"""What a session with open calls is doing: running them, or waiting for a person.

Newer clients report that they wait. For older ones, processes show it: a command that runs has a process of its own.
Where neither is known, only the time counts.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from turnlog.live.activity import Activity, OpenCall
from turnlog.live.events.event import Confidence
from turnlog.live.signs import SessionSigns, is_tool_shell, matches_command
from turnlog.live.verdicts import StateVerdict
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, find_tool_family
from turnlog.session.clock import parse_timestamp

_MAX_CALL_SILENCE = {
    "writing": timedelta(seconds=5),
    "running": timedelta(seconds=30),
    "web": timedelta(seconds=60),
    "mcp": timedelta(seconds=60),
    "other": timedelta(seconds=60),
}
"""How long a call of a family may be silent if nothing but the transcript is known. Families that never need
permission, or always wait, aren't listed."""
_MIN_WAIT = timedelta(seconds=1.2)
"""How long a call must be open before the processes show that it waits: a command takes a moment to start."""
_MIN_STILL_WAIT = timedelta(seconds=0.8)
"""The same for a client whose spinner has stopped."""
_NEVER_ASKING_MODES = frozenset({"bypassPermissions", "dontAsk", "auto"})


def judge_calls(fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    """Judge a session that has open calls."""
    calls = list(fold.calls.values())
    question = next((call for call in calls if call.name in TOOLS_WAITING_FOR_PERSON), None)
    if question is not None:
        words = "asks you to approve a plan" if question.name == "ExitPlanMode" else f"asks: {question.about}"
        return StateVerdict("waiting", words.rstrip(": "), question.since, "sure", "the question has no answer yet")
    for call in calls:
        if reason := find_permission_reason(call, fold.mode, now, quiet, signs):
            words = f"may be waiting for permission: {format_call(call)}"
            return StateVerdict("permission", words, call.since, "inferred", reason)
    if signs.waiting_agent:
        words = f"a sub-agent may be waiting for permission: {signs.waiting_agent}"
        return StateVerdict("permission", words, calls[0].since, "inferred", "no result yet, and no child process runs")
    return StateVerdict("running", _describe_running(calls), calls[0].since, *_explain_running(calls, signs))


def find_permission_reason(
    call: OpenCall, mode: str | None, now: datetime, quiet: timedelta, signs: SessionSigns
) -> str | None:
    """Return why a call seems to wait for permission; None if it seems to run."""
    family = find_tool_family(call.name)
    if call.has_progress or mode in _NEVER_ASKING_MODES or family not in _MAX_CALL_SILENCE:
        return None
    if family == "writing" and mode == "acceptEdits":
        return None
    since = parse_timestamp(call.since)
    age = max(now - since, timedelta(0)) if since else quiet
    if signs.children is not None and family in ("running", "writing") and signs.status is None:
        return _read_processes(call, age, signs)
    if signs.screen is not None and signs.screen.is_known and signs.status is None:
        return "the client's spinner has stopped" if not signs.screen.is_drawing and age >= _MIN_WAIT else None
    limit = _MAX_CALL_SILENCE[family]
    return f"nothing was written for {limit.seconds} s" if min(quiet, age) >= limit else None


def _read_processes(call: OpenCall, age: timedelta, signs: SessionSigns) -> str | None:
    """Look for the process of a call, which any command has; a write is done at once unless a hook runs first."""
    is_still = signs.screen is not None and not signs.screen.is_drawing
    if age < (_MIN_STILL_WAIT if is_still else _MIN_WAIT):
        return None
    if find_tool_family(call.name) == "writing":
        return None if signs.children else "no result yet, and no child process runs"
    is_recent = signs.childless_seconds < _MIN_WAIT.total_seconds() - 0.2 and not is_still
    return None if is_recent or _has_process(call, signs) else "no result yet, and no child process runs"


def _has_process(call: OpenCall, signs: SessionSigns) -> bool:
    shells = [child for child in signs.children or () if is_tool_shell(child)]
    since = parse_timestamp(call.since)
    if any(matches_command(shell, call.command) for shell in shells):
        return True
    return any(
        shell.started is not None and since is not None and shell.started >= since.timestamp() - 1 for shell in shells
    )


def _explain_running(calls: list[OpenCall], signs: SessionSigns) -> tuple[Confidence, str]:
    if any(_has_process(call, signs) for call in calls if call.command):
        return "sure", "a child process of the client runs it"
    return "sure" if any(call.has_progress for call in calls) else "inferred", "no result yet"


def _describe_running(calls: list[OpenCall]) -> str:
    if len(calls) > 1 and all(find_tool_family(call.name) == "agents" for call in calls):
        return format_agents_at_work(len(calls))
    more = len(calls) - 1
    return f"running {format_call(calls[0])}" + (f" and {more} more" if more else "")


def format_call(call: OpenCall) -> str:
    return f"{call.name}: {call.about}" if call.about else call.name


def format_agents_at_work(count: int) -> str:
    return "a sub-agent is working" if count == 1 else f"{count} sub-agents are working"
