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
from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.live.activity import Activity, BackgroundTask, OpenCall
from turnlog.live.call_states import format_agents_at_work, format_call, judge_calls
from turnlog.live.events.event import Confidence
from turnlog.live.signs import NO_SIGNS, HookSign, SessionSigns, is_tool_shell, matches_command
from turnlog.session.calls import find_tool_family
from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.prices import find_context_window

StateKind = Literal[
    "answering", "running", "retrying", "compacting", "background", "waiting", "permission", "finished",
    "interrupted", "error", "silent", "ended", "left", "empty",
]  # fmt: skip
BoardColumn = Literal["needs", "working", "idle", "ended"]

FINISHED_AFTER = timedelta(seconds=2)
"""For versions that don't record a stop reason: text is the end of a turn if nothing follows for this long."""
SILENT_AFTER = timedelta(minutes=15)
"""Longer than the longest call takes by default."""
_COMMAND_DONE_AFTER = timedelta(seconds=20)
"""If nothing follows a slash command for this long, it has finished without the model."""
_PROMPT_WRITTEN_AFTER = timedelta(seconds=0.8)
"""How long after it gets busy a client has written the prompt, and the request after that."""
_STATUS_SETTLES_AFTER = timedelta(seconds=1.5)
"""How much later than the other the transcript or the status file may be written."""
_FIRST_PROMPT_AFTER = timedelta(seconds=10)
"""Old clients create a session when the first prompt is typed, and write the prompt a moment later."""
_HOOK_DONE_AFTER = timedelta(minutes=1)
_MOMENT = timedelta(milliseconds=200)
_WORKING_KINDS = frozenset({"answering", "running", "retrying", "compacting"})
_ATTENTION_KINDS = frozenset({"waiting", "permission", "error"})
_PAUSED_KINDS = frozenset({"finished", "interrupted", "error", "empty"})
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


class StateVerdict(NamedTuple):
    """A state without the session's figures."""

    kind: StateKind
    words: str
    since: str | None
    confidence: Confidence
    reason: str
    tools: tuple[str, ...] = ()
    """Tools that are running although their calls are not written yet."""


_TRANSCRIPT = "the transcript says so"
_REPORT = "the client reports it"


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
    if state.kind in _WORKING_KINDS or (state.kind == "background" and state.agents):
        return "working"
    return "idle" if signs.is_open or age < MAX_IDLE_AGE else "ended"


def _judge(fold: Activity, now: datetime, signs: SessionSigns) -> StateVerdict:
    quiet = _measure_silence(fold, now, signs)
    verdict = _read_transcript(fold, now, quiet, signs)
    if signs.presence in ("ended", "left") and not _is_reopened(fold, signs):
        return _judge_departure(verdict, signs)
    if signs.status is not None:
        verdict = _apply_status(verdict, fold, now, quiet, signs)
    elif signs.presence == "open":
        verdict = _apply_screen(verdict, fold, quiet, signs)
    if signs.hook is not None:
        verdict = _apply_hook(verdict, fold, signs.hook, signs)
    verdict = _apply_children(verdict, fold, signs)
    latest = signs.last_activity
    is_long_quiet = quiet >= SILENT_AFTER and (latest is None or now - latest >= SILENT_AFTER)
    if verdict.kind in (*_WORKING_KINDS, "permission") and is_long_quiet and not signs.is_open:
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
    match fold.last:
        case "":
            return StateVerdict("empty", "no messages yet", None, "sure", _TRANSCRIPT)
        case "interrupted":
            return StateVerdict("interrupted", "interrupted", fold.since, "sure", _TRANSCRIPT)
        case "error":
            words = f"error: {fold.error}" if fold.error else "error"
            return StateVerdict("error", words, fold.since, "sure", _TRANSCRIPT)
        case "finished":
            return StateVerdict("finished", "finished", fold.since, "sure", "the transcript marks the end of the turn")
        case "stopping":
            return _judge_stopping(fold, quiet, signs)
    if fold.calls:
        return StateVerdict(*judge_calls(fold, now, quiet, signs))
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
    return StateVerdict("answering", "running a Stop hook", fold.since, "sure", _TRANSCRIPT)


