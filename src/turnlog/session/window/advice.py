"""What to do about a window that fills: go on, clone the session stripped, or start fresh.

The rules are documented in docs/context.md. `limit` is where the client compacts by itself, else the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from turnlog.session.window.filling import Filling
from turnlog.session.window.presets import Preset, Saving

Action = Literal["go on", "clone stripped", "start fresh"]

ROOM = 0.6
"""Below this share of the limit there is nothing to do."""
TARGET = 0.5
"""A clone is worth its while when it gets down to this share …"""
WORTH = 0.25
"""… or frees at least this share."""
FULL = 0.85
"""From this share on, with nothing to strip, a new session is better than a compaction in the middle of the work."""


class Advice(NamedTuple):
    """A recommendation, and its reason in one sentence."""

    action: Action | None
    preset: Preset | None
    reason: str


def advice(found: Filling, savings: Sequence[Saving]) -> Advice:
    """What to do with a conversation."""
    limit = found.threshold or found.window
    if found.is_agent:
        return Advice(None, None, "A sub-agent's conversation ends with its task; no client resumes it.")
    if not limit:
        return Advice("go on", None, f"How large the window of {found.model or 'its model'} is, is not known.")
    share = found.estimate / limit
    if share < ROOM:
        return Advice("go on", None, f"The next request fills {share:.0%} of what fits before the client compacts.")
    worth = (s for s in savings if s.after <= TARGET * limit or s.saved >= WORTH * limit)
    if best := next(worth, None):
        reason = (
            f"{best.preset.name} brings the next request from {share:.0%} to {best.after / limit:.0%} of the limit."
        )
        return Advice("clone stripped", best.preset, reason)
    most = max((s.saved for s in savings), default=0) / limit
    if share >= FULL:
        return Advice(
            "start fresh", None, f"{share:.0%} of the limit is used, and stripping would free only {most:.0%}."
        )
    return Advice("go on", None, f"{share:.0%} of the limit is used, but stripping would free only {most:.0%}.")
