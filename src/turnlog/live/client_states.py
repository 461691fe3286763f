"""What a session is doing, according to its client: its own report, or the processes and the screen of an old one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from turnlog.live.activity import Activity
from turnlog.live.signs import SessionSigns, is_tool_shell, matches_command
from turnlog.live.verdicts import (
    BY_REPORT,
    MOMENT,
    PAUSED_KINDS,
    StateVerdict,
    describe_first_call,
    is_status_newer,
    to_timestamp,
)
from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.prices import find_context_window

_PROMPT_WRITTEN_AFTER = timedelta(seconds=0.8)
"""How long after it gets busy a client has written the prompt, and the request after that."""
STATUS_SETTLES_AFTER = timedelta(seconds=1.5)
"""How much later than the other the transcript or the status file may be written."""
_MAX_PROMPT_LAG_SECONDS = 3.0
"""How much later than it was typed a prompt is in the transcript, at most."""
_MAX_COMMAND_SECONDS = 3600.0
_DIALOG_OPEN = "dialog open"
"""What a client reports for any dialog that is not about a tool: `/model`, `/rewind`, but also a notice of its own."""
_DIALOG_OPENS_WITHIN_SECONDS = 5.0
"""How long after its command a dialog opens, at most."""
_MIN_COMPACTED_SHARE, _MIN_COMPACTED_TOKENS = 0.5, 90_000
"""How full the context window is, at least, before a client compacts the conversation by itself; a person can set a
limit of 100,000 tokens for a larger window."""
_FIRST_PROMPT_AFTER = timedelta(seconds=10)
"""Old clients create a session when the first prompt is typed, and write the prompt a moment later."""


# -- what the client reports


def apply_status(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    """Use the client's own report, which newer clients write to a file."""
    match signs.status:
        case "waiting":
            return _apply_waiting(verdict, fold, signs)
        case "idle" | "shell":
            is_settled = is_status_newer(verdict, signs) or quiet >= STATUS_SETTLES_AFTER
            if verdict.kind in PAUSED_KINDS or not is_settled:
                return verdict
            return StateVerdict("finished", "finished", verdict.since, "sure", BY_REPORT)
        case "busy":
            return _apply_busy(verdict, fold, now, quiet, signs)
    return verdict


def _apply_waiting(verdict: StateVerdict, fold: Activity, signs: SessionSigns) -> StateVerdict:
    began = to_timestamp(signs.status_time) or verdict.since
    if verdict.kind == "waiting":
        return verdict._replace(since=began, confidence="sure", reason=BY_REPORT)
    wanted = signs.waiting_for or ""
    if wanted == _DIALOG_OPEN and _is_own_dialog(verdict, fold, signs):
        return verdict._replace(confidence="sure", reason="the client reports an open dialog, and nothing waits for it")
    if "permission" in wanted:
        call = describe_first_call(fold) or signs.waiting_agent
        words = f"waiting for permission: {call}" if call else "waiting for permission"
        return StateVerdict("permission", words, began, "sure", BY_REPORT)
    words = f"waiting for you: {wanted}" if wanted else "waiting for you"
    return StateVerdict("waiting", words, began, "sure", BY_REPORT)


def _is_own_dialog(verdict: StateVerdict, fold: Activity, signs: SessionSigns) -> bool:
    """Return whether a dialog is one that a person opened, such as `/model`: the model doesn't wait for it."""
    if verdict.kind in PAUSED_KINDS:
        return True
    typed, opened = signs.typed, signs.status_time
    if fold.calls or typed is None or opened is None or not typed.command.startswith("/"):
        return False
    return 0 <= opened.timestamp() - typed.time < _DIALOG_OPENS_WITHIN_SECONDS


