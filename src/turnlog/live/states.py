"""What a session is doing: from its transcript alone, and better where its client says so itself.

    answering      the model is at work
    running        calls are without a result
    compacting     the conversation is being summarised
    waiting        a person is asked something: a question, a plan, or what the client says that it waits for
    permission     a call is silent for long: it may wait for a person's permission; nothing in a transcript tells
    finished       the model had the last word
    interrupted    a person stopped it
    error          the API failed, and no further attempt is made
    silent         it should be at work, but nothing has been written for long
    empty          nothing was said yet

A transcript does not say that a client has ended. One that is registered (`entries.clients`) is open for certain; of
all others only the time that has passed can tell.
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
"""Clients that write no stop reason: a text that nothing follows for so long was the last one."""
SILENT_AFTER = timedelta(minutes=15)
"""Longer than the longest call takes by default."""
_COMMAND_DONE_AFTER = timedelta(seconds=20)
"""A slash command that nothing follows for so long has done its work without the model."""
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
"""How long a call of a family may be silent. Families that need no permission, or wait by their nature, aren't here."""
_NEVER_ASKING_MODES = frozenset({"bypassPermissions", "dontAsk", "auto"})


class SessionSigns(Struct, frozen=True):
    """What is known beside the transcript."""

    written: datetime | None = None
    """When one of the session's files was last written."""
    is_open: bool = False
    """A client that runs has registered the session."""
    status: str | None = None
    """What that client says that it is doing: busy, shell, idle, waiting."""
    waiting_for: str | None = None
    is_compacting: bool = False
    """The client's own side work on a summary was written last."""


class SessionState(Struct, frozen=True):
    """What a session is doing."""

    kind: StateKind
    words: str
    """For people, without the time."""
    since: str | None = None
    """Since when, as the transcript has it."""
    tools: tuple[str, ...] = ()
    """What is running."""
    agents: tuple[str, ...] = ()
    """The sub-agents at work, by what they were asked."""
    tasks: tuple[str, ...] = ()
    """Other work that goes on in the background."""
    is_open: bool = False
    context: int = 0
    window: int | None = None
    """How large the window of its model is; None for a model that is not known."""
    model: str | None = None


NO_SIGNS = SessionSigns()


def judge_state(fold: Activity, now: datetime, signs: SessionSigns = NO_SIGNS) -> SessionState:
    """What a session is doing now."""
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


def choose_column(found: SessionState, now: datetime, signs: SessionSigns = NO_SIGNS) -> BoardColumn:
    """Where a session belongs on the board."""
    age = now - signs.written if signs.written else timedelta(0)
    if found.kind in _ATTENTION_KINDS and (signs.is_open or age < _MAX_ATTENTION_AGE):
        return "needs"
    if found.kind in _WORKING_KINDS:
        return "working"
    return "idle" if signs.is_open or age < MAX_IDLE_AGE else "ended"


def _measure_silence(fold: Activity, now: datetime, signs: SessionSigns) -> timedelta:
    """How long nothing was written."""
    heard = signs.written or parse_timestamp(fold.heard)
    return max(now - heard, timedelta(0)) if heard else timedelta(0)


def _read_transcript_state(fold: Activity, quiet: timedelta, signs: SessionSigns) -> tuple[StateKind, str, str | None]:
    """What the transcript says."""
    if signs.is_compacting:
        return "compacting", "compacting", fold.heard
    match fold.last:
        case "":
            return "empty", "nothing said yet", None
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
        return "answering", f"the API failed; attempt {attempt} of {most}", fold.since
    return "answering", "answering", fold.since


def _judge_calls(calls: list[OpenCall], mode: str | None, quiet: timedelta) -> tuple[StateKind, str, str | None]:
    asked = next((call for call in calls if call.name in TOOLS_WAITING_FOR_PERSON), None)
    if asked is not None:
        words = "asks you to approve a plan" if asked.name == "ExitPlanMode" else f"asks: {asked.about}".rstrip(": ")
        return "waiting", words, asked.since
    suspect = next((call for call in calls if _may_wait_for_person(call, mode, quiet)), None)
    if suspect is not None:
        return "permission", f"may wait for permission: {_format_call(suspect)}", suspect.since
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
    """What the client says itself is believed, where the transcript leaves it open."""
    if signs.status == "waiting" and kind != "waiting":
        return "waiting", f"waits for you: {signs.waiting_for}" if signs.waiting_for else "waits for you"
    if signs.status in ("busy", "shell") and kind == "permission":
        return "running", words.replace("may wait for permission:", "running", 1)
    if signs.status == "busy" and kind == "finished" and quiet >= FINISHED_AFTER:
        return "answering", "at work"  # hooks, for example
    if signs.status == "idle" and kind in (*_WORKING_KINDS, "permission") and quiet >= FINISHED_AFTER:
        return "finished", "finished"
    if kind in (*_WORKING_KINDS, "permission") and quiet >= SILENT_AFTER and not signs.is_open:
        return "silent", "nothing was written for long"
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
    return "a sub-agent is at work" if count == 1 else f"{count} sub-agents are at work"


def get_current_time() -> datetime:
    """The present time."""
    return datetime.now(UTC)
