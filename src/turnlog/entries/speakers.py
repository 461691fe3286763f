"""Determines the author of user text; no other module does this.

Many entries of type `user` were not typed by a person: they are messages from other agents, reports from background
tasks, output from hooks, or the client's own notes. Since 2.1.161, an entry names its origin, which determines the
author regardless of the text. Without an origin, only a frame that the client puts at the very start counts: text that
merely mentions such a frame counts as a person's, and text inside a frame can't escape from it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.entries.entry import EntryOrigin
from turnlog.entries.marks import PEER_FRAMES, classify_by_mark, separate_context

SPEAKERS = {
    "person": "typed by a person",
    "cli": "given on the command line",
    "peer": "from another session, or from an agent of this one",
    "teammate": "from a member of the session's team",
    "task": "from a background task or a schedule",
    "hook": "from a hook",
    "client": "written by Claude Code itself",
    "other": "from anything else that is not the person: a channel, a plugin, a voice call, an unknown origin",
}
"""The possible authors of user text."""
TYPING_SPEAKERS = frozenset({"person", "cli"})
"""Speakers whose text is a prompt."""
SENDING_SPEAKERS = frozenset({"peer", "teammate", "other"})
"""Speakers that send messages into a session from outside its conversation."""
MAX_NAME_CHARS = 80

_SPEAKER_BY_ORIGIN = {
    "human": "person",
    "cli": "cli",
    "peer": "peer",
    "observer": "peer",
    "observer-activity": "peer",
    "coordinator": "teammate",
    "task-notification": "task",
    "auto-continuation": "client",
}
_SPEAKER_BY_MARK = {
    None: "person",
    "command": "person",
    "bash": "person",
    "peer": "peer",
    "teammate": "teammate",
    "channel": "other",
    "notification": "task",
    "hook": "hook",
}
_ENVELOPE_TAG = re.compile(r"<(teammate-message|agent-message|cross-session-message|channel)(?=[\s>])([^>]*)>")
_NAME_ATTRIBUTES = tuple(
    re.compile(rf'(?:^|\s){key}="([^"]*)"') for key in ("from-name", "teammate_id", "from", "source")
)
_NOTE_STARTS = (
    "This came from another Claude session",
    'That "other Claude session" is an agent',
    "This is from another Claude session",
    "IMPORTANT: This is NOT from your user",
)
"""The starts of the client's remarks after a message from another agent."""


class Speaker(NamedTuple):
    """The author of user text."""

    kind: str = "person"
    """One of SPEAKERS."""
    name: str | None = None
    """The name of a peer, a teammate or a channel."""


class Letter(NamedTuple):
    """A message from another agent, without the client's frame around it."""

    sender: str | None
    words: str


def read_origin(value: object) -> EntryOrigin | None:
    """Return the `origin` of an entry or attachment, if it has one."""
    if isinstance(value, EntryOrigin):
        return value if isinstance(value.kind, str) else None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return None
    return EntryOrigin(value["kind"], value.get("from"), value.get("name"), value.get("server"))


def identify_speaker(text: str, origin: object = None, *, is_meta: object = False) -> Speaker:
    """Find the author of a user entry or queued prompt based on its origin or the frame at its start."""
    declared = read_origin(origin)
    parts = separate_context(text)
    mark = classify_by_mark(parts.rest) if parts.rest else _classify_context(parts.context)
    kind = _SPEAKER_BY_MARK.get(mark, "client") if declared is None else _SPEAKER_BY_ORIGIN.get(declared.kind, "other")
    if is_meta and kind in TYPING_SPEAKERS:
        kind = "client"  # a skill, a reminder: what the client says in the person's name
    if kind not in SENDING_SPEAKERS:
        return Speaker(kind)
    names = (declared.name, declared.sender, declared.server) if declared else ()
    return Speaker(kind, _choose_name(*names) or open_letter(parts.rest).sender)


def open_letter(text: str) -> Letter:
    """Remove the client's frame from another agent's message; the message itself remains unchanged."""
    body = _drop_note(text.partition("\n")[2]) if text.startswith(PEER_FRAMES) else text
    body = body.strip()
    opening = _ENVELOPE_TAG.match(body)
    if opening is None:
        return Letter(None, body)
    sender = _choose_name(*(found[1] for key in _NAME_ATTRIBUTES if (found := key.search(opening[2]))))
    inner, closing, rest = body[opening.end() :].rpartition(f"</{opening[1]}>")
    if not closing or rest.strip() or f"<{opening[1]}" in inner:
        return Letter(sender, body)  # cut off, or several messages: keep all of it
    return Letter(sender, inner.strip())


def _drop_note(body: str) -> str:
    text, gap, note = body.rpartition("\n\n")
    return text if gap and note.startswith(_NOTE_STARTS) else body


def _classify_context(context: tuple[tuple[str, str], ...]) -> str | None:
    """Classify an entry that contains only what a hook or an editor added."""
    if not context:
        return None
    return "hook" if any(tag.endswith("-hook") for tag, _ in context) else "meta"


def _choose_name(*values: Any) -> str | None:
    names = (" ".join(value.split())[:MAX_NAME_CHARS] for value in values if isinstance(value, str))
    return next(filter(None, names), None)
