"""What a session is doing, according to the latest report of a hook, while nothing newer is known."""

from __future__ import annotations

from datetime import datetime, timedelta

from turnlog.live.activity import Activity, OpenCall
from turnlog.live.call_states import format_call
from turnlog.live.signs import HookSign, SessionSigns, is_tool_shell
from turnlog.live.verdicts import (
    MOMENT,
    PAUSED_KINDS,
    WORKING_KINDS,
    StateKind,
    StateVerdict,
    describe_first_call,
    to_timestamp,
)
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, find_tool_family
from turnlog.session.clock import parse_timestamp

_STOP_SETTLES_AFTER = timedelta(seconds=0.2)
"""How long after the report of its Stop hook a client takes to end the turn: it waits for the hook."""
_STATUS_WRITTEN_AFTER = timedelta(seconds=1)
"""How long after that a client that reports its status has reported that it is idle."""
_SPINNER_MOVES_AFTER = timedelta(seconds=2)
_CALL_WRITTEN_AFTER = timedelta(seconds=3)
"""How much later than its request for permission a call is written."""
_DIALOG_OPENS_AFTER = timedelta(seconds=1)
_MAX_EXIT = timedelta(seconds=5)
"""How long a client that has reported the end of its session may take to exit."""
_LEAVING_REASONS = ("clear", "resume")
"""Why a session ends although its client goes on."""


def is_news(hook: HookSign, fold: Activity) -> bool:
    """Return whether the transcript has nothing later than a hook's report."""
    since = parse_timestamp(fold.since)
    if since is None or hook.time >= since - MOMENT or hook.agent:  # a sub-agent writes to a transcript of its own
        return True
    # A parallel call may get its result while another one waits.
    return hook.event == "PermissionRequest" and _find_requested_call(fold, hook) is not None


def _describe_requested_call(fold: Activity, hook: HookSign, signs: SessionSigns) -> str:
    if hook.agent:
        return signs.waiting_agent or hook.detail
    call = _find_requested_call(fold, hook)
    return format_call(call) if call else describe_first_call(fold) or signs.waiting_agent


def _find_requested_call(fold: Activity, hook: HookSign) -> OpenCall | None:
    """Find the call that a hook reported as waiting for permission."""
    calls = [call for call in fold.calls.values() if call.name == hook.detail]
    return next((call for call in calls if (time := parse_timestamp(call.since)) and time <= hook.time), None)


def _runs_stop_hook(fold: Activity, hook: HookSign, now: datetime, signs: SessionSigns) -> bool:
    """Return whether another Stop hook is still running: they all start at the same time."""
    if signs.status == "busy" and now - hook.time < _STATUS_WRITTEN_AFTER:
        return True  # the client reports the end of the turn itself
    return bool(signs.children) and (fold.last == "stopping" or signs.status == "busy")


def _is_outdated(hook: HookSign, now: datetime, signs: SessionSigns) -> bool:
    """Return whether the client itself shows something newer."""
    if signs.status_time is not None and signs.status_time > hook.time + MOMENT:
        return True
    if hook.event != "SessionEnd" or not signs.is_open:
        return False
    if signs.client_process is not None and hook.processes and signs.client_process not in hook.processes:
        return True  # another client had the session open, and has ended
    is_new_client = signs.client_started is not None and signs.client_started > hook.time
    is_exiting = hook.detail not in _LEAVING_REASONS and now - hook.time < _MAX_EXIT
    return is_new_client or is_exiting


def apply_hook(
    verdict: StateVerdict, fold: Activity, hook: HookSign, now: datetime, signs: SessionSigns
) -> StateVerdict:
    """Use the latest report of a hook, unless the transcript or the client's own report is newer."""
    if not is_news(hook, fold) or _is_outdated(hook, now, signs):
        return verdict
    reason, time = f"the {hook.event} hook reported it", to_timestamp(hook.time)
    match hook.event:
        case "PermissionRequest":
            return _wait_for_permission(verdict, fold, hook, now, signs, reason)
        case "Notification" if "permission" in hook.detail:
            return _wait_for_permission(verdict, fold, hook, now, signs, reason)
        case "Notification" if verdict.kind in WORKING_KINDS and "waiting for your input" in hook.detail:
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "Notification" if "needs_input" in hook.detail or "elicitation_dialog" in hook.detail:
            return StateVerdict("waiting", "waiting for you", time, "sure", reason)
        case "Stop" if verdict.kind not in ("interrupted", "error", "compacting"):
            if now - hook.time < _STOP_SETTLES_AFTER or _runs_stop_hook(fold, hook, now, signs):
                return verdict
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "SessionStart" if verdict.kind in (*WORKING_KINDS, "permission", "waiting"):
            return StateVerdict("finished", "finished", time, "sure", reason)  # resumed after its client was killed
        case "UserPromptSubmit" if verdict.kind in PAUSED_KINDS:
            return StateVerdict("answering", "answering", time, "sure", reason)
        case "PreCompact" if signs.screen is None or signs.screen.is_drawing or now - hook.time < _SPINNER_MOVES_AFTER:
            return StateVerdict("compacting", "compacting", time, "sure", reason)
        case "SessionEnd":
            kind: StateKind = "left" if hook.detail in _LEAVING_REASONS else "ended"
            words = "left for a different session" if kind == "left" else "ended"
            return StateVerdict(kind, words, time, "sure", reason)
    return verdict


def _is_answered(fold: Activity, hook: HookSign, now: datetime, signs: SessionSigns) -> bool:
    """Return whether a request for permission was answered: its call has a result, or the client works again."""
    waited, screen = now - hook.time, signs.screen
    has_agents = any(find_tool_family(call.name) == "agents" for call in fold.calls.values()) or any(
        task.is_agent for task in fold.tasks.values()
    )
    is_visible = not has_agents or signs.agent_calls is not None
    if hook.event == "PermissionRequest" and waited >= _CALL_WRITTEN_AFTER and is_visible:
        calls = [*fold.calls.values(), *(signs.agent_calls or ())]
        if not any(call.name == hook.detail for call in calls):
            return True
    if screen is None or not screen.is_drawing or has_agents:
        return False
    return timedelta(seconds=screen.seconds) < waited - _DIALOG_OPENS_AFTER  # a dialog stops the spinner


def _wait_for_permission(
    verdict: StateVerdict, fold: Activity, hook: HookSign, now: datetime, signs: SessionSigns, reason: str
) -> StateVerdict:
    began = to_timestamp(hook.time)
    if verdict.kind == "waiting":  # a question or a plan asks for permission too
        return verdict._replace(since=began, confidence="sure", reason=reason)
    if hook.detail in TOOLS_WAITING_FOR_PERSON:  # its call is not written yet
        words = "asks you to approve a plan" if hook.detail == "ExitPlanMode" else "asks you a question"
        return StateVerdict("waiting", words, began, "sure", reason)
    started = [child.started for child in signs.children or () if child.started is not None and is_tool_shell(child)]
    if any(start > hook.time.timestamp() for start in started) or _is_answered(fold, hook, now, signs):
        return verdict
    call = _describe_requested_call(fold, hook, signs)
    words = f"waiting for permission: {call}" if call else "waiting for permission"
    return StateVerdict("permission", words, began, "sure", reason)
