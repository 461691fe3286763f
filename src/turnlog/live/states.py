"""What a session is doing, according to its transcript and, if available, Claude Code's own report.

    answering      the model is working
    running        calls have no result yet
    compacting     the conversation is being summarised
    waiting        a person must answer: a question, a plan, or whatever Claude Code reports
    permission     a call has been silent for a long time, and may be waiting for permission
    finished       the model has answered
    interrupted    a person stopped it
    error          the API failed, and there is no further attempt
    silent         it should be working, but nothing has been written for a long time
    empty          no messages yet

A transcript doesn't show when Claude Code exits. A registered one (`entries.clients`) is certainly open; for all
others, only the time that has passed counts.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from turnlog.live.activity import Activity, BackgroundTask, OpenCall
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, find_tool_family
from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.prices import find_context_window

StateKind = Literal[
    "answering", "running", "compacting", "waiting", "permission", "finished", "interrupted", "error", "silent", "empty"
]
BoardColumn = Literal["needs", "working", "idle", "ended"]

FINISHED_AFTER = timedelta(seconds=5)
"""For versions that don't record a stop reason: a text is the last one if nothing follows for this long."""
SILENT_AFTER = timedelta(minutes=15)
"""Longer than the longest call takes by default."""
_COMMAND_DONE_AFTER = timedelta(seconds=20)
"""If nothing follows a slash command for this long, it has finished without the model."""
_WORKING_KINDS = frozenset({"answering", "running", "compacting"})
_ATTENTION_KINDS = frozenset({"waiting", "permission", "error"})
MAX_IDLE_AGE = timedelta(minutes=30)
_MAX_ATTENTION_AGE = timedelta(hours=4)
_MAX_CALL_SILENCE = {
    "writing": timedelta(seconds=5),
    "running": timedelta(seconds=30),
    "web": timedelta(seconds=60),
    "mcp": timedelta(seconds=60),
    "other": timedelta(seconds=60),
}
"""How long a call of a family may be silent. Families that never need permission, or always wait, aren't listed."""
_NEVER_ASKING_MODES = frozenset({"bypassPermissions", "dontAsk", "auto"})


class SessionSigns(Struct, frozen=True):
    """What is known besides the transcript."""

    written: datetime | None = None
    """When one of the session's files was last written."""
    is_open: bool = False
    """Whether a running Claude Code has registered the session."""
    status: str | None = None
    """What it reports: busy, shell, idle or waiting."""
    waiting_for: str | None = None
    is_compacting: bool = False
    """Whether the newest file is Claude Code's own summary."""


class SessionState(Struct, frozen=True):
    """What a session is doing."""

    kind: StateKind
    words: str
    """A description for people, without the time."""
    since: str | None = None
    """The start of the state, as the transcript has it."""
    tools: tuple[str, ...] = ()
    """The tools that are running."""
    agents: tuple[str, ...] = ()
    """The sub-agents that are working, by their task."""
    tasks: tuple[str, ...] = ()
    """Other work in the background."""
    is_open: bool = False
    context: int = 0
    window: int | None = None
    """The size of the model's context window; None for an unknown model."""
    model: str | None = None


NO_SIGNS = SessionSigns()


def judge_state(fold: Activity, now: datetime, signs: SessionSigns = NO_SIGNS) -> SessionState:
    """Determine what a session is doing now."""
    quiet = _measure_silence(fold, now, signs)
    kind, words, since = _read_transcript_state(fold, quiet, signs)
    kind, words = _apply_client_status(kind, words, quiet, signs)
    agents, tasks = _list_background_work(fold, kind)
    if kind in ("finished", "interrupted") and agents and quiet < SILENT_AFTER:
        kind, words = "running", _format_agents_at_work(len(agents))
    return SessionState(
        kind,
        words,
        since,
        tuple(call.name for call in fold.calls.values()) if kind in ("running", "permission") else (),
        agents,
        tasks,
        signs.is_open,
        fold.context,
        find_context_window(fold.model, fold.context) if fold.model else None,
        fold.model,
    )


def choose_column(state: SessionState, now: datetime, signs: SessionSigns = NO_SIGNS) -> BoardColumn:
    """Choose the column of a session on the board."""
    age = now - signs.written if signs.written else timedelta(0)
    if state.kind in _ATTENTION_KINDS and (signs.is_open or age < _MAX_ATTENTION_AGE):
        return "needs"
    if state.kind in _WORKING_KINDS:
        return "working"
    return "idle" if signs.is_open or age < MAX_IDLE_AGE else "ended"


