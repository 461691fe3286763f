"""Plain-text descriptions of what happens in a session besides prompts and answers."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.entries.speakers import MAX_NAME_CHARS
from turnlog.render.figures import format_count
from turnlog.render.values import (
    format_scalar,
    pick_text,
    read_tag,
    to_count,
    to_dict,
    to_dict_list,
    to_list,
    to_short_line,
    to_string_list,
)
from turnlog.session.failures import to_result_text
from turnlog.session.graph import holds_result
from turnlog.session.notices import parse_notice
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_body, parse_user_entry

EVENT_KINDS = {
    "interrupt": "a person stopped the model",
    "summary": "the summary of an earlier conversation",
    "output": "what a command printed",
    "command": "a command or prompt that triggered no work",
    "notification": "an update from a background task",
    "teammate": "a message from a teammate",
    "peer": "a message from another session or agent",
    "other": "a message from a channel, a plugin or the like",
    "typed": "what a person typed while the model worked",
    "hook": "what a hook did",
    "api-error": "a request that failed",
    "microcompaction": "old results were cleared from what is sent",
    "orphan": "a result whose call is not in the session",
    "mode": "a mode was changed",
    "title": "the session was named",
    "system": "anything else that Claude Code recorded",
}
"""The kinds of events and their meanings."""

_OUTPUT_TAGS = re.compile(r"</?(?:local-command-std(?:out|err)|bash-std(?:out|err))>")
_HOOK_OUTCOMES = {
    "hook_blocking_error": "blocked",
    "hook_cancelled": "was cancelled",
    "hook_non_blocking_error": "failed",
    "hook_error_during_execution": "could not run",
    "hook_stopped_continuation": "ended the turn",
}
_TITLE_FIELDS = {
    "custom-title": ("customTitle", "custom title"),
    "ai-title": ("aiTitle", "title"),
    "summary": ("summary", "title"),
    "agent-name": ("agentName", "name"),
}
_MODE_FIELDS = {"permission-mode": ("permissionMode", "permission mode"), "mode": ("mode", "mode")}


class EventText(NamedTuple):
    """The description of an entry."""

    kind: str
    """One of EVENT_KINDS."""
    text: str
    tone: str = "plain"
    """plain, note, warning or error."""
    detail: str = ""
    is_terminal: bool = False


def describe_entry_event(file: Transcript, entry: Entry) -> EventText | None:
    """Describe an entry outside the conversation; None if it is not worth a line."""
    if entry.type == "user":
        return (
            _describe_orphan(file.read_body(entry))
            if holds_result(entry)
            else describe_prompt_event(parse_user_entry(file, entry))
        )
    body = file.read_body(entry)
    if entry.type == "attachment":
        return _describe_attachment(entry.kind, to_dict(body.get("attachment")))
    return (
        _describe_system_entry(entry.subtype, body) if entry.type == "system" else _describe_setting(entry.type, body)
    )


def name_entry(file: Transcript, entry: Entry) -> str:
    """Describe an entry without text by its type."""
    command = to_dict(file.read_body(entry).get("commandRun"))
    if name := pick_text(command.get("command")):
        return to_short_line(f"/{name} {pick_text(command.get('args'))}")
    return to_short_line((entry.subtype or entry.kind or entry.type or "entry").replace("_", " "))


# -- user entries


def describe_prompt_event(prompt: Prompt) -> EventText | None:
    """Describe a user entry that doesn't start a turn."""
    match prompt.kind:
        case "interrupt":
            return EventText("interrupt", "interrupted by the user", "warning")
        case "summary":
            return EventText("summary", "summary of the earlier conversation", "note", prompt.text)
        case "command-output" | "bash-output":
            return _describe_output(prompt.text)
        case "notification":
            return EventText("notification", read_notification(prompt.text), "note", read_task_report(prompt.text))
        case "command" | "bash" | "prompt":
            return EventText("command", prompt.text)
        case "teammate" | "peer" | "other":
            return EventText(prompt.kind, format_prompt_label(prompt.kind, prompt.speaker.name), "note", prompt.text)
    return None


def _describe_output(text: str) -> EventText | None:
    """Describe the output of a command by its first line."""
    output = _OUTPUT_TAGS.sub("", text).strip()
    first, _, rest = output.partition("\n")
    return EventText("output", first, detail=output if rest else "", is_terminal=True) if output else None


def read_notification(text: str) -> str:
    """Return the message in a background task's notification."""
    notice = parse_notice(text)
    if notice.summary or not notice.task_id:
        return notice.summary or text
    return f"background task {notice.task_id}: {notice.status or 'sent an update'}"


def read_task_report(text: str) -> str:
    """Return what a background task delivered with its notification."""
    return "\n\n".join(part for name in ("result", "event") if (part := read_tag(text, name)))


def _describe_orphan(body: Body) -> EventText:
    results = [block for block in to_dict_list(to_dict(body.get("message")).get("content")) if block.get("tool_use_id")]
    names = ", ".join(to_short_line(format_scalar(block.get("tool_use_id")), 80) for block in results[:3])
    detail = "\n\n".join(to_result_text(block.get("content")) for block in results)
    return EventText(
        "orphan", f"result of a call that is not in the session{f': {names}' if names else ''}", "note", detail
    )


# -- attachments