def _judge_request(fold: Activity) -> StateVerdict:
    """Judge a turn in which the model's answer is awaited."""
    if len(fold.requests) > 1:
        words = f"the API failed; retrying (attempt {len(fold.requests)})"
        reason = f"{len(fold.requests)} requests were sent without an answer"
        return StateVerdict("retrying", words, fold.since, "inferred", reason)
    if fold.retry:
        attempt, most = fold.retry
        words = f"the API failed; retrying (attempt {attempt} of {most})"
        return StateVerdict("retrying", words, fold.since, "sure", _TRANSCRIPT)
    return StateVerdict("answering", "answering", fold.since, "sure", "the transcript has no answer yet")


# -- whether the client is there


def _is_reopened(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether a hook reported something about the session after its client was last seen."""
    return signs.hook is not None and signs.hook.event == "SessionStart" and _is_news(signs.hook, fold)


def _judge_departure(verdict: StateVerdict, signs: SessionSigns) -> StateVerdict:
    confidence: Confidence = "sure" if signs.is_presence_sure else "inferred"
    if signs.presence == "left":
        reason = (
            "its client reports a different session" if signs.is_presence_sure else "a newer session took its place"
        )
        return StateVerdict("left", "left for a different session", verdict.since, confidence, reason)
    reason = "its client has exited" if signs.is_presence_sure else "no client runs in its folder"
    was_busy = verdict.kind in (*_WORKING_KINDS, "permission", "waiting") and verdict.since is not None
    words = f"ended while {_to_clause(verdict)}" if was_busy else "ended"
    return StateVerdict("ended", words, verdict.since, confidence, reason)


def _to_clause(verdict: StateVerdict) -> str:
    match verdict.kind:
        case "permission" | "waiting":
            return "waiting for you"
        case "retrying":
            return "retrying"
    return verdict.words[:_MAX_REASON_WORDS]


# -- what the client reports


def _apply_status(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    """Use the client's own report, which newer clients write to a file."""
    match signs.status:
        case "waiting":
            return _apply_waiting(verdict, fold, signs)
        case "idle" | "shell":
            is_settled = _is_status_newer(verdict, signs) or quiet >= _STATUS_SETTLES_AFTER
            if verdict.kind in _PAUSED_KINDS or not is_settled:
                return verdict
            return StateVerdict("finished", "finished", verdict.since, "sure", _REPORT)
        case "busy":
            return _apply_busy(verdict, fold, now, quiet, signs)
    return verdict


def _is_status_newer(verdict: StateVerdict, signs: SessionSigns, than: timedelta = timedelta(0)) -> bool:
    since = parse_timestamp(verdict.since)
    return signs.status_time is not None and since is not None and signs.status_time > since + than


def _apply_waiting(verdict: StateVerdict, fold: Activity, signs: SessionSigns) -> StateVerdict:
    if verdict.kind == "waiting":
        return verdict._replace(confidence="sure", reason=_REPORT)
    wanted = signs.waiting_for or ""
    if "permission" in wanted:
        call = _describe_first_call(fold) or signs.waiting_agent
        words = f"waiting for permission: {call}" if call else "waiting for permission"
        return StateVerdict("permission", words, verdict.since, "sure", _REPORT)
    words = f"waiting for you: {wanted}" if wanted else "waiting for you"
    return StateVerdict("waiting", words, verdict.since, "sure", _REPORT)


def _describe_first_call(fold: Activity) -> str:
    call = next((one for one in fold.calls.values() if find_tool_family(one.name) != "agents"), None)
    return (f"{call.name}: {call.about}" if call.about else call.name) if call else ""


def _apply_busy(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    if verdict.kind == "permission":
        words = "running " + (_describe_first_call(fold) or "a sub-agent")
        return StateVerdict("running", words, verdict.since, "sure", _REPORT)
    if verdict.kind == "waiting":
        is_answered = _is_status_newer(verdict, signs, _STATUS_SETTLES_AFTER)
        return StateVerdict("answering", "answering", verdict.since, "sure", _REPORT) if is_answered else verdict
    if verdict.kind in _PAUSED_KINDS:
        return _judge_busy_pause(verdict, fold, now, quiet, signs)
    if verdict.kind == "answering" and fold.last in ("prompt", "result", "command") and fold.has_requests:
        return _judge_unsent_request(verdict, fold, quiet, signs)
    return verdict if verdict.confidence == "sure" or verdict.kind == "retrying" else _work_on(verdict)


def _work_on(verdict: StateVerdict) -> StateVerdict:
    if verdict.kind == "finished":
        return StateVerdict("answering", "answering", verdict.since, "sure", _REPORT)
    return verdict._replace(confidence="sure", reason=_REPORT)


def _judge_busy_pause(
    verdict: StateVerdict, fold: Activity, now: datetime, quiet: timedelta, signs: SessionSigns
) -> StateVerdict:
    """Judge a client that is busy although the turn is over."""
    shell = _find_own_shell(fold, signs)
    started = _to_text(signs.status_time) or verdict.since
    if verdict.confidence == "inferred" and verdict.kind == "finished":
        return _work_on(verdict)
    if shell:
        return StateVerdict("running", "running a shell command", started, "inferred", "the client runs a shell")
    if any(task.is_agent for task in fold.tasks.values()):
        return verdict  # it is reported as background work
    if verdict.since is None or _is_status_newer(verdict, signs, _MOMENT):
        if signs.status_time is not None and now - signs.status_time < _PROMPT_WRITTEN_AFTER:
            return StateVerdict("answering", "answering", started, "sure", _REPORT)
        if verdict.kind == "empty":
            return StateVerdict("answering", "working", started, "sure", _REPORT)
        return StateVerdict(
            "compacting", "compacting", started, "inferred", "the client is busy, and there is no prompt"
        )
    if verdict.kind == "finished" and (quiet >= _STATUS_SETTLES_AFTER or signs.children):
        return StateVerdict("answering", "finishing the turn", verdict.since, "inferred", "the client is still busy")
    return verdict


def _judge_unsent_request(verdict: StateVerdict, fold: Activity, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    """Judge a prompt or a result that no request has followed yet: a hook runs, or the conversation is compacted."""
    if fold.requests or quiet < _PROMPT_WRITTEN_AFTER + _MOMENT:
        return verdict._replace(reason=_REPORT)
    if signs.children:
        return StateVerdict(
            "answering", "working", verdict.since, "inferred", "no request was sent, and a process runs"
        )
    return StateVerdict("compacting", "compacting", verdict.since, "inferred", "no request was sent yet")


def _find_own_shell(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether the client runs a shell in the foreground; those of sub-agents can't be told apart from it."""
    if any(task.is_agent for task in fold.tasks.values()):
        return False
    shells = [child for child in signs.children or () if is_tool_shell(child)]
    since = parse_timestamp(fold.since)
    if since is not None:  # what was started earlier belongs to the turn
        shells = [one for one in shells if one.started is None or one.started > since.timestamp() - 0.5]
    commands = [task.command for task in fold.tasks.values() if not task.is_agent]
    return any(not any(matches_command(shell, command) for command in commands) for shell in shells)


def _to_text(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None


# -- what the processes of an old client show


def _apply_screen(verdict: StateVerdict, fold: Activity, quiet: timedelta, signs: SessionSigns) -> StateVerdict:
    """Use what is visible of a client that reports nothing."""
    if verdict.kind == "empty" and quiet < _FIRST_PROMPT_AFTER:
        return StateVerdict(
            "answering", "answering", verdict.since, "inferred", "the client has just created the session"
        )
    if signs.screen is None or fold.calls:
        return verdict
    is_drawing, drawing_for = signs.screen.is_drawing, timedelta(seconds=signs.screen.seconds)
    if not is_drawing and fold.last == "answer" and quiet >= _MOMENT:
        return StateVerdict("finished", "finished", verdict.since, "inferred", "the client's spinner has stopped")
    if is_drawing and verdict.kind == "finished" and verdict.confidence == "inferred" and drawing_for >= quiet:
        return StateVerdict("answering", "answering", verdict.since, "inferred", "the client's spinner moves")
    if is_drawing and verdict.kind in _PAUSED_KINDS and _STATUS_SETTLES_AFTER <= drawing_for < quiet:
        reason = "the client's spinner moves, and there is no prompt"
        return StateVerdict("compacting", "compacting", verdict.since, "inferred", reason)
    return verdict


def _apply_children(verdict: StateVerdict, fold: Activity, signs: SessionSigns) -> StateVerdict:
    """Recognise a command by its process: clients write a call, or what the user ran, some time after it started."""
    is_awaited = verdict.kind == "answering" and fold.last in ("prompt", "result", "answer", "thinking")
    is_paused = verdict.kind in _PAUSED_KINDS and signs.status is None
    if not (is_awaited or is_paused) or not _find_own_shell(fold, signs):
        return verdict
    reason = "a child process of the client runs it"
    if is_paused:
        return StateVerdict("running", "running a shell command", verdict.since, "inferred", reason)
    return StateVerdict("running", "running a command", verdict.since, "inferred", reason, ("Bash",))


# -- hooks


def _is_news(hook: HookSign, fold: Activity) -> bool:
    """Return whether the transcript has nothing later than a hook's report."""
    since = parse_timestamp(fold.since)
    if since is None or hook.time >= since - _MOMENT or hook.agent:  # a sub-agent writes to a transcript of its own
        return True
    # A parallel call may get its result while another one waits.
    return hook.event == "PermissionRequest" and _find_requested_call(fold, hook) is not None


def _describe_requested_call(fold: Activity, hook: HookSign, signs: SessionSigns) -> str:
    if hook.agent:
        return signs.waiting_agent or hook.detail
    call = _find_requested_call(fold, hook)
    return format_call(call) if call else _describe_first_call(fold) or signs.waiting_agent


def _find_requested_call(fold: Activity, hook: HookSign) -> OpenCall | None:
    """Find the call that a hook reported as waiting for permission."""
    calls = [call for call in fold.calls.values() if call.name == hook.detail]
    return next((call for call in calls if (time := parse_timestamp(call.since)) and time <= hook.time), None)


def _runs_stop_hook(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether another Stop hook is still running: they all start at the same time."""
    return bool(signs.children) and (fold.last == "stopping" or signs.status == "busy")


def _apply_hook(verdict: StateVerdict, fold: Activity, hook: HookSign, signs: SessionSigns) -> StateVerdict:
    """Use the latest report of a hook, unless the transcript or the client's own report is newer."""
    is_outdated = signs.status_time is not None and signs.status_time > hook.time + _MOMENT
    if not _is_news(hook, fold) or is_outdated:
        return verdict
    reason, time = f"the {hook.event} hook reported it", _to_text(hook.time)
    match hook.event:
        case "PermissionRequest":
            return _wait_for_permission(verdict, fold, hook, signs, reason)
        case "Notification" if "permission" in hook.detail:
            return _wait_for_permission(verdict, fold, hook, signs, reason)
        case "Notification" if verdict.kind in _WORKING_KINDS and "waiting for your input" in hook.detail:
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "Notification" if "needs_input" in hook.detail or "elicitation_dialog" in hook.detail:
            return StateVerdict("waiting", "waiting for you", time, "sure", reason)
        case "Stop" if verdict.kind not in ("interrupted", "error", "compacting") and not _runs_stop_hook(fold, signs):
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "SessionStart" if verdict.kind in (*_WORKING_KINDS, "permission", "waiting"):
            return StateVerdict("finished", "finished", time, "sure", reason)  # resumed after its client was killed
        case "UserPromptSubmit" if verdict.kind in _PAUSED_KINDS:
            return StateVerdict("answering", "answering", time, "sure", reason)
        case "SessionEnd":
            kind: StateKind = "left" if hook.detail in ("clear", "resume") else "ended"
            words = "left for a different session" if kind == "left" else "ended"
            return StateVerdict(kind, words, time, "sure", reason)
    return verdict


def _wait_for_permission(
    verdict: StateVerdict, fold: Activity, hook: HookSign, signs: SessionSigns, reason: str
) -> StateVerdict:
    if verdict.kind == "waiting":  # a question or a plan asks for permission too
        return verdict._replace(confidence="sure", reason=reason)
    started = [child.started for child in signs.children or () if child.started is not None and is_tool_shell(child)]
    if any(start > hook.time.timestamp() for start in started):  # it was allowed
        return verdict
    call = _describe_requested_call(fold, hook, signs)
    words = f"waiting for permission: {call}" if call else "waiting for permission"
    return StateVerdict("permission", words, verdict.since, "sure", reason)


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
        return StateVerdict("background", words, verdict.since, "sure", _REPORT)
    if verdict.kind not in ("finished", "interrupted") or not is_fresh or not (agents or tasks):
        return verdict
    if agents and signs.status == "idle" and _is_status_newer(verdict, signs):
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
