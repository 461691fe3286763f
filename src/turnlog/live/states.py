"""What a session is doing, according to its transcript and to the signs besides it (`signs`).

    answering      the model is working
    running        calls have no result yet, or a shell command of the user runs
    retrying       the API failed, and the client tries again
    compacting     the conversation is being summarised
    background     the turn is over; sub-agents or commands are still running
    waiting        a person must answer: a question, a plan, or whatever the client reports
    permission     a call is waiting for permission
    finished       the model has answered
    interrupted    a person stopped it
    error          the API failed, and there is no further attempt
    silent         it should be working, but nothing has been written for a long time
    ended          its client has exited
    left           its client has continued with a different session
    empty          no messages yet

A state is `sure` if the client wrote it, reported it, or told a hook; otherwise it is `inferred`. What the client
reports outranks guesses from silence. A hook outranks both, unless something newer is known.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from turnlog.live.activity import Activity, BackgroundTask
from turnlog.live.call_states import format_agents_at_work, judge_calls
from turnlog.live.client_states import apply_children, apply_screen, apply_status, apply_typed_command
from turnlog.live.events.event import Confidence
from turnlog.live.hook_states import apply_hook, is_news
from turnlog.live.signs import NO_SIGNS, SessionSigns, is_tool_shell
from turnlog.live.verdicts import (
    BY_REPORT,
    BY_TRANSCRIPT,
    PAUSED_KINDS,
    WORKING_KINDS,
    StateKind,
    StateVerdict,
    describe_first_call,
    is_status_newer,
)
from turnlog.session.calls import find_tool_family
from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.prices import find_context_window

BoardColumn = Literal["needs", "working", "idle", "ended"]

FINISHED_AFTER = timedelta(seconds=2)
"""For versions that don't record a stop reason: text is the end of a turn if nothing follows for this long."""
SILENT_AFTER = timedelta(minutes=15)
"""Longer than the longest call takes by default."""
_COMMAND_DONE_AFTER = timedelta(seconds=20)
"""If nothing follows a slash command for this long, it has finished without the model."""
_QUEUED_PROMPT_WRITTEN_AFTER = timedelta(seconds=3)
"""How much later than it was taken from the queue a prompt is written, at most."""
_HOOK_DONE_AFTER = timedelta(minutes=1)
_ATTENTION_KINDS = frozenset({"waiting", "permission", "error"})
MAX_IDLE_AGE = timedelta(minutes=30)
_MAX_ATTENTION_AGE = timedelta(hours=4)
_MAX_REASON_WORDS = 120


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
    confidence: Confidence = "sure"
    reason: str = ""
    """How this is known, as a clause: `the client reports it`."""


def judge_state(fold: Activity, now: datetime, signs: SessionSigns = NO_SIGNS) -> SessionState:
    """Determine what a session is doing now."""
    verdict = _judge(fold, now, signs)
    agents, tasks = _list_background_work(fold, verdict.kind)
    verdict = _add_background(verdict, agents, tasks, now, signs)
    return SessionState(
        verdict.kind,
        verdict.words,
        verdict.since,
        _list_tools(fold, verdict),
        agents,
        tasks,
        signs.is_open,
        fold.context,
        find_context_window(fold.model, fold.context) if fold.model else None,
        fold.model,
        verdict.confidence,
        verdict.reason,
    )


def _list_tools(fold: Activity, verdict: StateVerdict) -> tuple[str, ...]:
    if verdict.kind not in ("running", "permission"):
        return ()
    return verdict.tools or tuple(call.name for call in fold.calls.values())


def choose_column(state: SessionState, now: datetime, signs: SessionSigns = NO_SIGNS) -> BoardColumn:
    """Choose the column of a session on the board."""
    latest = signs.last_activity
    age = now - latest if latest else timedelta(0)
    if state.kind in ("ended", "left"):
        return "ended"
    if state.kind in _ATTENTION_KINDS and (signs.is_open or age < _MAX_ATTENTION_AGE):
        return "needs"
    if state.kind in WORKING_KINDS or (state.kind == "background" and state.agents):
        return "working"
    return "idle" if signs.is_open or age < MAX_IDLE_AGE else "ended"


