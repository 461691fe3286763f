"""Classifies user entries: many entries of type `user` were not typed by a person."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.marks import classify_by_mark, separate_context, to_typed_text
from turnlog.entries.reader import Transcript
from turnlog.entries.speakers import (
    SENDING_SPEAKERS,
    TYPING_SPEAKERS,
    Speaker,
    identify_speaker,
    open_letter,
    read_origin,
)
from turnlog.session.graph import holds_result

PROMPT_KINDS = {
    "prompt": "typed by a person",
    "command": "a slash command or skill",
    "bash": "a `!` command",
    "result": "results of calls",
    "meta": "added by the client: a caveat, a reminder, the text of a skill, feedback from a hook",
    "notification": "from a background task",
    "teammate": "from a member of the session's team",
    "peer": "from another session, or from an agent of this one",
    "other": "from anything else that is not the person: a channel, a plugin, an unknown origin",
    "interrupt": "the mark of an interruption",
    "summary": "the summary of a compaction",
    "command-output": "what a slash command printed",
    "bash-output": "what a `!` command printed",
    "empty": "nothing at all",
}
"""The kinds of user entries."""
_COMMAND_KINDS = ("command", "bash")
_NOTIFICATION_MODE = "task-notification"


class Prompt(NamedTuple):
    """A classified user entry."""

    kind: str
    """One of PROMPT_KINDS."""
    text: str = ""
    """What was typed or said, without context from an editor and without the frame around a message."""
    context: tuple[tuple[str, str], ...] = ()
    """What an editor or hook added, as (tag, text) pairs."""
    images: int = 0
    speaker: Speaker = Speaker()

    @property
    def is_typed(self) -> bool:
        """Whether this is a prompt from a person, from the command line, or from the agent that started a sub-agent."""
        return self.kind in ("prompt", *_COMMAND_KINDS)


def parse_user_entry(file: Transcript, entry: Entry) -> Prompt:
    """Classify a user entry and extract its text."""
    if holds_result(entry):
        return Prompt("result", speaker=Speaker("client"))
    content = entry.message.content if entry.message else None
    if isinstance(content, str):  # the reader kept the whole text
        prompt = _build_prompt([content], 0, entry.origin, entry.is_meta, entry.is_compact_summary)
    else:
        prompt = parse_user_body(file.read_body(entry))
    is_agents = entry.is_sidechain and prompt.kind == "prompt" and read_origin(entry.origin) is None
    return prompt._replace(speaker=Speaker("peer")) if is_agents else prompt  # the model wrote it, in its call


def parse_user_body(body: Body) -> Prompt:
    """Classify the body of a user entry that has no results, and extract its text."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [t for b in blocks if isinstance(t := b.get("text"), str)]
    images = sum(block.get("type") in ("image", "document") for block in blocks)
    return _build_prompt(texts, images, body.get("origin"), body.get("isMeta"), body.get("isCompactSummary"))


def parse_queued_prompt(attachment: Body) -> Prompt:
    """Classify a `queued_command`: something that was typed or that arrived while the model was working."""
    origin, is_meta = attachment.get("origin"), attachment.get("isMeta")
    if read_origin(origin) is not None:
        is_meta = False
    elif attachment.get("commandMode") == _NOTIFICATION_MODE:
        origin = {"kind": _NOTIFICATION_MODE}
    return parse_user_body({"message": {"content": attachment.get("prompt")}, "origin": origin, "isMeta": is_meta})


def holds_typed_text(kind: str | None, body: Body) -> bool:
    """Return whether an entry without results contains a typed prompt, even one queued while the model was working."""
    if kind == "user":
        return parse_user_body(body).is_typed
    attachment = body.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return False
    return parse_queued_prompt(attachment).is_typed


def _build_prompt(texts: list[str], images: int, origin: object, is_meta: object, is_summary: object) -> Prompt:
    parts = [separate_context(text) for text in texts]
    text = "\n".join(part.rest for part in parts if part.rest)
    speaker = identify_speaker(text or ("" if images else "\n".join(texts)), origin, is_meta=is_meta)
    if is_summary:
        kind, speaker = "summary", Speaker("client")
    else:
        kind = _classify_text(speaker.kind, text, images, is_meta)
    context = tuple(tag for part in parts for tag in part.context)
    if kind in _COMMAND_KINDS:
        text = to_typed_text(text)
    elif kind in SENDING_SPEAKERS:
        text = open_letter(text).words
    return Prompt(kind, text, context, images, speaker)


def _classify_text(speaker: str, text: str, images: int, is_meta: object) -> str:
    """Choose the kind of an entry based on its speaker and the mark at the start of its text."""
    if speaker == "task" or speaker in SENDING_SPEAKERS:
        return "notification" if speaker == "task" else speaker
    if is_meta:
        return "meta"
    if not text:
        return "prompt" if images else "empty"
    mark = classify_by_mark(text)
    if speaker in TYPING_SPEAKERS:
        return mark if mark in _COMMAND_KINDS else "prompt"
    return mark if mark in PROMPT_KINDS and mark not in SENDING_SPEAKERS else "meta"
