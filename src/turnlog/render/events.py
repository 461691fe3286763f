"""What happens in a session beside prompts and answers, in plain words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.entries.speakers import MAX_NAME_CHARS
from turnlog.render.figures import count
from turnlog.render.labels import prompt_label
from turnlog.render.values import fields, line, number, objects, rows, scalar, strings, tagged, text
from turnlog.session.failures import plain
from turnlog.session.graph import holds_result
from turnlog.session.notices import notice
from turnlog.session.prompts import Prompt, read, read_queued, understand

KINDS = {
    "interrupt": "a person stopped the model",
    "summary": "the summary of an earlier conversation",
    "output": "what a command printed",
    "command": "a command or prompt that set off no work",
    "notification": "a background task has news",
    "teammate": "a message of a team mate",
    "peer": "a message of another session or agent",
    "other": "a message of a channel, a plugin or the like",
    "typed": "what a person typed while the model worked",
    "hook": "what a hook did",
    "api-error": "a request that failed",
    "microcompaction": "old results were cleared from what is sent",
    "orphan": "a result whose call is not in the session",
    "mode": "a mode was set",
    "title": "the session was named",
    "system": "anything else that the client noted",
}
"""What an event can be."""

_TAGS = re.compile(r"</?(?:local-command-std(?:out|err)|bash-std(?:out|err))>")
_HOOKS = {
    "hook_blocking_error": "blocked",
    "hook_cancelled": "was cancelled",
    "hook_non_blocking_error": "failed",
    "hook_error_during_execution": "could not run",
    "hook_stopped_continuation": "ended the turn",
}
_TITLES = {
    "custom-title": ("customTitle", "title given"),
    "ai-title": ("aiTitle", "title"),
    "summary": ("summary", "title"),
    "agent-name": ("agentName", "name"),
}
_MODES = {"permission-mode": ("permissionMode", "permission mode"), "mode": ("mode", "mode")}


class Told(NamedTuple):
    """What an entry tells."""

    kind: str
    """One of KINDS."""
    text: str
    tone: str = "plain"
    """plain, note, warning, error."""
    detail: str = ""
    is_terminal: bool = False


def told(file: Transcript, entry: Entry) -> Told | None:
    """What an entry beside the conversation tells; None if nothing worth a line."""
    if entry.type == "user":
        return _orphan(file.body(entry)) if holds_result(entry) else said(understand(file, entry))
    body = file.body(entry)
    if entry.type == "attachment":
        return _attached(entry.kind, fields(body.get("attachment")))
    return _noted(entry.subtype, body) if entry.type == "system" else _state(entry.type, body)


def named(file: Transcript, entry: Entry) -> str:
    """An entry without words of its own, by its name."""
    command = fields(file.body(entry).get("commandRun"))
    if words := text(command.get("command")):
        return line(f"/{words} {text(command.get('args'))}")
    return line((entry.subtype or entry.kind or entry.type or "entry").replace("_", " "))


# -- what stands where prompts stand


def said(prompt: Prompt) -> Told | None:
    """A user entry that starts no turn."""
    match prompt.kind:
        case "interrupt":
            return Told("interrupt", "interrupted by the user", "warning")
        case "summary":
            return Told("summary", "summary of what was said before", "note", prompt.text)
        case "command-output" | "bash-output":
            return _printed(prompt.text)
        case "notification":
            return Told("notification", notified(prompt.text), "note", reported(prompt.text))
        case "command" | "bash" | "prompt":
            return Told("command", prompt.text)
        case "teammate" | "peer" | "other":
            return Told(prompt.kind, prompt_label(prompt.kind, prompt.speaker.name), "note", prompt.text)
    return None


def _printed(words: str) -> Told | None:
    """The output of a command; its first line says what happened."""
    output = _TAGS.sub("", words).strip()
    first, _, rest = output.partition("\n")
    return Told("output", first, detail=output if rest else "", is_terminal=True) if output else None


def notified(words: str) -> str:
    """The words of a background task's notification."""
    found = notice(words)
    if found.summary or not found.task_id:
        return found.summary or words
    return f"background task {found.task_id}: {found.status or 'has news'}"


def reported(words: str) -> str:
    """What a background task handed over with its notification."""
    return "\n\n".join(part for name in ("result", "event") if (part := tagged(words, name)))


def _orphan(body: Body) -> Told:
    results = [block for block in objects(fields(body.get("message")).get("content")) if block.get("tool_use_id")]
    names = ", ".join(line(scalar(block.get("tool_use_id")), 80) for block in results[:3])
    detail = "\n\n".join(plain(block.get("content")) for block in results)
    return Told("orphan", f"result of a call that is not in the session{f': {names}' if names else ''}", "note", detail)


