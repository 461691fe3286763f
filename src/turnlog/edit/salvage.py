"""A new session from what was typed in one that is gone: the prompts as they were, and a note in place of each answer.

Pure: rows that can be written as a session file. Nothing is made up but the note, which says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from turnlog.session.clock import to_iso_time
from turnlog.session.health.leftovers import TypedText
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]

LOST_ANSWER_NOTE = (
    "[The answer is lost. The transcript of session {session} is gone; turnlog rebuilt this one from the history of"
    " what was typed.]"
)
_COMMAND_PATTERN = re.compile(r"(?:/[a-z][\w:-]*(?:\s|$)|!)")
_MAX_TITLE_CHARS = 80


class SalvageOrigin(NamedTuple):
    """The session that is gone."""

    session_id: str
    cwd: str


def select_prompts(typed: Sequence[TypedText]) -> list[TypedText]:
    """What was said to the model: without the client's own commands and empty lines, the oldest first."""
    said = [item for item in typed if item.text.strip() and not _COMMAND_PATTERN.match(item.text)]
    return sorted(said, key=lambda item: item.time or datetime.min.replace(tzinfo=UTC))


def rebuild_session(
    origin: SalvageOrigin, typed: Sequence[TypedText], session_id: str, new_id: Callable[[], str]
) -> list[Json]:
    """The rows of the new session; empty if nothing was said to the model."""
    said = select_prompts(typed)
    rows: list[Json] = []
    parent: str | None = None
    for item, time in zip(said, _choose_times(said), strict=True):
        asked, answered = new_id(), new_id()
        shared = {"isSidechain": False, "userType": "external", "cwd": origin.cwd, "sessionId": session_id}
        message: Json = {"role": "user", "content": item.text}
        rows.append(_build_row(shared, "user", asked, parent, time, message))
        note = LOST_ANSWER_NOTE.format(session=origin.session_id)
        rows.append(
            _build_row(
                shared, "assistant", answered, asked, time + timedelta(milliseconds=1), _build_answer(note, new_id())
            )
        )
        parent = answered
    return rows + list(_build_tail(said, parent, session_id))


def _build_row(shared: Json, kind: str, uuid: str, parent: str | None, time: datetime, message: Json) -> Json:
    return {
        "parentUuid": parent,
        **shared,
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": to_iso_time(time),
    }


def _build_answer(text: str, identity: str) -> Json:
    """A message as the client writes those that come from no model."""
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC_MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _choose_times(said: list[TypedText]) -> Iterator[datetime]:
    """The time of each prompt, always later than the one before: old clients go by time."""
    last = datetime(2025, 1, 1, tzinfo=UTC)
    for item in said:
        last = max(item.time or last, last + timedelta(milliseconds=2))
        yield last


def _build_tail(said: list[TypedText], leaf: str | None, session_id: str) -> Iterator[Json]:
    """What the client wants to find at the end: a title, and where to go on."""
    if leaf is not None:
        title = " ".join(said[0].text.split())[:_MAX_TITLE_CHARS]
        yield {"type": "custom-title", "customTitle": f"Salvaged: {title}", "sessionId": session_id}
        last = {"lastPrompt": said[-1].text[:200], "leafUuid": leaf}
        yield {"type": "last-prompt", **last, "sessionId": session_id}
