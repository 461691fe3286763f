"""Builds the entries that turnlog adds to a session it creates: its origin, its title, and the entry to continue from.

The first line has turnlog's own type (`"type":"turnlog"`); no client reads it, but `turnlog tree` and `turnlog usage`
do. Titles and the leaf use the client's own entry types and are at the end of the file, where the client's session list
looks for them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from turnlog.entries.entry import Body
from turnlog.session.lineage import list_turns_to
from turnlog.session.session import Session

MAX_TITLE_CHARS = 500
_MAX_PROMPT_CHARS = 200
_COPY_TITLE_PATTERN = re.compile(r"(?:Clone|Fork|Repair)(?: (\d+))? of (.*)", re.DOTALL)


def build_lineage_entry(verb: str, source: str, new: str) -> Body:
    """Build the line that names the session a new one was made from."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    origin = {"sessionId": source}
    return {"type": "turnlog", "verb": verb, "forkedFrom": origin, "sessionId": new, "timestamp": now}


def build_title_entries(title: str, session_id: str) -> list[Body]:
    """Build the entries that give a session its title, in the form that the client's `/rename` writes."""
    return [
        {"type": "custom-title", "customTitle": title, "sessionId": session_id},
        {"type": "agent-name", "agentName": title, "sessionId": session_id},
    ]


def build_leaf_entry(leaf: str, prompt: str | None, session_id: str) -> Body:
    """Build the entry that names the row from which the newest client continues."""
    entry: Body = {"type": "last-prompt", "leafUuid": leaf, "sessionId": session_id}
    return {"type": "last-prompt", "lastPrompt": prompt, **entry} if prompt else entry


def find_last_prompt(session: Session, leaf: str | None) -> str | None:
    """Return the last prompt before an entry, formatted as in the client's session list."""
    typed = [turn.text for turn in list_turns_to(session, leaf or "") if turn.prompt.is_typed and turn.text.strip()]
    text = " ".join(typed[-1].split()) if typed else ""
    return (text if len(text) <= _MAX_PROMPT_CHARS else text[:_MAX_PROMPT_CHARS].rstrip() + "…") or None


def compose_copy_title(verb: str, title: str | None, source: str) -> str:
    """Return the title of a new session: `Clone of …`, or `Clone 2 of …` for a clone of a clone."""
    word, name, number = verb.title(), title or source[:8], 1
    if earlier := _COPY_TITLE_PATTERN.fullmatch(name):
        number, name = int(earlier[1] or 1) + 1, earlier[2]
    text = f"{word} of {name}" if number == 1 else f"{word} {number} of {name}"
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:MAX_TITLE_CHARS]
