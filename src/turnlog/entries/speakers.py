"""Who is behind a text that stands under `user`: the one place that decides it.

The client writes much under `user` that no person typed: messages of other agents, reports of background tasks, output
of hooks, its own notes. Since 2.1.161 an entry names its origin; then the origin decides, whatever the text looks like.
Without an origin only the frame counts that the client puts at the very start of a text: words that merely mention such
a frame are a person's, and no one can get out of a frame by what they write inside of it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.entries.entry import Origin
from turnlog.entries.marks import PEER_FRAMES, separated, tagged

SPEAKERS = {
    "person": "typed by a person",
    "cli": "given on the command line",
    "peer": "from another session, or from an agent of this one",
    "teammate": "from a member of the session's team",
    "task": "from a background task or a schedule",
    "hook": "from a hook",
    "client": "written by the client itself",
    "other": "from anything else that is not the person: a channel, a plugin, a voice call, an origin not known here",
}
"""Who can be behind a text."""
TYPED_BY = frozenset({"person", "cli"})
"""Speakers whose texts are prompts."""
SENDERS = frozenset({"peer", "teammate", "other"})
"""Speakers who send messages into a session from outside of its conversation."""
MAX_NAME_CHARS = 80

_BY_ORIGIN = {
    "human": "person",
    "cli": "cli",
    "peer": "peer",
    "observer": "peer",
    "observer-activity": "peer",
    "coordinator": "teammate",
    "task-notification": "task",
    "auto-continuation": "client",
}
_BY_MARK = {
    None: "person",
    "command": "person",
    "bash": "person",
    "peer": "peer",
    "teammate": "teammate",
    "channel": "other",
    "notification": "task",
    "hook": "hook",
}
_ENVELOPE = re.compile(r"<(teammate-message|agent-message|cross-session-message|channel)(?=[\s>])([^>]*)>")
_NAMES = tuple(re.compile(rf'(?:^|\s){key}="([^"]*)"') for key in ("from-name", "teammate_id", "from", "source"))
_NOTES = (
    "This came from another Claude session",
    'That "other Claude session" is an agent',
    "This is from another Claude session",
    "IMPORTANT: This is NOT from your user",
)
"""How the remarks begin that the client puts behind a message of another agent."""


class Speaker(NamedTuple):
    """Who said something."""

    kind: str = "person"
    """One of SPEAKERS."""
    name: str | None = None
    """What a peer, a teammate or a channel is called."""


class Letter(NamedTuple):
    """A message of another agent without the client's frame around it."""

    sender: str | None
    words: str


def read_origin(value: object) -> Origin | None:
    """The `origin` of an entry or attachment, if it names one."""
    if isinstance(value, Origin):
        return value if isinstance(value.kind, str) else None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return None
    return Origin(value["kind"], value.get("from"), value.get("name"), value.get("server"))


def identify_speaker(text: str, origin: object = None, *, is_meta: object = False) -> Speaker:
    """Who said a text of a user entry or a queued prompt: its origin decides, else the frame at its start."""
    declared = read_origin(origin)
    words = separated(text)
    mark = tagged(words.rest) if words.rest else _added(words.context)
    kind = _BY_MARK.get(mark, "client") if declared is None else _BY_ORIGIN.get(declared.kind, "other")
    if is_meta and kind in TYPED_BY:
        kind = "client"  # a skill, a reminder: what the client says in the person's name
    if kind not in SENDERS:
        return Speaker(kind)
    names = (declared.name, declared.sender, declared.server) if declared else ()
    return Speaker(kind, _name(*names) or open_letter(words.rest).sender)


def open_letter(text: str) -> Letter:
    """Take the client's frame off a message of another agent; the words are kept as they are."""
    body = _without_note(text.partition("\n")[2]) if text.startswith(PEER_FRAMES) else text
    body = body.strip()
    opening = _ENVELOPE.match(body)
    if opening is None:
        return Letter(None, body)
    sender = _name(*(found[1] for key in _NAMES if (found := key.search(opening[2]))))
    inner, closing, rest = body[opening.end() :].rpartition(f"</{opening[1]}>")
    if not closing or rest.strip() or f"<{opening[1]}" in inner:
        return Letter(sender, body)  # cut off, or several messages: all of it is shown
    return Letter(sender, inner.strip())


def _without_note(body: str) -> str:
    words, gap, note = body.rpartition("\n\n")
    return words if gap and note.startswith(_NOTES) else body


def _added(context: tuple[tuple[str, str], ...]) -> str | None:
    """What an entry is that holds nothing but what a hook or an editor added."""
    if not context:
        return None
    return "hook" if any(tag.endswith("-hook") for tag, _ in context) else "meta"


def _name(*values: Any) -> str | None:
    words = (" ".join(value.split())[:MAX_NAME_CHARS] for value in values if isinstance(value, str))
    return next(filter(None, words), None)
