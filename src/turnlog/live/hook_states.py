"""What a session is doing, according to the latest report of a hook, while nothing newer is known."""

from __future__ import annotations

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
from turnlog.session.clock import parse_timestamp


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


def _runs_stop_hook(fold: Activity, signs: SessionSigns) -> bool:
    """Return whether another Stop hook is still running: they all start at the same time."""
    return bool(signs.children) and (fold.last == "stopping" or signs.status == "busy")


def apply_hook(verdict: StateVerdict, fold: Activity, hook: HookSign, signs: SessionSigns) -> StateVerdict:
    """Use the latest report of a hook, unless the transcript or the client's own report is newer."""
    is_outdated = signs.status_time is not None and signs.status_time > hook.time + MOMENT
    if not is_news(hook, fold) or is_outdated:
        return verdict
    reason, time = f"the {hook.event} hook reported it", to_timestamp(hook.time)
    match hook.event:
        case "PermissionRequest":
            return _wait_for_permission(verdict, fold, hook, signs, reason)
        case "Notification" if "permission" in hook.detail:
            return _wait_for_permission(verdict, fold, hook, signs, reason)
        case "Notification" if verdict.kind in WORKING_KINDS and "waiting for your input" in hook.detail:
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "Notification" if "needs_input" in hook.detail or "elicitation_dialog" in hook.detail:
            return StateVerdict("waiting", "waiting for you", time, "sure", reason)
        case "Stop" if verdict.kind not in ("interrupted", "error", "compacting") and not _runs_stop_hook(fold, signs):
            return StateVerdict("finished", "finished", verdict.since, "sure", reason)
        case "SessionStart" if verdict.kind in (*WORKING_KINDS, "permission", "waiting"):
            return StateVerdict("finished", "finished", time, "sure", reason)  # resumed after its client was killed
        case "UserPromptSubmit" if verdict.kind in PAUSED_KINDS:
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