def _judge(fold: Activity, now: datetime, signs: SessionSigns) -> StateVerdict:
    quiet = _measure_silence(fold, now, signs)
    verdict = _read_transcript(fold, now, quiet, signs)
    if signs.presence in ("ended", "left") and not _is_reopened(fold, signs):
        return _judge_departure(_judge_last_moment(verdict, fold, now, quiet, signs), signs)
    if signs.status is not None:
        verdict = apply_status(verdict, fold, now, quiet, signs)
    elif signs.presence == "open":
        verdict = apply_screen(verdict, fold, quiet, signs)
    if signs.is_open:
        verdict = apply_typed_command(verdict, fold, now, signs)
    if signs.hook is not None:
        verdict = apply_hook(verdict, fold, signs.hook, now, signs)
    verdict = _apply_queue(verdict, fold, now)
    verdict = apply_children(verdict, fold, signs)
    latest = signs.last_activity
    is_long_quiet = quiet >= SILENT_AFTER and (latest is None or now - latest >= SILENT_AFTER)
    if verdict.kind in (*WORKING_KINDS, "permission") and is_long_quiet and not signs.is_open:
        return StateVerdict(
            "silent", "no activity for a while", verdict.since, "inferred", "nothing was written for long"
        )
    return verdict


def _measure_silence(fold: Activity, now: datetime, signs: SessionSigns) -> timedelta:
    """Return how long nothing has been written to the session's own file."""
    heard = signs.written or parse_timestamp(fold.heard)
    return max(now - heard, timedelta(0)) if heard else timedelta(0)


# -- the transcript


