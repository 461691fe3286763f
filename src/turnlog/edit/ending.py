"""What a session that turnlog made says of itself: where it came from, what it is called, where it goes on.

The first line is turnlog's own (`"type":"turnlog"`); no client reads it, and `turnlog tree` and `turnlog usage` do.
Titles and the leaf are the client's own entries. They stand at the end, where its list of sessions looks.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from turnlog.entries.entry import Body

LONGEST = 500
_MADE = re.compile(r"(?:Clone|Fork|Repair)(?: (\d+))? of (.*)", re.DOTALL)


def lineage(verb: str, source: str, new: str) -> Body:
    """The line that says from which session a new one was made."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    origin = {"sessionId": source}
    return {"type": "turnlog", "verb": verb, "forkedFrom": origin, "sessionId": new, "timestamp": now}


def titles(title: str, session_id: str) -> list[Body]:
    """The entries that give a session its title, as the client's `/rename` writes them."""
    return [
        {"type": "custom-title", "customTitle": title, "sessionId": session_id},
        {"type": "agent-name", "agentName": title, "sessionId": session_id},
    ]


def going_on(leaf: str, prompt: str | None, session_id: str) -> Body:
    """The entry that names the row from which the newest client goes on."""
    found: Body = {"type": "last-prompt", "leafUuid": leaf, "sessionId": session_id}
    return {"type": "last-prompt", "lastPrompt": prompt, **found} if prompt else found


def title_of_made(verb: str, title: str | None, source: str) -> str:
    """What a new session is called: `Clone of …`, and `Clone 2 of …` when it was made from one of these."""
    word, name, number = verb.title(), title or source[:8], 1
    if made := _MADE.fullmatch(name):
        number, name = int(made[1] or 1) + 1, made[2]
    text = f"{word} of {name}" if number == 1 else f"{word} {number} of {name}"
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:LONGEST]
