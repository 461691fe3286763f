"""The prompts of a conversation that a person can go back to."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from turnlog.session.clock import parse_timestamp
from turnlog.session.prompts import parse_user_entry
from turnlog.session.session import Session


class RewindPoint(NamedTuple):
    """A prompt, and where the conversation continues if it had not been sent."""

    prompt: str
    """The entry of the prompt."""
    leaf: str | None
    """The entry before it; None if the conversation starts with the prompt."""
    text: str
    time: datetime | None


def list_rewind_points(session: Session, leaf: str | None) -> list[RewindPoint]:
    """Return the typed prompts of the conversation that ends with `leaf`, oldest first."""
    points: list[RewindPoint] = []
    is_spoken, previous = False, None
    rows = session.build_thread(leaf).rows
    known = {row.uuid for row in rows}
    for row in rows:
        prompt = parse_user_entry(session.file, row) if row.type == "user" else None
        if prompt is not None and prompt.is_typed and row.uuid and not row.is_meta:
            # The parent may be a line that clients skip, or none in the file: then what they show above counts.
            before = row.parent_uuid if row.parent_uuid in known else previous
            points.append(
                RewindPoint(row.uuid, before if is_spoken else None, prompt.text, parse_timestamp(row.timestamp))
            )
        is_spoken, previous = is_spoken or row.type in ("user", "assistant"), row.uuid or previous
    return points
