"""What a session that turnlog made says of itself: where it came from, what it is called, where it goes on.

The first line is turnlog's own (`"type":"turnlog"`); no client reads it, and `turnlog tree` and `turnlog usage` do.
Titles and the leaf are the client's own entries. They stand at the end, where its list of sessions looks.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from turnlog.entries.entry import Body

MAX_TITLE_CHARS = 500
_COPY_TITLE_PATTERN = re.compile(r"(?:Clone|Fork|Repair)(?: (\d+))? of (.*)", re.DOTALL)


def build_lineage_entry(verb: str, source: str, new: str) -> Body:
    """The line that says from which session a new one was made."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    origin = {"sessionId": source}
    return {"type": "turnlog", "verb": verb, "forkedFrom": origin, "sessionId": new, "timestamp": now}


def build_title_entries(title: str, session_id: str) -> list[Body]:
    """The entries that give a session its title, as the client's `/rename` writes them."""
    return [
        {"type": "custom-title", "customTitle": title, "sessionId": session_id},
        {"type": "agent-name", "agentName": title, "sessionId": session_id},
    ]


def build_leaf_entry(leaf: str, prompt: str | None, session_id: str) -> Body:
    """The entry that names the row from which the newest client goes on."""
    found: Body = {"type": "last-prompt", "leafUuid": leaf, "sessionId": session_id}
    return {"type": "last-prompt", "lastPrompt": prompt, **found} if prompt else found


def compose_copy_title(verb: str, title: str | None, source: str) -> str:
    """What a new session is called: `Clone of …`, and `Clone 2 of …` when it was made from one of these."""
    word, name, number = verb.title(), title or source[:8], 1
    if made := _COPY_TITLE_PATTERN.fullmatch(name):
        number, name = int(made[1] or 1) + 1, made[2]
    text = f"{word} of {name}" if number == 1 else f"{word} {number} of {name}"
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:MAX_TITLE_CHARS]
