"""What happens in a session beside prompts and answers, in plain words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.cli.gist import count
from turnlog.cli.terminal import line
from turnlog.entries.entry import Body, Entry
from turnlog.session.notices import notice
from turnlog.session.prompts import read
from turnlog.session.session import Session

_TAGS = re.compile(r"</?(?:local-command-std(?:out|err)|bash-std(?:out|err))>")


class Event(NamedTuple):
    """One thing to tell."""

    text: str
    styles: tuple[str, ...] = ("dim",)
    is_long: bool = False
    """Whether more than its first line is worth telling."""
    typed: bool = False
    """Whether a person typed it while a turn was at work."""


def event(session: Session, entry: Entry) -> Event | None:
    """What an entry beside the conversation tells; None if nothing worth a line."""
    if entry.type == "user":
        return None if _is_result(entry) else _said(session.body(entry))
    if entry.type == "attachment":
        return _attached(session, entry)
    return _noted(session, entry)


def _is_result(entry: Entry) -> bool:
    return any(block.type == "tool_result" for block in (entry.message.blocks if entry.message else []))


def _said(body: Body) -> Event | None:
    """A user entry that starts no turn."""
    prompt = read(body)
    if prompt.kind == "interrupt":
        return Event("interrupted by the user", ("yellow",))
    if prompt.kind == "summary":
        return Event(f"summary: {prompt.text}")
    if prompt.kind in ("command-output", "bash-output"):
        return Event(_untagged(prompt.text), is_long=True) if _untagged(prompt.text) else None
    if prompt.kind == "notification":
        found = notice(prompt.text)
        return Event(f"notification: {found.summary or found.status or prompt.text}")
    if prompt.kind in ("command", "bash", "prompt"):
        return Event(prompt.text)
    return None


def _attached(session: Session, entry: Entry) -> Event | None:
    attachment = session.body(entry).get("attachment")
    if not isinstance(attachment, dict):
        return None
    if entry.kind == "queued_command":
        prompt = read({"message": {"content": attachment.get("prompt")}})
        if prompt.kind == "notification":
            return Event(f"notification: {notice(prompt.text).summary or prompt.text}")
        return Event(prompt.text, typed=True)
    if entry.kind in ("hook_blocking_error", "hook_non_blocking_error", "hook_cancelled"):
        told = attachment.get("blockingError")
        words = told.get("blockingError") if isinstance(told, dict) else attachment.get("stderr")
        outcome = {"hook_blocking_error": "blocked", "hook_cancelled": "was cancelled"}.get(entry.kind, "failed")
        name = str(attachment.get("hookName"))
        return Event(f"hook {name} {outcome}{f': {words}' if words else ''}", ("yellow",))
    return None


def _noted(session: Session, entry: Entry) -> Event | None:
    """A system entry."""
    body = session.body(entry)
    if entry.subtype == "compact_boundary":
        return Event(_compaction(session, entry), ("cyan",))
    if entry.subtype == "microcompact_boundary":
        return Event("── old results were cleared from what is sent (micro-compaction)", ("cyan",))
    if entry.subtype == "api_error":
        return Event(_api_error(body), ("red",))
    if entry.subtype == "local_command":
        prompt = read({"message": {"content": body.get("content")}})
        return Event(_untagged(prompt.text), is_long=True) if _untagged(prompt.text) else None
    if entry.subtype in ("turn_duration", "stop_hook_summary"):
        return None
    content = body.get("content")
    if not isinstance(content, str) or not content:
        return None
    return Event(content, ("yellow",) if body.get("level") in ("warning", "error") else ("dim",))


def _compaction(session: Session, entry: Entry) -> str:
    found = next((item for item in session.compactions if item.boundary is entry), None)
    if found is None:
        return "── compaction"
    parts = [f"── compaction ({found.trigger})" if found.trigger else "── compaction"]
    if found.summarised:
        parts.append(f"a summary stands for {count(len(found.summarised), 'entry')}".replace("entrys", "entries"))
    if found.preserved:
        parts.append(f"{count(len(found.preserved), 'message')} kept word for word")
    if found.pre_tokens:
        after = f" to {found.post_tokens:,}" if found.post_tokens else ""
        parts.append(f"from {found.pre_tokens:,}{after} tokens")
    return ", ".join(parts) + " ──"


def _api_error(body: Body) -> str:
    error = body.get("error")
    words = _words(error) or _words(body.get("cause")) or "no reason given"
    attempt, most = body.get("retryAttempt"), body.get("maxRetries")
    again = f" (attempt {attempt} of {most})" if isinstance(attempt, int) and isinstance(most, int) else ""
    return f"API error: {line(words)}{again}"


def _words(error: Any) -> str:
    """The shortest words that an error has for itself."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    for name in ("formatted", "message", "code"):
        if isinstance(error.get(name), str) and error[name]:
            return str(error[name])
    status = error.get("status")
    inner = error.get("error")
    words = _words(inner) if isinstance(inner, dict) else ""
    return " ".join(part for part in (str(status) if isinstance(status, int) else "", words) if part)


def _untagged(text: str) -> str:
    """A text without the tags that the client puts around the output of commands."""
    return _TAGS.sub("", text).strip()