def _apply_busy(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    if verdict.kind == "permission":
        words = "running " + (describe_first_call(fold) or "a sub-agent")
        return StateVerdict("running", words, verdict.since, "sure", BY_REPORT)
    if verdict.kind == "waiting":
        is_answered = is_status_newer(verdict, signs, STATUS_SETTLES_AFTER)
        return StateVerdict("answering", "answering", verdict.since, "sure", BY_REPORT) if is_answered else verdict
    if verdict.kind in PAUSED_KINDS:
        return _judge_busy_pause(verdict, fold, now, quiet, signs)
    if verdict.kind == "answering" and fold.last in ("prompt", "result", "command") and fold.has_requests:
        return _judge_unsent_request(verdict, fold, quiet, signs)
    return verdict if verdict.confidence == "sure" or verdict.kind == "retrying" else _work_on(verdict)


def _work_on(verdict: StateVerdict) -> StateVerdict:
    if verdict.kind == "finished":
        return StateVerdict("answering", "answering", verdict.since, "sure", BY_REPORT)
    return verdict._replace(confidence="sure", reason=BY_REPORT)


def _judge_busy_pause(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    """Judge a client that is busy although the turn is over."""
    shell = find_own_shell(fold, signs)
    started = to_timestamp(signs.status_time) or verdict.since
    if verdict.confidence == "inferred" and verdict.kind == "finished":
        return _work_on(verdict)
    if shell:
        return StateVerdict("running", "running a shell command", started, "inferred", "the client runs a shell")
    if any(task.is_agent for task in fold.tasks.values()):
        return verdict  # it is reported as background work
    if verdict.since is None or is_status_newer(verdict, signs, MOMENT):
        is_new = signs.status_time is not None and now - signs.status_time < _PROMPT_WRITTEN_AFTER
        has_run_shell = signs.children is not None and signs.childless_seconds < _PROMPT_WRITTEN_AFTER.total_seconds()
        if is_new or has_run_shell:  # what is next is not written yet
            return StateVerdict("answering", "answering", started, "sure", BY_REPORT)
        if verdict.kind == "empty" or (signs.typed is not None and not _may_compact(fold, signs)):
            return StateVerdict("answering", "working", started, "sure", BY_REPORT)
        return StateVerdict(
            "compacting", "compacting", started, "inferred", "the client is busy, and there is no prompt"
        )
    if verdict.kind == "finished" and (quiet >= STATUS_SETTLES_AFTER or signs.children):
        return StateVerdict("answering", "finishing the turn", verdict.since, "inferred", "the client is still busy")
    return verdict


def _judge_unsent_request(verdict: StateVerdict, fold: Activity, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    """Judge a prompt or a result that no request has followed yet: a hook runs, or the conversation is compacted."""
    if fold.requests or quiet < _PROMPT_WRITTEN_AFTER + MOMENT:
        return verdict._replace(reason=BY_REPORT)
    if signs.children:
        return StateVerdict(
            "answering", "working", verdict.since, "inferred", "no request was sent, and a process runs"
        )
    if not _may_compact(fold, signs):
        return verdict._replace(reason=BY_REPORT)
    return StateVerdict("compacting", "compacting", verdict.since, "inferred", "no request was sent yet")


def _may_compact(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether a person asked for a compaction, or the context window is full enough for an automatic one."""
    if signs.typed is not None and signs.typed.command == "/compact":
        return True
    window = find_context_window(fold.model, fold.context) if fold.model else None
    limit = _MIN_COMPACTED_TOKENS if window is None else min(_MIN_COMPACTED_SHARE * window, _MIN_COMPACTED_TOKENS)
    return fold.context >= limit


def find_own_shell(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether the client runs a shell in the foreground; those of sub-agents can't be told apart from it."""
    if any(task.is_agent for task in fold.tasks.values()):
        return False
    shells = [child for child in signs.children or () if is_tool_shell(child)]
    since = parse_timestamp(fold.since)
    if since is not None:  # what was started earlier belongs to the turn
        shells = [one for one in shells if one.started is None or one.started > since.timestamp() - 0.5]
    commands = [task.command for task in fold.tasks.values() if not task.is_agent]
    unknown = [shell for shell in shells if not any(matches_command(shell, command) for command in commands)]
    missing = [command for command in commands if not any(matches_command(shell, command) for shell in shells)]
    return len(unknown) > len(missing)  # a command line may be cut, so it may still be that of a background command


# -- what a person typed


def apply_typed_command(verdict: StateVerdict, fold: Activity, now: datetime, signs: SessionSigns) -> StateVerdict:
    """Use the client's history of prompts, which can be ahead of the transcript."""
    typed, since = signs.typed, parse_timestamp(fold.since)
    if typed is None or since is None or typed.time <= since.timestamp() + MOMENT.total_seconds():
        return verdict
    age = now.timestamp() - typed.time
    if not 0 <= age < _MAX_COMMAND_SECONDS:
        return verdict
    started = to_timestamp(datetime.fromtimestamp(typed.time, UTC))
    may_compact = verdict.kind in (*PAUSED_KINDS, "compacting", "answering")
    if typed.command == "/compact" and may_compact and _looks_busy(age, signs):
        return StateVerdict("compacting", "compacting", started, "inferred", "somebody typed /compact")
    if not typed.command and verdict.kind in PAUSED_KINDS and age < _MAX_PROMPT_LAG_SECONDS:
        return StateVerdict("answering", "answering", started, "inferred", "somebody has just typed a prompt")
    return verdict


def _looks_busy(age: float, signs: SessionSigns) -> bool:
    if signs.status is not None:
        return signs.status == "busy"
    return age < _MAX_PROMPT_LAG_SECONDS or (signs.screen is not None and signs.screen.is_drawing)


# -- what the processes of an old client show


def apply_screen(verdict: StateVerdict, fold: Activity, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    """Use what is visible of a client that reports nothing."""
    if verdict.kind == "empty" and quiet < _FIRST_PROMPT_AFTER:
        return StateVerdict(
            "answering", "answering", verdict.since, "inferred", "the client has just created the session"
        )
    if signs.screen is None or fold.calls:
        return verdict
    is_drawing, drawing_for = signs.screen.is_drawing, timedelta(seconds=signs.screen.seconds)
    if not is_drawing and fold.last == "answer" and quiet >= MOMENT:
        return StateVerdict("finished", "finished", verdict.since, "inferred", "the client's spinner has stopped")
    if is_drawing and verdict.kind == "finished" and verdict.confidence == "inferred" and drawing_for >= quiet:
        return StateVerdict("answering", "answering", verdict.since, "inferred", "the client's spinner moves")
    if is_drawing and verdict.kind in PAUSED_KINDS and STATUS_SETTLES_AFTER <= drawing_for < quiet:
        reason = "the client's spinner moves, and there is no prompt"
        return StateVerdict("compacting", "compacting", verdict.since, "inferred", reason)
    return verdict


def apply_children(verdict: StateVerdict, fold: Activity, signs: SessionSigns) -> StateVerdict:
    """Recognise a command by its process: clients write a call, or what the user ran, some time after it started."""
    is_awaited = verdict.kind == "answering" and fold.last in ("prompt", "result", "answer", "thinking")
    is_paused = verdict.kind in PAUSED_KINDS and signs.status is None
    if not (is_awaited or is_paused) or not find_own_shell(fold, signs):
        return verdict
    reason = "a child process of the client runs it"
    if is_paused:
        return StateVerdict("running", "running a shell command", verdict.since, "inferred", reason)
    return StateVerdict("running", "running a command", verdict.since, "inferred", reason, ("Bash",))