def _describe_attachment(kind: str | None, attachment: Body) -> EventText | None:
    if kind == "queued_command":
        prompt = parse_queued_prompt(attachment)
        return EventText("typed", prompt.text) if prompt.is_typed else describe_prompt_event(prompt)
    if kind == "teammate_mailbox":
        return _describe_mail(attachment)
    outcome = _HOOK_OUTCOMES.get(kind or "")
    if outcome is None:
        return None
    blocking = attachment.get("blockingError")
    message = pick_text(
        *([to_dict(blocking).get("blockingError")] if isinstance(blocking, dict) else [attachment.get("stderr")]),
        attachment.get("content"),
        attachment.get("message"),
    )
    name = str(attachment.get("hookName"))
    command = pick_text(to_dict(blocking).get("command"), attachment.get("command"))
    output = pick_text(attachment.get("stdout"))
    detail = "\n".join(part for part in (f"$ {command}" if command else "", output) if part)
    return EventText("hook", f"hook {name} {outcome}{f': {message}' if message else ''}", "warning", detail)


def _describe_mail(attachment: Body) -> EventText | None:
    """Describe messages from teammates that arrived while the model was working."""
    messages = to_dict_list(attachment.get("messages"))
    names = ", ".join(
        dict.fromkeys(to_short_line(pick_text(message.get("from")), MAX_NAME_CHARS) for message in messages)
    )
    text = "\n\n".join(pick_text(message.get("text")) for message in messages)
    return EventText("teammate", format_prompt_label("teammate", names), "note", text) if text.strip() else None


# -- entries that Claude Code recorded


def _describe_system_entry(subtype: str | None, body: Body) -> EventText | None:
    match subtype:
        case "microcompact_boundary":
            return _describe_microcompaction(to_dict(body.get("microcompactMetadata")))
        case "api_error":
            return EventText("api-error", _describe_api_error(body), "error", _describe_retry(body))
        case "local_command":
            prompt = parse_user_body({"message": {"content": body.get("content")}})
            return (
                EventText("command", prompt.text)
                if prompt.kind in ("command", "bash")
                else _describe_output(prompt.text)
            )
        case "turn_duration":
            return None
        case "stop_hook_summary":
            return _describe_stop_hooks(body)
    content = pick_text(body.get("content"))
    tone = {"warning": "warning", "error": "error"}.get(pick_text(body.get("level")), "plain")
    return EventText("system", content, tone) if content else None


def _describe_microcompaction(facts: Body) -> EventText:
    cleared, saved = len(to_list(facts.get("compactedToolIds"))), to_count(facts.get("tokensSaved"))
    parts = [format_count(cleared, "result")] if cleared else []
    parts += [f"{format_count(saved, 'token')} saved"] if saved else []
    text = "old results were cleared from what is sent (micro-compaction)"
    return EventText("microcompaction", text, "note", ", ".join(parts))


def _describe_stop_hooks(body: Body) -> EventText | None:
    """Describe what the hooks at the end of a turn did, if they had any effect."""
    errors = to_string_list(body.get("hookErrors"))
    if not errors and body.get("preventedContinuation") is not True:
        return None
    message = to_short_line("; ".join(errors) or pick_text(body.get("stopReason")))
    outcome = "ended the turn" if body.get("preventedContinuation") is True else "reported errors"
    return EventText("hook", f"stop hook {outcome}{f': {message}' if message else ''}", "warning")


def _describe_api_error(body: Body) -> str:
    message = _read_error_text(body.get("error")) or _read_error_text(body.get("cause")) or "no reason given"
    attempt, limit = body.get("retryAttempt"), body.get("maxRetries")
    retry = f" (attempt {attempt} of {limit})" if isinstance(attempt, int) and isinstance(limit, int) else ""
    return f"API error: {' '.join(message.split())}{retry}"


def _describe_retry(body: Body) -> str:
    wait = to_count(body.get("retryInMs"))
    request = pick_text(to_dict(body.get("error")).get("requestId"))
    parts = [f"retried after {wait / 1000:.1f} s"] if wait is not None else []
    return ", ".join([*parts, *([f"request {request}"] if request else [])])


def _read_error_text(error: Any) -> str:
    """Return the shortest message inside an error."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    if found := pick_text(*(error.get(name) for name in ("formatted", "message", "code"))):
        return found
    inner, status = error.get("error"), error.get("status")
    text = _read_error_text(inner) if isinstance(inner, dict) else ""
    return " ".join(part for part in (str(status) if isinstance(status, int) else "", text) if part)


def _describe_setting(kind: str | None, body: Body) -> EventText | None:
    """Describe an entry outside the conversation that changes a setting."""
    for kinds, name in ((_MODE_FIELDS, "mode"), (_TITLE_FIELDS, "title")):
        if kind in kinds:
            fact, label = kinds[kind]
            value = to_short_line(pick_text(body.get(fact)))
            return EventText(name, f"{label}: {value}") if value else None
    return None


_PROMPT_LABELS = {
    "typed": "Typed while the model worked",
    "command": "Command",
    "bash": "Shell command",
    "notification": "Notification",
    "teammate": "From a teammate",
    "peer": "From another agent",
    "other": "From outside, not typed by a person",
}


def format_prompt_label(kind: str, sender: str | None = None) -> str:
    """Return the label for a kind of prompt, with the sender's name."""
    label = _PROMPT_LABELS.get(kind, kind)
    return f"{label} ({sender})" if sender else label