def _read_transcript(fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    if signs.is_compacting:
        return StateVerdict("compacting", "compacting", fold.heard, "inferred", "the client is writing a summary")
    if signs.has_suggestion and fold.last in ("prompt", "result", "answer", "thinking") and not fold.calls:
        reason = "the client suggests the next prompt"
        return StateVerdict("finished", "finished", fold.since, "inferred", reason)
    match fold.last:
        case "":
            return StateVerdict("empty", "no messages yet", None, "sure", BY_TRANSCRIPT)
        case "interrupted":
            return StateVerdict("interrupted", "interrupted", fold.since, "sure", BY_TRANSCRIPT)
        case "error":
            words = f"error: {fold.error}" if fold.error else "error"
            return StateVerdict("error", words, fold.since, "sure", BY_TRANSCRIPT)
        case "finished":
            return StateVerdict("finished", "finished", fold.since, "sure", "the transcript marks the end of the turn")
        case "stopping":
            return _judge_stopping(fold, quiet, signs)
    if fold.calls:
        return judge_calls(fold, now, quiet, signs)
    if fold.last == "answer" and quiet >= FINISHED_AFTER:
        reason = f"nothing was written for {FINISHED_AFTER.seconds} s after text"
        return StateVerdict("finished", "finished", fold.since, "inferred", reason)
    if fold.last == "command" and quiet >= _COMMAND_DONE_AFTER:
        return StateVerdict("finished", "finished", fold.since, "inferred", "nothing followed the command")
    if fold.last == "bash":
        return StateVerdict("running", f"running {fold.prompt}", fold.since, "sure", "its output is not there yet")
    return _judge_request(fold)


def _judge_stopping(fold: Activity, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    is_over = signs.children is not None and signs.childless_seconds >= 2 and not signs.children
    if is_over or quiet >= _HOOK_DONE_AFTER:
        return StateVerdict("finished", "finished", fold.since, "inferred", "the Stop hook has ended")
    return StateVerdict("answering", "running a Stop hook", fold.since, "sure", BY_TRANSCRIPT)


def _apply_queue(verdict: StateVerdict, fold: Activity, now: datetime) -> StateVerdict:
    """Use that a queued prompt or notification was taken up: the client writes it a moment later."""
    taken, since = parse_timestamp(fold.dequeued), parse_timestamp(verdict.since)
    if verdict.kind not in PAUSED_KINDS or taken is None or (since is not None and taken < since):
        return verdict
    if now - taken > _QUEUED_PROMPT_WRITTEN_AFTER:
        return verdict
    return StateVerdict("answering", "answering", fold.dequeued, "inferred", "the client takes up what was queued")


def _judge_request(fold: Activity) -> StateVerdict:
    """Judge a turn in which the model's answer is awaited."""
    if len(fold.requests) > 1:
        words = f"the API failed; retrying (attempt {len(fold.requests)})"
        reason = f"{len(fold.requests)} requests were sent without an answer"
        return StateVerdict("retrying", words, fold.since, "inferred", reason)
    if fold.retry:
        attempt, most = fold.retry
        words = f"the API failed; retrying (attempt {attempt} of {most})"
        return StateVerdict("retrying", words, fold.since, "sure", BY_TRANSCRIPT)
    return StateVerdict("answering", "answering", fold.since, "sure", "the transcript has no answer yet")


# -- whether the client is there


def _is_reopened(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether a hook reported something about the session after its client was last seen."""
    return signs.hook is not None and signs.hook.event == "SessionStart" and is_news(signs.hook, fold)


def _judge_last_moment(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    """Judge what the client was doing when it ended.

    The silence and the missing processes since then don't show that a call waited for permission.
    """
    if signs.status is not None and fold.calls:
        return apply_status(verdict, fold, now, quiet, signs)
    if verdict.kind == "permission" and (call := describe_first_call(fold)):
        return verdict._replace(kind="running", words=f"running {call}")
    return verdict


def _judge_departure(verdict: StateVerdict, signs: SessionSigns) -> StateVerdict:
    confidence: Confidence = "sure" if signs.is_presence_sure else "inferred"
    if signs.presence == "left":
        reason = (
            "its client reports a different session" if signs.is_presence_sure else "a newer session took its place"
        )
        return StateVerdict("left", "left for a different session", verdict.since, confidence, reason)
    reason = "its client has exited" if signs.is_presence_sure else "no client runs in its folder"
    was_busy = verdict.kind in (*WORKING_KINDS, "permission", "waiting") and verdict.since is not None
    words = f"ended while {_to_clause(verdict)}" if was_busy else "ended"
    return StateVerdict("ended", words, verdict.since, confidence, reason)


def _to_clause(verdict: StateVerdict) -> str:
    match verdict.kind:
        case "permission" | "waiting":
            return "waiting for you"
        case "retrying":
            return "retrying"
    return verdict.words[:_MAX_REASON_WORDS]


# -- work in the background


def _list_background_work(fold: Activity, kind: StateKind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if kind in ("silent", "ended", "left"):
        return (), ()
    agents = [call.about or call.name for call in fold.calls.values() if find_tool_family(call.name) == "agents"]
    agents += [_describe_task(task) for task in fold.tasks.values() if task.is_agent]
    return tuple(agents), tuple(_describe_task(task) for task in fold.tasks.values() if not task.is_agent)


def _add_background(
    verdict: StateVerdict, agents: tuple[str, ...], tasks: tuple[str, ...], now: datetime, signs: SessionSigns
) -> StateVerdict:
    """Turn the end of a turn into background work if any is left."""
    latest = signs.last_activity
    is_fresh = latest is None or now - latest < SILENT_AFTER or signs.is_open
    if verdict.kind == "finished" and signs.status == "shell":
        words = "finished; a command runs in the background"
        return StateVerdict("background", words, verdict.since, "sure", BY_REPORT)
    if verdict.kind not in ("finished", "interrupted") or not is_fresh or not (agents or tasks):
        return verdict
    if agents and signs.status == "idle" and is_status_newer(verdict, signs):
        return verdict  # the client stays busy while sub-agents work
    if agents:
        return verdict._replace(kind="background", words=format_agents_at_work(len(agents)))
    count = f"{len(tasks)} commands run" if len(tasks) > 1 else "a command runs"
    if signs.children is not None and not any(is_tool_shell(child) for child in signs.children):
        return verdict
    return verdict._replace(kind="background", words=f"finished; {count} in the background")


def _describe_task(task: BackgroundTask) -> str:
    return task.about or task.name


def get_current_time() -> datetime:
    return datetime.now(UTC)