# -- what the client attached


def _attached(kind: str | None, attachment: Body) -> Told | None:
    if kind == "queued_command":
        prompt = read_queued(attachment)
        return Told("typed", prompt.text) if prompt.is_typed else said(prompt)
    if kind == "teammate_mailbox":
        return _mail(attachment)
    outcome = _HOOKS.get(kind or "")
    if outcome is None:
        return None
    blocking = attachment.get("blockingError")
    words = text(
        *([fields(blocking).get("blockingError")] if isinstance(blocking, dict) else [attachment.get("stderr")]),
        attachment.get("content"),
        attachment.get("message"),
    )
    name = str(attachment.get("hookName"))
    command = text(fields(blocking).get("command"), attachment.get("command"))
    printed = text(attachment.get("stdout"))
    detail = "\n".join(part for part in (f"$ {command}" if command else "", printed) if part)
    return Told("hook", f"hook {name} {outcome}{f': {words}' if words else ''}", "warning", detail)


def _mail(attachment: Body) -> Told | None:
    """Messages of team mates that came while the model was working."""
    messages = objects(attachment.get("messages"))
    names = ", ".join(dict.fromkeys(line(text(message.get("from")), MAX_NAME_CHARS) for message in messages))
    words = "\n\n".join(text(message.get("text")) for message in messages)
    return Told("teammate", prompt_label("teammate", names), "note", words) if words.strip() else None


# -- what the client noted


def _noted(subtype: str | None, body: Body) -> Told | None:
    """A system entry."""
    match subtype:
        case "microcompact_boundary":
            return _microcompaction(fields(body.get("microcompactMetadata")))
        case "api_error":
            return Told("api-error", _api_error(body), "error", _further(body))
        case "local_command":
            prompt = read({"message": {"content": body.get("content")}})
            return Told("command", prompt.text) if prompt.kind in ("command", "bash") else _printed(prompt.text)
        case "turn_duration":
            return None
        case "stop_hook_summary":
            return _stop_hooks(body)
    content = text(body.get("content"))
    tone = {"warning": "warning", "error": "error"}.get(text(body.get("level")), "plain")
    return Told("system", content, tone) if content else None


def _microcompaction(facts: Body) -> Told:
    cleared, saved = len(rows(facts.get("compactedToolIds"))), number(facts.get("tokensSaved"))
    parts = [count(cleared, "result")] if cleared else []
    parts += [f"{count(saved, 'token')} saved"] if saved else []
    words = "old results were cleared from what is sent (micro-compaction)"
    return Told("microcompaction", words, "note", ", ".join(parts))


def _stop_hooks(body: Body) -> Told | None:
    """What the hooks at the end of a turn did, where that was more than to run."""
    errors = strings(body.get("hookErrors"))
    if not errors and body.get("preventedContinuation") is not True:
        return None
    words = line("; ".join(errors) or text(body.get("stopReason")))
    outcome = "ended the turn" if body.get("preventedContinuation") is True else "had something to say"
    return Told("hook", f"stop hook {outcome}{f': {words}' if words else ''}", "warning")


def _api_error(body: Body) -> str:
    words = _words(body.get("error")) or _words(body.get("cause")) or "no reason given"
    attempt, most = body.get("retryAttempt"), body.get("maxRetries")
    again = f" (attempt {attempt} of {most})" if isinstance(attempt, int) and isinstance(most, int) else ""
    return f"API error: {' '.join(words.split())}{again}"


def _further(body: Body) -> str:
    wait = number(body.get("retryInMs"))
    request = text(fields(body.get("error")).get("requestId"))
    parts = [f"tried again after {wait / 1000:.1f} s"] if wait is not None else []
    return ", ".join([*parts, *([f"request {request}"] if request else [])])


def _words(error: Any) -> str:
    """The shortest words that an error has for itself."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    if found := text(*(error.get(name) for name in ("formatted", "message", "code"))):
        return found
    inner, status = error.get("error"), error.get("status")
    words = _words(inner) if isinstance(inner, dict) else ""
    return " ".join(part for part in (str(status) if isinstance(status, int) else "", words) if part)


def _state(kind: str | None, body: Body) -> Told | None:
    """An entry outside of the conversation that says what holds from now on."""
    for kinds, name in ((_MODES, "mode"), (_TITLES, "title")):
        if kind in kinds:
            fact, words = kinds[kind]
            value = line(text(body.get(fact)))
            return Told(name, f"{words}: {value}") if value else None
    return None