def _measure_silence(fold: Activity, now: datetime, signs: SessionSigns) -> timedelta:
    """Return how long nothing has been written."""
    heard = signs.written or parse_timestamp(fold.heard)
    return max(now - heard, timedelta(0)) if heard else timedelta(0)


def _read_transcript_state(fold: Activity, quiet: timedelta, signs: SessionSigns) -> tuple[StateKind, str, str | None]:
    """Read the state from the transcript."""
    if signs.is_compacting:
        return "compacting", "compacting", fold.heard
    match fold.last:
        case "":
            return "empty", "no messages yet", None
        case "interrupted":
            return "interrupted", "interrupted", fold.since
        case "error":
            return "error", f"error: {fold.error}" if fold.error else "error", fold.since
        case "finished":
            return "finished", "finished", fold.since
    if fold.calls:
        return _judge_calls(list(fold.calls.values()), fold.mode, quiet)
    if (fold.last == "answer" and quiet >= FINISHED_AFTER) or (fold.last == "command" and quiet >= _COMMAND_DONE_AFTER):
        return "finished", "finished", fold.since
    if fold.last == "bash":
        return "running", f"running {fold.prompt}", fold.since
    if fold.retry:
        attempt, most = fold.retry
        return "answering", f"the API failed; retrying (attempt {attempt} of {most})", fold.since
    return "answering", "answering", fold.since


def _judge_calls(calls: list[OpenCall], mode: str | None, quiet: timedelta) -> tuple[StateKind, str, str | None]:
    question = next((call for call in calls if call.name in TOOLS_WAITING_FOR_PERSON), None)
    if question is not None:
        words = (
            "asks you to approve a plan" if question.name == "ExitPlanMode" else f"asks: {question.about}".rstrip(": ")
        )
        return "waiting", words, question.since
    suspect = next((call for call in calls if _may_wait_for_person(call, mode, quiet)), None)
    if suspect is not None:
        return "permission", f"may be waiting for permission: {_format_call(suspect)}", suspect.since
    if len(calls) > 1 and all(find_tool_family(call.name) == "agents" for call in calls):
        return "running", _format_agents_at_work(len(calls)), calls[0].since
    first, more = calls[0], len(calls) - 1
    return "running", f"running {_format_call(first)}" + (f" and {more} more" if more else ""), first.since


def _format_call(call: OpenCall) -> str:
    return f"{call.name}: {call.about}" if call.about else call.name


def _may_wait_for_person(call: OpenCall, mode: str | None, quiet: timedelta) -> bool:
    if call.has_progress or mode in _NEVER_ASKING_MODES:
        return False
    kind = find_tool_family(call.name)
    if kind == "writing" and mode == "acceptEdits":
        return False
    return kind in _MAX_CALL_SILENCE and quiet >= _MAX_CALL_SILENCE[kind]


def _apply_client_status(kind: StateKind, words: str, quiet: timedelta, signs: SessionSigns) -> tuple[StateKind, str]:
    """Use Claude Code's own report where the transcript is ambiguous."""
    if signs.status == "waiting" and kind != "waiting":
        return "waiting", f"waiting for you: {signs.waiting_for}" if signs.waiting_for else "waiting for you"
    if signs.status in ("busy", "shell") and kind == "permission":
        return "running", words.replace("may be waiting for permission:", "running", 1)
    if signs.status == "busy" and kind == "finished" and quiet >= FINISHED_AFTER:
        return "answering", "working"  # hooks, for example
    if signs.status == "idle" and kind in (*_WORKING_KINDS, "permission") and quiet >= FINISHED_AFTER:
        return "finished", "finished"
    if kind in (*_WORKING_KINDS, "permission") and quiet >= SILENT_AFTER and not signs.is_open:
        return "silent", "no activity for a while"
    return kind, words


def _list_background_work(fold: Activity, kind: StateKind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if kind == "silent":
        return (), ()
    agents = [call.about or call.name for call in fold.calls.values() if find_tool_family(call.name) == "agents"]
    agents += [_describe_task(task) for task in fold.tasks.values() if task.is_agent]
    return tuple(agents), tuple(_describe_task(task) for task in fold.tasks.values() if not task.is_agent)


def _describe_task(task: BackgroundTask) -> str:
    return task.about or task.name


def _format_agents_at_work(count: int) -> str:
    return "a sub-agent is working" if count == 1 else f"{count} sub-agents are working"


def get_current_time() -> datetime:
    return datetime.now(UTC)
